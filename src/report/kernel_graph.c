/* SPDX-License-Identifier: MIT */
/* The kernel's graph. Its state is the kernel's own (trace_functions_graph.c there): for each CPU
 * the task printed last, the open function at each depth, and the depth for comments. Used by one
 * thread at a time. Records may be a damaged file's: depths and threads are bounded here. */
#include "report/kernel_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "report/event_text.h"
#include "report/graph_columns.h"
#include "report/names.h"
#include "trace/calls.h"

/* WAIT_FOR_NEXT: an entry is one line with its return if the next record of its CPU is that. */
enum wait { WAIT_NOT, WAIT_FOR_NEXT, WAIT_LEAF, WAIT_SWALLOWED };

/* A record that waits. */
struct waiting_record {
	struct event event;
	uint64_t duration;      /* WAIT_LEAF */
	char *text;             /* EVENT_TRACE; or NULL */
	uint8_t wait;           /* enum wait */
};

struct kernel_cpu {
	bool used;
	uint32_t thread;        /* printed last, if used */
	int32_t depth;          /* of comments; -1 below an outermost leaf */
	uint64_t pending;       /* 1 + number of the entry that waits; 0: none */
	uint32_t open[GRAPH_MATCH_DEPTH]; /* by depth; 0: none */
	/* without funcgraph-irqs: 1 + the depth of the interrupt that it is in; 0: none */
	uint64_t interrupt;
};

struct kernel_graph {
	const struct trace_info *info;
	struct graph_columns columns;
	struct names names;
	struct event_texts *texts;
	VEC(struct kernel_cpu) cpus;
	struct waiting_record *lookahead; /* record number i is at i % KERNEL_GRAPH_LOOKAHEAD */
	uint64_t first, next;
	struct kernel_interrupts interrupts;
};

/* Valid until KERNEL_GRAPH_LOOKAHEAD more records have come. */
static struct waiting_record *waiting_at(struct kernel_graph *g, uint64_t number)
{
	return &g->lookahead[number % KERNEL_GRAPH_LOOKAHEAD];
}

/* Symbols mark the section of the functions that interrupts enter. */
static void find_interrupts(struct kernel_interrupts *i, const struct trace_info *info)
{
	for (; i->modules < info->modules.n; i->modules++) {
		const struct trace_module *m = &info->modules.at[i->modules];

		for (size_t k = 0; k < m->functions.n && m->image == TRACE_KERNEL_IMAGE; k++) {
			const char *name = m->strings.at + m->functions.at[k].name;

			if (!strcmp(name, "__irqentry_text_start"))
				i->from = m->functions.at[k].vaddr;
			else if (!strcmp(name, "__irqentry_text_end"))
				i->to = m->functions.at[k].vaddr;
		}
	}
}

/* Modules of the kernel may come while a trace runs: the symbols are sought until they are
 * there. */
bool kernel_interrupts_enter(struct kernel_interrupts *i, const struct trace_info *info,
			     uint32_t fn)
{
	const struct trace_function *f;

	find_interrupts(i, info);
	f = i->to ? trace_info_function(info, TRACE_KERNEL_IMAGE, fn, NULL) : NULL;
	return f && f->vaddr >= i->from && f->vaddr < i->to;
}

struct kernel_graph *kernel_graph_new(const struct trace_info *info, uint64_t options,
				      struct out *out)
{
	struct kernel_graph *g = mem_zalloc(sizeof(*g));

	g->info = info;
	graph_columns_init(&g->columns, info, options, out);
	names_init(&g->names, info);
	g->texts = event_texts_new(info);
	g->lookahead = mem_realloc(NULL, KERNEL_GRAPH_LOOKAHEAD, sizeof(*g->lookahead));
	return g;
}

void kernel_graph_free(struct kernel_graph *g)
{
	if (!g)
		return;
	for (; g->first < g->next; g->first++)
		free(waiting_at(g, g->first)->text);
	event_texts_free(g->texts);
	names_free(&g->names);
	vec_free(&g->cpus);
	free(g->lookahead);
	free(g);
}

void kernel_graph_header(struct kernel_graph *g, const struct trace_header *h)
{
	graph_columns_header(&g->columns, h);
}

/* Valid until another CPU is asked for. */
static struct kernel_cpu *cpu_of(struct kernel_graph *g, uint16_t cpu)
{
	while (g->cpus.n <= cpu)
		*vec_add(&g->cpus) = (struct kernel_cpu){ 0 };
	return &g->cpus.at[cpu];
}

/* --- one line --------------------------------------------------------------------------- */

/* When and where a line of the record is. */
static struct graph_context context_of(const struct event *e)
{
	return (struct graph_context){ .tsc = e->tsc, .thread = e->thread, .cpu = e->cpu };
}

/* Everything to the left of the duration, and before it the mark of another task. */
static void print_prologue(struct kernel_graph *g, const struct event *e)
{
	struct kernel_cpu *cpu = cpu_of(g, e->cpu);
	const struct graph_context from = { .tsc = e->tsc, .thread = cpu->thread, .cpu = e->cpu };
	const struct graph_context to = context_of(e);

	if (cpu->used && g->info->threads.at[cpu->thread].tid != g->info->threads.at[e->thread].tid)
		graph_columns_switch(&g->columns, &from, &to);
	cpu->used = true;
	cpu->thread = e->thread;
	graph_columns_context(&g->columns, &to);
}

