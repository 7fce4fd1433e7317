/* SPDX-License-Identifier: MIT */
/* The counter that stamps records: the same on all processors, at one rate. Any thread, and inside
 * of the traced process too. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"

static inline uint64_t stamp_read(void);
/* Makes the next stamp_read() wait for the loads before it. */
static inline void stamp_wait(void);

/* The machine's part has STAMP_WAIT_CODE, the bytes { } of stamp_wait(), for code that is written;
 * STAMP_TOLD_BY, the name of what tells the rate; STAMP_CLOCK, the counter as ftrace's trace_clock
 * names it; STAMP_CLOCK_SINCE, which kernel has it; and for the tracer's side two functions: */
/* True if the processor promises one rate, and one count on all processors. */
bool stamp_is_steady(void);
/* The counter's rate in Hz as the processor tells it; 0: it does not. */
uint64_t stamp_hz(void);

#include MACHINE_HEADER(stamp.h)
