/* SPDX-License-Identifier: MIT */
/* Pairs begins and returns of each thread's system calls, and adds them up. Called by one thread
 * for all events. The trace may be anybody's: numbers, offsets and lengths of a record are checked
 * as they are read, and threads are those of its info. */
#include "report/syscalls.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/format.h"
#include "event/syscall_copies.h"
#include "report/syscalls_internal.h"

/* The kernel's MAX_ERRNO: results from -4095 to -1 are errors. */
#define FAILED_MOST 4095
#define NAME_MOST 512

const char *const syscalls_column_words[SYSCALLS_COLUMNS_N] = {
#define X(id, word) [SYSCALLS_##id] = word,
	SYSCALLS_COLUMNS(X)
#undef X
};

struct syscalls *syscalls_new(const struct trace_info *info, enum syscalls_by by)
{
	struct syscalls *s = mem_zalloc(sizeof(*s));

	s->info = info;
	s->by = by;
	s->files = syscalls_files_new();
	return s;
}

/* A call that has not returned when the trace ends has texts, too. */
static void free_call(struct syscalls_call *c)
{
	syscalls_lines_free(c);
	free(c->path);
}

/* tdestroy() wants a function. */
static void keep_node(void *node)
{
}

void syscalls_free(struct syscalls *s)
{
	if (!s)
		return;
	tdestroy(s->rows_by_name, keep_node); /* the rows are in s->rows */
	for (size_t i = 0; i < s->rows.n; i++) {
		histogram_free(&s->rows.at[i]->durations);
		free(s->rows.at[i]->name);
		free(s->rows.at[i]);
	}
	for (size_t i = 0; i < s->threads.n; i++)
		for (unsigned k = 0; k < s->threads.at[i].n; k++)
			free_call(&s->threads.at[i].open[k]);
	vec_free(&s->rows);
	vec_free(&s->threads);
	vec_free(&s->events);
	syscalls_files_free(s->files);
	histogram_pool_free(&s->pool);
	free(s);
}

/* --- the trace's events ------------------------------------------------------------------ */

/* The offset of the first path in records of this format, which older traces lack; 0: none. */
static uint16_t path_offset(const struct syscall_info *call, const struct trace_event *e)
{
	struct call_copy copies[CALL_COPIES];
	unsigned n = syscall_copies(call, false, copies);
	const struct event_field *f = NULL;
	struct event_format *format;
	enum event_field_kind kind;
	char argument[64], name[80];
	struct err ignored;
	uint16_t offset = 0;

	if (!n || copies[0].length != CALL_COPY_STRING)
		return 0;
	syscall_argument(call, copies[0].argument - 1u, NULL, argument, sizeof(argument));
	snprintf(name, sizeof(name), "__%s_val", argument);
	format = event_format_parse(e->format, strlen(e->format), e->system, &ignored);
	if (format)
		f = event_find_field(format, name, strlen(name), &kind);
	if (f && event_field_kind(f) == EVENT_DYNAMIC)
		offset = f->offset;
	if (format)
		event_format_free(format);
	return offset;
}

/* Finds out by its name which call an event begins or ends. Other events, and calls that this brace
 * does not know, are passed over. */
static void learn_event(struct syscalls_event *out, const struct trace_event *e)
{
	static const char enter[] = "sys_enter", leave[] = "sys_exit";
	bool begins = strncmp(e->name, enter, sizeof(enter) - 1) == 0;
	const char *rest = e->name + (begins ? sizeof(enter) : sizeof(leave)) - 1;
	const struct syscall_info *call;

	if (!begins && strncmp(e->name, leave, sizeof(leave) - 1) != 0)
		return;
	if (strcmp(e->system, "raw_syscalls") == 0 && !*rest)
		out->kind = begins ? SYSCALLS_RAW_ENTER : SYSCALLS_RAW_EXIT;
	if (strcmp(e->system, "syscalls") != 0 || *rest != '_')
		return;
	call = syscall_by_name(rest + 1);
	if (!call)
		return;
	out->kind = begins ? SYSCALLS_ENTER : SYSCALLS_EXIT;
	out->nr = call->number;
	out->path = begins ? path_offset(call, e) : 0;
}

/* Learned at its first record: events of a live session may come later. */
static struct syscalls_event event_of(struct syscalls *s, uint32_t index)
{
	const struct trace_event *e;
	struct syscalls_event *known;

	while (s->events.n <= index)
		*vec_add(&s->events) = (struct syscalls_event){ 0 };
	known = &s->events.at[index];
	e = known->known ? NULL : trace_info_event(s->info, index);
	if (e) {
		known->known = true;
		learn_event(known, e);
	}
	return *known;
}

/* --- rows -------------------------------------------------------------------------------- */

