/* SPDX-License-Identifier: MIT */
/* Process or thread ids, as set_ftrace_pid and its like hold them. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct pid_list {
	VEC(pid_t) pids; /* ascending, each once; empty: the list says nothing, but for: */
	bool all_ended;  /* it named threads, and none of them is there any more: it means nobody */
};

/* Numbers between blanks are added, or are the list (append false). A text without any empties it, as ftrace's does. 0,
 * or -EINVAL and *err with the column; then the list is unchanged. */
int pid_list_write(struct pid_list *l, const char *text, bool append, struct err *err);
/* One a line, or `empty`; free() it. */
char *pid_list_read(const struct pid_list *l, const char *empty);
/* Whether a list of those who are meant and one of those who are not let the thread through. */
bool pid_lists_allow(const struct pid_list *these, const struct pid_list *not_these, pid_t pid);
bool pid_list_has(const struct pid_list *l, pid_t pid);
void pid_list_add(struct pid_list *l, pid_t pid);
/* The last one: all_ended. */
void pid_list_remove(struct pid_list *l, pid_t pid);
void pid_list_copy(struct pid_list *to, const struct pid_list *from);
void pid_list_free(struct pid_list *l);
