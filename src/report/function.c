/* SPDX-License-Identifier: MIT */
/* Prints function and nop traces, for commands and for `trace` and trace_pipe
 * (instance/buffer_*.c), one printer per reader. All forms of a line (plain, latency, verbose, raw,
 * hex, bin, fields) are the kernel's, to the byte. `out` keeps write errors for its owner. A
 * printer belongs to one thread at a time. */
#include "report/function.h"

#include <string.h>

#include "model/option.h"
#include "model/tracer.h"
#include "report/arguments.h"
#include "report/event_text.h"
#include "report/names.h"
#include "report/ctxwake_text.h"
#include "report/osnoise_text.h"
#include "report/location.h"
#include "trace/sites.h"
#include "shared/record.h"

struct function_printer {
	const struct trace_info *info;
	struct out *out;
	uint64_t options;
	struct names names;
	struct sites sites;
	uint64_t start_ns;   /* latency-format: when the program was launched, by the shown clock */
	uint64_t index;      /* latency-format, verbose: number of the record printed next */
	uint64_t before;        /* number of records made before the first one here */
	bool started;
	bool held;           /* latency-format: `last` is not printed yet */
	struct event last;
	/* payload of `last`, whose own is gone by the next event */
	uint64_t payload[RECORD_PAYLOAD_MAX];
	struct event_texts *texts;
	/* says where each CPU's records begin: those before them were overwritten */
	bool annotates;
	VEC(bool) begun;     /* by CPU: it has printed a line */
};

/* The printer does not own `out`. */
struct function_printer *function_new(const struct trace_info *info, uint64_t options,
				      struct out *out)
{
	struct function_printer *p = mem_zalloc(sizeof(*p));

	p->info = info;
	p->out = out;
	p->options = options;
	names_init(&p->names, info);
	sites_init(&p->sites, info);
	p->texts = event_texts_new(info);
	return p;
}

void function_free(struct function_printer *p)
{
	if (!p)
		return;
	names_free(&p->names);
	sites_free(&p->sites);
	event_texts_free(p->texts);
	vec_free(&p->begun);
	free(p);
}

static bool option_on(const struct function_printer *p, enum trace_option o)
{
	return option_is_set(p->options, o);
}

/* --- header ---------------------------------------------------------------------------- */

/* The kernel's legend of the flags column, without its indentation (plain_header adds it). */
static const char *const legend[] = {
	"                     _-----=> irqs-off/BH-disabled\n",
	"                    / _----=> need-resched\n",
	"                   | / _---=> hardirq/softirq\n",
	"                   || / _--=> preempt-depth\n",
	"                   ||| / _-=> migrate-disable\n",
	"                   |||| /     delay\n",
};

/* The thread group column moves everything to the right of it by 10. */
static void plain_header(struct function_printer *p, const struct trace_header *h)
{
	bool tgid = option_on(p, OPTION_RECORD_TGID), irq = option_on(p, OPTION_IRQ_INFO);

	out_printf(p->out, "# entries-in-buffer/entries-written: %llu/%llu   #P:%u\n#\n",
		   (unsigned long long)h->entries, (unsigned long long)h->written, p->info->cpus);
	for (size_t i = 0; irq && i < sizeof(legend) / sizeof(legend[0]); i++)
		out_printf(p->out, "#%*s%s", tgid ? 21 : 11, "", legend[i]);
	out_printf(p->out, "#           TASK-PID     %sCPU#  %s  TIMESTAMP  FUNCTION\n",
		   tgid ? "  TGID    " : "", irq ? "|||||" : " ");
	out_printf(p->out, "#              | |       %s  |   %s     |         |\n",
		   tgid ? "    |     " : "", irq ? "|||||" : " ");
}

/* The header of the kernel's latency format, byte for byte. */
static void latency_columns(struct out *out)
{
	out_str(out, "#                    _------=> CPU#            \n"
		     "#                   / _-----=> irqs-off/BH-disabled\n"
		     "#                  | / _----=> need-resched    \n"
		     "#                  || / _---=> hardirq/softirq \n"
		     "#                  ||| / _--=> preempt-depth   \n"
		     "#                  |||| / _-=> migrate-disable \n"
		     "#                  ||||| /     delay           \n"
		     "#  cmd     pid     |||||| time  |   caller     \n"
		     "#     \\   /        ||||||  \\    |    /       \n");
}

