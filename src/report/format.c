/* SPDX-License-Identifier: MIT */
/* ftrace's number formats, byte for byte: tests compare them with the kernel's output. Both
 * printers and instance/ use them; nothing here has state or fails. Any thread. */
#include "report/format.h"

/* The marks of the kernel's function_graph, the longest first. */
char format_mark(uint64_t ns)
{
	static const struct { uint64_t over; char mark; } marks[] = {
		{ 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' },
		{ 1000000, '#' }, { 100000, '!' }, { 10000, '+' },
	};

	/* Most calls are shorter than every mark. */
	if (ns <= 10000)
		return ' ';
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ns > marks[i].over)
			return marks[i].mark;
	return ' ';
}

/* Written digit by digit: graph output spends most of its time here. */
void format_duration(struct out *o, uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned rest = (unsigned)(ns % 1000), n = out_width(us);
	char decimals[3] = { (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
			     (char)('0' + rest % 10) };

	out_u64(o, us, 0, ' ');
	if (n < 7) { /* the point and digits fill up to 8, but at most three digits */
		unsigned digits = 7 - n < 3 ? 7 - n : 3;

		out_char(o, '.');
		out_bytes(o, decimals, digits);
		n += 1 + digits;
	}
	out_bytes(o, " us ", 4);
	out_spaces(o, n < 8 ? 8 - n : 0);
}

/* The first line of every text of a tracer, also of an empty one. */
void format_tracer_line(struct out *o, const char *tracer)
{
	out_printf(o, "# tracer: %s\n#\n", tracer);
}

/* Task and latency are fixed: nothing in a program corresponds to them. */
void format_latency_header(struct out *o, const char *tracer, const struct trace_info *info,
			   const struct trace_header *h)
{
	static const struct trace_latency none;
	const struct trace_latency *l = h->latency ? h->latency : &none;

	out_printf(o, "# %s latency trace v1.1.5 on %s\n", tracer,
		   info->kernel ? info->kernel : "");
	out_str(o, "# --------------------------------------------------------------------\n");
	out_printf(o, "# latency: %llu us, #%llu/%llu, CPU#%u | (M:%s VP:0, KP:0, SP:0 HP:0 #P:%u)\n",
		   (unsigned long long)l->us, (unsigned long long)h->entries,
		   (unsigned long long)h->written, h->latency ? l->cpu : h->cpu,
		   h->preempt ? h->preempt : "preempt", info->cpus);
	out_str(o, "#    -----------------\n"
		   "#    | task: ");
	out_name(o, l->comm, format_comm(l->comm));
	out_printf(o, "-%u (uid:%u nice:%d policy:%d rt_prio:%d)\n", l->tid, l->uid, l->nice,
		   l->policy, l->rt_prio);
	out_str(o, "#    -----------------\n"
		   "#\n");
}

/* The kernel's names have 15 bytes at most; a damaged one may lack its NUL. */
size_t format_comm(const char *comm)
{
	return strnlen(comm, TRACE_COMM - 1);
}

/* The kernel's line, at the place where the records are missing. */
void format_lost(struct out *o, uint16_t cpu, uint64_t count)
{
	out_str(o, "CPU:");
	out_u64(o, cpu, 0, ' ');
	out_str(o, " [LOST ");
	out_u64(o, count, 0, ' ');
	out_str(o, " EVENTS]\n");
}
