/* SPDX-License-Identifier: MIT */
/* --config FILE and BRACE_CONFIG: a boot configuration as settings of a run. It is weaker than the
 * options beside it. As in the kernel, a key that cannot be carried out is told, and the others go
 * on; --strict makes an error of the first one. */
#pragma once
#include "config/writes.h"
#include "ui/event_writes.h"
#include "ui/invocation.h"

struct config_use {
	struct bootconfig file;
	struct config_writes writes;
	enum config_state { CONFIG_WAITS, CONFIG_TOLD, CONFIG_DEFINED } *states; /* by write */
};

/* Reads the file that the command line or the environment names, if any. Its settings come before
 * inv->writes; events, instances and other files wait for config_option_apply(). 0, or -errno and
 * *err. */
int config_option_read(struct invocation *inv, struct err *err);
void config_option_free(struct invocation *inv);
/* Whether there are writes that only a tree can take. */
bool config_option_needs_tree(const struct invocation *inv);
/* Carries these out, in order. 0, or -errno and *err with --strict. */
int config_option_apply(const struct invocation *inv, const struct event_files *f, struct err *err);
/* Tells the writes whose effect nobody can read after a run in the foreground: triggers for which
 * `unread` has a sentence, and instances. -EINVAL and *err with --strict. */
int config_option_refuse(const struct invocation *inv, const char *(*unread)(const char *trigger),
			 struct err *err);
/* A write of inv->writes has failed. If a configuration made it, and there is no --strict, it is
 * told, once, and 0 returned; otherwise -errno. */
int config_option_failed(const struct invocation *inv, const struct setting_write *w,
			 struct err *err);
/* "FILE:LINE:COLUMN" of a place, for free(). */
char *config_option_position(const struct config_use *u, size_t at);
/* Tells the keys that stand for no write. -EINVAL and *err with --strict. */
int config_option_remarks(const struct config_use *u, bool strict, struct err *err);
