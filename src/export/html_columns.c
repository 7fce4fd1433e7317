/* SPDX-License-Identifier: MIT */
/* Called by html.c for each step of a walk. Fails where the temporary file has no room. A lane's
 * times never go back, so that each column is a row of numbers without a sign, in bytes that
 * compress well: times are two columns, because their lowest bytes are noise. One thread: that of
 * the export. */
#include "export/html_columns.h"

#include <string.h>

#include "event/format.h"
#include "report/event_text.h"

#define NUMBER_BYTES 10

/* Fields of sched_switch by which a record tells that its thread stops or goes on. */
struct html_sched {
	bool looked;
	uint32_t event;     /* number of sched_switch; UINT32_MAX: the trace has none */
	uint16_t state_at, state_size, next_at;
	/* By TID, + 1: the lane of the kernel's records of that thread. */
	struct number_map of_kernel;
};

/* --- numbers and texts ------------------------------------------------------------------- */

/* LEB128: seven bits a byte, the lowest first. Returns the number of bytes, at most
 * NUMBER_BYTES. */
static size_t number_bytes(unsigned char to[NUMBER_BYTES], uint64_t v)
{
	size_t n = 0;

	for (; v > 127; v >>= 7)
		to[n++] = (unsigned char)(v | 128);
	to[n++] = (unsigned char)v;
	return n;
}

/* Parts are numbered by lane and column; they wait in a temporary file if there is much. */
static int add_bytes(struct html_columns *c, uint32_t lane, enum html_column column,
		     const void *bytes, size_t n)
{
	return parts_add(&c->parts, lane * HTML_COLUMNS + column, bytes, n, c->err);
}

/* In the viewer's variable length: small numbers are most of them. */
static int add_number(struct html_columns *c, uint32_t lane, enum html_column column, uint64_t v)
{
	unsigned char bytes[NUMBER_BYTES];

	return add_bytes(c, lane, column, bytes, number_bytes(bytes, v));
}

static int add_numbers(struct html_columns *c, uint32_t lane, enum html_column column,
		       const uint64_t *v, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = add_number(c, lane, column, v[i]);
	return r;
}

/* A length in bytes, and the text. */
static int add_text(struct html_columns *c, uint32_t lane, enum html_column column,
		    const char *text)
{
	size_t n = strlen(text);
	int r = add_number(c, lane, column, n);

	return r ? r : add_bytes(c, lane, column, text, n);
}

/* A difference that may be negative: its sign is the lowest bit. */
static uint64_t with_sign(uint64_t now, uint64_t before)
{
	return now >= before ? (now - before) << 1 : (before - now) << 1 | 1;
}

/* --- steps ------------------------------------------------------------------------------- */

/* The lane's state, made when it is first met. All times of a lane begin with the trace's, which
 * is the first step's. */
static struct html_lane *lane_of(struct html_columns *c, uint32_t lane, uint64_t tsc)
{
	if (!c->begun) {
		c->begin = tsc;
		c->begun = true;
	}
	while (c->lanes.n <= lane)
		*vec_add(&c->lanes) = (struct html_lane){
			.last = c->begin, .last_event = c->begin, .last_state = c->begin,
		};
	return &c->lanes.at[lane];
}

/* Adds the time since the lane's latest step, and what happens. */
static int add_step(struct html_columns *c, const struct walk_step *s, uint64_t what)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	uint64_t delta = s->tsc > l->last ? s->tsc - l->last : 0;
	unsigned char low = (unsigned char)delta;
	int r = add_bytes(c, s->lane, HTML_LOW, &low, 1);

	l->last += delta;
	r = r ? r : add_number(c, s->lane, HTML_HIGH, delta >> 8);
	return r ? r : add_number(c, s->lane, HTML_WHAT, what);
}

/* Calls of a lane are numbered as they begin; the number stands in the frame until add_note()
 * needs it. */
static int take_begin(struct html_columns *c, const struct walk_step *s)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	int r;

	s->frame->note = (uint32_t)l->calls++;
	r = add_step(c, s, HTML_BEGIN + (uint64_t)s->function);
	/* The page knows the time that the lane has, which the call's may precede. */
	*vec_add(&l->shown) = l->last;
	return r;
}

/* Arguments and value, with the number of the call. */
static int add_note(struct html_columns *c, const struct walk_step *s)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	char *returned = walk_returned(c->walk, s);
	const char *arguments = s->frame->arguments;
	uint64_t head[] = { with_sign(s->frame->note, l->last_note),
			    (arguments ? 1 : 0) | (returned ? 2 : 0) };
	int r = 0;

	if (head[1]) {
		l->last_note = s->frame->note;
		r = add_numbers(c, s->lane, HTML_NOTES, head, 2);
		if (!r && arguments)
			r = add_text(c, s->lane, HTML_NOTES, arguments);
		if (!r && returned)
			r = add_text(c, s->lane, HTML_NOTES, returned);
	}
	free(returned);
	return r;
}

