/* SPDX-License-Identifier: MIT */
/* A directory tree in memory whose files are operations: text is made when it is read, a write is a
 * command. FUSE serves it (fuse_mount.h), and brace's own commands use it without FUSE through the
 * calls below; both see the same nodes.
 *
 * Errors are -errno, and *err has the sentence if a command was wrong; a failed write is also
 * reported to the directory's owner, whose error_log shows it.
 *
 * Threads: every call may come from any thread. One lock protects the shape of the tree, counts and
 * attributes, and is never held while an operation runs, so that an operation may add and remove
 * nodes itself. Operations on one open file come one at a time; those on different open files come
 * at once, and their owner locks what they share. */
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
	struct tree_owner *owner; /* of the directory that has the file */
	const void *arg;          /* as given to tree_file */
	int flags;                /* of open(2) */
	pid_t thread;             /* the calling thread; 0: unknown */
	void *state;              /* belongs to the operations; NULL at first */
	bool told;                /* a write or flush that fails has reported to the owner itself */
};

/* Limit, in ms, of a wait for a close that is under way. Only a server that has no processor for so
 * long, or a program that does not stop, reaches it. */
#define TREE_CLOSING_MS 10000

/* The operations of a file; NULL: not possible. A file has `show` or `stream`, `write`, or both. */
struct tree_file_ops {
	/* printed before ": error:" in the error_log; NULL: the file's name */
	const char *location;
	bool exclusive;        /* open once at a time: EBUSY */
	bool acts_at_close;    /* `release` changes what other files show: tree_await_acts */
	bool paged;            /* a stream of TREE_PAGE bytes at a time, which can be spliced too */
	/* 0, or -errno and *err: the file is not opened. `release` follows only a successful
	 * open. */
	int (*open)(struct tree_file *f, struct err *err);
	/* O_TRUNC at open (`>`, where `>>` does not); NULL: nothing to clear. */
	int (*truncate)(struct tree_file *f, struct err *err);
	/* Prints the whole text. It is made when reading begins at offset 0, and stays for reads
	 * that continue. With `grows` it is made again when a read continues at its end, and lines
	 * that were added are appended. */
	bool grows;
	int (*show)(struct tree_file *f, struct out *text, struct err *err);
	/* Reads the next bytes there are: their number, 0 at the end, -EAGAIN when there will be
	 * more. Never blocks: readers that wait are woken by tree_wake. */
	ssize_t (*stream)(struct tree_file *f, char *buf, size_t n, struct err *err);
	bool (*ready)(struct tree_file *f); /* whether stream would give anything but -EAGAIN */
	/* Takes one write(2), NUL-terminated. Returns how many bytes were taken (fewer: the rest
	 * comes again), or -errno and *err. */
	ssize_t (*write)(struct tree_file *f, const char *text, size_t n, struct err *err);
	/* ioctl(2) of f->thread: its command and its argument, which may be an address of the
	 * caller's. Returns what the call returns, or -errno and *err. NULL: -ENOTTY. */
	int (*ioctl)(struct tree_file *f, unsigned command, uint64_t argument, struct err *err);
	/* Called at close(2) of a descriptor that can write; more may follow (a shell's `>` makes
	 * two). */
	int (*flush)(struct tree_file *f, struct err *err);
	/* Called once, at the last close. */
	void (*release)(struct tree_file *f);
};

/* Operations of a directory besides listing; NULL: EPERM. */
struct tree_dir_ops {
	/* mkdir: attaches a new directory (tree_attach), whose name may have been taken by then. */
	int (*make)(struct tree_node *dir, const char *name, struct err *err);
	/* rmdir of a directory in which no file is open, and none can be opened any more. After 0
	 * it is gone. */
	int (*remove)(struct tree_node *child, struct err *err);
};

/* The object behind a directory and everything below it. */
struct tree_owner {
	/* A command failed: n bytes of text, as written. */
	void (*failed)(struct tree_owner *owner, const char *location, const char *text, size_t n,
		       const struct err *err);
};

/* --- building ----------------------------------------------------------------------- */

/* Creates a tree. Its root belongs to the calling process's user, as every node does. */
struct tree *tree_new(struct tree_owner *owner);
void tree_free(struct tree *t); /* no file is open any more, no node held */
/* The root; not held, valid as long as the tree. */
struct tree_node *tree_root(struct tree *t);
/* The owner that the node was made for: an instance, say. Not held. */
struct tree_owner *tree_node_owner(const struct tree_node *n);

/* Creates a directory that is not attached: fill it, then tree_attach it. Modes are permission
 * bits. */
struct tree_node *tree_dir_new(struct tree *t, const char *name, mode_t mode,
			       const struct tree_dir_ops *ops, struct tree_owner *owner);
/* Attaches it below parent. 0, or -EEXIST, -ENOENT (the parent was removed): then it is freed. */
int tree_attach(struct tree_node *parent, struct tree_node *dir);
void tree_discard(struct tree_node *dir); /* frees it, instead of tree_attach */
/* Create nodes below parent, which keeps them, with its owner. NULL: the name is in use, or the
 * parent was removed. */
struct tree_node *tree_dir(struct tree_node *parent, const char *name, mode_t mode,
			   const struct tree_dir_ops *ops);
struct tree_node *tree_file(struct tree_node *parent, const char *name, mode_t mode,
			    const struct tree_file_ops *ops, const void *arg);
