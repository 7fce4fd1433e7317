/* SPDX-License-Identifier: MIT */
/* The events of the measuring threads (instance/measure.h), system osnoise: those of the kernel's
 * that have a source without root. */
#pragma once
#include <stdint.h>

#include "event/provider.h"

/* Every session has them; no program records them. */
extern const struct event_provider osnoise_provider;

/* Records from offset 8 on. Times are CLOCK_MONOTONIC's, in ns. */
#define OSNOISE_COMM 16
struct osnoise_threshold { uint64_t start, duration, interference; };
struct osnoise_thread { char comm[OSNOISE_COMM]; uint64_t start, duration; int32_t pid, pad; };
