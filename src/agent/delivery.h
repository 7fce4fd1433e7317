/* SPDX-License-Identifier: MIT */
/* Signal deliveries, seen at the beginnings of handlers: signal:signal_deliver for users that are
 * not root. */
#pragma once
#include <stdbool.h>

#include "shared/probe.h"

/* A handler begins, at a site of kind PROBE_SIGNAL: records the delivery if the kernel made it. */
void delivery_hit(const struct probe_regs *regs, const struct probe_site *site);
/* Call before rt_sigaction: makes a new handler known to the tracer, which probes it before this
 * returns. */
void delivery_changes(const uint64_t *regs);
/* A tracer has come, or has changed its settings. told: deliveries are to be recorded. */
void delivery_begin(bool told);
