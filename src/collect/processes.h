/* SPDX-License-Identifier: MIT */
/* Finds out which of the processes that recorded still run. The session memory has their pids in
 * their own pid namespaces; this finds which processes of ours they are. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/vec.h"

struct process {
	uint32_t said;       /* pid in its own namespace */
	uint32_t pid;        /* pid in ours; 0 = not found yet, or over */
	uint64_t start;      /* start time of that pid, which may be given to another process */
	/* the processes of all thread slots below this are known to have ended */
	uint32_t over_below;
};
struct named { uint32_t pid, own; }; /* a process' pid for us, and for itself */
struct processes {
	VEC(struct process) at; /* sorted by `said` */
	uint32_t over; /* the processes of thread slots below this have ended, or need no look */
	VEC(struct named) all;  /* all that run, if `listed` */
	bool listed;
};

/* Begins a look: the list of running processes is read anew when it is first needed. */
void processes_look(struct processes *p);
void processes_free(struct processes *p);
/* Whether the process of this thread slot runs, of n slots in all. It maps that file, or did when
 * it was found. */
bool processes_run(struct processes *p, uint32_t said, uint32_t slot, uint32_t n,
		   const struct stat *memory);
/* The process with that pid in our namespace, if it maps the file and has that pid for itself too;
 * else 0. */
pid_t processes_namesake(struct processes *p, uint32_t said, const struct stat *memory);
/* Whether the process maps that file. By device and inode number: a file of another file system can
 * have any inode number. */
bool processes_maps(pid_t pid, const struct stat *memory);
pid_t processes_parent(pid_t pid); /* 0: the process is not to be seen */
/* A process by its number for us: its number for itself, its user (the effective one), and when it
 * began, of CLOCK_REALTIME in seconds, rounded down. False: it is not to be seen. */
struct process_info { uint32_t own, uid; uint64_t began_s; };
bool processes_info(pid_t pid, struct process_info *out);
