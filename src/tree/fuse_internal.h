/* SPDX-License-Identifier: MIT */
/* What the parts of the FUSE face share: fuse_face.c (mounting, threads), fuse_nodes.c (names and attributes),
 * fuse_files.c (open files and those who wait). */
#pragma once
#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "base/caller.h"
#include "tree/fuse_face.h"

#define FUSE_PATIENCE_MS 200 /* release comes after close(2) has returned */

/* A node as the kernel knows it: its number is the address. A directory has one; a file has a new one for
 * every look-up, so that each open has its own pages in the kernel's cache. Several faces may show one tree. */
struct fuse_inode {
	struct fuse_inode *prev, *next; /* in face->inodes */
	struct tree_node *node; /* held */
	struct fuse_face *face;
	void *of_others;        /* of a directory: what other faces have for the node, inode by inode */
	uint64_t lookups;
	_Atomic size_t stored;  /* bytes in the page cache, which stat(2) must tell */
};

struct fuse_open {
	struct fuse_open *prev, *next; /* in face->opens */
	unsigned holds;         /* the kernel's, and of requests that may be answered before they are done */
	struct tree_open *file;
	struct fuse_pollhandle *poll; /* who is to be told */
};

struct fuse_wait; /* a read that waits */

struct fuse_face {
	struct fuse_session *session;
	struct tree *tree;
	uid_t uid;
	char *path;             /* where it is mounted; NULL: in a namespace that is not ours */
	int stop;               /* eventfd: readable when it is to end */
	int over;               /* eventfd: readable when no request is to be answered any more */
	struct fuse_inode root;  /* not in the list */
	pthread_mutex_t lock;   /* below; the tree must not be called under it */
	pthread_cond_t woken;
	unsigned wakes;
	bool ended;
	struct fuse_inode *inodes;
	struct fuse_open *opens;
	struct fuse_wait *waits;
};

/* A request that may have to be answered before it is done. */
struct fuse_call {
	struct caller caller;   /* first */
	fuse_req_t req;
};

/* `answer` replies to the request as if all went well, `result` is what the system call then returns. */
void fuse_call_begin(struct fuse_call *c, fuse_req_t req, void (*answer)(struct caller *c), int64_t result);
void fuse_answer_done(struct caller *c); /* of requests that give nothing but 0 */

struct fuse_inode *fuse_inode_of(struct fuse_face *f, fuse_ino_t ino);
/* Only who mounted it and root; else the request is answered. */
bool fuse_caller_ok(fuse_req_t req);
void fuse_nodes_ops(struct fuse_lowlevel_ops *ops);
void fuse_files_ops(struct fuse_lowlevel_ops *ops);
void fuse_nodes_forget_all(struct fuse_face *f);
/* Gives new data to those who wait, until f->ended; then they see the end. */
void *fuse_files_waker(void *face);
void fuse_files_wake(void *face);
void fuse_files_close_all(struct fuse_face *f);
