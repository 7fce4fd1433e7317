/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's processed profile, version 48 of its format (newer profilers upgrade it),
 * which profiler.firefox.com opens. A sample is a span of time in which a stack did not change, its
 * weight the span ("tracing-ms"); events and losses are markers. All tables are a thread's own, and
 * have a column after another, so that samples and markers wait in streams until the walk ends.
 * Depth and number of stacks are limited as in call_tree.c. exporter.c calls it, on the thread that
 * exports. It fails where the streams' temporary files find no room. */
#include "export/call_tree.h"
#include "export/formats.h"
#include "export/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/event_text.h"

/* From its time to that of the next one: no call was open, or this stack. */
struct profile_sample { uint64_t ns; uint32_t stack, zero; };
#define NO_STACK UINT32_MAX
struct profile_marker { uint64_t ns; uint32_t name, zero; };

/* The streams of a lane: samples, markers, and their data as JSON. */
enum stream { SAMPLES, MARKERS, MARKER_DATA, STREAMS };

/* A stack: a function called by another stack. local: its number among those of its lane. */
struct profile_stack { uint32_t parent, function, local; };
#define LOST_RECORDS UINT32_MAX /* the name of a marker that is no event's */

struct profile_lane {
	VEC(uint32_t) stacks;      /* of the lane, by their local numbers */
	VEC(uint32_t) names;       /* of its markers: the events' indices */
	uint32_t stack;            /* the one that is open */
	uint64_t first, samples, markers;
};

struct firefox {
	struct walk walk;
	struct event_texts *texts;
	struct parts streams;
	VEC(struct profile_lane) lanes;
	VEC(struct profile_stack) stacks;
	/* stack << 32 | function, + 1 -> stack; above a lane's outermost UINT32_MAX - 1 - lane */
	struct number_map children;
	struct export_job *job;
	struct out *out;
	struct err *err;
	uint64_t begin;            /* ns of the first sample or marker: all times count from it */
	/* while a thread is written: */
	VEC(uint32_t) funcs;       /* its functions */
	VEC(uint32_t) func_of;     /* by function, 1 + its place in funcs; 0: none */
	uint32_t lane;
	bool comma;
};

/* --- the walk ---------------------------------------------------------------------------- */

/* Valid until a later lane is asked for. Lanes are made in the order in which the walk meets them,
 * with the numbers that it gives. */
static struct profile_lane *lane_of(struct firefox *p, uint32_t lane)
{
	while (p->lanes.n <= lane)
		*vec_add(&p->lanes) = (struct profile_lane){ .stack = NO_STACK,
							     .first = UINT64_MAX };
	return &p->lanes.at[lane];
}

/* NO_STACK: there are too many. A lane's outermost stacks hang at a number that no stack has. Such
 * a number is above CALL_TREE_MOST for any number of lanes that fits in memory. A lane has stacks
 * of its own, since the profile's tables are a thread's. */
static uint32_t child_of(struct firefox *p, uint32_t lane, uint32_t parent, uint32_t function)
{
	uint32_t above = parent == NO_STACK ? UINT32_MAX - 1 - lane : parent;
	uint64_t key = ((uint64_t)above << 32 | function) + 1;
	uint64_t found = number_map_get(&p->children, key);
	struct profile_lane *l = lane_of(p, lane);

	if (found != NUMBER_NONE)
		return (uint32_t)found;
	if (p->stacks.n >= CALL_TREE_MOST)
		return NO_STACK;
	number_map_set(&p->children, key, p->stacks.n);
	*vec_add(&l->stacks) = (uint32_t)p->stacks.n;
	*vec_add(&p->stacks) =
		(struct profile_stack){ parent, function, (uint32_t)l->stacks.n - 1 };
	return (uint32_t)p->stacks.n - 1;
}

/* A change of the open stack; its length follows from the next one. A sample has no duration in the
 * format: that is the time until the next one, so each change of the stack is a sample. Stacks are
 * kept by their local numbers: the profile knows no others. */
