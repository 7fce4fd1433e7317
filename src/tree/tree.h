/* SPDX-License-Identifier: MIT */
/* A directory tree in memory whose files are operations: what is read is made when it is asked
 * for, what is written is a command. FUSE serves it (fuse_face.h), and brace's own commands use
 * it without FUSE through the calls below; both see the same nodes.
 *
 * Errors are -errno, and *err has the sentence where a command was at fault; a failed write is
 * also told to the directory's owner, whose error_log shows it.
 *
 * Threads: every call may come from any thread. One lock guards the shape of the tree, counts
 * and attributes, and is never held while an operation runs, so an operation may add and remove
 * nodes itself. Operations on one open file come one at a time; those on different open files
 * come at once, and what they share is for its owner to lock. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "base/out.h"

#define TREE_PAGE 4096u

struct tree;
struct tree_node;
struct tree_open;
struct tree_owner;

/* One open file as its operations see it. */
struct tree_file {
	struct tree_node *node;
	struct tree_owner *owner; /* of the directory the file stands in */
	const void *arg;          /* as given to tree_file */
	int flags;                /* of open(2) */
	pid_t thread;             /* who makes the call; 0 = unknown */
	void *state;              /* the operations' own; NULL at first */
	bool told;                /* a write or flush that fails has told the owner itself */
};

/* What a file can do; NULL: it cannot. A file has `show` or `stream`, `write`, or both. */
struct tree_file_ops {
	const char *location;  /* what stands before ": error:" in the error_log; NULL: the file's name */
	bool exclusive;        /* open once at a time: EBUSY */
	bool paged;            /* a stream of TREE_PAGE bytes at a time: it can be spliced, too */
	int (*open)(struct tree_file *f, struct err *err);
	/* O_TRUNC at open (`>`, where `>>` does not); NULL: nothing to clear. */
	int (*truncate)(struct tree_file *f, struct err *err);
	/* The whole text. It is made when reading begins at offset 0, and stays for what is read on. With `grows` it is made again
	 * for who reads on behind its end, and gets the lines that have come behind those it had. */
	bool grows;
	int (*show)(struct tree_file *f, struct out *text, struct err *err);
	/* The next bytes that there are: their number, 0 at the end, -EAGAIN when there will be more.
	 * Never blocks: who waits is woken by tree_wake. */
	ssize_t (*stream)(struct tree_file *f, char *buf, size_t n, struct err *err);
	bool (*ready)(struct tree_file *f); /* whether stream would give something but -EAGAIN */
	/* One write(2), NUL-terminated: how many bytes were taken (fewer: the rest comes again). */
	ssize_t (*write)(struct tree_file *f, const char *text, size_t n, struct err *err);
	/* close(2) of a descriptor that may write; more may follow (a shell's `>` makes two). */
	int (*flush)(struct tree_file *f, struct err *err);
	void (*release)(struct tree_file *f);
};

/* What a directory can do besides being listed; NULL: EPERM. */
struct tree_dir_ops {
	/* mkdir: attaches a new directory (tree_attach), which may find the name taken by then. */
	int (*make)(struct tree_node *dir, const char *name, struct err *err);
	/* rmdir of a directory in which no file is open, and can be opened no more. After 0 it is gone. */
	int (*remove)(struct tree_node *child, struct err *err);
};

/* Who stands behind a directory and all below it. */
struct tree_owner {
	/* A command failed; n bytes of text, as written. */
	void (*failed)(struct tree_owner *owner, const char *location, const char *text, size_t n, const struct err *err);
};

/* --- building ----------------------------------------------------------------------- */

/* The root belongs to the calling process's user, as every node does. */
struct tree *tree_new(struct tree_owner *owner);
void tree_free(struct tree *t); /* nothing is open any more */
struct tree_node *tree_root(struct tree *t);
struct tree_owner *tree_node_owner(const struct tree_node *n);

/* A directory that stands nowhere yet: fill it, then tree_attach it. Modes are permission bits. */
struct tree_node *tree_dir_new(struct tree *t, const char *name, mode_t mode, const struct tree_dir_ops *ops,
			       struct tree_owner *owner);
/* Puts it below parent. 0, or -EEXIST, -ENOENT (the parent was removed): then it is freed. */
int tree_attach(struct tree_node *parent, struct tree_node *dir);
void tree_discard(struct tree_node *dir); /* instead of tree_attach */
/* New nodes below parent, which have its owner; the name is free. */
struct tree_node *tree_dir(struct tree_node *parent, const char *name, mode_t mode, const struct tree_dir_ops *ops);
struct tree_node *tree_file(struct tree_node *parent, const char *name, mode_t mode,
			    const struct tree_file_ops *ops, const void *arg);
