/* SPDX-License-Identifier: MIT */
/* ftrace's trace options: the lines of trace_options and the files of options/, in ftrace's order,
 * with their values after boot. One bit each; the printers, the command line and the tree share
 * this table.
 *
 * A tracer's own options stand behind the common ones, and only that tracer's are shown in
 * trace_options; options/ has all of them. The order within a group is that of Linux 6.12;
 * copy_trace_marker, func-args, funcgraph-retaddr and funcgraph-args, which are newer, stand where
 * 7.2 has them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum trace_option_group { OPTION_COMMON, OPTION_FUNCTION, OPTION_GRAPH, OPTION_NOP };
/* The reach of a change of an option: the text that instances show, or the records of programs. */
enum trace_option_reach { OPTION_READERS, OPTION_PROGRAMS };

#define TRACE_OPTIONS(X)                                                       \
	X(PRINT_PARENT, "print-parent", COMMON, true, READERS)                 \
	X(SYM_OFFSET, "sym-offset", COMMON, false, READERS)                    \
	X(SYM_ADDR, "sym-addr", COMMON, false, READERS)                        \
	X(VERBOSE, "verbose", COMMON, false, READERS)                          \
	X(RAW, "raw", COMMON, false, READERS)                                  \
	X(HEX, "hex", COMMON, false, READERS)                                  \
	X(BIN, "bin", COMMON, false, READERS)                                  \
	X(BLOCK, "block", COMMON, false, READERS)                              \
	X(FIELDS, "fields", COMMON, false, READERS)                            \
	X(TRACE_PRINTK, "trace_printk", COMMON, true, READERS)                 \
	X(ANNOTATE, "annotate", COMMON, true, READERS)                         \
	X(USERSTACKTRACE, "userstacktrace", COMMON, false, PROGRAMS)           \
	X(SYM_USEROBJ, "sym-userobj", COMMON, false, READERS)                  \
	X(PRINTK_MSG_ONLY, "printk-msg-only", COMMON, false, READERS)          \
	X(CONTEXT_INFO, "context-info", COMMON, true, READERS)                 \
	X(LATENCY_FORMAT, "latency-format", COMMON, false, READERS)            \
	X(RECORD_CMD, "record-cmd", COMMON, true, READERS)                     \
	X(RECORD_TGID, "record-tgid", COMMON, false, READERS)                  \
	X(OVERWRITE, "overwrite", COMMON, true, READERS)                       \
	X(DISABLE_ON_FREE, "disable_on_free", COMMON, false, READERS)          \
	X(IRQ_INFO, "irq-info", COMMON, true, READERS)                         \
	X(MARKERS, "markers", COMMON, true, READERS)                           \
	X(EVENT_FORK, "event-fork", COMMON, false, PROGRAMS)                   \
	X(TRACE_PRINTK_DEST, "trace_printk_dest", COMMON, true, READERS)       \
	X(COPY_TRACE_MARKER, "copy_trace_marker", COMMON, true, READERS)       \
	X(PAUSE_ON_TRACE, "pause-on-trace", COMMON, false, READERS)            \
	X(HASH_PTR, "hash-ptr", COMMON, true, READERS)                         \
	X(FUNCTION_TRACE, "function-trace", COMMON, true, PROGRAMS)            \
	X(FUNCTION_FORK, "function-fork", COMMON, false, PROGRAMS)             \
	X(DISPLAY_GRAPH, "display-graph", COMMON, false, PROGRAMS)             \
	X(STACKTRACE, "stacktrace", COMMON, false, PROGRAMS)                   \
	X(CAUSAL_ORDER, "causal-order", COMMON, false, PROGRAMS) /* brace's own */ \
	X(TEST_NOP_ACCEPT, "test_nop_accept", NOP, false, READERS)             \
	X(TEST_NOP_REFUSE, "test_nop_refuse", NOP, false, READERS)             \
	X(FUNC_STACK_TRACE, "func_stack_trace", FUNCTION, false, PROGRAMS)     \
	X(FUNC_NO_REPEATS, "func-no-repeats", FUNCTION, false, READERS)        \
	X(FUNC_ARGS, "func-args", FUNCTION, false, PROGRAMS)                   \
	X(GRAPH_OVERRUN, "funcgraph-overrun", GRAPH, false, READERS)           \
	X(GRAPH_CPU, "funcgraph-cpu", GRAPH, true, READERS)                    \
	X(GRAPH_OVERHEAD, "funcgraph-overhead", GRAPH, true, READERS)          \
	X(GRAPH_PROC, "funcgraph-proc", GRAPH, false, READERS)                 \
	X(GRAPH_DURATION, "funcgraph-duration", GRAPH, true, READERS)          \
	X(GRAPH_ABSTIME, "funcgraph-abstime", GRAPH, false, READERS)           \
	X(GRAPH_IRQS, "funcgraph-irqs", GRAPH, true, READERS)                  \
	X(GRAPH_TAIL, "funcgraph-tail", GRAPH, false, READERS)                 \
	X(GRAPH_RETVAL, "funcgraph-retval", GRAPH, false, PROGRAMS)            \
	X(GRAPH_RETVAL_HEX, "funcgraph-retval-hex", GRAPH, false, READERS)     \
	X(GRAPH_RETADDR, "funcgraph-retaddr", GRAPH, false, READERS)           \
	X(GRAPH_ARGS, "funcgraph-args", GRAPH, false, PROGRAMS)                \
	X(SLEEP_TIME, "sleep-time", GRAPH, true, READERS)                      \
	X(GRAPH_TIME, "graph-time", GRAPH, true, READERS)

