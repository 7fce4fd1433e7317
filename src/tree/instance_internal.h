/* An instance, for the files that are made of it. */
#pragma once
#include "model/settings.h"
#include "tree/error_log.h"
#include "tree/instance.h"

struct instance {
	struct tree_owner owner;       /* first: nodes lead to it */
	struct tree *tree;
	struct tree_node *pipe;        /* trace_pipe */
	pthread_mutex_t lock;          /* settings, and what changes them */
	struct settings settings;
	pthread_rwlock_t target_lock;  /* after lock; read-held around calls of the target */
	struct tree_target target;
	struct error_log errors;
	unsigned clearing;             /* lists that were opened with `>` and are not closed yet */
	pthread_cond_t cleared;
};

extern const struct tree_dir_ops instances_ops;
extern const struct tree_file_ops function_list_file, all_functions_file; /* function_files.c */

/* `echo text > file` of a setting, as one change: checked, made so by the target, or nothing is changed. */
int instance_write(struct instance *in, const char *file, const char *text, bool append, struct err *err);

/* The target (ops are never NULL), which stays until instance_release. */
struct tree_target instance_hold(struct instance *in);
void instance_release(struct instance *in);
