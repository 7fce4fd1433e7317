/* SPDX-License-Identifier: MIT */
/* Prints function_graph traces: calls from trace/tracks.h pass through a lookahead in which entries
 * wait for the record that makes them `f();` or `f() {`. One graph per reader; the lookahead is its
 * only state beyond open calls, so that memory is bounded. `out` keeps write errors for its
 * owner. */
#include "report/graph.h"

#include "arch/kernel_code.h"
#include "model/option.h"
#include "report/arguments.h"
#include "report/callers.h"
#include "report/ctxwake_text.h"
#include "report/event_text.h"
#include "report/graph_columns.h"
#include "report/kernel_graph.h"
#include "report/names.h"
#include "report/location.h"
#include "shared/record.h"

#define ERRNO_MAX 4095       /* the kernel's MAX_ERRNO: values from -4095 to -1 are error codes */

/* Why a step is in the lookahead: not at all, undecided, decided, or part of a leaf's line. */
enum wait { WAIT_NOT, WAIT_FOR_END, WAIT_LEAF, WAIT_NESTED, WAIT_SWALLOWED };

/* A step in the lookahead. `end`: when an entry that became a leaf ended. */
struct waiting {
	struct call_step step;
	union {
		uint64_t end;
		char *text; /* CALL_EVENT: its text, freed when it is printed */
	};
	/* ENTER, ONLY: its arguments, freed when it is printed; or NULL */
	char *arguments;
	/* what it returned, where that is more than a number, freed when it is printed; or NULL */
	char *returned;
	uint8_t wait; /* enum wait */
};

struct graph_cpu {
	uint32_t thread, track; /* written last, or NO_THREAD */
	uint64_t pending;       /* 1 + number of the entry that waits for this CPU; 0: none */
	uint64_t open[GRAPH_MATCH_DEPTH]; /* by depth, the function_key of the last `{`; 0: none */
};

struct graph_thread {
	uint32_t open;          /* calls of the program that are open on its stack */
	bool kernel;            /* an entry for what the kernel recorded */
	uint64_t pending;       /* like graph_cpu's, for this thread */
	bool calls;             /* has made calls */
	size_t asked;           /* graph.callers when `is` was looked for */
	/* without funcgraph-irqs: 1 + the depth of the handler it is in, and the stack that has it;
	 * 0: none */
	uint32_t handler, handler_track;
	/* 1 + the thread of the trace that has this thread's calls; 0: it has its own */
	uint32_t is;
	uint32_t kernel_side;   /* 1 + the thread of the trace with its kernel calls; 0: none yet */
};

struct graph {
	const struct trace_info *info;
	struct out *out;
	uint64_t options;
	struct graph_columns columns;
	struct sites sites;
	struct tracks tracks;
	struct names names;
	struct event_texts *texts;
	VEC(struct graph_cpu) cpus;
	VEC(struct graph_thread) threads;
	size_t callers;          /* threads that made calls */
	struct kernel_interrupts interrupts;
	/* by the kernel's function: 0 not looked at, 1 no, 2 interrupts enter it */
	VEC(uint8_t) enters;
	struct waiting *lookahead;  /* step number i is at i % GRAPH_LOOKAHEAD */
	uint64_t first, next;    /* numbers: of the oldest that waits, of the next to come */
	const struct callers *sites_of_calls; /* or NULL */
	graph_print_place *print_place;       /* instead of the address; or NULL */
	void *of_places;
	uint64_t entered;        /* calls so far */
};

/* Valid until GRAPH_LOOKAHEAD more steps have come. */
static struct waiting *waiting_at(struct graph *g, uint64_t number)
{
	return &g->lookahead[number % GRAPH_LOOKAHEAD];
}

struct graph *graph_new(const struct trace_info *info, uint64_t options, struct out *out)
{
	struct graph *g = mem_zalloc(sizeof(*g));

	g->info = info;
	g->out = out;
	g->options = options;
	graph_columns_init(&g->columns, info, options, out);
	g->lookahead = mem_realloc(NULL, GRAPH_LOOKAHEAD, sizeof(*g->lookahead));
	sites_init(&g->sites, info);
	tracks_init(&g->tracks, info, &g->sites);
	names_init(&g->names, info);
	g->texts = event_texts_new(info);
	return g;
}