static int put_sample(struct firefox *p, const struct walk_step *s, uint32_t stack)
{
	struct profile_lane *l = lane_of(p, s->lane);
	const struct profile_sample sample = { s->ns, stack == NO_STACK ? stack
								: p->stacks.at[stack].local, 0 };

	l->stack = stack;
	l->first = l->first < s->ns ? l->first : s->ns;
	l->samples++;
	return parts_add(&p->streams, s->lane * STREAMS + SAMPLES, &sample, sizeof(sample), p->err);
}

/* note: the call's stack, or that of the caller it is added to. frame[-1] is the caller's frame:
 * frames of a lane lie side by side. Calls that are folded into their caller are counted, so that
 * the command can say it. */
static int begin_call(struct firefox *p, const struct walk_step *s)
{
	uint32_t caller = s->depth ? s->frame[-1].note : NO_STACK, stack = NO_STACK;

	if (s->depth < CALL_TREE_DEPTH)
		stack = child_of(p, s->lane, caller, s->function);
	if (stack == NO_STACK) {
		p->job->folded++;
		stack = caller;
	}
	s->frame->note = stack;
	return put_sample(p, s, stack);
}

/* The caller's stack is open from here on. */
static int end_call(struct firefox *p, const struct walk_step *s)
{
	return put_sample(p, s, s->depth ? s->frame[-1].note : NO_STACK);
}

/* The number of the marker's name in its thread's strings, which begin with such names. */
static uint32_t marker_name(struct profile_lane *l, uint32_t event)
{
	for (uint32_t i = 0; i < l->names.n; i++)
		if (l->names.at[i] == event)
			return i;
	*vec_add(&l->names) = event;
	return (uint32_t)l->names.n - 1;
}

/* Appends to a stream in memory what json_string() writes. */
static int append(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -ENOMEM;
}

/* {"type":"event","text":"..."}, behind a comma but for the first. */
static int put_marker_data(struct firefox *p, uint32_t lane, const char *text)
{
	char *json = NULL;
	size_t n;
	FILE *f = open_memstream(&json, &n);
	struct out o;
	int r;

	if (!f)
		return err_set(p->err, ENOMEM, "no memory for a marker");
	out_init_raw(&o, append, f);
	out_str(&o, p->lanes.at[lane].markers ? ",{\"type\":\"event\",\"text\":"
					      : "{\"type\":\"event\",\"text\":");
	json_string(&o, text);
	out_char(&o, '}');
	out_flush(&o);
	out_free(&o);
	fclose(f);
	r = parts_add(&p->streams, lane * STREAMS + MARKER_DATA, json, n, p->err);
	free(json);
	return r;
}

/* Text is made at once: the event's payload is gone with the next one. */
static int put_marker(struct firefox *p, const struct walk_step *s)
{
	struct profile_lane *l = lane_of(p, s->lane);
	const bool lost = s->kind == WALK_LOST;
	const uint32_t event = lost ? LOST_RECORDS : s->event->fn;
	const struct profile_marker m = { s->ns, marker_name(l, event), 0 };
	char *count = lost ? mem_printf("%" PRIu64 " records were lost", s->lost) : NULL;
	int r = put_marker_data(p, s->lane, lost ? count : event_text(p->texts, s->event, 0));

	free(count);
	l->first = l->first < s->ns ? l->first : s->ns;
	l->markers++;
	return r ? r : parts_add(&p->streams, s->lane * STREAMS + MARKERS, &m, sizeof(m), p->err);
}

/* WALK_BEGIN to WALK_LOST, in the order of the enumeration. */
static int put_step(void *arg, const struct walk_step *s)
{
	static int (*const put[WALK_KINDS_N])(struct firefox *, const struct walk_step *) = {
		[WALK_BEGIN] = begin_call, [WALK_END] = end_call, [WALK_EVENT] = put_marker,
		[WALK_LOST] = put_marker,
	};

	return put[s->kind](arg, s);
}

/* --- columns ------------------------------------------------------------------------------ */

/* p->comma is reset where a list begins. */
static void put_comma(struct firefox *p)
{
	if (p->comma)
		out_char(p->out, ',');
	p->comma = true;
}

/* Milliseconds, to the nanosecond. */
static void put_ms(struct firefox *p, uint64_t ns)
{
	out_u64(p->out, ns / 1000000, 1, ' ');
	out_char(p->out, '.');
	out_u64(p->out, ns % 1000000, 6, '0');
}