/* Whether the page finds a call's times itself: from its steps, and from those that it made. */
static bool is_plain(const struct walk_step *s, uint64_t shown)
{
	uint64_t inside = s->frame->inside < s->ticks ? s->frame->inside : s->ticks;

	return s->ticks == shown && s->self == s->ticks - inside;
}

/* An end that the page cannot compute is marked, with the times that brace found: after a loss, and
 * where sleeps or handlers are taken out of them. `shown` is a stack of the times at which the page
 * saw the open calls begin. */
static int take_end(struct html_columns *c, const struct walk_step *s)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	uint64_t now = s->tsc > l->last ? s->tsc : l->last;
	bool plain = is_plain(s, now - l->shown.at[--l->shown.n]);
	uint64_t mark[] = { (s->flags & WALK_UNWOUND ? HTML_MARK_UNWOUND : 0u) |
				    (s->flags & WALK_UNFINISHED ? HTML_MARK_UNFINISHED : 0u) |
				    (plain ? 0u : HTML_MARK_TIMES),
			    s->ticks, s->self };
	int r = add_note(c, s);

	if (r)
		return r;
	if (s->flags & WALK_UNFOLLOWED)
		return add_step(c, s, HTML_END_UNFOLLOWED);
	r = add_step(c, s, mark[0] ? HTML_END_MARKED : HTML_END);
	if (!r && mark[0])
		r = add_numbers(c, s->lane, HTML_MARKS, mark, plain ? 1 : 3);
	return r;
}

/* The number of lost records stands among the marks, behind a step that says so. */
static int take_lost(struct html_columns *c, const struct walk_step *s)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	int r = add_step(c, s, HTML_LOST);

	l->losses++;
	l->lost += s->lost;
	return r ? r : add_number(c, s->lane, HTML_MARKS, s->lost);
}

/* --- states ------------------------------------------------------------------------------ */

/* A state lasted from..to, in ticks. States may begin before the one that was told last, so the
 * difference has a sign. */
static int add_state(struct html_columns *c, uint32_t lane, uint64_t from, uint64_t to,
		     uint64_t state)
{
	struct html_lane *l = &c->lanes.at[lane];
	uint64_t values[] = { with_sign(from, l->last_state), to > from ? to - from : 0, state };

	l->last_state = from;
	l->states++;
	return add_numbers(c, lane, HTML_STATES, values, 3);
}

/* From a recording with nosleep-time, which has sleeps without the events of switches. */
int html_columns_slept(struct html_columns *c, uint32_t lane, uint64_t from, uint64_t ticks)
{
	lane_of(c, lane, from);
	return add_state(c, lane, from, from + ticks, HTML_WAITS);
}

/* The event's description; NULL: the file does not have it. */
static const struct trace_event *description_of(const struct html_columns *c,
						const struct walk_step *s)
{
	return trace_info_event(c->walk->info, s->event->fn);
}

/* Finds a number of sched_switch by its format, which may be anybody's. False: it has none. */
static bool find_field(const struct event_format *f, const char *name, uint16_t *at,
		       uint16_t *size)
{
	enum event_field_kind kind;
	const struct event_field *field = event_find_field(f, name, strlen(name), &kind);

	if (!field || kind != EVENT_NUMBER || (field->size != 4 && field->size != 8) ||
	    field->offset < EVENT_COMMON_BYTES)
		return false;
	*at = field->offset;
	*size = field->size;
	return true;
}

/* Looks once, at the first sched_switch, where its fields are. A format without them, or with
 * others' sizes, leaves `event` at UINT32_MAX: no states by switches. */
static void look_at_format(struct html_sched *sched, const struct trace_event *e)
{
	struct err err;
	struct event_format *f =
		event_format_parse(e->format, strlen(e->format), e->system, &err);
	uint16_t size;

	sched->looked = true;
	if (f && find_field(f, "prev_state", &sched->state_at, &sched->state_size) &&
	    find_field(f, "next_pid", &sched->next_at, &size) && size == 4)
		sched->event = e->index;
	event_format_free(f);
}

/* The record's bytes begin at offset 8 of the format. */
static bool read_field(const struct event *e, uint16_t at, void *to, size_t n)
{
	size_t from = (size_t)at - EVENT_COMMON_BYTES;

	if (e->count < n || from > e->count - n)
		return false;
	memcpy(to, (const char *)e->payload + from, n);
	return true;
}

/* The thread of a lane goes on: how it was until now is a state. */
static int go_on(struct html_columns *c, uint32_t lane, uint64_t now)
{
	struct html_lane *l = &c->lanes.at[lane];
	uint64_t off = l->off;

	l->off = 0;
	return off ? add_state(c, lane, off, now, l->off_state) : 0;
}

/* A switch that the kernel records is one record, of the thread that stops: it says of another one
 * that it goes on. The idle tasks are one thread there for all CPUs, without a state of its own.
 * The map holds the lanes of threads that have stopped at least once: another one cannot go on. */