/* Steps that still wait are not printed: graph_flush() does that before. */
void graph_free(struct graph *g)
{
	if (!g)
		return;
	for (; g->first < g->next; g->first++) {
		if (waiting_at(g, g->first)->step.kind == CALL_EVENT)
			free(waiting_at(g, g->first)->text);
		free(waiting_at(g, g->first)->arguments);
		free(waiting_at(g, g->first)->returned);
	}
	event_texts_free(g->texts);
	tracks_free(&g->tracks);
	vec_free(&g->threads);
	vec_free(&g->cpus);
	vec_free(&g->enters);
	sites_free(&g->sites);
	names_free(&g->names);
	free(g->lookahead);
	free(g);
}

void graph_set_callers(struct graph *g, const struct callers *callers)
{
	g->sites_of_calls = callers;
}

void graph_set_places(struct graph *g, graph_print_place *print, void *arg)
{
	g->print_place = print;
	g->of_places = arg;
}

/* Options are constant for a printer's life. */
static bool option_on(const struct graph *g, enum trace_option o)
{
	return option_is_set(g->options, o);
}

void graph_set_latency(struct graph *g, const char *tracer)
{
	g->columns.latency_tracer = tracer;
}

void graph_start(struct graph *g, uint64_t tsc)
{
	g->columns.start_ns = trace_clock_shown(&g->info->clock, tsc);
}

void graph_header(struct graph *g, const struct trace_header *h)
{
	graph_columns_header(&g->columns, h);
}

/* --- one line -------------------------------------------------------------------------- */

/* Made when the CPU is first met. A pointer is valid until another new CPU is. */
static struct graph_cpu *graph_cpu_state(struct graph *g, uint16_t cpu)
{
	while (g->cpus.n <= cpu)
		*vec_add(&g->cpus) = (struct graph_cpu){ .thread = NO_THREAD };
	return &g->cpus.at[cpu];
}

/* Identifies a function across processes; never 0. */
static uint64_t function_key(const struct graph *g, const struct call_step *s)
{
	return (uint64_t)(g->info->threads.at[s->thread].image + 1) << 32 | s->fn;
}

/* Whether two entries of the trace are one thread: the kernel's records of a thread have an entry
 * of their own. */
static bool is_same_thread(const struct graph *g, uint32_t a, uint32_t b)
{
	const struct trace_thread *x = &g->info->threads.at[a], *y = &g->info->threads.at[b];

	/* The kernel tells the number of a thread, not of its process. */
	return x->tid == y->tid &&
	       (x->pid == y->pid || g->threads.at[a].kernel != g->threads.at[b].kernel);
}

/* The entry whose calls the thread's are among: of the kernel's the program's, if there is one. */
static uint32_t home_of(const struct graph *g, uint32_t thread)
{
	const struct graph_thread *t = &g->threads.at[thread];

	return t->kernel && t->is ? t->is - 1 : thread;
}

/* By home_of(), so that the kernel's part of a thread is in the thread's own column and causes no
 * line of a switch. */
static struct graph_context context_of_step(const struct graph *g, const struct call_step *s)
{
	return (struct graph_context){ s->tsc, home_of(g, s->thread), s->track, s->cpu };
}

/* Prints everything to the left of the duration. */
static void print_context(struct graph *g, const struct call_step *s)
{
	struct graph_cpu *cpu = graph_cpu_state(g, s->cpu);
	const struct graph_context from = { s->tsc, cpu->thread, cpu->track, s->cpu };
	const struct graph_context to = context_of_step(g, s);

	if (cpu->thread != to.thread || cpu->track != s->track) {
		if (cpu->thread != NO_THREAD &&
		    (cpu->track != s->track || !is_same_thread(g, cpu->thread, to.thread)))
			graph_columns_switch(&g->columns, &from, &to);
		cpu->thread = to.thread;
		cpu->track = s->track;
	}
	graph_columns_context(&g->columns, &to);
}

static void print_duration(struct graph *g, uint64_t begin, uint64_t end)
{
	if (graph_columns_has_duration(&g->columns))
		graph_columns_duration(&g->columns,
				       trace_clock_delta_ns(&g->info->clock, end - begin));
}

