/* SPDX-License-Identifier: MIT */
/* A trace file for programs: opened, described, numbered. Programs call it, one thread at a time
 * for a trace; cursors of other threads read what brace_trace_open() left and never changes. Fails
 * as the reader of trace files does. */
#include <errno.h>
#include <string.h>

#include "library/library.h"

/* --- formats ------------------------------------------------------------------------- */

/* Parsed at the first question; NULL: its text is no format. */
const struct event_format *library_format(struct library_formats *f, const struct trace_info *info,
					  size_t event)
{
	const struct trace_event *e = &info->events.at[event];
	struct library_format *row;

	while (f->at.n < info->events.n)
		*vec_add(&f->at) = (struct library_format){ 0 };
	row = &f->at.at[event];
	if (!row->read)
		row->format = event_format_parse(e->format, strlen(e->format), e->system, NULL);
	row->read = true;
	return row->format;
}

void library_formats_free(struct library_formats *f)
{
	for (size_t i = 0; i < f->at.n; i++)
		if (f->at.at[i].format)
			event_format_free(f->at.at[i].format);
	vec_free(&f->at);
}

/* --- numbers of functions and events ------------------------------------------------- */

/* By image, then by the first id. */
static int by_id(const void *a, const void *b)
{
	const struct library_range *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->first_id < y->first_id ? -1 : x->first_id > y->first_id;
}

/* Number 0 is nobody's. A file's modules may have any ids; their functions are in memory, so that
 * their numbers are few. Ranges are numbered one behind the other, so that a number is found
 * again by bisection (describe_function()). */
static void number_functions(struct brace_trace *t)
{
	uint32_t number = 1;

	for (size_t i = 0; i < t->info->modules.n; i++) {
		const struct trace_module *m = &t->info->modules.at[i];

		if (m->functions.n && m->functions.n < UINT32_MAX)
			*vec_add(&t->ranges) = (struct library_range){
				m->image, m->first_id, (uint32_t)m->functions.n, 0, m
			};
	}
	if (t->ranges.n)
		qsort(t->ranges.at, t->ranges.n, sizeof(*t->ranges.at), by_id);
	for (size_t i = 0; i < t->ranges.n; i++) {
		t->ranges.at[i].number = number;
		number += t->ranges.at[i].n;
	}
	vec_reserve(&t->functions, (size_t)number);
	memset(t->functions.at, 0, number * sizeof(*t->functions.at));
	t->functions.n = number;
}

/* NULL: no module of the image has the id. */
const struct library_range *library_range_of(const struct brace_trace *t, uint32_t image,
					     uint32_t id)
{
	size_t n = vec_bisect(&t->ranges, item,
			      item->image < image ||
				      (item->image == image && item->first_id <= id));
	const struct library_range *r = n ? &t->ranges.at[n - 1] : NULL;

	return r && r->image == image && id - r->first_id < r->n ? r : NULL;
}

#define EVENT_INDICES_MOST 65536u /* more than records can tell apart */

/* By index: records name events so. */
static void number_events(struct brace_trace *t)
{
	for (size_t i = 0; i < t->info->events.n; i++) {
		uint32_t index = t->info->events.at[i].index;

		if (index >= EVENT_INDICES_MOST)
			continue;
		while (t->events.n <= index)
			*vec_add(&t->events) = LIBRARY_NO_EVENT;
		/* The first of two with one index counts, as everywhere in brace. */
		if (t->events.at[index] == LIBRARY_NO_EVENT)
			t->events.at[index] = (uint32_t)i;
	}
	while (t->event_rows.n < t->info->events.n)
		*vec_add(&t->event_rows) = (struct library_event){ 0 };
}

/* --- what is told of it -------------------------------------------------------------- */

static void describe_threads(struct brace_trace *t)
{
	const struct trace_clock *clock = &t->info->clock;

	vec_reserve(&t->threads, t->info->threads.n);
	for (uint32_t i = 0; i < t->info->threads.n; i++) {
		const struct trace_thread *x = &t->info->threads.at[i];
		struct library_thread *to = vec_add(&t->threads);

		/* A name that fills its array has no NUL. */
		memset(to->name, 0, sizeof(to->name));
		memcpy(to->name, trace_thread_name(x), strnlen(trace_thread_name(x), TRACE_COMM));
		to->about = (struct brace_thread){
			.tid = x->tid, .process = t->processes.of_thread.at[i],
			.begin = trace_clock_ns(clock, x->tsc), .records = x->records,
			.lost = x->lost, .kernel = trace_info_is_kernel_thread(t->info, i),
		};
	}
}

static void describe_processes(struct brace_trace *t)
{
	for (size_t i = 0; i < t->processes.rows.n; i++) {
		const struct trace_process *p = &t->processes.rows.at[i];
		/* A file that was cut may lack the image. */
		const struct trace_image *image =
			p->image < t->info->images.n ? &t->info->images.at[p->image] : NULL;

		*vec_add(&t->process_rows) = (struct brace_process){
			.pid = p->pid, .program = image ? image->exe : "",
			.command = image ? image->cmdline : "",
			.begin = trace_clock_ns(&t->info->clock, trace_process_tsc(p, t->info)),
		};
	}
}

