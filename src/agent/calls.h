/* SPDX-License-Identifier: MIT */
/* System calls that are led past the agent. */
#pragma once
#include "shared/probe.h"

/* At a site of kind PROBE_CALL. */
void call_hit(const struct probe_regs *regs, const struct probe_site *site);
/* syscall.S has reserved `at` for what the call's struct call_quick says, and found no room there. */
void agent_syscall_full(const struct probe_regs *regs, const struct probe_site *site, uint64_t at);