/* Prints the function's name. True: it ends with its parameters, and needs no "()". */
static bool print_function(struct graph *g, const struct call_step *s)
{
	struct name name = names_of(&g->names, g->info->threads.at[s->thread].image, s->fn);

	out_bytes(g->out, name.text, name.n);
	return name.whole;
}

/* Notes the function written as open on this CPU at this depth (0: none). Returns the one noted
 * before. */
static uint64_t swap_open(struct graph *g, const struct call_step *s, uint64_t key)
{
	uint64_t *open, was;

	if (s->depth >= GRAPH_MATCH_DEPTH)
		/* Too deep to be noted: taken as matching, as ftrace does. */
		return function_key(g, s);
	open = &graph_cpu_state(g, s->cpu)->open[s->depth];
	was = *open;
	*open = key;
	return was;
}

/* Prints "NAME()" or the name with its arguments, and `end`. */
static void print_entered(struct graph *g, const struct waiting *w, const char *end)
{
	bool whole = print_function(g, &w->step);

	out_str(g->out, w->arguments ? w->arguments : whole ? "" : "()");
	out_str(g->out, end);
}

/* Prints a returned value like ftrace: error codes by their number, also those of an int's width,
 * everything else in hexadecimal. */
static void print_plain_value(struct graph *g, uint64_t value)
{
	int64_t code = value >> 31 == 1 ? (int32_t)value : (int64_t)value;

	if (!option_on(g, OPTION_GRAPH_RETVAL_HEX) && code < 0 && code >= -ERRNO_MAX) {
		out_bytes(g->out, " = -", 4);
		out_u64(g->out, (uint64_t)-code, 0, ' ');
		return;
	}
	out_bytes(g->out, " = 0x", 5);
	out_hex(g->out, value);
}

/* Whether the value is shown, and how: *text is to be freed, NULL: in ftrace's way. */
static bool shows_value(const struct graph *g, const struct waiting *w, char **text)
{
	const struct call_step *s = &w->step;
	uint32_t image = g->info->threads.at[s->thread].image;
	struct call_value value = call_step_value(s);

	*text = NULL;
	if (!(s->flags & CALL_VALUE) || !option_on(g, OPTION_GRAPH_RETVAL))
		return false;
	if (w->returned) {
		*text = mem_strdup(w->returned);
		return true;
	}
	/* The string has gone with its record, and was not to be shown. */
	value.flags &= ~(uint32_t)(CALL_TEXT | CALL_BLOCK);
	return arguments_value(g->info, image, s->fn, value, s->tsc, text) !=
	       ARGUMENTS_VALUE_HIDDEN;
}

/* A returned string or structure, as long as its record is there; NULL: it is none. */
static char *string_of_step(const struct graph *g, const struct call_step *s)
{
	uint32_t image = g->info->threads.at[s->thread].image;
	char *text = NULL;

	if (s->flags & (CALL_TEXT | CALL_BLOCK) && option_on(g, OPTION_GRAPH_RETVAL))
		arguments_value(g->info, image, s->fn, call_step_value(s), s->tsc, &text);
	return text;
}

/* text: shows_value()'s, which is freed. */
static void print_value(struct graph *g, const struct call_step *s, char *text)
{
	if (text && !option_on(g, OPTION_GRAPH_RETVAL_HEX)) {
		out_bytes(g->out, " = ", 3);
		out_str(g->out, text);
	} else {
		print_plain_value(g, s->value);
	}
	free(text);
}

/* The site is not known of a call that did not return, nor of one that is printed before it has. */
static bool shows_caller(const struct graph *g, const struct call_step *s)
{
	if (g->print_place)
		return g->print_place(g->of_places, NULL, g->info->threads.at[s->thread].image, s);
	return option_on(g, OPTION_GRAPH_RETADDR) && s->site &&
	       trace_info_site(g->info, g->info->threads.at[s->thread].image, s->site);
}

/* The offset in the caller is shown whatever sym-offset says, as in the kernel. */
static void print_caller(struct graph *g, const struct call_step *s)
{
	uint32_t image = g->info->threads.at[s->thread].image;
	struct location caller;

	if (g->print_place) {
		g->print_place(g->of_places, g->out, image, s);
		return;
	}
	caller = location_of_site(g->info, image, s->site, s->tsc);
	out_bytes(g->out, " <-", 3);
	location_print(g->out, &g->names, image, &caller, true, option_on(g, OPTION_SYM_ADDR));
}