/* The tracer that the header names: the trace's, if this printer is its own. */
static const char *shown_tracer(const struct trace_info *info)
{
	const struct tracer *t = info->tracer ? tracer_find(info->tracer) : NULL;

	return t && !strcmp(t->printer, tracer_function.printer) ? t->name : tracer_function.name;
}

void function_start(struct function_printer *p, uint64_t tsc)
{
	p->started = true;
	p->start_ns = trace_clock_shown(&p->info->clock, tsc);
}

/* The kernel prints no header without context, none of an empty buffer in the latency format, and
 * no columns with `verbose`. */
void function_header(struct function_printer *p, const struct trace_header *h)
{
	const char *tracer = shown_tracer(p->info);

	p->before = h->written - h->entries;
	p->annotates = h->overrun && option_on(p, OPTION_ANNOTATE);
	if (h->latency)
		function_start(p, h->latency->start_tsc);
	format_tracer_line(p->out, tracer);
	if (osnoise_text_header(p->out, tracer))
		return;
	if (!option_on(p, OPTION_CONTEXT_INFO) || (h->empty && option_on(p, OPTION_LATENCY_FORMAT)))
		return;
	if (option_on(p, OPTION_LATENCY_FORMAT)) {
		format_latency_header(p->out, tracer, p->info, h);
		if (!option_on(p, OPTION_VERBOSE))
			latency_columns(p->out);
	} else if (!option_on(p, OPTION_VERBOSE)) {
		plain_header(p, h);
	}
}

/* --- names ----------------------------------------------------------------------------- */

/* The address space in which the event's ids have their meaning: two programs may use one number
 * for different functions. */
static uint32_t image_of(const struct function_printer *p, const struct event *e)
{
	return p->info->threads.at[e->thread].image;
}

/* The entered function; all zeros if it is not known. */
static struct location callee_of(const struct function_printer *p, const struct event *e)
{
	struct location l = { .id = e->fn };

	l.function = trace_info_function(p->info, image_of(p, e), e->fn, &l.module);
	if (l.function)
		l.address = l.module->base + l.function->vaddr;
	return l;
}

/* The kernel tells the address that a call returns to; programs' records have the number of a
 * site. */
static struct location caller_of(const struct function_printer *p, const struct event *e)
{
	if (e->kind == EVENT_CALL && e->flags & EVENT_KERNEL)
		return location_at(p->info, image_of(p, e), e->value, e->value, e->tsc);
	return location_of_site(p->info, image_of(p, e), e->site, e->tsc);
}

/* With sym-offset and sym-addr as they are set. */
static void print_location(struct function_printer *p, uint32_t image, const struct location *l)
{
	location_print(p->out, &p->names, image, l, option_on(p, OPTION_SYM_OFFSET),
		       option_on(p, OPTION_SYM_ADDR));
}

/* --- one line -------------------------------------------------------------------------- */

/* Rounds to microseconds, as ftrace does for this tracer. */
static uint64_t microseconds(uint64_t ns)
{
	return (ns + 500) / 1000;
}

/* By the chosen clock, in its unit. */
static uint64_t time_of(const struct function_printer *p, const struct event *e)
{
	return trace_clock_shown(&p->info->clock, e->tsc);
}

/* Clocks of the kernel count nanoseconds (local, mono, ...), ticks (x86-tsc) or records
 * (counter); columns differ. */
static bool shows_ns(const struct function_printer *p)
{
	return p->info->clock.unit == CLOCK_IN_NS;
}

/* The number shown by a clock without seconds. */
static uint64_t plain_time(const struct function_printer *p, const struct event *e)
{
	return p->info->clock.unit == CLOCK_IN_RECORDS ? p->before + p->index + 1 : time_of(p, e);
}