/* Two exclusive files: neither can be open while the other one is. The whole lives longer. Before they are attached. */
void tree_set_whole(struct tree_node *part, struct tree_node *whole);
struct tree_node *tree_link(struct tree_node *parent, const char *name, const char *target);

/* --- finding; every node found is held until tree_put ---------------------------------- */

struct tree_node *tree_lookup(struct tree_node *dir, const char *name); /* NULL: none */
struct tree_node *tree_find(struct tree *t, const char *path);          /* below the root; NULL: none */
void tree_get(struct tree_node *n);
void tree_put(struct tree_node *n);
/* What the front ends of the tree keep with a node, and lock; NULL at first. */
void **tree_node_front(struct tree_node *n);

void tree_stat(const struct tree_node *n, struct stat *st); /* sizes are 0, as tracefs's */
void tree_chmod(struct tree_node *n, mode_t mode);
void tree_chown(struct tree_node *n, uid_t uid, gid_t gid); /* (uid_t)-1: as it is */
void tree_utimes(struct tree_node *n, const struct timespec *accessed, const struct timespec *modified); /* NULL: as it is */
const char *tree_link_target(const struct tree_node *n);
const char *tree_node_name(const struct tree_node *n);

struct tree_entry { char *name; ino_t ino; mode_t mode; };
struct tree_list { VEC(struct tree_entry) entries; };
/* The names in a directory, in the order in which they came. */
void tree_list(struct tree_node *dir, struct tree_list *out);
void tree_list_free(struct tree_list *l);

int tree_mkdir(struct tree_node *dir, const char *name, struct err *err);
/* Waits up to `patience_ms` for files in it that are just being closed, then EBUSY. */
int tree_rmdir(struct tree_node *dir, const char *name, unsigned patience_ms, struct err *err);

/* --- open files --------------------------------------------------------------------- */

/* Permissions are the front end's business: here root's hold. 0 or -errno. `patience_ms` as above, for files
 * that are open once at a time. *out is set before O_TRUNC does what it does, for a caller (base/caller.h) that is answered
 * meanwhile; it then stays open though that failed. */
int tree_open(struct tree_node *n, int flags, pid_t thread, unsigned patience_ms, struct tree_open **out,
	      struct err *err);
bool tree_is_stream(const struct tree_open *o); /* no offsets, reads may wait */
bool tree_is_paged(const struct tree_open *o);  /* a stream whose operation has said so */
/* O_NONBLOCK is a matter of the open file, and may change while it is open (fcntl). */
void tree_set_nonblock(struct tree_open *o, bool nonblock);
/* Bytes of the text from `at` on, or of the stream; 0 at the end; -EAGAIN: see tree_wait. */
ssize_t tree_read(struct tree_open *o, char *buf, size_t n, off_t at, struct err *err);
/* The text that reading from 0 gives; stays until the file is read at 0 again. */
int tree_text(struct tree_open *o, const char **text, size_t *n, struct err *err);
ssize_t tree_write(struct tree_open *o, pid_t thread, const char *text, size_t n, struct err *err);
bool tree_ready(struct tree_open *o); /* whether tree_read would not give -EAGAIN */
int tree_flush(struct tree_open *o, struct err *err);
void tree_close(struct tree_open *o);

/* --- waiting ------------------------------------------------------------------------ */

/* A stream may have something new, or, of a directory, any in it. Cheap, and allowed under the owner's locks. */
void tree_wake(struct tree_node *n);
/* How often it was woken: a wait that begins with the number from before the read misses nothing. */
unsigned tree_wakes(const struct tree_node *n);
/* Sleeps until the node was woken again, or tree_end. False: tree_end. */
bool tree_wait(struct tree_node *n, unsigned wakes);
/* The tree comes to its end: who waits is woken for good. */
void tree_end(struct tree *t);
/* `woken` is called by tree_wake and tree_end, and must not call the tree. */
void tree_watch(struct tree *t, void (*woken)(void *arg), void *arg);
void tree_unwatch(struct tree *t, void *arg); /* it is not being called any more either */

/* --- by path: `cat` and `echo` of brace's own ------------------------------------------ */

/* The text, NUL-terminated; free() it. NULL and *err. */
char *tree_cat(struct tree *t, const char *path, struct err *err);
/* `echo text > path`, or >> path. */
int tree_echo(struct tree *t, const char *path, const char *text, bool append, struct err *err);