/* An arrow at a handler's beginning or end. */
static void print_arrow(struct graph *g, const struct call_step *s, const char *arrow)
{
	if (!(s->flags & CALL_HANDLER))
		return;
	print_context(g, s);
	graph_columns_arrow(&g->columns, arrow);
}

/* A call without traced calls in it, in one line. */
static void print_leaf(struct graph *g, const struct waiting *w)
{
	char *text;
	bool value = shows_value(g, w, &text);

	print_arrow(g, &w->step, GRAPH_ARROW_IN);
	print_context(g, &w->step);
	swap_open(g, &w->step, 0);
	if (w->wait == WAIT_LEAF)
		print_duration(g, w->step.begin, w->end);
	else
		graph_columns_no_duration(&g->columns);
	graph_columns_indent(&g->columns, w->step.depth);
	print_entered(g, w, ";");
	if (value || shows_caller(g, &w->step)) {
		out_bytes(g->out, " /*", 3);
		if (shows_caller(g, &w->step))
			print_caller(g, &w->step);
		if (value)
			print_value(g, &w->step, text);
		out_bytes(g->out, " */", 3);
	}
	out_char(g->out, '\n');
	print_arrow(g, &w->step, GRAPH_ARROW_OUT);
}

/* A call's beginning: a leaf's line if its end came with nothing between, else an opening brace. */
static void print_enter(struct graph *g, const struct waiting *w)
{
	if (w->wait == WAIT_LEAF) {
		print_leaf(g, w);
		return;
	}
	print_arrow(g, &w->step, GRAPH_ARROW_IN);
	print_context(g, &w->step);
	swap_open(g, &w->step, function_key(g, &w->step));
	graph_columns_no_duration(&g->columns);
	graph_columns_indent(&g->columns, w->step.depth);
	print_entered(g, w, " {");
	if (shows_caller(g, &w->step)) {
		out_bytes(g->out, " /*", 3);
		print_caller(g, &w->step);
		out_bytes(g->out, " */", 3);
	}
	out_char(g->out, '\n');
}

/* A call's end. Its name follows as a comment if its beginning is not the open line above, or by
 * the options. */
static void print_leave(struct graph *g, const struct waiting *w)
{
	const struct call_step *s = &w->step;
	bool match = swap_open(g, s, 0) == function_key(g, s), value;
	char *text;

	value = shows_value(g, w, &text);
	print_context(g, s);
	print_duration(g, call_step_begin(s), s->tsc);
	graph_columns_indent(&g->columns, s->depth);
	out_char(g->out, '}');
	if (!match || s->flags & CALL_UNWOUND || option_on(g, OPTION_GRAPH_TAIL) ||
	    value) {
		out_bytes(g->out, " /* ", 4);
		print_function(g, s);
		if (value)
			print_value(g, s, text);
		out_str(g->out, s->flags & CALL_UNWOUND ? " unwound */" : " */");
	}
	out_char(g->out, '\n');
	/* brace's stack of calls has no limit that a call could overrun. */
	if (option_on(g, OPTION_GRAPH_OVERRUN))
		out_str(g->out, " (Overruns: 0)\n");
	print_arrow(g, s, GRAPH_ARROW_OUT);
}

/* The kernel's line for records that were overwritten or had no room. */
static void print_lost(struct graph *g, const struct waiting *w)
{
	format_lost(g->out, w->step.cpu, w->step.count);
}

/* Prints an event as a comment. Like the kernel's it is indented to the depth of the next call, but
 * not within an outermost function. */
static void print_comment(struct graph *g, const struct waiting *w)
{
	print_context(g, &w->step);
	graph_columns_no_duration(&g->columns);
	graph_columns_indent(&g->columns, w->step.depth > 1 ? w->step.depth : 0);
	out_bytes(g->out, "/* ", 3);
	out_str(g->out, w->text);
	out_bytes(g->out, " */\n", 4);
	free(w->text);
}

