/* SPDX-License-Identifier: MIT */
/* function.c and graph.c call it for one reader, on the thread that prints. A record may be
 * anybody's: one that is too short leads nowhere, and a state that the kernel does not have is a
 * question mark. */
#include "report/ctxwake_text.h"

#include <string.h>

#include "report/format.h"

/* The kernel's task_index_to_char(). */
static char state_letter(uint8_t index)
{
	static const char letters[] = "RSDTtXZPI";

	return index < sizeof(letters) - 1 ? letters[index] : '?';
}

/* The kernel's name for a thread that it does not know. */
static const char *name_of(const struct trace_info *info, uint32_t tid, uint64_t tsc)
{
	for (size_t i = info->threads.n; i-- > 0;)
		if (info->threads.at[i].tid == tid)
			return trace_thread_name_at(&info->threads.at[i], tsc);
	return "<...>";
}

/* A deadline thread's priority, -1, is 255 in the record's byte and is printed so, as in Linux. */
static void print_record(struct out *out, const struct trace_info *info, const struct event *e,
			 const char *arrow)
{
	const uint32_t prev = (uint32_t)e->payload[0], next = (uint32_t)(e->payload[0] >> 32);
	const uint32_t cpu = (uint32_t)e->payload[1], low = (uint32_t)(e->payload[1] >> 32);
	const char *comm = name_of(info, next, e->tsc);
	uint8_t rest[4]; /* prev_prio, prev_state, next_prio, next_state */

	memcpy(rest, &low, sizeof(rest));
	out_printf(out, " %7d:%3d:%c %s [%03d] %7d:%3d:%c ", (int)prev, rest[0],
		   state_letter(rest[1]), arrow, (int)cpu, (int)next, rest[2],
		   state_letter(rest[3]));
	out_name(out, comm, format_comm(comm));
}

/* NULL: the event is another. */
static const char *arrow_of(struct event_texts *texts, const struct event *e)
{
	if (e->kind != EVENT_TRACE || e->count < 16)
		return NULL;
	return event_text_is(texts, e, "wakeup")	   ? "  +"
	       : event_text_is(texts, e, "context_switch") ? "==>"
							   : NULL;
}

bool ctxwake_text_record(struct out *out, const struct trace_info *info, struct event_texts *texts,
			 const struct event *e)
{
	const char *arrow = arrow_of(texts, e);

	if (!arrow)
		return false;
	print_record(out, info, e, arrow);
	out_char(out, '\n');
	return true;
}

char *ctxwake_text(const struct trace_info *info, struct event_texts *texts, const struct event *e)
{
	const char *arrow = arrow_of(texts, e);
	struct out_text text = { 0 };
	struct out out;

	if (!arrow)
		return NULL;
	out_init_raw(&out, out_keep_text, &text);
	print_record(&out, info, e, arrow);
	return out_text_end(&out);
}