/* Seconds and microseconds in 5.6 columns; a clock without seconds is a number of 12. */
static void print_time(struct function_printer *p, const struct event *e)
{
	uint64_t us = microseconds(time_of(p, e));

	if (shows_ns(p)) {
		out_u64(p->out, us / 1000000, 5, ' ');
		out_char(p->out, '.');
		out_u64(p->out, us % 1000000, 6, '0');
	} else {
		out_u64(p->out, plain_time(p, e), 12, ' ');
	}
	out_bytes(p->out, ": ", 2);
}

/* At the left of its column, as ftrace prints ids. */
static void print_left(struct out *out, uint64_t v, unsigned width)
{
	unsigned n = out_width(v);

	out_u64(out, v, 0, ' ');
	out_spaces(out, width > n ? width - n : 0);
}

/* Prints comm in `width` columns, cut to `most` bytes. */
static void print_comm(struct out *out, const char *comm, size_t width, size_t most)
{
	size_t n = format_comm(comm);

	n = n < most ? n : most;
	out_spaces(out, width > n ? width - n : 0);
	out_name(out, comm, n);
}

/* The kernel's columns before the call: task, CPU, flags, time. */
static void print_context(struct function_printer *p, const struct event *e)
{
	const struct trace_thread *t = &p->info->threads.at[e->thread];

	print_comm(p->out, trace_thread_name_at(t, e->tsc), 16, 15);
	out_char(p->out, '-');
	print_left(p->out, t->tid, 7);
	out_char(p->out, ' ');
	if (option_on(p, OPTION_RECORD_TGID)) {
		out_char(p->out, '(');
		out_u64(p->out, t->pid, 7, ' ');
		out_bytes(p->out, ") ", 2);
	}
	out_char(p->out, '[');
	out_u64(p->out, e->cpu, 3, '0');
	out_bytes(p->out, "] ", 2);
	if (option_on(p, OPTION_IRQ_INFO)) /* user code: interrupts on, nothing disabled */
		out_str(p->out, ".....");
	out_char(p->out, ' ');
	print_time(p, e);
}

/* next: the time of the record after this one. */
static void print_latency_context(struct function_printer *p, const struct event *e, uint64_t next)
{
	const struct trace_thread *t = &p->info->threads.at[e->thread];
	uint64_t ns = time_of(p, e), rel = microseconds(next > ns ? next - ns : 0);

	print_comm(p->out, trace_thread_name_at(t, e->tsc), 8, 8);
	out_char(p->out, '-');
	print_left(p->out, t->tid, 7);
	out_char(p->out, ' ');
	out_u64(p->out, e->cpu, 3, ' ');
	out_bytes(p->out, "..... ", 6);
	if (shows_ns(p)) {
		out_u64(p->out, microseconds(ns - p->start_ns), 4, ' ');
		out_bytes(p->out, "us", 2);
		out_char(p->out, format_mark(rel * 1000));
	} else {
		out_u64(p->out, plain_time(p, e) - p->start_ns, 4, ' ');
	}
	out_bytes(p->out, ": ", 2);
}

/* The option verbose's columns. next: time of the next event, for the delay. */
static void print_verbose_context(struct function_printer *p, const struct event *e, uint64_t next)
{
	const struct trace_thread *t = &p->info->threads.at[e->thread];
	uint64_t ns = time_of(p, e), abs = microseconds(ns - p->start_ns);
	uint64_t rel = microseconds(next > ns ? next - ns : 0);

	print_comm(p->out, trace_thread_name_at(t, e->tsc), 16, 15);
	if (!shows_ns(p)) {
		out_printf(p->out, " %7u %3u 0 00000000 %08llx [%016llx] %llu (+%llu): ", t->tid,
			   e->cpu, (unsigned long long)p->index,
			   (unsigned long long)plain_time(p, e),
			   (unsigned long long)(plain_time(p, e) - p->start_ns),
			   (unsigned long long)(next > ns ? next - ns : 0));
		return;
	}
	out_printf(p->out,
		   " %7u %3u 0 00000000 %08llx [%08llx] %llu.%03llums (+%llu.%03llums): ", t->tid,
		   e->cpu, (unsigned long long)p->index, (unsigned long long)microseconds(ns),
		   (unsigned long long)abs / 1000, (unsigned long long)abs % 1000,
		   (unsigned long long)rel / 1000, (unsigned long long)rel % 1000);
}