/* A table instead of a switch: a new kind of step without a printer is a NULL that the first test
 * meets. */
static void print_step(struct graph *g, const struct waiting *w)
{
	static void (*const print[CALL_KINDS_N])(struct graph *, const struct waiting *) = {
		[CALL_ENTER] = print_enter, [CALL_LEAVE] = print_leave, [CALL_ONLY] = print_leaf,
		[CALL_SPAN] = print_leave, [CALL_LOST] = print_lost,
		[CALL_EVENT] = print_comment,
	};

	print[w->step.kind](g, w);
}

/* --- the lookahead -------------------------------------------------------------------- */

/* Writes the steps that no longer wait, up to the first that does. What stands before a waiting
 * entry is printed, what stands behind it is not: lines keep the order of time. */
static void drain_pending(struct graph *g)
{
	for (; g->first < g->next; g->first++) {
		struct waiting *w = waiting_at(g, g->first);

		if (w->wait == WAIT_FOR_END)
			return;
		if (w->wait != WAIT_SWALLOWED)
			print_step(g, w);
		free(w->arguments);
		free(w->returned);
	}
}

/* Whether the step ends the call that `enter` began. A span is recognized by its times. It is the
 * call's own record, made at its end. */
static bool ends_call(const struct call_step *s, const struct call_step *enter)
{
	return s->kind == CALL_LEAVE ||
	       (s->kind == CALL_SPAN && s->begin == enter->tsc && s->fn == enter->fn);
}

/* Decides the entry that `pending` names, now that step s follows it on its CPU or thread: a leaf
 * if s is its return. Returns whether it is. */
static bool decide_leaf(struct graph *g, uint64_t *pending, const struct call_step *s)
{
	struct waiting *w;
	bool leaf;

	if (!*pending)
		return false;
	w = waiting_at(g, *pending - 1);
	if (*pending - 1 < g->first || w->wait != WAIT_FOR_END) {
		*pending = 0; /* already written, or decided by the other of CPU and thread */
		return false;
	}
	*pending = 0;
	leaf = ends_call(s, &w->step) && s->thread == w->step.thread && s->track == w->step.track &&
	       s->cpu == w->step.cpu &&
	       s->depth == w->step.depth && !(s->flags & CALL_UNWOUND);
	w->wait = leaf ? WAIT_LEAF : WAIT_NESTED;
	w->step.begin = s->begin; /* later by what the thread slept */
	w->end = s->tsc;
	w->step.value = s->value;
	if (leaf)
		w->step.site = s->site;
	w->step.flags |= leaf ? s->flags & (CALL_VALUE | CALL_FLOAT) : 0;
	if (leaf)
		w->returned = string_of_step(g, s);
	return leaf;
}

/* Makes room in a full lookahead: the oldest entry is written as `f() {`. The kernel does so at
 * the end of a CPU's buffer: it looks one record ahead, and what is not there is no leaf. */
static void force_oldest(struct graph *g)
{
	struct waiting *w = waiting_at(g, g->first);
	uint64_t *of_cpu = &graph_cpu_state(g, w->step.cpu)->pending;
	uint64_t *of_thread = &g->threads.at[w->step.thread].pending;

	if (*of_cpu == g->first + 1)
		*of_cpu = 0;
	if (*of_thread == g->first + 1)
		*of_thread = 0;
	w->wait = WAIT_NESTED;
	drain_pending(g);
}

/* The text of an event's comment, for free(). Text from trace_marker stands by itself, as in
 * ftrace. */
static char *comment(struct graph *g, const struct event *e)
{
	char *wake = ctxwake_text(g->info, g->texts, e);
	const char *text;
	bool marker;

	if (wake)
		return wake;
	text = event_text(g->texts, e, g->options & ~OPTION_BIT(OPTION_FIELDS));
	marker = !strncmp(text, EVENT_TEXT_MARKER, strlen(EVENT_TEXT_MARKER));
	return mem_strdup(marker ? text + strlen(EVENT_TEXT_MARKER) : text);
}

/* Whether the step belongs to a handler's calls and funcgraph-irqs is off. The handler's own
 * entry and return are hidden with it. Its return is known by depth and stack, since its name may
 * be called again within it. */
