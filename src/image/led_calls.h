/* SPDX-License-Identifier: MIT */
/* The C library's system calls that an agent loaded by ld.so leads through itself
 * (agent/libc_calls.c), and the probes of their returns. */
#pragma once
#include "image/patch_source.h"

/* Whether the probe would stand in bytes that the agent takes for itself, when the program starts,
 * and by which it finds the call: else it would not see a filter before the program binds itself by
 * it. Call once the functions' patches are in the job's list. */
bool led_calls_take(const struct patch_job *j, const struct probe_point *p);
