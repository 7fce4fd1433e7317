/* SPDX-License-Identifier: MIT */
/* The calls of a thread are followed, and those that count given on as EVENT_STEPs whose function
 * is the row's number. Workers of a summary call it, each with a cursor of its own; what they share
 * does not change. Errors are the inner input's. */
#include "report/regroup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/table_hash.h"
#include "excerpt/excerpt.h"
#include "report/declared.h"
#include "shared/record.h"
#include "trace/tracks.h"

#define BATCH 1024
#define NO_ROW (FN_NONE - 1) /* the call does not count */

/* Rows of an image's functions, by id; of CALLERS and CALLEES, whether they are meant. */
struct regroup_image { uint32_t *rows; size_t n; };

struct regroup {
	struct summary_input inner;
	enum regroup_by by;
	const struct function_list *functions;
	bool found;
	VEC(struct regroup_image) images;
	VEC(uint32_t) processes;  /* by thread: the row */
	VEC(uint32_t) first;      /* by row: the process's first thread */
	VEC(char *) files;        /* by row */
	struct number_map file_rows; /* hash of a name, + 1 -> the first row that has it */
	struct declared *declared; /* FILE, LINE */
};

/* A call that is open: its function, and the row that it counts for. */
struct regroup_call { uint32_t fn, row; };
typedef VEC(struct regroup_call) regroup_stack;

struct regroup_cursor {
	struct regroup *g;
	void *inner;
	uint32_t thread;
	struct sites sites;
	struct tracks tracks;
	struct lane *lane;
	VEC(regroup_stack) stacks; /* by track */
	VEC(struct call_step) steps;
	VEC(struct event) others;  /* no calls: losses */
	size_t next, next_other;
	struct event events[BATCH], last;
	bool ended;
};

/* --- rows ------------------------------------------------------------------------------------ */

/* Rows are those of files: functions count for where they stand. */
static bool is_by_file(const struct regroup *g)
{
	return g->by == REGROUP_MODULE || g->by == REGROUP_FILE || g->by == REGROUP_LINE;
}

/* The row of a file, as the column `module` of functions has it, or of a place in the source. Names
 * of one hash are looked for one by one. Keys are odd, since the map keeps no 0; it has the first
 * row of a hash, from where the search goes on in the unlikely case. */
static uint32_t file_row(struct regroup *g, const char *file)
{
	uint64_t key = table_hash_text(0, file) | 1, row = number_map_get(&g->file_rows, key);

	if (row != NUMBER_NONE)
		for (size_t i = row; i < g->files.n; i++)
			if (!strcmp(g->files.at[i], file))
				return (uint32_t)i;
	*vec_add(&g->files) = mem_strdup(file);
	if (row == NUMBER_NONE)
		number_map_set(&g->file_rows, key, g->files.n - 1);
	return (uint32_t)g->files.n - 1;
}

/* "src/shop.c", "src/shop.c:120", or "[libc.so.6]" where nothing tells. */
static uint32_t source_row(struct regroup *g, const struct trace_module *m,
			   const struct trace_function *f)
{
	uint32_t line, row;
	const char *path = declared_of(g->declared, m, f, &line);
	bool known;
	char *text;

	if (path && g->by == REGROUP_FILE)
		return file_row(g, path);
	text = path ? mem_printf("%s:%" PRIu32, path, line)
		    : mem_printf("[%s]", trace_function_file(m, f, &known));
	row = file_row(g, text);
	free(text);
	return row;
}

/* Whether the function is meant, or its file's row. own: the row of its module. A PLT entry counts
 * for the library that it leads to: the stub belongs to the caller's module, but the time is the
 * library's. CALLERS and CALLEES have a bit here, not a row. */
static uint32_t row_of(struct regroup *g, uint32_t own, const struct trace_module *m,
		       const struct trace_function *f)
{
	bool known;

	if (g->by == REGROUP_FILE || g->by == REGROUP_LINE)
		return source_row(g, m, f);
	if (g->by == REGROUP_MODULE)
		return f->library ? file_row(g, trace_function_file(m, f, &known)) : own;
	if (!excerpt_list_has(g->functions, m, f))
		return 0;
	g->found = true;
	return 1;
}

/* Ids that no record can have are left out: a damaged file may claim any. All ids get a value: one
 * between two modules has that of a function of no file, or of one that is not meant. */
static void add_module(struct regroup *g, uint32_t number)
{
	const struct trace_module *m = &g->inner.info->modules.at[number];
	const uint32_t row = g->by == REGROUP_MODULE ? file_row(g, m->name) : 0;
	struct regroup_image *image;

	if (m->image >= g->images.n)
		return;
	image = &g->images.at[m->image];
	for (size_t i = 0; i < m->functions.n && m->first_id + i <= RECORD_ID_MAX; i++) {
		size_t id = m->first_id + i;

		if (id >= image->n) {
			size_t n = id + 1 > 2 * image->n ? id + 1 : 2 * image->n;

			image->rows = mem_realloc(image->rows, n, sizeof(*image->rows));
			for (size_t k = image->n; k < n; k++)
				image->rows[k] = is_by_file(g) ? FN_NONE : 0;
			image->n = n;
		}
		image->rows[id] = row_of(g, row, m, &m->functions.at[i]);
	}
}