static bool is_hidden(struct graph *g, struct graph_thread *t, const struct call_step *s)
{
	bool within = t->handler;

	if (option_on(g, OPTION_GRAPH_IRQS) || s->kind == CALL_EVENT || s->kind == CALL_LOST)
		return false;
	if (within && s->kind == CALL_LEAVE && s->depth + 1 == t->handler &&
	    s->track == t->handler_track)
		t->handler = 0;
	if (within || s->kind != CALL_ENTER || !(s->flags & CALL_HANDLER))
		return within;
	t->handler = s->depth + 1;
	t->handler_track = s->track;
	return true;
}

/* NULL: none are shown. */
static char *arguments_of_step(struct graph *g, const struct call_step *s)
{
	const char *unknown;

	if (!option_on(g, OPTION_GRAPH_ARGS) || (s->kind != CALL_ENTER && s->kind != CALL_ONLY))
		return NULL;
	if (s->flags & CALL_ARGUMENTS)
		return arguments_text(g->info, s->event);
	unknown = arguments_unknown(g->info, s->thread, s->fn);
	return unknown ? mem_strdup(unknown) : NULL;
}

/* Puts a step into the lookahead, and decides the entries that waited for it. Sites of calls come
 * from the second pass over the trace (callers.h) in the order of entries: each entry counts,
 * also one that is not shown. */
static void take_graph_step(void *arg, const struct call_step *s)
{
	struct graph *g = arg;
	struct graph_cpu *cpu = graph_cpu_state(g, s->cpu);
	struct graph_thread *thread = &g->threads.at[home_of(g, s->thread)];
	uint32_t site = s->site;
	bool swallowed;
	struct waiting *w;

	if (s->kind == CALL_ENTER)
		site = g->sites_of_calls ? callers_site(g->sites_of_calls, g->entered++, s->tsc)
					 : 0;
	if (s->flags & CALL_UNFINISHED || is_hidden(g, thread, s))
		return;
	swallowed = decide_leaf(g, &thread->pending, s);
	decide_leaf(g, &cpu->pending, s);
	if (g->next - g->first == GRAPH_LOOKAHEAD)
		force_oldest(g);
	w = waiting_at(g, g->next++);
	w->step = *s;
	w->step.site = site;
	w->wait = swallowed ? WAIT_SWALLOWED : WAIT_NOT;
	w->arguments = arguments_of_step(g, s);
	w->returned = swallowed ? NULL : string_of_step(g, s);
	if (s->kind == CALL_EVENT)
		w->text = comment(g, s->event);
	if (s->kind == CALL_ENTER) {
		w->wait = WAIT_FOR_END;
		thread->pending = cpu->pending = g->next;
	}
	drain_pending(g);
}

/* A step of the program's own: what the kernel does now lies in the calls that it leaves open. */
static void take_own_step(void *arg, const struct call_step *s)
{
	struct graph *g = arg;

	if (s->kind == CALL_ENTER || s->kind == CALL_LEAVE)
		g->threads.at[s->thread].open = s->depth + (s->kind == CALL_ENTER);
	take_graph_step(g, s);
}

