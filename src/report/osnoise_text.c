/* SPDX-License-Identifier: MIT */
/* function.c calls it for one reader, on the thread that prints. A record may be anybody's: one
 * that is too short, or whose noise is more than its runtime, leads nowhere. */
#include "report/osnoise_text.h"

#include <inttypes.h>
#include <string.h>

#define LEGEND                                                              \
	"#                                _-----=> irqs-off\n"              \
	"#                               / _----=> need-resched\n"          \
	"#                              | / _---=> hardirq/softirq\n"       \
	"#                              || / _--=> preempt-depth\n"

static const char osnoise_columns[] = LEGEND
	"#                              ||| / _-=> migrate-disable                         MAX\n"
	"#                              |||| /     delay                                   SINGLE      Interference counters:\n"
	"#                              |||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+\n"
	"#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD\n"
	"#              | |         |   |||||      |           |             |    |            |      |      |      |      |      |\n";

static const char timerlat_columns[] = LEGEND
	"#                              ||| / _-=> migrate-disable\n"
	"#                              |||| /     delay\n"
	"#                              |||||            ACTIVATION\n"
	"#           TASK-PID      CPU# |||||   TIMESTAMP   ID            CONTEXT                 LATENCY\n"
	"#              | |         |   |||||      |         |                  |                       |\n";

/* Words of a record of ftrace:osnoise, and its counters as they lie in the words. */
enum { NOISE, RUNTIME, MAX_SAMPLE, COUNTERS, OSNOISE_WORDS = 6 };
#define COUNTERS_N 5

/* Times are in us. AVAILABLE is what noise has left of the runtime, in percent with five decimals;
 * 128 bits, because ten million times a runtime may overflow 64. */
static void print_osnoise(struct out *out, const struct event *e)
{
	uint32_t counters[2 * (OSNOISE_WORDS - COUNTERS)];
	uint64_t runtime = e->payload[RUNTIME], noise = e->payload[NOISE];
	uint64_t left = runtime > noise ? runtime - noise : 0;
	/* In hundred thousandths of a percent. */
	uint64_t part = runtime ? (uint64_t)((unsigned __int128)left * 10000000 / runtime) : 0;

	memcpy(counters, e->payload + COUNTERS, sizeof(counters));
	out_printf(out, "%" PRIu64 " %10" PRIu64 " %3" PRIu64 ".%05" PRIu64 " %7" PRIu64, runtime,
		   noise, part / 100000, part % 100000, e->payload[MAX_SAMPLE]);
	for (unsigned i = 0; i < COUNTERS_N; i++)
		out_printf(out, " %6u", counters[i]);
	out_char(out, '\n');
}

static void print_timerlat(struct out *out, const struct event *e)
{
	static const char *const contexts[] = { "irq", "thread", "user-ret" };
	uint32_t seq = (uint32_t)e->payload[0], context = (uint32_t)(e->payload[0] >> 32);

	out_printf(out, "#%-5u context %6s timer_latency %9" PRIu64 " ns\n", seq,
		   context < 3 ? contexts[context] : "?", e->payload[1]);
}

/* Words of a record of ftrace:hwlat. */
enum { DURATION, OUTER_DURATION, NMI_TOTAL_TS, TV_SEC, TV_NSEC, NMIS_AND_NUMBER, COUNT,
       HWLAT_WORDS };

/* inner: the longest gap between two readings of the clock in a row; outer: between two rounds
 * (Documentation/trace/hwlat_detector.rst). NMIs are shown where there were any. */
static void print_hwlat(struct out *out, const struct event *e)
{
	const uint64_t *p = e->payload;

	out_printf(out, "#%-5u inner/outer(us): %4" PRIu64 "/%-5" PRIu64 " ts:%" PRId64 ".%09" PRId64
		   " count:%d", (uint32_t)(p[NMIS_AND_NUMBER] >> 32), p[DURATION],
		   p[OUTER_DURATION], (int64_t)p[TV_SEC], (int64_t)p[TV_NSEC], (int)p[COUNT]);
	if ((uint32_t)p[NMIS_AND_NUMBER])
		out_printf(out, " nmi-count:%u", (uint32_t)p[NMIS_AND_NUMBER]);
	out_char(out, '\n');
}

/* A tracer that measures, and the event of its name: its columns (NULL: the function tracer's), the
 * least bytes of a record, and what prints one, up to the newline. */
static const struct measured_text {
	const char *name, *columns;
	size_t bytes;
	void (*print)(struct out *out, const struct event *e);
} texts_of[] = {
	{ "osnoise", osnoise_columns, 8 * OSNOISE_WORDS, print_osnoise },
	{ "timerlat", timerlat_columns, 16, print_timerlat },
	{ "hwlat", NULL, 8 * HWLAT_WORDS, print_hwlat },
};
#define TEXTS_N (sizeof(texts_of) / sizeof(*texts_of))

bool osnoise_text_header(struct out *out, const char *tracer)
{
	for (size_t i = 0; i < TEXTS_N; i++)
		if (texts_of[i].columns && !strcmp(tracer, texts_of[i].name)) {
			out_str(out, texts_of[i].columns);
			return true;
		}
	return false;
}

bool osnoise_text_record(struct out *out, struct event_texts *texts, const struct event *e)
{
	for (size_t i = 0; e->kind == EVENT_TRACE && i < TEXTS_N; i++)
		if (e->count >= texts_of[i].bytes && event_text_is(texts, e, texts_of[i].name)) {
			texts_of[i].print(out, e);
			return true;
		}
	return false;
}
