/* SPDX-License-Identifier: MIT */
/* A node, for tree.c and open.c, which make up the tree. */
#pragma once
#include "tree/tree.h"

struct tree_node {
	struct tree *tree;
	struct tree_node *parent;     /* held; NULL: the root, or not attached yet */
	VEC(struct tree_node *) children; /* held */
	char *name;
	mode_t mode;                  /* with the type */
	uid_t uid;
	gid_t gid;
	ino_t ino;
	struct timespec accessed, modified;
	const struct tree_file_ops *ops;
	const struct tree_dir_ops *dir_ops;
	struct tree_owner *owner;
	const void *arg;
	/* belongs to the front end: tree_node_front */
	void *front;
	unsigned refs;
	unsigned opens;               /* opens of the file, or of all files below */
	/* the file that this one is a part of (tree_set_whole), which lives longer; NULL: none */
	struct tree_node *whole;
	unsigned parts;               /* open parts of this file */
	unsigned wakes;
	bool gone;                    /* removed: nothing in it can be opened */
};

struct tree_watcher {
	void (*woken)(void *arg);
	void *arg;
};

struct tree {
	pthread_mutex_t lock;
	pthread_cond_t closed;        /* a file was closed; by CLOCK_MONOTONIC */
	pthread_cond_t woken;
	struct tree_node *root;
	ino_t last_ino;
	bool ended;
	/* open files that tree_closing was called for (open.c); of these: with acts_at_close */
	unsigned closings, acting;
	VEC(struct tree_watcher) watchers;
};

/* tree_put by a caller that has the tree's lock. */
void tree_put_locked(struct tree_node *n);
/* Waits until no file in or below n is open, nor a part of n, nor the file that n is a part of.
 * False: patience_ms have passed, and no close is under way (or TREE_CLOSING_MS have passed).
 * Called with the lock held, which is released while it sleeps. */
bool tree_wait_closed(struct tree_node *n, unsigned patience_ms);