/* The texts are the trace's, as all that is told here. */
static void describe_settings(struct brace_trace *t)
{
	for (size_t i = 0; i < t->info->settings.n; i++) {
		const struct trace_setting *s = &t->info->settings.at[i];

		*vec_add(&t->settings) = (struct brace_setting){ s->file, s->text, s->chosen };
	}
}

/* The tracer's name came with the second version of the file. */
static void describe_trace(struct brace_trace *t)
{
	const struct trace_info *i = t->info;
	struct store_description d;
	uint64_t first, last;

	store_describe(t->reader, &d);
	t->about = (struct brace_info){
		.host = i->host, .kernel = i->kernel, .cpu = i->cpu, .command = i->cmdline,
		.version = i->version, .tracer = i->tracer ? i->tracer : "function_graph",
		.cpus = i->cpus, .created_ns = d.created_ns, .records = d.records,
		.calls = d.calls, .lost = d.lost, .bytes = d.bytes, .clock_hz = i->clock.hz,
		.cut = d.cut, .cut_bytes = d.cut_bytes, .thresh_ns = i->thresh_ns,
		.exclude_sleep = i->exclude_sleep, .values = i->values, .timed = i->run.timed,
		.ended = i->run.ended, .status = i->run.status, .elapsed_ns = i->run.elapsed_ns,
		.user_ns = i->run.user_ns, .system_ns = i->run.system_ns,
	};
	if (store_range(t->reader, &first, &last)) {
		t->about.begin = trace_clock_ns(&i->clock, first);
		t->about.end = trace_clock_ns(&i->clock, last);
	}
	describe_threads(t);
	describe_processes(t);
	describe_settings(t);
}

/* --- open and close ------------------------------------------------------------------ */

struct trace_opening {
	const char *name;    /* a path, or of the bytes */
	const void *bytes;   /* NULL: a file */
	size_t n;
	struct brace_trace *made;
};

/* All of it happens before anybody else has the trace: what it makes is constant from then on,
 * but for what is described at need. */
static int open_trace(void *arg)
{
	struct trace_opening *o = arg;
	struct brace_trace *t = mem_zalloc(sizeof(*t));
	int r = o->bytes ? store_open_bytes(o->name, o->bytes, o->n, &t->reader, library_error())
			 : store_open(o->name, &t->reader, library_error());

	if (r) {
		free(t);
		return r;
	}
	atomic_init(&t->refs, 1);
	t->info = store_info(t->reader);
	trace_processes_find(&t->processes, t->info);
	number_functions(t);
	number_events(t);
	describe_trace(t);
	o->made = t;
	return 0;
}

/* *out counts one user, the caller; each cursor and query adds one. */
int brace_trace_open(const char *path, struct brace_trace **out)
{
	struct trace_opening o = { .name = path };
	int r = library_try(open_trace, &o, NULL);

	*out = r ? NULL : o.made;
	return r;
}

int brace_trace_open_memory(const char *name, const void *bytes, size_t n,
			    struct brace_trace **out)
{
	/* No bytes are an empty file, which store_open_bytes() refuses. */
	struct trace_opening o = { .name = name, .bytes = bytes ? bytes : "", .n = bytes ? n : 0 };
	int r = library_try(open_trace, &o, NULL);

	*out = r ? NULL : o.made;
	return r;
}

/* Cursors of several threads share a trace: its users are counted atomically. */
struct brace_trace *library_trace_keep(struct brace_trace *t)
{
	/* Relaxed: the caller keeps the trace already. */
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

/* Names are made for the description, and are its own. */
static void free_functions(struct brace_trace *t)
{
	for (size_t i = 0; i < t->functions.n; i++)
		if (t->functions.at[i]) {
			free((char *)t->functions.at[i]->name);
			free(t->functions.at[i]);
		}
	vec_free(&t->functions);
	overloads_free(&t->overloads);
}

/* The reader goes last: texts and tables of the trace are its own. */
static void free_trace(struct brace_trace *t)
{
	free_functions(t);
	for (size_t i = 0; i < t->event_rows.n; i++)
		free(t->event_rows.at[i].fields);
	vec_free(&t->event_rows);
	library_formats_free(&t->formats);
	vec_free(&t->threads);
	vec_free(&t->process_rows);
	vec_free(&t->settings);
	vec_free(&t->ranges);
	vec_free(&t->events);
	trace_processes_free(&t->processes);
	store_close(t->reader);
	free(t);
}

/* A broken trace stays in memory: it may be half changed. */
void brace_trace_close(struct brace_trace *t)
{
	/* Release and acquire: each pairs with the other calls, so that the last user sees all uses
	 * before it frees. */
	if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1 && !t->broken)
		free_trace(t);
}

/* --- questions ----------------------------------------------------------------------- */

/* Made when the trace was opened, and constant: any thread may ask, at any time. */
const struct brace_info *brace_trace_info(const struct brace_trace *t)
{
	return &t->about;
}