/* For the tree of rows: by thread, then by name. Only one of the two is in use in a table. */
static int by_name(const void *a, const void *b)
{
	const struct syscalls_row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Returns the row, which is made at its first call. The tree holds addresses: rows are allocated
 * one by one and stay where they are. */
static struct syscalls_row *row_named(struct syscalls *s, const char *name, uint32_t thread)
{
	struct syscalls_row key = { .name = (char *)name, .thread = thread }, *row;
	void *found = tfind(&key, &s->rows_by_name, by_name);

	if (found)
		return *(struct syscalls_row **)found;
	row = mem_zalloc(sizeof(*row));
	row->name = mem_strdup(name);
	row->thread = thread;
	row->value[SYSCALLS_MIN] = UINT64_MAX;
	if (!tsearch(row, &s->rows_by_name, by_name))
		abort(); /* as mem_zalloc() without memory */
	*vec_add(&s->rows) = row;
	return row;
}

/* Descriptors belong to processes, records to threads. */
static uint32_t pid_of(const struct syscalls *s, uint32_t thread)
{
	return s->info->threads.at[thread].pid;
}

/* Numbers that have no name are those of the kernel's own, such as ERESTARTSYS. */
static void write_error(const struct syscalls_call *c, char *name, size_t n)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	const char *error = strerrorname_np(c->error);
	char number[16], call_number[24];

	snprintf(number, sizeof(number), "%d", c->error);
	snprintf(call_number, sizeof(call_number), "syscall_%u", c->nr);
	snprintf(name, n, "%s %s", call ? call->name : call_number, error ? error : number);
}

/* Rows by thread have a number and no name; all others are common to the threads. */
static struct syscalls_row *row_of(struct syscalls *s, const struct syscalls_call *c,
				   uint32_t thread)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	char name[NAME_MOST];

	if (s->by == SYSCALLS_BY_THREAD)
		return row_named(s, "", thread);
	if (s->by == SYSCALLS_BY_ERROR)
		write_error(c, name, sizeof(name));
	else if (s->by == SYSCALLS_BY_FILE)
		syscalls_files_begin(s->files, pid_of(s, thread), c, name, sizeof(name));
	else if (call)
		snprintf(name, sizeof(name), "%s", call->name);
	else
		snprintf(name, sizeof(name), "syscall_%u", c->nr);
	return row_named(s, name, 0);
}

/* Adds a call whose begin and return were both seen; in ticks of the trace's clock. */
static void add_duration(struct syscalls *s, struct syscalls_row *row, uint64_t ticks)
{
	row->timed++;
	row->value[SYSCALLS_TOTAL] += ticks;
	if (ticks < row->value[SYSCALLS_MIN])
		row->value[SYSCALLS_MIN] = ticks;
	if (ticks > row->value[SYSCALLS_MAX])
		row->value[SYSCALLS_MAX] = ticks;
	histogram_add(&row->durations, &s->pool, ticks);
}

/* --- records ----------------------------------------------------------------------------- */

/* The number is one of the trace's threads: syscalls_event() has checked it. */
static struct syscalls_thread *thread_of(struct syscalls *s, uint32_t thread)
{
	while (s->threads.n <= thread)
		*vec_add(&s->threads) = (struct syscalls_thread){ 0 };
	return &s->threads.at[thread];
}

/* Counts the call, when all that its begin tells is known. */
static void count_call(struct syscalls *s, struct syscalls_call *c, uint32_t thread)
{
	if (c->row || (s->by == SYSCALLS_BY_ERROR && !c->error))
		return;
	c->row = row_of(s, c, thread);
	c->row->value[SYSCALLS_CALLS]++;
}

/* The innermost call that is open is known to be all there: others begin within it, or it ends. */
static void count_open(struct syscalls *s, struct syscalls_thread *t, uint32_t thread)
{
	if (t->n)
		count_call(s, &t->open[t->n - 1], thread);
}

static bool is_one_of(uint32_t nr, const char *const *names, size_t n)
{
	const struct syscall_info *call = syscall_by_number(nr);

	for (size_t i = 0; call && i < n; i++)
		if (strcmp(names[i], call->name) == 0)
			return true;
	return false;
}

static bool is_execution(uint32_t nr)
{
	static const char *const names[] = { "execve", "execveat" };

	return is_one_of(nr, names, sizeof(names) / sizeof(*names));
}

/* In launched programs the agent leads these through itself: past the place of their return, where
 * it finds no room beside that (agent/libc_calls.c). */
static bool is_led(uint32_t nr)
{
	static const char *const led[] = { "execve", "execveat", "prctl", "prlimit64", "mlockall" };

	return is_one_of(nr, led, sizeof(led) / sizeof(*led));
}

#define NOTE_LED "return not seen: in launched programs the agent makes this call"
#define NOTE_EXECUTED "does not return: another program was executed"
#define NOTE_EXECUTES "return not seen: perhaps another program was executed"

