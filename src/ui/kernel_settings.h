/* SPDX-License-Identifier: MIT */
/* The command line's settings, written to an instance of the kernel's own tracing. */
#pragma once
#include "kernel/instance.h"
#include "ui/invocation.h"

/* Whether options write files that the kernel has once for all instances. */
bool kernel_settings_shared(const struct invocation *inv);
/* Carries the writes out, current_tracer last, and those for printing in inv->settings. 0, or
 * -errno and *err, which names the option. */
int kernel_settings_write(struct invocation *inv, struct kernel_instance *i, struct err *err);
/* kernel_settings_write() for an instance that is in use: the tracer stays if none is named. */
int kernel_settings_change(struct invocation *inv, struct kernel_instance *i, struct err *err);
/* Puts the option before the sentence, as the user wrote it; NULL is fine. Returns -errno. */
int kernel_settings_name_option(const struct option *o, struct err *err);
