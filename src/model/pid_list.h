/* SPDX-License-Identifier: MIT */
/* Process or thread ids, as in set_ftrace_pid and the like. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct pid_list {
	VEC(pid_t) pids; /* ascending, each once; empty: everybody, unless */
	bool all_ended;  /* named threads of which none exists any more: selects nobody */
};

/* Adds the numbers in text to the list, or replaces the list by them (append false). A text without
 * numbers empties it, as ftrace's does. 0, or -EINVAL and *err with the column; then the list is
 * unchanged. */
int pid_list_write(struct pid_list *l, const char *text, bool append, struct err *err);
/* One number a line, or `empty`; free() it. */
char *pid_list_read(const struct pid_list *l, const char *empty);
/* Whether a list of wanted and a list of unwanted threads let the thread pass. */
bool pid_lists_allow(const struct pid_list *these, const struct pid_list *not_these, pid_t pid);
/* Whether the number is in the list; an empty list has none. */
bool pid_list_has(const struct pid_list *l, pid_t pid);
/* Adds the number, once. */
void pid_list_add(struct pid_list *l, pid_t pid);
/* Removes the number. If it was the last one all_ended is set. */
void pid_list_remove(struct pid_list *l, pid_t pid);
/* A deep copy; what *to had is not freed. pid_list_free() frees it. */
void pid_list_copy(struct pid_list *to, const struct pid_list *from);
void pid_list_free(struct pid_list *l);