static const char *note_of(const struct syscalls_call *c)
{
	return c->executed	    ? NOTE_EXECUTED
	       : is_execution(c->nr) ? NOTE_EXECUTES
				     : NOTE_LED;
}

/* Its return is not known, and will not be: a line says why, as far as that is known. */
static void forget_call(struct syscalls *s, struct syscalls_call *c, uint32_t thread)
{
	count_call(s, c, thread);
	if (s->by == SYSCALLS_BY_FILE)
		syscalls_files_forget(s->files, pid_of(s, thread), c);
	if (s->lines && !c->note && is_led(c->nr))
		c->note = mem_strdup(note_of(c));
	if (s->lines)
		syscalls_lines_end(s, c, thread, NULL, 0);
	free_call(c);
}

/* Whether an open call has no return, if no handler interrupted it. */
static bool is_over(const struct syscalls *s, uint32_t nr)
{
	return is_led(nr) && (is_execution(nr) || !s->led_return);
}

/* Opens a call within those that are open: a signal's handler may call while a call waits. */
static struct syscalls_call *push_call(struct syscalls *s, uint32_t thread, uint32_t nr,
				       uint64_t tsc)
{
	struct syscalls_thread *t = thread_of(s, thread);
	struct syscalls_call *c;

	/* An execution is over, and so is a led call, where such calls' returns are not seen: its
	 * line comes in its place. */
	if (s->lines && t->n && is_over(s, t->open[t->n - 1].nr))
		forget_call(s, &t->open[--t->n], thread);
	if (t->n == SYSCALLS_OPEN) { /* the outermost has not returned in a long time */
		forget_call(s, &t->open[0], thread);
		memmove(&t->open[0], &t->open[1], (SYSCALLS_OPEN - 1) * sizeof(t->open[0]));
		t->n--;
	}
	c = &t->open[t->n++];
	*c = (struct syscalls_call){ .nr = nr, .tsc = tsc, .pid = pid_of(s, thread) };
	if (is_execution(nr))
		s->executing[s->n_executing++ % SYSCALLS_EXECUTING] = thread;
	return c;
}

/* The record has the call's number first, then its arguments, as many of them as there are. */
static void copy_arguments(struct syscalls_call *c, const struct event *e)
{
	uint64_t n = e->count / 8;

	for (uint64_t i = 1; i < n && i <= SYSCALL_ARGS; i++)
		c->args[i - 1] = e->payload[i];
}

/* The string that the __data_loc at `offset` of the record leads to; NULL: there is none. The
 * caller frees it. */
static char *path_in(const struct event *e, uint16_t offset)
{
	/* Places count from the common fields on, which the payload lacks. */
	const uint8_t *payload = (const uint8_t *)e->payload;
	uint64_t size = EVENT_COMMON_BYTES + e->count;
	uint32_t loc, at, n;

	if (offset < EVENT_COMMON_BYTES || offset + sizeof(loc) > size)
		return NULL;
	memcpy(&loc, payload + offset - EVENT_COMMON_BYTES, sizeof(loc));
	at = loc & 0xffff;
	n = loc >> 16;
	if (n <= 1 || at < EVENT_COMMON_BYTES || (uint64_t)at + n > size)
		return NULL;
	return mem_strndup((const char *)payload + at - EVENT_COMMON_BYTES, n - 1);
}

/* An event of syscalls:, which alone has the path. */
static void begin_named(struct syscalls *s, const struct event *e, const struct syscalls_event *k)
{
	struct syscalls_thread *t = thread_of(s, e->thread);
	struct syscalls_call *c = t->n ? &t->open[t->n - 1] : NULL;

	/* Otherwise the call's raw event came right before, and has opened the call. */
	if (!s->raw || !c || c->row || c->nr != k->nr || c->named) {
		if (s->raw)
			return;
		count_open(s, t, e->thread);
		c = push_call(s, e->thread, k->nr, e->tsc);
		copy_arguments(c, e);
	}
	c->named = true;
	if (k->path)
		c->path = path_in(e, k->path);
	if (s->lines)
		syscalls_lines_begin(s, c, e);
	count_call(s, c, e->thread);
}

/* From the first raw event on, these begin and end calls; the calls' own events only add the
 * path. */
static void begin_raw(struct syscalls *s, const struct event *e)
{
	struct syscalls_thread *t = thread_of(s, e->thread);
	struct syscalls_call *c;

	s->raw = true;
	count_open(s, t, e->thread);
	c = push_call(s, e->thread, (uint32_t)e->payload[0], e->tsc);
	copy_arguments(c, e);
	if (s->lines)
		syscalls_lines_begin(s, c, e);
}

