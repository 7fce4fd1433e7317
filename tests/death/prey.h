/* A traced run under ptrace: brace, or the program that it runs, with breakpoints at test points.
 * When the chosen one is passed for the n-th time, that side is killed; or the program's thread
 * gets a signal there, and at each of the next passings. All in one thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../targets/ledger.h"
#include "points.h"

enum side { SIDE_AGENT, SIDE_BRACE };

/* Places that are made while the program runs: the trampoline of step and the stub of its call in
 * run, behind the reservation of a slot and before it is filled. */
#define POINT_TRAMPOLINE "trampoline"
#define POINT_STUB "stub"

struct breakpoint { uint64_t at; long word; unsigned point; };

struct prey {
	enum side side;
	const char *agent;            /* path of the library */
	const struct point *points;   /* of the side's file, addresses as in it */
	unsigned n_points;
	const char *name;             /* the point; NULL: all are counted, nobody dies */
	bool signals;                 /* SIGUSR1 is what comes there, as soon as the program handles it */
	unsigned nth;
	unsigned *passed;             /* by point, counted */
	unsigned *passed_handling;    /* since the program handles signals */
	struct ledger *ledger;

	pid_t brace, program;
	bool brace_done, program_done, killed;
	pid_t victim;                 /* the process that was killed */
	int brace_status, program_status;
	struct breakpoint planted[512];
	unsigned n_planted;
	unsigned hits, sent;
	bool looking, late;           /* for the agent's mapping; for what is made later */
};

/* Starts brace (argv) stopped before its exec, standard error and output to a file. */
void prey_start(struct prey *p, char *const *argv, const char *log);
/* One event, or a moment's sleep if there is none. False when no child is left. */
bool prey_turn(struct prey *p);
