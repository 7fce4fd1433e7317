/* SPDX-License-Identifier: MIT */
/* Signals that are delivered, seen where their handlers begin: signal:signal_deliver for who is not root. */
#pragma once
#include <stdbool.h>

#include "shared/probe.h"

/* At a site of kind PROBE_SIGNAL. */
void delivery_hit(const struct probe_regs *regs, const struct probe_site *site);
/* Before rt_sigaction: a handler that is new is made known to the tracer, which probes it before this returns. */
void delivery_changes(const uint64_t *regs);
/* A tracer has come, or has other wishes. told: deliveries are among them. */
void delivery_begin(bool told);
