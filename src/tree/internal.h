/* SPDX-License-Identifier: MIT */
/* A node, for the two files that make up the tree. */
#pragma once
#include "tree/tree.h"

struct tree_node {
	struct tree *tree;
	struct tree_node *parent;     /* held; NULL: the root, or not attached yet */
	VEC(struct tree_node *) children; /* held */
	char *name, *target;          /* target: of a symbolic link */
	mode_t mode;                  /* with the type */
	uid_t uid;
	gid_t gid;
	ino_t ino;
	struct timespec accessed, modified;
	const struct tree_file_ops *ops;
	const struct tree_dir_ops *dir_ops;
	struct tree_owner *owner;
	const void *arg;
	void *front;
	unsigned refs;
	unsigned opens;               /* of the file, or of all files below */
	struct tree_node *whole;      /* lives longer; NULL: the file is no part of another one (tree_set_whole) */
	unsigned parts;               /* of the file that are open */
	unsigned wakes;
	bool gone;                    /* removed: nothing in it can be opened */
};

struct tree_watcher {
	void (*woken)(void *arg);
	void *arg;
};

struct tree {
	pthread_mutex_t lock;
	pthread_cond_t closed;        /* some file was closed */
	pthread_cond_t woken;
	struct tree_node *root;
	ino_t last_ino;
	bool ended;
	VEC(struct tree_watcher) watchers;
};

void tree_put_locked(struct tree_node *n);
/* Locked: sleeps until no file in or below it is open; false: some still is. */
/* Locked. No part of n is open, nor the file that it is a part of, nor n. */
bool tree_wait_closed(struct tree_node *n, unsigned patience_ms);