/* Ends the innermost open call of that number: those within it have not returned. */
static void end_call(struct syscalls *s, const struct event *e, uint32_t nr)
{
	struct syscalls_thread *t = thread_of(s, e->thread);
	int64_t result = (int64_t)e->payload[1];
	struct syscalls_call c;
	unsigned i = t->n;

	while (i && t->open[i - 1].nr != nr)
		i--;
	/* The begin of the call is not in the trace. */
	if (!i)
		return;
	count_open(s, t, e->thread);
	for (; t->n > i; t->n--)
		forget_call(s, &t->open[t->n - 1], e->thread);
	c = t->open[--t->n];
	s->led_return |= is_led(nr);
	c.error = result < 0 && result >= -FAILED_MOST ? (int)-result : 0;
	count_call(s, &c, e->thread);
	if (c.row) {
		c.row->value[SYSCALLS_ERRORS] += c.error != 0;
		add_duration(s, c.row, e->tsc > c.tsc ? e->tsc - c.tsc : 0);
	}
	if (s->by == SYSCALLS_BY_FILE)
		syscalls_files_return(s->files, pid_of(s, e->thread), &c, result);
	if (s->by == SYSCALLS_BY_FILE && !c.error)
		syscalls_lines_pair(s, &c, e);
	if (s->lines && !c.error)
		syscalls_lines_return(s, &c, e);
	if (s->lines)
		syscalls_lines_end(s, &c, e->thread, &result, e->tsc > c.tsc ? e->tsc - c.tsc : 0);
	free_call(&c);
}

/* Returns may be among what was lost: none of the calls that are open now has a time. */
static void forget_open(struct syscalls *s, uint32_t thread)
{
	struct syscalls_thread *t = thread_of(s, thread);

	for (; t->n; t->n--)
		forget_call(s, &t->open[t->n - 1], thread);
}

/* Whether the thread's innermost open call is the execution of the image. */
static bool is_execution_of(struct syscalls *s, uint32_t thread, uint32_t pid,
			    const struct trace_image *image)
{
	const struct syscalls_thread *t = thread_of(s, thread);

	return t->n && is_execution(t->open[t->n - 1].nr) && pid_of(s, thread) == pid &&
	       image->pid == pid && t->open[t->n - 1].tsc < image->tsc;
}

/* The first call of an image ends the execution that began it, and what its thread had open. An
 * execution in a child of vfork is among its parent's calls, and not found. */
static void end_execution(struct syscalls *s, uint32_t pid, const struct trace_image *image)
{
	unsigned n = s->n_executing < SYSCALLS_EXECUTING ? s->n_executing : SYSCALLS_EXECUTING;

	for (unsigned i = 0; i < n; i++) {
		uint32_t thread = s->executing[i];

		if (!is_execution_of(s, thread, pid, image))
			continue;
		thread_of(s, thread)->open[thread_of(s, thread)->n - 1].executed = true;
		forget_open(s, thread);
	}
}

/* Before the first call of a thread. */
static void see_image(struct syscalls *s, uint32_t thread)
{
	const struct trace_thread *t = &s->info->threads.at[thread];

	if (thread_of(s, thread)->seen)
		return;
	thread_of(s, thread)->seen = true;
	if (t->image >= s->info->images.n)
		return;
	end_execution(s, t->pid, &s->info->images.at[t->image]);
	syscalls_files_image(s->files, t->pid, &s->info->images.at[t->image]);
}

void syscalls_event(struct syscalls *s, const struct event *e)
{
	struct syscalls_event k;

	if (!s->first)
		s->first = e->tsc;
	s->last = e->tsc > s->last ? e->tsc : s->last;
	if (e->thread < s->info->threads.n && e->kind == EVENT_LOST)
		forget_open(s, e->thread);
	if (e->kind != EVENT_TRACE || e->thread >= s->info->threads.n)
		return;
	/* A record that is shorter than its event's fixed part is passed over. Once there are raw
	 * events, the calls' own do not end calls. */
	k = event_of(s, e->fn);
	if (k.kind != SYSCALLS_OTHER)
		see_image(s, e->thread);
	if (k.kind == SYSCALLS_ENTER && e->count >= 8)
		begin_named(s, e, &k);
	else if (k.kind == SYSCALLS_RAW_ENTER && e->count >= 8)
		begin_raw(s, e);
	else if (k.kind == SYSCALLS_RAW_EXIT && e->count >= 16)
		end_call(s, e, (uint32_t)e->payload[0]);
	else if (k.kind == SYSCALLS_EXIT && e->count >= 16 && !s->raw)
		end_call(s, e, k.nr);
}

/* A second time it finds none. */
void syscalls_end(struct syscalls *s)
{
	for (size_t i = 0; i < s->threads.n; i++)
		forget_open(s, (uint32_t)i);
}