/* A column of samples or markers: what put() writes of each record, which has 16 bytes. The one
 * before is kept, since a sample lasts until the next. */
struct profile_column {
	struct firefox *p;
	void (*put)(struct firefox *p, const struct profile_sample *s, uint64_t until);
	struct profile_sample before;
	bool has;
};

/* The sink of parts_read(): blocks of a stream in their order. Blocks are whole but for the
 * last. */
static int put_records(void *arg, const char *bytes, size_t n)
{
	struct profile_column *c = arg;
	struct profile_sample s;

	_Static_assert(PARTS_BLOCK % sizeof(s) == 0 && sizeof(s) == sizeof(struct profile_marker),
		       "no record lies on two blocks");
	for (size_t at = 0; at + sizeof(s) <= n; at += sizeof(s)) {
		memcpy(&s, bytes + at, sizeof(s));
		if (c->has) {
			put_comma(c->p);
			c->put(c->p, &c->before, s.ns);
		}
		c->before = s;
		c->has = true;
	}
	return c->p->out->error;
}

/* put is called once for each record, with the time of the next; the last one lasts no time. */
static int put_column(struct firefox *p, const char *name, enum stream stream,
		      void (*put)(struct firefox *p, const struct profile_sample *s,
				  uint64_t until))
{
	struct profile_column c = { .p = p, .put = put };
	int r;

	out_str(p->out, name);
	p->comma = false;
	r = parts_read(&p->streams, p->lane * STREAMS + stream, put_records, &c, p->err);
	if (c.has) {
		put_comma(p);
		put(p, &c.before, c.before.ns);
	}
	return r;
}

/* A moment without open calls has no stack: the profile has null there. */
static void put_stack(struct firefox *p, const struct profile_sample *s, uint64_t until)
{
	if (s->stack == NO_STACK)
		out_str(p->out, "null");
	else
		out_u64(p->out, s->stack, 1, ' ');
}

static void put_time(struct firefox *p, const struct profile_sample *s, uint64_t until)
{
	put_ms(p, s->ns - p->begin);
}

/* Time in which nothing was open weighs nothing, so that percentages are of traced time. */
static void put_weight(struct firefox *p, const struct profile_sample *s, uint64_t until)
{
	if (s->stack == NO_STACK)
		out_char(p->out, '0');
	else
		put_ms(p, until - s->ns);
}

static void put_name(struct firefox *p, const struct profile_sample *s, uint64_t until)
{
	out_u64(p->out, s->stack, 1, ' ');
}

/* n times the same value. */
static void put_same(struct firefox *p, const char *name, uint64_t n, const char *value)
{
	out_str(p->out, name);
	for (uint64_t i = 0; i < n; i++) {
		if (i)
			out_char(p->out, ',');
		out_str(p->out, value);
	}
}

/* Each column reads the stream again, which is cheaper than keeping three columns in memory. */
static int put_samples(struct firefox *p)
{
	int r = put_column(p, "\"samples\":{\"stack\":[", SAMPLES, put_stack);

	r = r ? r : put_column(p, "],\"time\":[", SAMPLES, put_time);
	r = r ? r : put_column(p, "],\"weight\":[", SAMPLES, put_weight);
	out_printf(p->out, "],\"weightType\":\"tracing-ms\",\"length\":%" PRIu64 "}",
		   p->lanes.at[p->lane].samples);
	return r;
}

static int put_bytes(void *arg, const char *bytes, size_t n)
{
	struct firefox *p = arg;

	out_bytes(p->out, bytes, n);
	return p->out->error;
}

static int put_markers(struct firefox *p)
{
	const uint64_t n = p->lanes.at[p->lane].markers;
	int r;

	out_str(p->out, ",\n\"markers\":{\"data\":[");
	r = parts_read(&p->streams, p->lane * STREAMS + MARKER_DATA, put_bytes, p, p->err);
	r = r ? r : put_column(p, "],\"name\":[", MARKERS, put_name);
	r = r ? r : put_column(p, "],\"startTime\":[", MARKERS, put_time);
	put_same(p, "],\"endTime\":[", n, "null");
	put_same(p, "],\"phase\":[", n, "0");
	put_same(p, "],\"category\":[", n, "0");
	out_printf(p->out, "],\"length\":%" PRIu64 "}", n);
	return r;
}