/* Whether the function is one that interrupts enter by. */
static bool is_interrupt(struct kernel_graph *g, uint32_t fn)
{
	return kernel_interrupts_enter(&g->interrupts, g->info, fn);
}

/* The kernel prints the mark of another task before the arrow, not again behind it. */
static void print_arrow(struct kernel_graph *g, const struct event *e, const char *arrow)
{
	if (!is_interrupt(g, e->fn))
		return;
	print_prologue(g, e);
	graph_columns_arrow(&g->columns, arrow);
}

/* Functions of the kernel are those of image 0, whichever thread they ran for. */
static void print_name(struct kernel_graph *g, uint32_t fn, const char *end)
{
	struct name name = names_of(&g->names, 0, fn);

	out_bytes(g->columns.out, name.text, name.n);
	out_str(g->columns.out, end);
}

/* Notes the function that is open on the CPU at the record's depth. Returns the one noted before;
 * too deep to be noted counts as the record's own, as in the kernel. */
static uint32_t swap_open(struct kernel_graph *g, const struct event *e, uint32_t fn)
{
	uint32_t *open, was;

	if (e->count >= GRAPH_MATCH_DEPTH)
		return e->fn;
	open = &cpu_of(g, e->cpu)->open[e->count];
	was = *open;
	*open = fn;
	return was;
}

/* A leaf is not noted as open. Its comment's depth is one less, as the kernel has it. */
static void print_entry(struct kernel_graph *g, const struct waiting_record *w)
{
	const struct event *e = &w->event;
	bool leaf = w->wait == WAIT_LEAF;

	print_arrow(g, e, GRAPH_ARROW_IN);
	print_prologue(g, e);
	cpu_of(g, e->cpu)->depth = (int32_t)e->count - leaf;
	swap_open(g, e, leaf ? 0 : e->fn);
	if (leaf)
		graph_columns_duration(&g->columns, w->duration);
	else
		graph_columns_no_duration(&g->columns);
	graph_columns_indent(&g->columns, (uint32_t)e->count);
	print_name(g, e->fn, leaf ? "();\n" : "() {\n");
	if (leaf)
		print_arrow(g, e, GRAPH_ARROW_OUT);
}

/* The name stands behind the brace if another function was noted at this depth. */
static void print_exit(struct kernel_graph *g, const struct waiting_record *w)
{
	const struct event *e = &w->event;
	bool match = swap_open(g, e, 0) == e->fn;

	cpu_of(g, e->cpu)->depth = (int32_t)e->count - 1;
	print_prologue(g, e);
	graph_columns_duration(&g->columns, e->value);
	graph_columns_indent(&g->columns, (uint32_t)e->count);
	if (match && !graph_columns_on(&g->columns, OPTION_GRAPH_TAIL)) {
		out_str(g->columns.out, "}\n");
	} else {
		out_str(g->columns.out, "} /* ");
		print_name(g, e->fn, " */\n");
	}
	print_arrow(g, e, GRAPH_ARROW_OUT);
}

/* An event: indented like the calls of the function it happened in, but not at depth 0. */
static void print_comment(struct kernel_graph *g, const struct waiting_record *w)
{
	int32_t depth = cpu_of(g, w->event.cpu)->depth;

	print_prologue(g, &w->event);
	graph_columns_no_duration(&g->columns);
	graph_columns_indent(&g->columns, depth > 0 ? (uint32_t)depth + 1 : 0);
	out_str(g->columns.out, "/* ");
	out_str(g->columns.out, w->text);
	out_str(g->columns.out, " */\n");
}

/* A call of the tracer function, which has no depth and no return: in a trace of both, where the
 * program's tracer is the graph. */
static void print_call(struct kernel_graph *g, const struct waiting_record *w)
{
	print_prologue(g, &w->event);
	graph_columns_no_duration(&g->columns);
	graph_columns_indent(&g->columns, 0);
	print_name(g, w->event.fn, "();\n");
}

/* The line of a record that is decided. */
static void print_waiting(struct kernel_graph *g, const struct waiting_record *w)
{
	if (w->event.kind == EVENT_ENTRY)
		print_entry(g, w);
	else if (w->event.kind == EVENT_EXIT)
		print_exit(g, w);
	else if (w->event.kind == EVENT_CALL)
		print_call(g, w);
	else if (w->event.kind == EVENT_LOST)
		format_lost(g->columns.out, w->event.cpu, w->event.count);
	else
		print_comment(g, w);
}

/* --- the lookahead ---------------------------------------------------------------------- */

/* Prints up to the first record that still waits. */
static void drain(struct kernel_graph *g)
{
	for (; g->first < g->next; g->first++) {
		struct waiting_record *w = waiting_at(g, g->first);

		if (w->wait == WAIT_FOR_NEXT)
			return;
		if (w->wait != WAIT_SWALLOWED)
			print_waiting(g, w);
		free(w->text);
		w->text = NULL;
	}
}

