/* SPDX-License-Identifier: MIT */
/* The files of the kernel's directory rv/ (runtime verification): which monitors watch programs,
 * and what follows when one finds what its model does not allow (instance/monitors.h). Text in,
 * text out, with the kernel's words. Not locked. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

#define RV_MONITORS(X) \
	X(EBADF, "ebadf", "no descriptor is used, or closed again, that the process has closed")
enum rv_monitor {
#define X(id, name, about) RV_##id,
	RV_MONITORS(X)
#undef X
	RV_MONITORS_N
};

/* The kernel's nop and printk, and what triggers can do. */
#define RV_REACTORS(X) X(NOP, "nop") X(PRINTK, "printk") X(SNAPSHOT, "snapshot") X(STOP, "stop") \
	X(TRACEOFF, "traceoff")
enum rv_reactor {
#define X(id, name) RV_REACTOR_##id,
	RV_REACTORS(X)
#undef X
	RV_REACTORS_N
};

struct rv_settings {
	bool monitoring, reacting;  /* rv/monitoring_on, rv/reacting_on */
	struct { bool enabled; enum rv_reactor reactor; } at[RV_MONITORS_N];
};

/* As after boot: monitoring and reacting are on, no monitor is enabled. */
void rv_init(struct rv_settings *s);
/* Does `echo text > file`, or >> if `append`; file: "rv/enabled_monitors" and its like. 0, or
 * -errno and *err with the column. */
int rv_write(struct rv_settings *s, const char *file, const char *text, bool append,
	     struct err *err);
/* Returns the file's content, for free(). */
char *rv_read(const struct rv_settings *s, const char *file);
/* Whether the monitor watches. */
bool rv_watches(const struct rv_settings *s, enum rv_monitor m);
/* Whether any of them does. */
bool rv_watches_any(const struct rv_settings *s);
/* The name of its folder below rv/monitors; constant. */
const char *rv_name(enum rv_monitor m);
/* Whether the file's path, "rv/monitors/NAME/enable", is of this monitor. */
bool rv_is_of(const char *file, enum rv_monitor m);