enum trace_option {
#define X(id, name, group, on, reach) OPTION_##id,
	TRACE_OPTIONS(X)
#undef X
	TRACE_OPTIONS_N
};

struct trace_option_info {
	const char *name;
	uint8_t group; /* enum trace_option_group */
	bool on;       /* after boot */
	bool programs; /* a change may concern what the programs record (settings_reach) */
};

/* A set of options: bit `o` is option `o`. */
#define OPTION_BIT(o) (UINT64_C(1) << (o))

/* Whether the option is in the set. */
static inline bool option_is_set(uint64_t options, enum trace_option o)
{
	return options >> o & 1;
}

/* Returns the option's row, a constant; o < TRACE_OPTIONS_N. */
static inline const struct trace_option_info *option_info(enum trace_option o)
{
	static const struct trace_option_info table[TRACE_OPTIONS_N] = {
#define X(id, name, group, on, reach) { name, OPTION_##group, on, OPTION_##reach },
		TRACE_OPTIONS(X)
#undef X
	};

	return &table[o];
}

/* The option of this name (n bytes, without a leading "no"), or TRACE_OPTIONS_N. */
static inline enum trace_option option_find(const char *name, size_t n)
{
	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++) {
		const char *s = option_info(o)->name;

		if (strlen(s) == n && !memcmp(s, name, n))
			return o;
	}
	return TRACE_OPTIONS_N;
}

/* The options that a new instance inherits from the top one: the common ones except these. */
static inline uint64_t options_inherited(void)
{
	uint64_t set = 0;

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		if (option_info(o)->group == OPTION_COMMON)
			set |= OPTION_BIT(o);
	return set & ~(OPTION_BIT(OPTION_EVENT_FORK) | OPTION_BIT(OPTION_FUNCTION_FORK) |
		       OPTION_BIT(OPTION_TRACE_PRINTK_DEST) | OPTION_BIT(OPTION_COPY_TRACE_MARKER) |
		       OPTION_BIT(OPTION_CAUSAL_ORDER));
}

/* The options that are set after boot. */
static inline uint64_t options_default(void)
{
	uint64_t set = 0;

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		set |= (uint64_t)option_info(o)->on << o;
	return set;
}