/* The lookahead is full: the oldest entry is printed as one that is no leaf. */
static void force_oldest(struct kernel_graph *g)
{
	struct waiting_record *w = waiting_at(g, g->first);
	uint64_t *pending = &cpu_of(g, w->event.cpu)->pending;

	if (*pending == g->first + 1)
		*pending = 0;
	w->wait = WAIT_NOT;
	drain(g);
}

/* Decides the entry that waited for this record of its CPU. True: the record is its return, and
 * both are one line. */
static bool decide(struct kernel_graph *g, const struct event *e)
{
	uint64_t *pending = &cpu_of(g, e->cpu)->pending;
	struct waiting_record *w = *pending ? waiting_at(g, *pending - 1) : NULL;
	bool leaf;

	if (!w)
		return false;
	*pending = 0;
	leaf = e->kind == EVENT_EXIT && e->fn == w->event.fn && e->thread == w->event.thread;
	w->wait = leaf ? WAIT_LEAF : WAIT_NOT;
	w->duration = e->value;
	return leaf;
}

/* Whether the record is part of an interrupt, which nofuncgraph-irqs hides. */
static bool is_hidden(struct kernel_graph *g, const struct event *e)
{
	struct kernel_cpu *cpu = cpu_of(g, e->cpu);

	if (graph_columns_on(&g->columns, OPTION_GRAPH_IRQS) || e->kind == EVENT_TRACE ||
	    e->kind == EVENT_LOST || e->kind == EVENT_CALL)
		return false;
	if (cpu->interrupt) {
		/* Less deep: its return is missing. */
		if (e->count + 1 < cpu->interrupt) {
			cpu->interrupt = 0;
			return false;
		}
		if (e->kind == EVENT_EXIT && e->count + 1 == cpu->interrupt)
			cpu->interrupt = 0;
		return true;
	}
	if (e->kind != EVENT_ENTRY || !is_interrupt(g, e->fn))
		return false;
	cpu->interrupt = e->count + 1;
	return true;
}

/* Whether the record is one of the kernel's graph: of a trace of both, the program's calls are
 * not. */
static bool is_kernels(const struct event *e)
{
	return e->kind == EVENT_TRACE || e->kind == EVENT_LOST ||
	       ((e->kind == EVENT_ENTRY || e->kind == EVENT_EXIT || e->kind == EVENT_CALL) &&
		e->flags & EVENT_KERNEL);
}

/* An event's text; of a marker only what was written. Valid until the next one. */
static const char *text_of(struct kernel_graph *g, const struct event *e)
{
	const char *text =
		event_text(g->texts, e, g->columns.options & ~OPTION_BIT(OPTION_FIELDS));
	bool marker = !strncmp(text, EVENT_TEXT_MARKER, strlen(EVENT_TEXT_MARKER));

	return marker ? text + strlen(EVENT_TEXT_MARKER) : text;
}

/* The event that a step of an excerpt stands for: its duration is by the stamps. False: none. */
static bool of_step(const struct kernel_graph *g, const struct call_step *s, struct event *out)
{
	if (s->kind == CALL_EVENT) {
		*out = *s->event;
		return true;
	}
	*out = (struct event){
		.tsc = s->tsc, .thread = s->thread, .fn = s->fn, .cpu = s->cpu, .count = s->depth,
		.kind = s->kind == CALL_ENTER ? EVENT_ENTRY : EVENT_EXIT, .flags = EVENT_KERNEL,
		.value = trace_clock_delta_ns(&g->info->clock, s->tsc - call_step_begin(s)),
	};
	return (s->kind == CALL_ENTER || s->kind == CALL_LEAVE) && !(s->flags & CALL_UNFINISHED);
}

/* e and its payload may be gone after the call: texts are made at once, since they need the
 * payload. */
void kernel_graph_event(struct kernel_graph *g, const struct event *e)
{
	struct waiting_record *w;
	struct event made;
	bool swallowed;

	if (e->kind == EVENT_STEP) {
		if (of_step(g, e->step, &made))
			kernel_graph_event(g, &made);
		return;
	}
	if (e->thread >= g->info->threads.n || !is_kernels(e) || is_hidden(g, e))
		return;
	/* Before room is made: the entry may be the oldest. */
	swallowed = decide(g, e);
	if (g->next - g->first == KERNEL_GRAPH_LOOKAHEAD)
		force_oldest(g);
	w = waiting_at(g, g->next++);
	*w = (struct waiting_record){ .event = *e, .wait = swallowed ? WAIT_SWALLOWED : WAIT_NOT };
	if (e->kind == EVENT_TRACE)
		w->text = mem_strdup(text_of(g, e));
	if (e->kind == EVENT_ENTRY) {
		w->wait = WAIT_FOR_NEXT;
		cpu_of(g, e->cpu)->pending = g->next;
	}
	drain(g);
}

/* At the end, or where a reader waits for no more: entries without their return are printed as
 * open. */
void kernel_graph_flush(struct kernel_graph *g)
{
	while (g->first < g->next)
		force_oldest(g);
}
