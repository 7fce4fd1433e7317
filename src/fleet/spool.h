/* SPDX-License-Identifier: MIT */
/* A spool: a folder with traces that are still to be pushed, each with a note of how. It is what
 * `brace record --push` leaves where a server is away. An entry is NAME.brace, the trace itself (a
 * further name of the file where the file system allows, else a copy), and NAME.push, the note. Any
 * number of processes of one user may use a spool. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stop.h"
#include "base/vec.h"

#define SPOOL_NOTE_MOST 65536 /* bytes of a note */

/* How a trace is to be pushed. */
struct spool_note {
	char *to;         /* servers, as --to names them */
	char *labels;     /* lines of KEY=VALUE, or "" */
	bool calls, no_command;
};

/* The note's bytes; free() them. */
char *spool_note_write(const struct spool_note *n);
/* Reads a note from a text, which is nothing to trust. 0, or -EBADMSG and *err. The caller frees
 * the note, whatever comes. */
int spool_note_read(struct spool_note *n, const char *text, struct err *err);
void spool_note_free(struct spool_note *n);

/* The user's own spool, $XDG_STATE_HOME/brace/spool or else in ~/.local/state; free() it. NULL:
 * neither is known. */
char *spool_usual(void);
/* Opens a spool, which is made if it is missing (mode 0700). A descriptor to close, or -errno and
 * *err: it is another user's, or others may write to it, or read it. */
int spool_open(const char *path, struct err *err);
/* Whether a file in this folder can have its further name in the spool: they are on one file
 * system. */
bool spool_is_near(int spool, int folder);

/* Adds a finished trace. 0 and *name, the caller's to free; or -errno and *err. -EDQUOT: traces in
 * the spool would be more than `most` bytes, and it stays out. copies: a file of another file
 * system is copied, which takes its time; else it is refused with -EXDEV. Any thread. */
int spool_add(int spool, const char *file, const struct spool_note *n, uint64_t most, bool copies,
	      char **name, struct err *err);

typedef VEC(char *) spool_names;
/* The entries' names, the oldest first. Removes copies and notes of which the makers ended before
 * the trace was there. 0, or -errno and *err. */
int spool_list(int spool, spool_names *names, struct err *err);
void spool_names_free(spool_names *names);
/* Whether it is there; its trace's bytes. */
bool spool_has(int spool, const char *name, uint64_t *bytes);

/* An entry that this process alone uses now. */
struct spool_entry {
	char *name, *path; /* path: of the trace */
	struct spool_note note;
	int fd;
};
/* Waits until no other process uses the entry. folder: the spool's path. 1; 0: it is gone
 * meanwhile; or -errno and *err; -EINTR: stop is asked. Unless it is 1, there is nothing to
 * close. */
int spool_take(int spool, const char *folder, const char *name, struct spool_entry *e,
	       const struct stop *stop, struct err *err);
/* Ends the use; removes the entry, if it was pushed. */
void spool_leave(int spool, struct spool_entry *e, bool pushed);