/* --- tables ------------------------------------------------------------------------------- */

/* The numbers of the categories in meta. */
enum category { CATEGORY_OTHER, CATEGORY_PROGRAM, CATEGORY_LIBRARY, CATEGORY_KERNEL };

/* By it the profiler colours its graphs. */
static enum category category_of(const struct firefox *p, uint32_t function)
{
	const struct trace_module *m;

	if (walk_is_kernel(&p->walk, p->lane))
		return CATEGORY_KERNEL;
	if (!walk_function(&p->walk, function, &m))
		return CATEGORY_OTHER;
	return trace_info_is_program(p->walk.info, m) ? CATEGORY_PROGRAM : CATEGORY_LIBRARY;
}

/* Numbers the functions of the lane's stacks. The marks of the lane before are taken back one by
 * one: clearing the whole array for each thread would take threads times functions. */
static void find_functions(struct firefox *p)
{
	const struct profile_lane *l = &p->lanes.at[p->lane];

	for (size_t i = 0; i < p->funcs.n; i++)
		p->func_of.at[p->funcs.at[i]] = 0;
	p->funcs.n = 0;
	while (p->func_of.n < p->walk.functions.n)
		*vec_add(&p->func_of) = 0;
	for (size_t i = 0; i < l->stacks.n; i++) {
		uint32_t f = p->stacks.at[l->stacks.at[i]].function;

		if (!p->func_of.at[f]) {
			*vec_add(&p->funcs) = f;
			p->func_of.at[f] = (uint32_t)p->funcs.n;
		}
	}
}

/* A column with a number for each stack of the lane, or for each of its functions. */
static void put_numbers(struct firefox *p, const char *name, size_t n,
			int64_t (*of)(const struct firefox *p, uint32_t i))
{
	out_str(p->out, name);
	for (uint32_t i = 0; i < n; i++) {
		int64_t number = of(p, i);

		if (i)
			out_char(p->out, ',');
		if (number < 0)
			out_str(p->out, "null");
		else
			out_u64(p->out, (uint64_t)number, 1, ' ');
	}
}

/* By the lane's own number: the stacks of all lanes are in one table. */
static const struct profile_stack *stack_at(const struct firefox *p, uint32_t i)
{
	return &p->stacks.at[p->lanes.at[p->lane].stacks.at[i]];
}

/* A function has one frame: there are no addresses. */
static int64_t frame_of(const struct firefox *p, uint32_t i)
{
	return (int64_t)p->func_of.at[stack_at(p, i)->function] - 1;
}

/* -1 is written as null: an outermost stack. */
static int64_t prefix_of(const struct firefox *p, uint32_t i)
{
	uint32_t parent = stack_at(p, i)->parent;

	return parent == NO_STACK ? -1 : (int64_t)p->stacks.at[parent].local;
}

static int64_t category_of_stack(const struct firefox *p, uint32_t i)
{
	return category_of(p, stack_at(p, i)->function);
}

static int64_t category_of_func(const struct firefox *p, uint32_t i)
{
	return category_of(p, p->funcs.at[i]);
}

static int64_t itself(const struct firefox *p, uint32_t i)
{
	return i;
}

/* Strings are the markers' names, the functions', and the files of the functions. */
static int64_t name_of_func(const struct firefox *p, uint32_t i)
{
	return (int64_t)p->lanes.at[p->lane].names.n + i;
}

/* The strings of the files stand behind those of the names, in the same order. */
static int64_t file_of_func(const struct firefox *p, uint32_t i)
{
	return name_of_func(p, i) + (int64_t)p->funcs.n;
}

static void put_stacks(struct firefox *p)
{
	const size_t n = p->lanes.at[p->lane].stacks.n;

	put_numbers(p, ",\n\"stackTable\":{\"frame\":[", n, frame_of);
	put_numbers(p, "],\"prefix\":[", n, prefix_of);
	put_numbers(p, "],\"category\":[", n, category_of_stack);
	put_same(p, "],\"subcategory\":[", n, "0");
	out_printf(p->out, "],\"length\":%zu}", n);
}

