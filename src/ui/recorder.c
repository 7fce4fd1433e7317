/* SPDX-License-Identifier: MIT */
/* Called by brace record's main thread, which looks a hundred times a second whether there is a
 * reason (instances_slow(), a signal), and then writes a file: the buffer goes on meanwhile. Calls
 * that are over their limit while a file is written are counted with the next one. A file that
 * cannot be written ends nothing, but brace's status. */
#include "ui/recorder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "shared/messages.h"
#include "ui/say.h"

/* 10 ms: a call's file is written soon enough to have the records that led to it still in the
 * buffer. */
#define LOOK_NS 10000000
#define KEEP 10 /* files, without --keep */

/* The number of the last signal that came; two before a look are one file. */
static volatile sig_atomic_t signalled;

/* A handler: the loop looks. */
static void note_signal(int sig)
{
	signalled = sig;
}

/* From here on the signals of --snapshot-on ask for a file, and do nothing else. */
void recorder_begin(struct recorder *r, const struct invocation *inv, const char *file)
{
	/* SA_RESTART: no other system call of the session may fail by a signal that only asks for a
	 * file. */
	const struct sigaction act = { .sa_handler = note_signal, .sa_flags = SA_RESTART };

	*r = (struct recorder){ .inv = inv, .file = file };
	for (int sig = 1; sig < 32; sig++)
		if (inv->snapshot_signals & 1u << sig)
			sigaction(sig, &act, NULL);
}

/* The first name whose number no file has; free() it. */
static char *next_name(struct recorder *r)
{
	for (;;) {
		char *name = mem_printf("%s.%" PRIu32, r->file, ++r->last);

		/* AT_SYMLINK_NOFOLLOW: a link of the name that leads nowhere counts as a file,
		 * which would be written through otherwise. */
		if (faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW))
			return name;
		free(name);
	}
}

/* Removes the oldest files of this run beyond those that are kept. Files of earlier runs are the
 * user's, and stay, since next_name() passes their numbers over. */
static void remove_old(struct recorder *r)
{
	size_t keep = r->inv->keep_files ? r->inv->keep_files : KEEP;

	while (r->names.n > keep) {
		unlink(r->names.at[0]);
		free(r->names.at[0]);
		r->names.n--;
		memmove(r->names.at, r->names.at + 1, r->names.n * sizeof(*r->names.at));
		r->removed++;
	}
}

/* number: microseconds, 0: a signal had asked. */
static void tell_written(const char *name, const struct trace_message *why, uint64_t more)
{
	say("brace: %s written: %s", name, why->name);
	if (why->number)
		say(" lasted %" PRIu32 ".%03" PRIu32 " ms%s, thread %" PRIu32, why->number / 1000,
		    why->number % 1000, why->count == 1 ? "" : " so far", why->pid);
	if (more)
		say("; %" PRIu64 " more call%s over a limit", more, more == 1 ? " was" : "s were");
	say("\n");
}

/* After a failure recording goes on: the next snapshot may have room again. */
static void write_snapshot(struct recorder *r, struct instances *l,
			   const struct trace_message *why, uint64_t more)
{
	char *name = next_name(r);
	struct err err;

	if (instances_extract_why(l, name, why, &err)) {
		say_error(&err);
		r->failed = true;
		free(name);
		return;
	}
	r->written++;
	*vec_add(&r->names) = name;
	remove_old(r);
	if (!r->inv->quiet)
		tell_written(name, why, more);
}

/* The name of a function of the program's goes to a terminal, too. */
static void take_name(struct trace_message *m, const char *name)
{
	snprintf(m->name, sizeof(m->name), "%s", name);
	for (char *c = m->name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

static void write_if_due(struct recorder *r, struct instances *l)
{
	struct trace_message why = { .kind = MESSAGE_SNAPSHOT, .count = 1 };
	struct slow_call call;
	int sig = signalled;

	if (instances_slow(l, &call)) {
		uint64_t us = call.ns / 1000;

		take_name(&why, call.name);
		/* 1 at least: 0 would mean that a signal had asked (messages.c). */
		why.number = us > UINT32_MAX ? UINT32_MAX : us ? (uint32_t)us : 1;
		why.pid = call.tid;
		why.count = call.open ? 2 : 1;
		write_snapshot(r, l, &why, call.more);
	}
	if (sig) {
		/* Before the writing: a signal that comes meanwhile asks for the next file. */
		signalled = 0;
		why = (struct trace_message){ .kind = MESSAGE_SNAPSHOT, .count = 1 };
		take_name(&why, sig == SIGUSR1 ? "SIGUSR1" : "SIGUSR2");
		write_snapshot(r, l, &why, 0);
	}
}

void recorder_run(struct recorder *r, struct instances *l)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };
	bool over;

	do {
		/* Asked before the look: what came before the end is still looked at. */
		over = instances_are_over(l);
		write_if_due(r, l);
		if (!over)
			nanosleep(&nap, NULL);
	} while (!over);
	if (r->inv->slow.n && !instances_slow_has_functions(l))
		say_warning("--snapshot-on: no function of that name was traced");
}

void recorder_tell(const struct recorder *r)
{
	say("brace: %" PRIu32 " snapshot%s", r->written, r->written == 1 ? "" : "s");
	if (r->removed)
		say("; the first %" PRIu32 " %s removed (--keep)", r->removed,
		    r->removed == 1 ? "was" : "were");
	say("\n");
}

void recorder_end(struct recorder *r)
{
	for (size_t i = 0; i < r->names.n; i++)
		free(r->names.at[i]);
	vec_free(&r->names);
}