/* True for a function that shows that an interrupt came. */
static bool is_interrupt_name(const char *name, size_t n)
{
	static const char *const names[] = KERNEL_CODE_INTERRUPTS;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (n >= strlen(names[i]) && !strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Looked up once for each function, since names are compared. Numbers beyond a record's are no
 * functions. */
static bool is_interrupt(struct graph *g, uint32_t fn)
{
	struct name name;

	if (fn > RECORD_ID_MAX)
		return false;
	while (g->enters.n <= fn)
		*vec_add(&g->enters) = 0;
	if (!g->enters.at[fn]) {
		name = names_of(&g->names, TRACE_KERNEL_IMAGE, fn);
		g->enters.at[fn] = 1 + (is_interrupt_name(name.text, name.n) ||
					kernel_interrupts_enter(&g->interrupts, g->info, fn));
	}
	return g->enters.at[fn] == 2;
}

/* A step of the kernel's stands among the program's calls, where there are some. The depth is
 * that of the program's open calls plus the kernel's own: so a system call's inside is indented
 * below the function that made it. */
static void take_kernel_step(void *arg, const struct call_step *s)
{
	struct graph *g = arg;
	const uint32_t home = home_of(g, s->thread);
	struct call_step at = *s;

	if (home != s->thread) {
		at.depth += g->threads.at[home].open;
		at.track = tracks_lane(&g->tracks, home)->now->calls.track;
	}
	if ((s->kind == CALL_ENTER || s->kind == CALL_LEAVE) &&
	    is_interrupt(g, s->fn))
		at.flags |= CALL_HANDLER;
	take_graph_step(g, &at);
}

/* The entry of the trace that has the thread's calls. The kernel's records of a thread
 * (collect/switches.h) have an entry of their own; their text is to stand among the thread's
 * calls. */
static uint32_t thread_of_calls(struct graph *g, uint32_t thread)
{
	struct graph_thread *t = &g->threads.at[thread];

	if (t->calls)
		return thread;
	/* Looked for again only when another thread has made its first call. */
	for (size_t i = t->asked == g->callers ? 0 : g->threads.n; i; i--)
		if (g->threads.at[i - 1].calls && is_same_thread(g, (uint32_t)i - 1, thread)) {
			t->is = (uint32_t)i;
			break;
		}
	t->asked = g->callers;
	return t->is ? t->is - 1 : thread;
}

/* While a thread runs the program's code, it is in no function of the kernel's: returns of those
 * that are open are missing. */
static void end_kernel_calls(struct graph *g, const struct event *e)
{
	struct graph_thread *t = &g->threads.at[e->thread];
	struct event at = *e;
	struct lane *l;

	if (!t->kernel_side)
		return;
	at.thread = t->kernel_side - 1;
	l = tracks_lane(&g->tracks, at.thread);
	if (l->now && l->now->calls.n)
		calls_cut(&l->now->calls, 0, &at, take_kernel_step, g);
}

/* An event of the kernel's entry of a thread. */
static __attribute__((noinline)) void take_kernel(struct graph *g, const struct event *e)
{
	const uint32_t home = thread_of_calls(g, e->thread);

	if (home != e->thread)
		g->threads.at[home].kernel_side = e->thread + 1;
	tracks_feed(&g->tracks, tracks_lane(&g->tracks, e->thread), e, take_kernel_step, g);
}

/* Apart from graph_event(), and not inlined, because most traces have calls alone: the way of
 * those is to stay short. */
static __attribute__((noinline)) void take_trace(struct graph *g, const struct event *e)
{
	struct event own = *e;

	own.thread = thread_of_calls(g, e->thread);
	tracks_feed_slow(&g->tracks, tracks_lane(&g->tracks, own.thread), &own, take_graph_step, g);
}

/* Adds the threads up to this one. */
static void meet_thread(struct graph *g, uint32_t thread)
{
	const bool kernel = trace_info_has_kernel(g->info);

	while (g->threads.n <= thread) {
		const uint32_t i = (uint32_t)g->threads.n;

		*vec_add(&g->threads) = (struct graph_thread){
			.kernel = kernel && trace_info_is_kernel_thread(g->info, i),
		};
	}
}

/* The event's payload may be gone after this: what waits has copied its text. */
void graph_event(struct graph *g, const struct event *e)
{
	if (e->thread >= g->info->threads.n)
		return; /* a damaged source */
	if (__builtin_expect(g->threads.n <= e->thread, 0))
		meet_thread(g, e->thread);
	if (__builtin_expect(g->threads.at[e->thread].kernel, 0)) {
		take_kernel(g, e);
		return;
	}
	if (__builtin_expect(e->kind == EVENT_TRACE, 0)) {
		take_trace(g, e);
		return;
	}
	if (__builtin_expect(!g->threads.at[e->thread].calls, 0)) {
		g->threads.at[e->thread].calls = true;
		g->callers++;
	}
	end_kernel_calls(g, e);
	tracks_feed(&g->tracks, tracks_lane(&g->tracks, e->thread), e, take_own_step, g);
}

/* At the end of a file, and where a reader of trace_pipe has got all that there is: entries whose
 * end has not come are printed as open. */
void graph_flush(struct graph *g)
{
	while (g->first < g->next)
		force_oldest(g);
}

struct calls_counts graph_counts(const struct graph *g)
{
	return tracks_counts(&g->tracks);
}
