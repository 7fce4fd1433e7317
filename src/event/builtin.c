/* SPDX-License-Identifier: MIT */
/* ftrace's own events as far as a traced program has them, with the numbers and layouts of Linux
 * 6.12, by which trace-cmd and libtraceevent look them up. The catalogue copies this table.
 * Addresses are the traced program's, also in kernel_stack, whose name is the one that tools look
 * for. Constants only, for any thread. */
#include "event/format.h"

/* EVENT: brace has only the format. OWN: it makes records of it, too, as the tracer of its name
 * does. The fields follow the print format. A compound literal gives them static storage,
 * since the table is static. */
#define ROW(id_, name_, own_, print_, ...)                                                            \
	{ "ftrace", name_, id_, (const struct event_field[]){ __VA_ARGS__ },                          \
	  sizeof((const struct event_field[]){ __VA_ARGS__ }) / sizeof(struct event_field), print_,   \
	  own_ }
#define EVENT(id_, name_, ...) ROW(id_, name_, false, __VA_ARGS__)
#define OWN(id_, name_, ...) ROW(id_, name_, true, __VA_ARGS__)
#define CALLER(i) ", (void *)REC->caller[" #i "]"
#define STACK_PRINT "\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "        \
	"\"\\t=> %ps\\n\\t=> %ps\\n\"" CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5) \
	CALLER(6) CALLER(7)
/* A switch and a wake have the same: who ran or wakes, and who runs next or is woken. */
#define CTXWAKE_FIELDS                                                                                \
	{ "unsigned int", "prev_pid", 8, 4, false }, { "unsigned int", "next_pid", 12, 4, false },    \
		{ "unsigned int", "next_cpu", 16, 4, false },                                         \
		{ "unsigned char", "prev_prio", 20, 1, false },                                       \
		{ "unsigned char", "prev_state", 21, 1, false },                                      \
		{ "unsigned char", "next_prio", 22, 1, false },                                       \
		{ "unsigned char", "next_state", 23, 1, false }

static const struct event_format builtin[] = {
	EVENT(1, "function", "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip",
	      { "unsigned long", "ip", 8, 8, false },
	      { "unsigned long", "parent_ip", 16, 8, false }),
	EVENT(11, "funcgraph_entry", "\"--> %ps (%d)\", (void *)REC->func, REC->depth",
	      { "unsigned long", "func", 8, 8, false }, { "int", "depth", 16, 4, true }),
	EVENT(10, "funcgraph_exit",
	      "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d retval: %lx\", (void *)REC->func, REC->depth, "
	      "REC->calltime, REC->rettime, REC->depth, REC->retval",
	      { "unsigned long", "func", 8, 8, false }, { "unsigned long", "retval", 16, 8, false },
	      { "int", "depth", 24, 4, true }, { "unsigned int", "overrun", 28, 4, false },
	      { "unsigned long long", "calltime", 32, 8, false },
	      { "unsigned long long", "rettime", 40, 8, false }),
	OWN(5, "print", "\"%ps: %s\", (void *)REC->ip, REC->buf",
	      { "unsigned long", "ip", 8, 8, false }, { "char[]", "buf", 16, 0, false }),
	EVENT(12, "user_stack", STACK_PRINT, { "unsigned int", "tgid", 8, 4, false },
	      { "unsigned long[8]", "caller", 16, 64, false }),
	EVENT(4, "kernel_stack", STACK_PRINT, { "int", "size", 8, 4, true },
	      { "unsigned long[8]", "caller", 16, 64, false }),
	EVENT(19, "func_repeats",
	      "\" %ps <-%ps\\t(repeats:%u  delta: -%llu)\", (void *)REC->ip, (void *)REC->parent_ip, REC->count, "
	      "(((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)",
	      { "unsigned long", "ip", 8, 8, false },
	      { "unsigned long", "parent_ip", 16, 8, false }, { "u16", "count", 24, 2, false },
	      { "u16", "top_delta_ts", 26, 2, false }, { "u32", "bottom_delta_ts", 28, 4, false }),
	OWN(2, "context_switch",
	      "\"%u:%u:%u  ==> %u:%u:%u [%03u]\", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, "
	      "REC->next_prio, REC->next_state, REC->next_cpu",
	      CTXWAKE_FIELDS),
	OWN(3, "wakeup",
	      "\"%u:%u:%u  ==+ %u:%u:%u [%03u]\", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, "
	      "REC->next_prio, REC->next_state, REC->next_cpu",
	      CTXWAKE_FIELDS),
	OWN(15, "hwlat",
	      "\"cnt:%u\\tts:%010llu.%010lu\\tinner:%llu\\touter:%llu\\tcount:%d\\tnmi-ts:%llu\\tnmi-count:%u\\n\", "
	      "REC->seqnum, REC->tv_sec, REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, "
	      "REC->nmi_total_ts, REC->nmi_count",
	      { "u64", "duration", 8, 8, false }, { "u64", "outer_duration", 16, 8, false },
	      { "u64", "nmi_total_ts", 24, 8, false }, { "s64", "tv_sec", 32, 8, true },
	      { "long", "tv_nsec", 40, 8, true }, { "unsigned int", "nmi_count", 48, 4, false },
	      { "unsigned int", "seqnum", 52, 4, false },
	      { "unsigned int", "count", 56, 4, false }),
	OWN(16, "osnoise",
	      "\"noise:%llu\\tmax_sample:%llu\\thw:%u\\tnmi:%u\\tirq:%u\\tsoftirq:%u\\tthread:%u\\n\", REC->noise, "
	      "REC->max_sample, REC->hw_count, REC->nmi_count, REC->irq_count, REC->softirq_count, REC->thread_count",
	      { "u64", "noise", 8, 8, false }, { "u64", "runtime", 16, 8, false },
	      { "u64", "max_sample", 24, 8, false }, { "unsigned int", "hw_count", 32, 4, false },
	      { "unsigned int", "nmi_count", 36, 4, false },
	      { "unsigned int", "irq_count", 40, 4, false },
	      { "unsigned int", "softirq_count", 44, 4, false },
	      { "unsigned int", "thread_count", 48, 4, false }),
	OWN(17, "timerlat",
	      "\"seq:%u\\tcontext:%d\\ttimer_latency:%llu\\n\", REC->seqnum, REC->context, REC->timer_latency",
	      { "unsigned int", "seqnum", 8, 4, false }, { "int", "context", 12, 4, true },
	      { "u64", "timer_latency", 16, 8, false }),
	OWN(18, "raw_data", "\"id:%04x %08x\", REC->id, (int)REC->buf[0]",
	      { "unsigned int", "id", 8, 4, false }, { "char[]", "buf", 12, 0, false }),
};

const struct event_format *event_builtin(size_t *n)
{
	*n = sizeof(builtin) / sizeof(builtin[0]);
	return builtin;
}
