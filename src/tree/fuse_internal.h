/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the FUSE mount: fuse_mount.c (mounting, threads), fuse_nodes.c (names and
 * attributes), fuse_files.c (open files and reads that wait), fuse_call.c (requests answered
 * early). */
#pragma once
#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "base/caller.h"
#include "tree/fuse_mount.h"

/* how long an open waits for a file that others have open; a close that is under way is waited for
 * longer (tree_closing): release comes after close(2) has returned */
#define FUSE_PATIENCE_MS 200

/* A node as the kernel knows it: the inode number is the address. A directory has one inode; a file
 * has a new one for every look-up, so that each open has its own pages in the kernel's cache.
 * Several mounts may show one tree. */
struct fuse_inode {
	struct fuse_inode *prev, *next; /* in mount->inodes */
	struct tree_node *node; /* held */
	struct fuse_mount *mount;
	void *of_others;        /* of a directory: the next mount's inode of the node */
	uint64_t lookups;
	/* bytes in the page cache, which stat(2) must report; written by opens, read by stat on
	 * another thread */
	_Atomic size_t stored;
};

/* A file as the kernel has it open. */
struct fuse_open {
	struct fuse_open *prev, *next; /* in mount->opens */
	/* the kernel's, and those of requests that may be answered before they are finished */
	unsigned holds;
	struct tree_open *file;
	struct fuse_pollhandle *poll; /* to be notified when there is data; NULL: nobody polls */
};

struct fuse_wait; /* a read that waits */

struct fuse_mount {
	struct fuse_session *session;
	struct tree *tree;
	uid_t uid;
	char *path;             /* where it is mounted; NULL: in a namespace of another process */
	int stop;               /* eventfd: readable when serving is to end */
	int over;               /* eventfd: readable when no request is to be answered any more */
	struct fuse_inode root;  /* not in the list */
	/* held while a request is received, until it is counted as a close: a request that its
	 * caller made after a close(2) is received after that was counted */
	pthread_mutex_t receiving;
	/* protects everything below; the tree must not be called under it */
	pthread_mutex_t lock;
	pthread_cond_t woken;
	unsigned wakes;
	bool ended;
	struct fuse_inode *inodes;
	struct fuse_open *opens;
	struct fuse_wait *waits;
};

/* A request that may have to be answered before it is finished. */
struct fuse_call {
	struct caller caller;   /* must be first: answers cast from it */
	fuse_req_t req;
};

/* `answer` replies to the request as if all went well; `result` is what the system call then
 * returns. */
void fuse_call_begin(struct fuse_call *c, fuse_req_t req, void (*answer)(struct caller *c),
		     int64_t result);
void fuse_answer_done(struct caller *c); /* answers requests that return only 0 */

/* The inode of a number that the kernel gave back to us. */
struct fuse_inode *fuse_inode_of(struct fuse_mount *f, fuse_ino_t ino);
/* Whether the caller is root or the user that mounted the tree; otherwise the request is answered
 * with EACCES. */
bool fuse_caller_ok(fuse_req_t req);
/* Tells the tree of a request that closes a file for good (tree_closing), before the next request
 * is received. */
void fuse_files_received(const struct fuse_buf *buf);
/* Fill in the operations of fuse_nodes.c and fuse_files.c. */
void fuse_nodes_ops(struct fuse_lowlevel_ops *ops);
void fuse_files_ops(struct fuse_lowlevel_ops *ops);
/* Frees all inodes, at the end: the kernel does not forget each. */
void fuse_nodes_forget_all(struct fuse_mount *f);
/* A thread's function: gives new data to readers that wait, until f->ended; then they get the
 * end. */
void *fuse_files_waker(void *mount);
/* Says that there may be new data. May be called under the tree's lock. */
void fuse_files_wake(void *mount);
/* Closes all files, at the end. */
void fuse_files_close_all(struct fuse_mount *f);