/* The cached way, unless an option wants the address. */
static void print_caller(struct function_printer *p, const struct event *e)
{
	uint32_t image = image_of(p, e);
	uint32_t id = e->flags & EVENT_KERNEL
			      ? FN_NONE
			      : site_caller(p->info, sites_map(&p->sites, image), image, e->site,
					    e->tsc);

	if (id == FN_NONE || option_on(p, OPTION_SYM_OFFSET) || option_on(p, OPTION_SYM_ADDR)) {
		struct location caller = caller_of(p, e);

		print_location(p, image, &caller);
	} else {
		struct name name = names_of(&p->names, image, id & ~SITE_UNHOOKED);

		out_bytes(p->out, name.text, name.n);
	}
}

/* Cached names, unless an option wants the address. */
static void print_callee(struct function_printer *p, const struct event *e)
{
	if (option_on(p, OPTION_SYM_OFFSET) || option_on(p, OPTION_SYM_ADDR)) {
		struct location callee = callee_of(p, e);

		print_location(p, image_of(p, e), &callee);
	} else {
		struct name name = names_of(&p->names, image_of(p, e), e->fn);

		out_bytes(p->out, name.text, name.n);
	}
}

/* A call whose arguments were not recorded has none here. */
static void print_arguments(struct function_printer *p, const struct event *e)
{
	const char *unknown;
	char *text;

	if (!option_on(p, OPTION_FUNC_ARGS))
		return;
	text = e->flags & EVENT_ARGUMENTS ? arguments_text(p->info, e) : NULL;
	unknown = text ? NULL : arguments_unknown(p->info, e->thread, e->fn);
	if (text || unknown)
		out_str(p->out, text ? text : unknown);
	free(text);
}

/* "CALLEE <-CALLER", with the arguments if they are known, or the callee alone with noprint-
 * parent. */
static void print_call(struct function_printer *p, const struct event *e)
{
	print_callee(p, e);
	print_arguments(p, e);
	if (option_on(p, OPTION_PRINT_PARENT)) {
		out_bytes(p->out, " <-", 3);
		print_caller(p, e);
	}
	out_char(p->out, '\n');
}

/* Whether e is ftrace:func_repeats: how often the call before was repeated, and how long before
 * this record the last time was. */
static bool is_repeats(const struct function_printer *p, const struct event *e)
{
	return e->kind == EVENT_TRACE && e->count >= 24 &&
	       event_text_is(p->texts, e, "func_repeats");
}

/* 48 bits: the upper 16 come first. */
static uint64_t repeats_delta(const struct event *e)
{
	return (e->payload[2] >> 16 & 0xffff) << 32 | e->payload[2] >> 32;
}

/* A record of func-no-repeats: how often the preceding call was repeated, and when last. */
static void print_repeats(struct function_printer *p, const struct event *e)
{
	struct location callee =
		location_at(p->info, image_of(p, e), e->payload[0], e->payload[0], e->tsc);
	struct location caller =
		location_at(p->info, image_of(p, e), e->payload[1], e->payload[1] - 1, e->tsc);
	uint64_t us = microseconds(time_of(p, e) - repeats_delta(e));

	print_location(p, image_of(p, e), &callee);
	if (option_on(p, OPTION_PRINT_PARENT)) {
		out_bytes(p->out, " <-", 3);
		print_location(p, image_of(p, e), &caller);
	}
	out_printf(p->out, " (repeats: %u, last_ts: %5llu.%06llu)\n",
		   (unsigned)(e->payload[2] & 0xffff), (unsigned long long)us / 1000000,
		   (unsigned long long)us % 1000000);
}

/* The fields of raw, hex and bin: pid, CPU, ns, the function's address, the return address. */
struct numbers { uint32_t tid, cpu; uint64_t ns, callee, caller; };