/* A frame, a function and a resource (its file) for each function. */
static void put_functions(struct firefox *p)
{
	static const char *const none[] = { "nativeSymbol", "implementation", "line", "column" };
	const size_t n = p->funcs.n;

	put_same(p, ",\n\"frameTable\":{\"address\":[", n, "-1");
	put_same(p, "],\"inlineDepth\":[", n, "0");
	put_numbers(p, "],\"category\":[", n, category_of_func);
	put_same(p, "],\"subcategory\":[", n, "0");
	put_numbers(p, "],\"func\":[", n, itself);
	put_same(p, "],\"innerWindowID\":[", n, "0");
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		out_printf(p->out, "],\"%s", none[i]);
		put_same(p, "\":[", n, "null");
	}
	out_printf(p->out, "],\"length\":%zu}", n);
	put_numbers(p, ",\n\"funcTable\":{\"name\":[", n, name_of_func);
	put_same(p, "],\"isJS\":[", n, "false");
	put_same(p, "],\"relevantForJS\":[", n, "false");
	put_numbers(p, "],\"resource\":[", n, itself);
	put_same(p, "],\"fileName\":[", n, "null");
	put_same(p, "],\"lineNumber\":[", n, "null");
	put_same(p, "],\"columnNumber\":[", n, "null");
	out_printf(p->out, "],\"length\":%zu}", n);
	put_same(p, ",\n\"resourceTable\":{\"lib\":[", n, "null");
	put_numbers(p, "],\"name\":[", n, file_of_func);
	put_same(p, "],\"host\":[", n, "null");
	put_same(p, "],\"type\":[", n, "1");
	out_printf(p->out, "],\"length\":%zu}", n);
}

static void put_string(struct firefox *p, const char *s)
{
	put_comma(p);
	json_string(p->out, s);
}

/* In the order that name_of_func() and file_of_func() count by. */
static void put_strings(struct firefox *p)
{
	const struct profile_lane *l = &p->lanes.at[p->lane];

	out_str(p->out, ",\n\"stringArray\":[");
	p->comma = false;
	for (size_t i = 0; i < l->names.n; i++) {
		const struct trace_event *e = trace_info_event(p->walk.info, l->names.at[i]);
		char *name = e ? mem_printf("%s:%s", e->system, e->name) : NULL;

		put_string(p, l->names.at[i] == LOST_RECORDS ? "lost records" : e ? name
									 : "[unknown]");
		free(name);
	}
	for (size_t i = 0; i < p->funcs.n; i++)
		put_string(p, p->walk.functions.at[p->funcs.at[i]].text);
	for (size_t i = 0; i < p->funcs.n; i++)
		put_string(p, p->walk.functions.at[p->funcs.at[i]].file);
	out_char(p->out, ']');
}

/* --- the file ----------------------------------------------------------------------------- */

/* "nativeSymbols" and "pausedRanges" are empty, but the profiler wants them there. */
static void put_thread_head(struct firefox *p, const struct profile_lane *l)
{
	const struct trace_thread *t = walk_thread(&p->walk, p->lane);
	const bool main = walk_process(&p->walk, p->lane) == t->tid;
	char *name = walk_lane_name(&p->walk, p->lane);
	const char *process = walk_is_kernel(&p->walk, p->lane) ? TRACE_KERNEL_EXE : "";

	if (!*process && t->image < p->walk.info->images.n &&
	    p->walk.info->images.at[t->image].cmdline)
		process = p->walk.info->images.at[t->image].cmdline;
	out_str(p->out, "{\"name\":");
	json_string(p->out, name);
	out_str(p->out, ",\"processName\":");
	json_string(p->out, process);
	out_printf(p->out,
		   ",\"processType\":\"default\",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u,"
		   "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":",
		   main ? "true" : "false", walk_process(&p->walk, p->lane), t->tid);
	put_ms(p, l->first - p->begin);
	out_str(p->out, ",\"unregisterTime\":null,\"pausedRanges\":[],\n"
			"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			"\"functionSize\":[],\"length\":0},\n");
	free(name);
}

/* The tables come behind the samples: only then is it known which functions occur. Nothing of
 * another thread is in its tables: the profiler loads each by itself. */
