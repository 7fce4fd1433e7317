/* SPDX-License-Identifier: MIT */
/* Messages of a traced process for the user, in the session memory: programs that it executes
 * and that cannot be traced, and the end of its own recording. A child of vfork may write one,
 * so writing takes nothing but atomic additions. */
#pragma once
#include <stdint.h>

enum message_kind {
	MESSAGE_NONE,
	MESSAGE_STATIC,       /* executed: has no dynamic loader, so no agent either */
	MESSAGE_32BIT,
	MESSAGE_MACHINE,      /* for another processor */
	MESSAGE_SETUID,       /* executed with another user's rights: the loader drops the agent */
	MESSAGE_CAPABILITIES,
	MESSAGE_ROOT,         /* executed where the agent's file is not seen */
	MESSAGE_NETWORK,      /* executed where the tracer's network namespace is not reached */
	MESSAGE_FILTERED,     /* executed under a seccomp filter that forbids the agent's begin */
	/* its address space is limited to less than the session memory takes */
	MESSAGE_LIMIT,
	MESSAGE_STOPPED,      /* this process stops recording: see `number` */
	MESSAGE_LOADER,       /* executed: its loader is not glibc's, which the agent is made for */
	MESSAGE_SPOILED,      /* the tracer's own: numbers in the session memory made no sense */
	/* the tracer's own: a signal handler is not probed; number: why, enum hook_reason, or
	 * MESSAGE_NOT_HELD. */
	MESSAGE_HANDLER,
	/* the tracer's own: count: switches of threads that the kernel had no room for
	 * (nosleep-time). */
	MESSAGE_UNSEEN,
	MESSAGE_UNPLANNED,    /* the tracer's own: executed, and its patches could not be planned */
	/* the tracer's own: the file of a module that was to be traced is not available; number:
	 * errno. */
	MESSAGE_FILE,
	/* the tracer's own: this process told of its patches what no agent tells */
	MESSAGE_FORGED,
	/* the process changed its user, and got no memory of the new one's: it records no more. */
	MESSAGE_USER,
	/* the tracer's own: the file could not take all; number: why, errno */
	MESSAGE_FULL,
	MESSAGE_BRACE,        /* executed by another brace, which traces it */
	/* the tracer's own: the machine's TSC is not steady; number: how far processors are apart
	 * at most, in ns, 0: not measured; name: the error in ns, in decimal, of times that are put
	 * right by `count` pairs of clocks; MESSAGE_CLOCK_PRINTED: there was no file, and they are
	 * not, or, with a blank and the error behind it, they are as they come; "": they are not */
	MESSAGE_CLOCK,
	MESSAGE_STRANGER, /* the tracer's own: spoke as an agent without the session's token */
	/* the tracer's own: count: names that threads gave themselves and that are unknown. */
	MESSAGE_RENAMES,
	MESSAGE_VAIN, /* block mode: threads went on without room, since others keep all of it */
	MESSAGE_GIVEN_UP,     /* block mode: went on without the tracer, whose heart stood still */
	/* the tracer's own: it ended while it was attached; number: as waitpid gives it, -1: not
	 * known. */
	MESSAGE_ENDED,
	/* count: threads for whose stack of live calls there was no memory, for a while at least */
	MESSAGE_NO_STACK,
	/* the tracer's own: a place of an event is not probed; number: why, enum hook_reason; name:
	 * GROUP:EVENT */
	MESSAGE_PROBE,
	/* the tracer's own: count: calls with a condition on what they return, left out because
	 * they had not returned at the end; because too much was recorded before they did, or lost
	 * in them */
	MESSAGE_UNRETURNED,
	MESSAGE_TOO_LONG,
	/* the tracer's own (--rotate): number: files before this one; count: those of them that
	 * were removed; name: records that these had, in decimal */
	MESSAGE_ROTATED,
	/* count: returns without a record, since their calls' arguments had not been kept; number:
	 * the event's; name: GROUP:EVENT, of the tracer */
	MESSAGE_UNKEPT,
	/* the tracer's own (--snapshot-on), why the file was written: name: a function, of whose
	 * call thread `pid` was for `number` microseconds by then; count: 1: it had returned, 2:
	 * not. number 0: name: a signal */
	MESSAGE_SNAPSHOT,
	/* the tracer's own: name: records that newer ones replaced in the buffer, in decimal */
	MESSAGE_OVERWRITTEN,
	/* the tracer's own: count: how often there was no room for a name of code that a program
	 * made and told of */
	MESSAGE_UNNAMED,
	/* the tracer's own: count: pages of 4 KiB that were taken out of the session memory or its
	 * ring (--ring): what had been in them reads as zeros */
	MESSAGE_HOLES,
	MESSAGE_KINDS
};

/* MESSAGE_HANDLER's number when the process could not be stopped to probe the handler. */
#define MESSAGE_NOT_HELD 255u
/* The name of MESSAGE_CLOCK where records are printed as they come. */
#define MESSAGE_CLOCK_PRINTED "printed"

#define MESSAGES_MAX 64u
#define MESSAGE_NAME 40u

/* One message, with a count, for each program and cause. */
struct memory_message {
	/* 1 when the fields below hold; released by the writer (agent/message.c,
	 * collect/messages.c), acquired by messages_take(). */
	uint32_t written;
	uint32_t kind, pid;   /* pid: the first one's */
	/* MESSAGE_STOPPED: the system call that a filter forbids, or prctl's: it dispatches calls
	 * itself; MESSAGE_HANDLER, MESSAGE_PROBE, MESSAGE_FILE: why */
	uint32_t number;
	uint32_t count, pad;  /* 0: all withdrawn */
	char name[MESSAGE_NAME]; /* the program's last path component */
};

/* The counts are exact where the array is too small for the names. */
struct memory_messages {
	uint32_t used;        /* may exceed MESSAGES_MAX: those beyond are only counted */
	uint32_t counts[MESSAGE_KINDS];
	struct memory_message at[MESSAGES_MAX];
};
