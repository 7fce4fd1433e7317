/* SPDX-License-Identifier: MIT */
/* The files of ftrace's directories osnoise/ and hwlat_detector/: how brace's own measuring threads
 * measure (instance/measure.h). Text in, text out, with the kernel's limits. Not locked. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/cpumask.h"

/* The words of osnoise/options, in the kernel's order. */
#define OSNOISE_OPTIONS(X)                                    \
	X(DEFAULTS) X(OSNOISE_WORKLOAD) X(PANIC_ON_STOP)      \
	X(OSNOISE_PREEMPT_DISABLE) X(OSNOISE_IRQ_DISABLE)
enum osnoise_option {
#define X(name) OSNOISE_OPTION_##name,
	OSNOISE_OPTIONS(X)
#undef X
	OSNOISE_OPTIONS_N
};

/* hwlat_detector/mode: one thread that stays, one that goes from processor to processor, or one on
 * each; the words are in the kernel's order. */
enum hwlat_mode { HWLAT_NONE, HWLAT_ROUND_ROBIN, HWLAT_PER_CPU, HWLAT_MODES_N };

struct osnoise_settings {
	struct cpumask cpus;      /* a thread measures on each of them */
	uint64_t period_us, runtime_us;       /* osnoise: it measures for so long, so often */
	uint64_t stop_us, stop_total_us;      /* recording stops at longer ones; 0: never */
	uint64_t print_stack;                 /* kept only: the kernel's stacks are its own */
	uint64_t timerlat_period_us;          /* timerlat: a timer expires so often */
	unsigned options;                     /* bits by enum osnoise_option */
	enum hwlat_mode hwlat_mode;
	uint64_t hwlat_width_us, hwlat_window_us; /* hwlat: it measures for so long, so often */
};

/* Sets the kernel's values after boot. */
void osnoise_init(struct osnoise_settings *s);
/* Does `echo text > file`; file: "osnoise/period_us" and its like. 0, or -EINVAL and *err with the
 * column; then nothing has changed. */
int osnoise_write(struct osnoise_settings *s, const char *file, const char *text, struct err *err);
/* Does `cat file`; free() the result. */
char *osnoise_read(const struct osnoise_settings *s, const char *file);