/* The struct is what `bin` writes: the order and the widths of its members are the kernel's. */
static struct numbers numbers_of(const struct function_printer *p, const struct event *e)
{
	return (struct numbers){ p->info->threads.at[e->thread].tid, e->cpu, time_of(p, e),
				 callee_of(p, e).address, caller_of(p, e).address };
}

/* Prints an event in raw and hex, where ftrace has no form of its own for events either. */
static void print_type(struct function_printer *p, const struct event *e)
{
	out_printf(p->out, "type: %u\n", event_text_id(p->texts, e));
}

/* Prints an event in raw. Markers have a form there. */
static void print_raw_event(struct function_printer *p, const struct event *e)
{
	const char *marker = event_text_raw(p->texts, e);

	if (marker)
		out_printf(p->out, "%s\n", marker);
	else
		print_type(p, e);
}

/* ftrace's binary form: the struct's bytes. Events have the first 16 only, since no function
 * belongs to them. */
static void print_bin(struct function_printer *p, const struct event *e)
{
	struct numbers n = numbers_of(p, e);

	out_bytes(p->out, (const char *)&n,
		  option_on(p, OPTION_CONTEXT_INFO) ? e->kind == EVENT_TRACE ? 16 : sizeof(n) : 0);
	if (!option_on(p, OPTION_CONTEXT_INFO) && e->kind != EVENT_TRACE)
		out_bytes(p->out, (const char *)&n.callee, 2 * sizeof(n.callee));
}

/* The option `hex`: numbers without names, the context first. */
static void print_hex_line(struct function_printer *p, const struct event *e)
{
	struct numbers n = numbers_of(p, e);
	const struct { uint64_t v; unsigned width; } fields[] = {
		{ n.tid, 8 }, { n.cpu, 8 }, { n.ns, 16 }, { n.callee, 16 }, { n.caller, 16 },
	};

	/* The first three fields are context; events have no other ones. */
	for (size_t i = option_on(p, OPTION_CONTEXT_INFO) ? 0 : 3;
	     i < (e->kind == EVENT_TRACE ? 3 : 5); i++) {
		location_print_hex(p->out, fields[i].v, fields[i].width);
		out_char(p->out, ' ');
	}
	if (e->kind == EVENT_TRACE)
		print_type(p, e);
	out_char(p->out, '\n');
}

/* The kernel has a raw form for calls, for func_repeats and for markers; other events show their
 * type. */
static void print_raw(struct function_printer *p, const struct event *e)
{
	struct numbers n = numbers_of(p, e);

	if (option_on(p, OPTION_CONTEXT_INFO))
		out_printf(p->out, "%u %u %llu ", n.tid, n.cpu, (unsigned long long)n.ns);
	if (is_repeats(p, e)) {
		out_printf(p->out, "%llx %llx %u %llu\n", (unsigned long long)e->payload[0],
			   (unsigned long long)e->payload[1], (unsigned)(e->payload[2] & 0xffff),
			   (unsigned long long)repeats_delta(e));
		return;
	}
	if (e->kind == EVENT_TRACE) {
		print_raw_event(p, e);
		return;
	}
	location_print_hex(p->out, n.callee, 1);
	out_char(p->out, ' ');
	location_print_hex(p->out, n.caller, 1);
	out_char(p->out, '\n');
}

/* Marks the first line of each CPU like ftrace. The very first line of the text is not marked. */
static void annotate_cpu(struct function_printer *p, uint16_t cpu)
{
	while (p->begun.n <= cpu)
		*vec_add(&p->begun) = false;
	if (!p->begun.at[cpu] && p->index)
		out_printf(p->out, "##### CPU %u buffer started ####\n", cpu);
	p->begun.at[cpu] = true;
}

/* Whether only the text is to be printed: a marker, under printk-msg-only. */
static bool is_message_only(const struct function_printer *p, const struct event *e)
{
	return e->kind == EVENT_TRACE && option_on(p, OPTION_PRINTK_MSG_ONLY) &&
	       option_on(p, OPTION_TRACE_PRINTK) && event_text_is(p->texts, e, "print");
}