static int put_thread(struct firefox *p)
{
	int r;

	find_functions(p);
	put_thread_head(p, &p->lanes.at[p->lane]);
	r = put_samples(p);
	r = r ? r : put_markers(p);
	put_stacks(p);
	put_functions(p);
	put_strings(p);
	out_char(p->out, '}');
	return r;
}

/* The system and the processor, as far as the trace knows them. */
static void put_computer(struct out *o, const struct trace_info *info)
{
	char *system = mem_printf("Linux %s", info->kernel ? info->kernel : "");

	out_str(o, ",\"platform\":\"Linux\",\"oscpu\":");
	json_string(o, system);
	free(system);
	if (!info->cpu || !*info->cpu)
		return;
	out_str(o, ",\"CPUName\":");
	json_string(o, info->cpu);
}

/* The grey category is the one that the profiler wants to be there. */
static void put_meta(struct firefox *p)
{
	const struct trace_info *info = p->walk.info;
	const struct trace_clock *c = &info->clock;

	out_printf(p->out,
		   "{\"meta\":{\"interval\":0.001,\"startTime\":%" PRIu64 ",\"processType\":0,\"stackwalk\":1,"
		   "\"version\":30,\"preprocessedProfileVersion\":48,\"symbolicated\":true,"
		   "\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
		   "\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		   "\"importedFrom\":\"brace\",\"logicalCPUs\":%u,\"product\":",
		   (c->real_ns + (p->begin - c->mono_ns)) / 1000000, info->cpus);
	json_string(p->out, info->cmdline ? info->cmdline : "brace");
	put_computer(p->out, info);
	out_str(p->out,
		",\n\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Program\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Library\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],\n"
		"\"markerSchema\":[{\"name\":\"event\",\"display\":[\"marker-chart\",\"marker-table\","
		"\"timeline-overview\"],\"tableLabel\":\"{marker.data.text}\","
		"\"data\":[{\"key\":\"text\",\"label\":\"Text\",\"format\":\"string\",\"searchable\":true}]}]},\n"
		"\"libs\":[],\"threads\":[");
}

/* Times count from the first sample or marker of all: the profiler's numbers are doubles, which
 * lose digits far from 0. A lane without samples and markers has no `first`, and is left out. */
static int put_all(struct firefox *p)
{
	bool first = true;
	int r = 0;

	p->begin = UINT64_MAX;
	for (size_t i = 0; i < p->lanes.n; i++)
		p->begin = p->lanes.at[i].first < p->begin ? p->lanes.at[i].first : p->begin;
	p->begin = p->begin == UINT64_MAX ? 0 : p->begin;
	put_meta(p);
	for (p->lane = 0; p->lane < p->lanes.n && !r; p->lane++) {
		if (p->lanes.at[p->lane].first == UINT64_MAX) /* it has nothing */
			continue;
		out_str(p->out, first ? "\n" : ",\n");
		first = false;
		r = put_thread(p);
	}
	out_str(p->out, "]}\n");
	return r;
}

static void free_profile(struct firefox *p)
{
	for (size_t i = 0; i < p->lanes.n; i++) {
		vec_free(&p->lanes.at[i].stacks);
		vec_free(&p->lanes.at[i].names);
	}
	vec_free(&p->lanes);
	vec_free(&p->stacks);
	vec_free(&p->funcs);
	vec_free(&p->func_of);
	number_map_free(&p->children);
	parts_free(&p->streams);
	event_texts_free(p->texts);
	walk_free(&p->walk);
}

/* The threads' tables are known only at the end: columns go to the streams first, and put_all()
 * copies them. */
static int write_firefox(struct export_job *job, struct err *err)
{
	struct firefox p = { .streams = parts_none(), .job = job, .out = job->out, .err = err };
	int r;

	walk_init(&p.walk, job->source);
	p.walk.cuts = true;
	p.texts = event_texts_new(job->source->info);
	r = export_walk(job, &p.walk, put_step, &p, err);
	if (!r)
		r = put_all(&p);
	free_profile(&p);
	return r;
}

const struct exporter export_firefox = {
	.name = "firefox", .summary = "the Firefox Profiler's JSON, for profiler.firefox.com",
	.holds = HOLDS_EVENTS | HOLDS_LOSSES | HOLDS_KERNEL,
	.write = write_firefox,
};