/* Makes two exclusive files one: neither can be open while the other is. The whole lives longer.
 * Call it before they are attached. */
void tree_set_whole(struct tree_node *part, struct tree_node *whole);

/* --- finding; every node found is held until tree_put ---------------------------------- */

struct tree_node *tree_lookup(struct tree_node *dir, const char *name); /* NULL: none */
/* below the root; NULL: none */
struct tree_node *tree_find(struct tree *t, const char *path);
/* Add and drop a hold. */
void tree_get(struct tree_node *n);
void tree_put(struct tree_node *n);
/* A pointer that front ends keep with a node, and lock themselves; NULL at first. */
void **tree_node_front(struct tree_node *n);

void tree_stat(const struct tree_node *n, struct stat *st); /* sizes are 0, as tracefs's */
void tree_chmod(struct tree_node *n, mode_t mode);
void tree_chown(struct tree_node *n, uid_t uid, gid_t gid); /* (uid_t)-1: as it is */
/* NULL: as it is */
void tree_utimes(struct tree_node *n, const struct timespec *accessed,
		 const struct timespec *modified);

struct tree_entry { char *name; ino_t ino; mode_t mode; };
struct tree_list { VEC(struct tree_entry) entries; };
/* The names in a directory, in the order in which they were attached. tree_list_free frees. */
void tree_list(struct tree_node *dir, struct tree_list *out);
void tree_list_free(struct tree_list *l);

/* Takes a directory out of the tree, for its owner. Nothing in it can be opened any more; files
 * that are open stay so, and their operations are called until they are closed. */
void tree_detach(struct tree_node *dir, const char *name);
/* 0, or -errno and *err; EPERM where no directory can be made. */
int tree_mkdir(struct tree_node *dir, const char *name, struct err *err);
/* Removes a directory. Waits up to `patience_ms` for files in it that are just being closed, then
 * -EBUSY. */
int tree_rmdir(struct tree_node *dir, const char *name, unsigned patience_ms, struct err *err);

/* --- open files --------------------------------------------------------------------- */

/* Opens a file. Permissions are the front end's business: here root's hold. 0 or -errno.
 * `patience_ms` as above, for files that are open once at a time. *out is set before O_TRUNC takes
 * effect, for a caller (base/caller.h) that is answered meanwhile; it then stays open even if that
 * failed. */
int tree_open(struct tree_node *n, int flags, pid_t thread, unsigned patience_ms,
	      struct tree_open **out, struct err *err);
bool tree_is_stream(const struct tree_open *o); /* no offsets, reads may wait */
bool tree_is_paged(const struct tree_open *o);  /* a stream whose operation has said so */
/* Changes O_NONBLOCK of the open file (fcntl). */
void tree_set_nonblock(struct tree_open *o, bool nonblock);
/* Reads the text from `at` on, or the stream; 0 at the end; -EAGAIN: no data until tree_wake(). */
ssize_t tree_read(struct tree_open *o, char *buf, size_t n, off_t at, struct err *err);
/* Gives the text that a read from 0 would give; valid until the file is read at 0 again. */
int tree_text(struct tree_open *o, const char **text, size_t *n, struct err *err);
/* One write(2) of the thread. Returns the bytes taken, or -errno and *err. */
ssize_t tree_write(struct tree_open *o, pid_t thread, const char *text, size_t n, struct err *err);
/* One ioctl(2) of the thread. Returns its result, or -errno and *err. */
int tree_ioctl(struct tree_open *o, pid_t thread, unsigned command, uint64_t argument,
	       struct err *err);
bool tree_ready(struct tree_open *o); /* whether tree_read would not give -EAGAIN */
/* A close(2) of one of several descriptors; tree_close includes it. */
int tree_flush(struct tree_open *o, struct err *err);
void tree_close(struct tree_open *o);
/* The last descriptor was closed, and tree_close will be called from any thread, perhaps later than
 * what the closer does next. For front ends whose callers do not wait for tree_close. Takes the
 * tree's lock only. */
void tree_closing(struct tree_open *o);
/* Waits for the files that tree_closing was called for, TREE_CLOSING_MS at most. Not from an
 * operation of one of them. */
void tree_await_closings(struct tree *t);
void tree_await_acts(struct tree *t); /* the same, for files with acts_at_close */

/* --- waiting ------------------------------------------------------------------------ */

/* Says that a stream may have new data or, for a directory, any stream in it. Cheap, and allowed
 * under the owner's locks. */
void tree_wake(struct tree_node *n);
/* (tests) How often the node was woken: a wait with the number from before misses nothing. */
unsigned tree_wakes(const struct tree_node *n);
/* (tests) Sleeps until the node is woken again. False: tree_end was called. */
bool tree_wait(struct tree_node *n, unsigned wakes);
/* Ends all waiting for good. */
void tree_end(struct tree *t);
/* `woken` is called by tree_wake and tree_end, under the tree's lock, and must not call the
 * tree. */
void tree_watch(struct tree *t, void (*woken)(void *arg), void *arg);
void tree_unwatch(struct tree *t, void *arg); /* after the return it is not being called any more */

/* --- by path: `cat` and `echo` of brace's own ------------------------------------------ */

/* Returns the file's text, NUL-terminated; free() it. NULL and *err. */
char *tree_cat(struct tree *t, const char *path, struct err *err);
/* Does `echo text > path`, or >> path. 0, or -errno and *err. */
int tree_echo(struct tree *t, const char *path, const char *text, bool append, struct err *err);