/* The text of trace_marker without the words before it, which the kernel leaves out, too. */
static void print_message(struct function_printer *p, const char *text)
{
	size_t head = strlen(EVENT_TEXT_MARKER);

	out_printf(p->out, "%s\n", strncmp(text, EVENT_TEXT_MARKER, head) ? text : text + head);
}

/* The records that tracers of brace's own write; false: it is another event. */
static bool print_tracers_record(struct function_printer *p, const struct event *e)
{
	return osnoise_text_record(p->out, p->texts, e) ||
	       ctxwake_text_record(p->out, p->info, p->texts, e);
}

/* A line of text: context by the options, then a call or an event. */
static void print_text(struct function_printer *p, const struct event *e, uint64_t next)
{
	if (p->annotates)
		annotate_cpu(p, e->cpu);
	if (!option_on(p, OPTION_CONTEXT_INFO))
		;
	else if (!option_on(p, OPTION_LATENCY_FORMAT))
		print_context(p, e);
	else if (option_on(p, OPTION_VERBOSE))
		print_verbose_context(p, e, next);
	else
		print_latency_context(p, e, next);
	if (is_repeats(p, e) && !option_on(p, OPTION_FIELDS)) {
		print_repeats(p, e);
	} else if (!option_on(p, OPTION_FIELDS) && print_tracers_record(p, e)) {
		;
	} else if (e->kind == EVENT_TRACE) {
		out_str(p->out, event_text(p->texts, e, p->options));
		out_char(p->out, '\n');
	/* as Linux answers: function records have no type to ask */
	} else if (option_on(p, OPTION_FIELDS))
		out_str(p->out, "UNKNOWN TYPE 1\n");
	else
		print_call(p, e);
}

/* Options bin, hex and raw come before the text, in the kernel's order. */
static void print_event_line(struct function_printer *p, const struct event *e, uint64_t next)
{
	if (is_message_only(p, e))
		print_message(p, event_text(p->texts, e, p->options & ~OPTION_BIT(OPTION_FIELDS)));
	else if (option_on(p, OPTION_BIN))
		print_bin(p, e);
	else if (option_on(p, OPTION_HEX))
		print_hex_line(p, e);
	else if (option_on(p, OPTION_RAW))
		print_raw(p, e);
	else
		print_text(p, e, next);
	p->index++;
}

/* The next record's time is not known: the mark is blank. */
void function_flush(struct function_printer *p)
{
	if (p->held)
		print_event_line(p, &p->last, time_of(p, &p->last));
	p->held = false;
}

/* When the program was launched, or the first record was made if that is earlier. */
static uint64_t start_of(const struct function_printer *p, const struct event *first)
{
	const struct trace_image *program = trace_info_program(p->info);
	uint64_t launch = program ? program->tsc : 0;

	if (p->info->clock.unit == CLOCK_IN_RECORDS)
		return 0;
	return launch && launch < first->tsc ? trace_clock_shown(&p->info->clock, launch)
					     : time_of(p, first);
}

/* Exits and sleeps have no line here; losses have one of their own. */
void function_event(struct function_printer *p, const struct event *e)
{
	if (e->thread >= p->info->threads.n)
		return; /* a damaged source */
	if (e->kind == EVENT_LOST) {
		function_flush(p);
		format_lost(p->out, e->cpu, e->count);
	}
	if (e->kind != EVENT_CALL && e->kind != EVENT_ENTRY_ONLY && e->kind != EVENT_TRACE)
		return;
	if (!p->started) {
		p->started = true;
		p->start_ns = start_of(p, e);
	}
	/* The latency format shows how long it is to the next record: each record waits for that
	 * one. */
	if (!option_on(p, OPTION_LATENCY_FORMAT)) {
		print_event_line(p, e, 0);
		return;
	}
	if (p->held)
		print_event_line(p, &p->last, time_of(p, e));
	p->last = *e;
	p->held = true;
	if ((e->kind == EVENT_TRACE || e->flags & EVENT_ARGUMENTS) &&
	    e->count <= sizeof(p->payload)) {
		memcpy(p->payload, e->payload, e->count);
		p->last.payload = p->payload;
	}
}
