/* SPDX-License-Identifier: MIT */
/* Events of system calls, at their probes: called by probe.c and syscall.S on the calling
 * thread. */
#pragma once
#include "shared/probe.h"

/* Records a call at a site of kind PROBE_CALL, before or after it. */
void call_hit(const struct probe_regs *regs, const struct probe_site *site);
/* The slow path of syscall.S, which has reserved `at` for the records that the struct call_quick
 * describes, and found no room there. */
void agent_syscall_full(const struct probe_regs *regs, const struct probe_site *site, uint64_t at);