/* Threads of one pid are one process, also after an exec. */
static void add_processes(struct regroup *g)
{
	const struct trace_info *info = g->inner.info;
	struct number_map rows = { 0 };

	for (size_t i = 0; i < info->threads.n; i++) {
		uint64_t pid = info->threads.at[i].pid, row = number_map_get(&rows, pid);

		if (row == NUMBER_NONE) {
			row = g->first.n;
			*vec_add(&g->first) = (uint32_t)i;
			number_map_set(&rows, pid, row);
		}
		*vec_add(&g->processes) = (uint32_t)row;
	}
	number_map_free(&rows);
}

/* functions outlives the result. All tables are made here, on the caller's thread; the workers
 * only read them. */
struct regroup *regroup_new(const struct summary_input *inner, enum regroup_by by,
			    const struct function_list *functions)
{
	struct regroup *g = mem_zalloc(sizeof(*g));

	g->inner = *inner;
	g->by = by;
	g->functions = functions;
	while (g->images.n < inner->info->images.n)
		*vec_add(&g->images) = (struct regroup_image){ 0 };
	if (by == REGROUP_PROCESS)
		add_processes(g);
	if (by == REGROUP_FILE || by == REGROUP_LINE)
		g->declared = declared_new();
	for (size_t i = 0; by != REGROUP_PROCESS && i < inner->info->modules.n; i++)
		add_module(g, (uint32_t)i);
	return g;
}

void regroup_free(struct regroup *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->images.n; i++)
		free(g->images.at[i].rows);
	vec_free(&g->images);
	vec_free(&g->processes);
	vec_free(&g->first);
	for (size_t i = 0; i < g->files.n; i++)
		free(g->files.at[i]);
	vec_free(&g->files);
	number_map_free(&g->file_rows);
	declared_free(g->declared);
	free(g);
}

int regroup_failure(const struct regroup *g, struct err *err)
{
	return g->declared ? declared_failure(g->declared, err) : 0;
}

/* False: the patterns match no function of the trace, which the command tells in place of an
 * empty table. */
bool regroup_has_functions(const struct regroup *g)
{
	return g->found;
}

/* summary_input.group_name: a row's name, for free(). A process has the name of its first
 * thread. */
static char *group_name(void *of, uint32_t row)
{
	const struct regroup *g = of;
	const struct trace_info *info = g->inner.info;
	const struct trace_thread *t;

	if (is_by_file(g))
		return mem_strdup(row < g->files.n ? g->files.at[row] : "[unknown]");
	if (row >= g->first.n)
		return mem_strdup("[unknown]");
	t = &info->threads.at[g->first.at[row]];
	return mem_printf("%.*s-%u", TRACE_COMM, trace_thread_name(t), t->pid);
}

/* --- a thread's calls ------------------------------------------------------------------------- */

/* The tables' entry of the function in the thread's image; of one that no module has: no file, or
 * not meant. */
static uint32_t flag_of(const struct regroup_cursor *c, uint32_t fn)
{
	const struct regroup *g = c->g;
	const uint32_t image = g->inner.info->threads.at[c->thread].image;

	if (image >= g->images.n || fn >= g->images.at[image].n)
		return is_by_file(g) ? FN_NONE : 0;
	return g->images.at[image].rows[fn];
}

/* The row that a call counts for. below: the call it lies in, or NULL. A row of callers or callees
 * is a function's id, and group_name is NULL then: the summary names it as it does others. FN_NONE
 * becomes summary_input.nobody. */
static uint32_t row_for(const struct regroup_cursor *c, uint32_t fn,
			const struct regroup_call *below)
{
	switch (c->g->by) {
	case REGROUP_PROCESS:
		return c->g->processes.at[c->thread];
	case REGROUP_MODULE:
	case REGROUP_FILE:
	case REGROUP_LINE:
		return flag_of(c, fn);
	case REGROUP_CALLERS:
		return !flag_of(c, fn) ? NO_ROW : below ? below->fn : FN_NONE;
	default:
		return below && flag_of(c, below->fn) ? fn : NO_ROW;
	}
}

/* The open calls of a track; valid until another track is asked for. */
static regroup_stack *stack_of(struct regroup_cursor *c, uint32_t track)
{
	while (c->stacks.n <= track)
		*vec_add(&c->stacks) = (regroup_stack){ 0 };
	return &c->stacks.at[track];
}

/* Gives the step on as one of its row. Arguments are no row's. */
static void put_step(struct regroup_cursor *c, const struct call_step *s, uint32_t row)
{
	if (row == NO_ROW)
		return;
	*vec_add(&c->steps) = *s;
	c->steps.at[c->steps.n - 1].fn = row;
	c->steps.at[c->steps.n - 1].flags &= (uint8_t)~CALL_ARGUMENTS;
}