static int go_on_in_kernel(struct html_columns *c, const struct walk_step *s, uint32_t next,
			   uint64_t now)
{
	const uint32_t tid = c->walk->info->threads.at[s->thread].tid;
	uint64_t lane;

	if (!trace_info_is_kernel_thread(c->walk->info, s->thread))
		return 0;
	if (!tid)
		c->lanes.at[s->lane].off = 0;
	else
		number_map_set(&c->sched->of_kernel, 1 + (uint64_t)tid, s->lane);
	lane = number_map_get(&c->sched->of_kernel, 1 + (uint64_t)next);
	return lane == NUMBER_NONE ? 0 : go_on(c, (uint32_t)lane, now);
}

/* One record says that the thread stops, another one that it goes on. */
static int take_switch(struct html_columns *c, const struct walk_step *s, uint64_t now)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	uint32_t next = 0;
	uint64_t state = 0;

	if (!read_field(s->event, c->sched->next_at, &next, sizeof(next)) ||
	    !read_field(s->event, c->sched->state_at, &state, c->sched->state_size))
		return 0;
	if (next != c->walk->info->threads.at[s->thread].tid) {
		l->off = now;
		/* The kernel's TASK_REPORT and TASK_REPORT_IDLE: no bit of these is set in a thread
		 * that could go on. */
		l->off_state = state & 0xff ? HTML_WAITS : HTML_PREEMPTED;
		return go_on_in_kernel(c, s, next, now);
	}
	return go_on(c, s->lane, now);
}

/* Whether `text` begins with `head`. */
static bool begins_with(const char *text, const char *head)
{
	return !strncmp(text, head, strlen(head));
}

/* A call's state names the event of its entry. A call whose entry was not recorded has no state:
 * entered is 0. */
static int take_syscall(struct html_columns *c, const struct walk_step *s, uint64_t now,
			const char *name)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	uint64_t entered = l->entered;

	if (begins_with(name, "sys_enter")) {
		l->entered = now;
		l->syscall = s->event->fn;
		return 0;
	}
	l->entered = 0;
	return entered ? add_state(c, s->lane, entered, now, HTML_SYSCALL + (uint64_t)l->syscall)
		       : 0;
}

/* The thread's state by an event, if it tells one: a context switch, a call of the system. */
static int take_state(struct html_columns *c, const struct walk_step *s, uint64_t now)
{
	const struct trace_event *e = description_of(c, s);

	if (!e)
		return 0;
	if (!strcmp(e->system, "sched") && !strcmp(e->name, "sched_switch")) {
		if (!c->sched->looked)
			look_at_format(c->sched, e);
		return c->sched->event == e->index ? take_switch(c, s, now) : 0;
	}
	if (!strcmp(e->system, "syscalls") && begins_with(e->name, "sys_e"))
		return take_syscall(c, s, now, e->name);
	return 0;
}

/* States that are open at the end last until the lane's last record. */
int html_columns_end(struct html_columns *c)
{
	int r = 0;

	for (uint32_t i = 0; i < c->lanes.n && !r; i++) {
		const struct html_lane *l = &c->lanes.at[i];

		if (l->entered)
			r = add_state(c, i, l->entered, l->last,
				      HTML_SYSCALL + (uint64_t)l->syscall);
		if (!r && l->off)
			r = add_state(c, i, l->off, l->last, l->off_state);
	}
	return r;
}

/* --- events ------------------------------------------------------------------------------ */

/* An event has a place in time, a number, a CPU and its text, which begins with its name. */
static int take_event(struct html_columns *c, const struct walk_step *s)
{
	struct html_lane *l = &c->lanes.at[s->lane];
	uint64_t now = s->tsc > l->last_event ? s->tsc : l->last_event;
	uint64_t values[] = { now - l->last_event, s->event->fn, s->cpu };
	int r = add_numbers(c, s->lane, HTML_EVENTS, values, 3);

	l->last_event = now;
	l->events++;
	if (!r)
		r = add_text(c, s->lane, HTML_EVENTS, event_text(c->texts, s->event, 0));
	return r ? r : take_state(c, s, now);
}

/* Each step has its lane first, so that `take` need not look. */
int html_columns_take(void *columns, const struct walk_step *s)
{
	static int (*const take[WALK_KINDS_N])(struct html_columns *, const struct walk_step *) = {
		[WALK_BEGIN] = take_begin, [WALK_END] = take_end,
		[WALK_EVENT] = take_event, [WALK_LOST] = take_lost,
	};
	struct html_columns *c = columns;

	lane_of(c, s->lane, s->tsc);
	return take[s->kind](c, s);
}

/* w outlives c. The context switches' format is looked up at the first of their records. */
void html_columns_init(struct html_columns *c, const struct walk *w, struct err *err)
{
	*c = (struct html_columns){ .walk = w, .parts = parts_none(), .err = err };
	c->texts = event_texts_new(w->info);
	c->sched = mem_zalloc(sizeof(*c->sched));
	c->sched->event = UINT32_MAX;
}

void html_columns_free(struct html_columns *c)
{
	for (size_t i = 0; i < c->lanes.n; i++)
		vec_free(&c->lanes.at[i].shown);
	parts_free(&c->parts);
	vec_free(&c->lanes);
	event_texts_free(c->texts);
	number_map_free(&c->sched->of_kernel);
	free(c->sched);
}
