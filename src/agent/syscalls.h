/* SPDX-License-Identifier: MIT */
/* Events of system calls, at their probes: called by probe.c and syscall.S on the calling
 * thread. */
#pragma once
#include "shared/probe.h"

/* Records a system call at a site of kind PROBE_CALL: its begin, if the site stands before the
 * call, else its return. regs: the thread's registers there. Signals are blocked inside. A record
 * that finds no room is counted as lost. */
void syscall_hit(const struct probe_regs *regs, const struct probe_site *site);
/* The slow path of syscall.S, which has reserved `at` for the records that the struct call_quick
 * describes, and found no room there. at: address in the session memory, or UNRESERVED. */
void agent_syscall_full(const struct probe_regs *regs, const struct probe_site *site, uint64_t at);