/* Begins and ends of calls count for the same row, so the row is kept with the open call. Calls
 * whose ends were lost go with the next one at their depth. A leave whose entry was not seen is
 * dropped: nobody was told of its beginning. */
static void take_step(void *arg, const struct call_step *s)
{
	struct regroup_cursor *c = arg;
	regroup_stack *stack = stack_of(c, s->track);
	const struct regroup_call *below;
	uint32_t row;

	if (s->kind == CALL_LEAVE) {
		if (stack->n > s->depth)
			put_step(c, s, stack->at[s->depth].row);
		stack->n = stack->n > s->depth ? s->depth : stack->n;
		return;
	}
	if (s->kind != CALL_ENTER && s->kind != CALL_ONLY && s->kind != CALL_SPAN)
		return;
	if (s->kind == CALL_ENTER && stack->n > s->depth)
		stack->n = s->depth;
	below = stack->n ? &stack->at[stack->n - 1] : NULL;
	row = row_for(c, s->fn, below);
	put_step(c, s, row);
	if (s->kind == CALL_ENTER)
		*vec_add(stack) = (struct regroup_call){ s->fn, row };
}

/* --- the input ------------------------------------------------------------------------ */

/* NULL if the inner input has nothing of the thread. */
static void *open_cursor(void *of, uint32_t thread)
{
	struct regroup *g = of;
	struct regroup_cursor *c;
	void *inner = g->inner.open(g->inner.of, thread);

	if (!inner)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->g = g;
	c->inner = inner;
	c->thread = thread;
	sites_init(&c->sites, g->inner.info);
	c->lane = tracks_init_one(&c->tracks, g->inner.info, &c->sites, thread);
	return c;
}

/* Follows some more of the thread's events. 0, or -errno and *err. It replaces the lists that
 * give_next() has given out: hence regroup_input().at_once. The last call of a batch may end in a
 * later one: stacks stay. */
static int follow(struct regroup_cursor *c, struct err *err)
{
	int n = c->g->inner.next(c->inner, c->events, BATCH, err);

	c->steps.n = c->others.n = c->next = c->next_other = 0;
	for (int i = 0; i < n; i++) {
		if (c->events[i].kind == EVENT_LOST)
			*vec_add(&c->others) = c->events[i];
		tracks_feed(&c->tracks, c->lane, &c->events[i], take_step, c);
	}
	if (n > 0)
		c->last = c->events[n - 1];
	if (n)
		return n < 0 ? n : 0;
	tracks_end(&c->tracks, &c->last, take_step, c);
	c->ended = true;
	return 0;
}

/* Losses come before the steps of their batch. False: the batch is given. Where they stand among
 * the steps makes no difference: the summary adds them up. */
static bool give_next(struct regroup_cursor *c, struct event *out)
{
	const struct call_step *s;

	if (c->next_other < c->others.n) {
		*out = c->others.at[c->next_other++];
		return true;
	}
	if (c->next == c->steps.n)
		return false;
	s = &c->steps.at[c->next++];
	*out = (struct event){ .tsc = s->tsc, .step = s, .thread = s->thread, .fn = s->fn,
			       .site = s->site, .cpu = s->cpu, .kind = EVENT_STEP };
	return true;
}

/* 0 at the thread's end: batches whose calls all count for no row are passed over. */
static int next_events(void *cursor, struct event *out, size_t n, struct err *err)
{
	struct regroup_cursor *c = cursor;
	size_t done = 0;
	int r = 0;

	while (done < n && give_next(c, &out[done]))
		done++;
	while (!done && !c->ended && !r) {
		r = follow(c, err);
		while (done < n && give_next(c, &out[done]))
			done++;
	}
	return r < 0 ? r : (int)done;
}

/* g stays: it is the summary's, and freed when all cursors are closed. */
static void close_cursor(void *cursor)
{
	struct regroup_cursor *c = cursor;

	c->g->inner.close(c->inner);
	for (size_t i = 0; i < c->stacks.n; i++)
		vec_free(&c->stacks.at[i]);
	vec_free(&c->stacks);
	vec_free(&c->steps);
	vec_free(&c->others);
	tracks_free(&c->tracks);
	sites_free(&c->sites);
	free(c);
}

/* at_once: an event's step lies in the cursor's list, which the next batch replaces. */
struct summary_input regroup_input(struct regroup *g)
{
	static const char *const titles[REGROUP_PROCESS + 1] = {
		[REGROUP_CALLERS] = "CALLER", [REGROUP_CALLEES] = "FUNCTION",
		[REGROUP_MODULE] = "MODULE", [REGROUP_PROCESS] = "PROCESS",
		[REGROUP_FILE] = "FILE", [REGROUP_LINE] = "LINE",
	};
	const bool groups = is_by_file(g) || g->by == REGROUP_PROCESS;

	return (struct summary_input){
		.info = g->inner.info, .inner = &g->inner, .of = g, .open = open_cursor,
		.next = next_events, .close = close_cursor, .at_once = true,
		.group_name = groups ? group_name : NULL,
		.nobody = g->by == REGROUP_CALLERS ? "(no traced function)" : NULL,
		.title = titles[g->by],
	};
}
