/* SPDX-License-Identifier: MIT */
/* Events that a user defines in the kernel: probes (p, r), probes of functions (f), of tracepoints
 * (t) and of other events (e). The kernel has one list of them, dynamic_events. brace puts its own
 * into a group that is named after its instance, brace_PID. */
#pragma once
#include "kernel/instance.h"

/* Defines the event that the text describes in the kernel's grammar, `p:NAME PLACE ARGUMENT...`;
 * its name may be missing. *event: "GROUP:NAME", for free(). 0, or -errno and *err with the
 * kernel's own reason and column, or the sentence that says which option of the kernel is missing.
 * */
int kernel_probes_define(const struct kernel_instance *i, const char *text, char **event,
			 struct err *err);
/* Whether the text is such a definition, not the name of an event. */
bool kernel_probes_is(const char *text);
/* The system that the kernel would have put this event of ours into: "kprobes"; NULL: it is none of
 * ours. */
const char *kernel_probes_system(const char *top, const char *group, const char *event);
/* The name for a synthetic event of this process, brace_PID_NAME, for free(). Whoever defines it
 * has an instance of its own: the event goes with that. */
char *kernel_probes_synthetic(const char *name);
/* Removes the events of ours whose instances are gone, also synthetic ones. Returns how many. top:
 * the kernel's tracing directory. */
unsigned kernel_probes_sweep(const char *top);