/* Nanoseconds since 1970, as the two clocks stood when the recording began. */
int64_t brace_trace_realtime(const struct brace_trace *t, uint64_t time)
{
	const struct trace_clock *c = &t->info->clock;

	return (int64_t)(c->real_ns + (time - c->mono_ns));
}

uint32_t brace_trace_setting_count(const struct brace_trace *t)
{
	return (uint32_t)t->settings.n;
}

/* NULL, as below, for a number that there is not: a program may ask until it gets one. */
const struct brace_setting *brace_trace_setting(struct brace_trace *t, uint32_t i)
{
	return i < t->settings.n ? &t->settings.at[i] : NULL;
}

uint32_t brace_trace_process_count(const struct brace_trace *t)
{
	return (uint32_t)t->process_rows.n;
}

const struct brace_process *brace_trace_process(struct brace_trace *t, uint32_t i)
{
	return i < t->process_rows.n ? &t->process_rows.at[i] : NULL;
}

uint32_t brace_trace_thread_count(const struct brace_trace *t)
{
	return (uint32_t)t->threads.n;
}

/* The name stands beside the description, which is where it was made by now. */
const struct brace_thread *brace_trace_thread(struct brace_trace *t, uint32_t i)
{
	if (i >= t->threads.n)
		return NULL;
	t->threads.at[i].about.name = t->threads.at[i].name;
	return &t->threads.at[i].about;
}

/* --- functions ----------------------------------------------------------------------- */

struct trace_question { struct brace_trace *t; uint32_t i; };

/* A function that no module has is described, too: its name says so. */
static int describe_function(void *arg)
{
	struct trace_question *a = arg;
	struct brace_trace *t = a->t;
	size_t range = vec_bisect(&t->ranges, item, item->number <= a->i);
	const struct library_range *r = range ? &t->ranges.at[range - 1] : NULL;
	const struct trace_module *m = r ? r->module : NULL;
	const struct trace_function *f = m ? &m->functions.at[a->i - r->number] : NULL;
	struct brace_function *to = mem_zalloc(sizeof(*to));

	to->name = overloads_row_text(&t->overloads, m, f, &to->file);
	to->module = m ? m->path : "";
	if (f) {
		to->symbol = f->name ? m->strings.at + f->name : NULL;
		to->address = f->vaddr;
		to->size = f->size;
		to->build_id = m->build_id;
		to->build_id_size = m->build_id_len;
		to->returns = !(f->flags & TRACE_FUNCTION_ENTRY_ONLY);
	}
	t->functions.at[a->i] = to;
	return 0;
}

uint32_t brace_trace_function_count(const struct brace_trace *t)
{
	return (uint32_t)t->functions.n;
}

/* Described at the first question, and kept: the pointer stays valid as long as the trace. */
const struct brace_function *brace_trace_function(struct brace_trace *t, uint32_t i)
{
	struct trace_question a = { .t = t, .i = i };

	if (i >= t->functions.n)
		return NULL;
	if (t->functions.at[i])
		return t->functions.at[i];
	if (t->broken ? library_broken() : library_try(describe_function, &a, &t->broken))
		return NULL;
	return t->functions.at[i];
}

/* --- events -------------------------------------------------------------------------- */

/* An event whose format does not parse has no fields. */
static int describe_event(void *arg)
{
	struct trace_question *a = arg;
	struct library_event *to = &a->t->event_rows.at[a->i];
	const struct trace_event *e = &a->t->info->events.at[a->i];
	const struct event_format *format = library_format(&a->t->formats, a->t->info, a->i);

	to->about = (struct brace_event){ e->system, e->name, e->format,
					  format ? (uint32_t)format->n : 0 };
	to->fields = mem_realloc(NULL, to->about.fields + 1, sizeof(*to->fields));
	for (uint32_t i = 0; i < to->about.fields; i++) {
		const struct event_field *f = &format->fields[i];

		to->fields[i] = (struct brace_field){ f->name, f->type, f->offset, f->size,
						      f->is_signed };
	}
	to->read = true;
	return 0;
}

uint32_t brace_trace_event_count(const struct brace_trace *t)
{
	return (uint32_t)t->event_rows.n;
}

/* NULL: there is none, or no memory. */
static const struct library_event *event_at(struct brace_trace *t, uint32_t i)
{
	struct trace_question a = { .t = t, .i = i };

	if (i >= t->event_rows.n)
		return NULL;
	if (!t->event_rows.at[i].read &&
	    (t->broken ? library_broken() : library_try(describe_event, &a, &t->broken)))
		return NULL;
	return &t->event_rows.at[i];
}

/* Described at the first question, as functions are: such a question is for one thread at a
 * time. */
const struct brace_event *brace_trace_event(struct brace_trace *t, uint32_t i)
{
	const struct library_event *e = event_at(t, i);

	return e ? &e->about : NULL;
}

const struct brace_field *brace_trace_field(struct brace_trace *t, uint32_t event, uint32_t i)
{
	const struct library_event *e = event_at(t, event);

	return e && i < e->about.fields ? &e->fields[i] : NULL;
}
