/* SPDX-License-Identifier: MIT */
/* What a traced process has to say to the user, in the session memory: programs it is about to execute
 * that cannot be traced, and that it stops recording itself. A process in the child of a vfork may
 * write one: it needs no more than atomic additions. */
#pragma once
#include <stdint.h>

enum note_kind {
	NOTE_NONE,
	NOTE_STATIC,       /* executed: has no dynamic loader, so no agent either */
	NOTE_32BIT,
	NOTE_MACHINE,      /* for another processor */
	NOTE_SETUID,       /* executed with another user's rights: the loader drops the agent */
	NOTE_CAPABILITIES,
	NOTE_ROOT,         /* executed where the agent's file is not seen */
	NOTE_NETWORK,      /* executed in a network namespace from which the tracer is not reached */
	NOTE_FILTERED,     /* executed under a seccomp filter that forbids what the agent starts with */
	NOTE_LIMIT,        /* its address space is limited to less than the session memory takes */
	NOTE_STOPPED,      /* this process stops recording: its filter forbids `number` */
	NOTE_LOADER,       /* executed: its loader is not glibc's, which the agent is made for */
	NOTE_SPOILED,      /* the tracer's own: numbers in the session memory made no sense */
	NOTE_HANDLER,      /* the tracer's own: a signal's handler is not probed; number: why, enum hook_reason, or this */
	NOTE_UNSEEN,       /* the tracer's own: so many switches of threads the kernel had no room for (nosleep-time) */
	NOTE_UNPLANNED,    /* the tracer's own: executed, and what is to be patched in it could not be planned */
	NOTE_FILE,         /* the tracer's own: a module that was to be traced, and its file is not had; number: why, errno */
	NOTE_FORGED,       /* the tracer's own: this process wrote into the list of its patches */
	NOTE_USER,         /* this process became another user's, and could not have that one's memory: it records no more */
	NOTE_FULL,         /* the tracer's own: the file could not take all; number: why, errno */
	NOTE_BRACE,        /* executed by another brace, which traces it */
	NOTE_CLOCK,        /* the tracer's own: the machine's TSC is not steady */
	NOTE_KINDS
};

#define NOTE_NOT_HELD 255u /* NOTE_HANDLER's number */

#define NOTES_MAX 64u
#define NOTE_NAME 40u

/* The same about the same program is one note with a count. */
struct memory_note {
	uint32_t written;     /* 1 when the fields below hold */
	uint32_t kind, pid;   /* pid: the first one's */
	uint32_t number;      /* NOTE_STOPPED: of the system call; NOTE_HANDLER, NOTE_FILE: why */
	uint32_t count, pad;  /* 0: all withdrawn */
	char name[NOTE_NAME]; /* the program's last path component */
};

struct memory_notes {
	uint32_t used;        /* may exceed NOTES_MAX: those beyond are only counted */
	uint32_t counts[NOTE_KINDS];
	struct memory_note at[NOTES_MAX];
};
