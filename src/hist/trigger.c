/* SPDX-License-Identifier: MIT */
/* Histograms as triggers: rows of the kinds hist, enable_hist and disable_hist, what a write of
 * them does, and what a record does to the table. Writes come on the thread that writes to a
 * trigger file; requests take effect, and records are counted, on that of the pump. event/trigger.c
 * calls it by its rows. A line that does not parse is refused with the kernel's sentence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "hist/internal.h"

/* --- what triggers share ---------------------------------------------------------------- */

/* The orders of atomics here. Counts of users: whoever raises one keeps a use already, so relaxed
 * is enough; lowering one is a release that pairs with the acquire of the last, which frees.
 * `turns`, the number of the request that took effect: hist_begin(), on the pump's thread, stores
 * `paused` and then releases `turns`; hist_is_paused(), on a reader's thread, acquires `turns` and
 * then loads `paused`. Everything else is relaxed: `requests` only numbers, `clears` and the pump's
 * own loads have one thread, and a reader that sees an older `paused` shows the state of then. */

struct hist_shared *hist_shared_get(struct hist_shared *s)
{
	atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);
	return s;
}

/* Makes a table with one user, the trigger that is being parsed. */
static struct hist_shared *shared_new(uint32_t size)
{
	static atomic_uint numbers;
	struct hist_shared *s = mem_zalloc(sizeof(*s));

	atomic_init(&s->users, 1);
	s->number = 1 + atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
	hist_table_init(&s->table, size);
	return s;
}

/* Release and acquire, here and in state_put(): the last user sees all uses before it frees. */
void hist_shared_put(struct hist_shared *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) != 1)
		return;
	hist_table_free(&s->table);
	vec_free(&s->extras);
	free(s);
}

/* One user: the trigger that is being made. */
static struct hist_state *state_new(bool paused)
{
	struct hist_state *s = mem_zalloc(sizeof(*s));

	atomic_init(&s->users, 1);
	atomic_init(&s->paused, paused);
	return s;
}

/* Release and acquire: see hist_shared_put(). */
static void state_put(struct hist_state *s)
{
	if (s && atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) == 1)
		free(s);
}

/* Takes `from`'s table in place of h's own. */
static void take_shared(struct hist *h, const struct hist *from)
{
	struct hist_shared *shared = hist_shared_get(from->shared);

	hist_shared_put(h->shared);
	h->shared = shared;
	h->clears = from->clears;
}

/* Takes `from`'s state in place of h's own, with the request that `from` brings, which may not have
 * taken effect yet. */
static void take_state(struct hist *h, const struct hist *from)
{
	atomic_fetch_add_explicit(&from->state->users, 1, memory_order_relaxed);
	state_put(h->state);
	h->state = from->state;
	h->turns = from->turns;
	h->paused = from->paused;
}

/* trigger_ops.free: on the thread that drops the last copy of the settings. */
static void hist_free(void *own)
{
	struct hist *h = own;

	hist_shared_put(h->shared);
	state_put(h->state);
	hist_command_free(h->command);
	free(h);
}

/* --- writes ----------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Returns the place of the `if` that begins the filter, or n. As in the kernel it is one with
 * blanks around it. */
static size_t find_filter(const char *line, size_t n)
{
	for (size_t i = 1; i + 2 < n; i++)
		if (is_blank(line[i - 1]) && line[i] == 'i' && line[i + 1] == 'f' &&
		    is_blank(line[i + 2]))
			return i;
	/* An `if` with nothing behind it. */
	return n > 2 && is_blank(line[n - 3]) && !memcmp(line + n - 2, "if", 2) ? n - 2 : n;
}

/* *filter: the place of the `if`. Blanks before it belong neither to the command nor to the
 * filter. */
static struct hist_line split_line(const struct trigger_line *line, size_t *filter)
{
	struct hist_line l = { line->whole, line->whole_n, 0, line->remove, line->context };

	*filter = l.bare = find_filter(l.at, l.n);
	while (l.bare && is_blank(l.at[l.bare - 1]))
		l.bare--;
	return l;
}

/* trigger_ops.parse. The trigger has a table and a state of its own until meet_hist() finds that it
 * stands for another one. *t is freed by the caller on failure, too. */
static int parse_hist(struct event_trigger *t, const struct trigger_line *line,
		      struct filter_fault *fault)
{
	struct hist_command *c;
	struct hist *h;
	size_t filter;
	struct hist_line l = split_line(line, &filter);
	int r = hist_command_parse(line->event, &l, &c, fault);

	if (r < 0)
		return r;
	h = t->own = mem_zalloc(sizeof(*h));
	h->event = line->event;
	h->command = c;
	h->paused = c->order == HIST_PAUSE;
	h->shared = shared_new(c->size);
	h->state = state_new(h->paused);
	t->needs_stack = c->stacks;
	for (size_t i = 0; i < c->n_actions; i++)
		t->takes_snapshots |= c->actions[i].act == HIST_SNAPSHOT;
	if (filter == l.n)
		return 0;
	return trigger_parse_filter(t, line, l.at + filter, l.n - filter, fault);
}

/* A request takes effect on the pump's thread, later. The file shows it at once: a writer expects
 * to read what it wrote. */
bool hist_is_paused(const struct hist *h)
{
	const struct hist_state *s = h->state;

	/* Acquire: pairs with the release of `turns` in hist_begin(). */
	if (h->turns != atomic_load_explicit(&s->turns, memory_order_acquire))
		return h->paused;
	return atomic_load_explicit(&s->paused, memory_order_relaxed);
}

/* The state is the one that was asked for: a reader sees at once what was written. */
static void show_hist(const struct event_trigger *t, FILE *to)
{
	const struct hist *h = t->own;

	hist_command_show(h->command, to);
	if (t->filter)
		fprintf(to, " if %s", t->filter);
	fputs(hist_is_paused(h) ? " [paused]" : " [active]", to);
}

/* Filters are compared as text, as in the kernel: a blank more makes another histogram. */
static bool is_same_hist(const struct event_trigger *a, const struct event_trigger *b)
{
	const struct hist *x = a->own, *y = b->own;

	if (!a->filter != !b->filter || (a->filter && strcmp(a->filter, b->filter)))
		return false;
	return hist_command_same(x->command, y->command);
}

/* trigger_context.find's callback: a histogram of that name. */
static bool has_name(const struct event_trigger *t, const void *name)
{
	const struct hist *h = hist_is(t) ? t->own : NULL;

	return h && h->command->name && !strcmp(h->command->name, name);
}

/* A histogram with the name of another counts into that one's table. */
static int join_named(struct event_trigger *t, const struct trigger_line *line,
		      struct filter_fault *fault)
{
	const struct trigger_context *context = line->context;
	struct hist *h = t->own;
	const struct event_trigger *other = NULL;
	size_t filter;
	struct hist_line l = split_line(line, &filter);
	char *assignment;
	int r;

	if (h->command->name && context->find)
		other = context->find(context->filter.arg, has_name, h->command->name);
	if (!other)
		return 0;
	if (hist_command_shares(((const struct hist *)other->own)->command, h->command)) {
		take_shared(h, other->own);
		return 0;
	}
	assignment = mem_printf("name=%s", h->command->name);
	r = hist_refuse(&l, fault, EINVAL,
			"Named hist trigger doesn't match existing named trigger "
			"(includes variables)",
			assignment, strlen(assignment));
	free(assignment);
	return r;
}

/* A trigger that is there already is paused, continued or cleared: t takes its place, with the same
 * table and with what was asked of it. */
static int meet_hist(struct event_trigger *t, const struct event_trigger *same,
		     const struct trigger_line *line, struct filter_fault *fault)
{
	struct hist *h = t->own;
	enum hist_order order = h->command->order;
	size_t filter;
	struct hist_line l = split_line(line, &filter);
	int r = join_named(t, line, fault);

	if (r < 0)
		return r;
	if (!same && (order == HIST_CONTINUE || order == HIST_CLEAR))
		return hist_refuse(&l, fault, ENOENT,
				   "Can't clear or continue a nonexistent hist trigger", NULL, 0);
	if (same && order == HIST_ADD)
		return hist_refuse(&l, fault, EEXIST, "Hist trigger already exists", NULL, 0);
	if (!same)
		return 0;
	take_shared(h, same->own);
	take_state(h, same->own);
	/* The table stays, and so does the part of the line that describes it. */
	h->command->size = ((const struct hist *)same->own)->command->size;
	h->command->nohitcount = ((const struct hist *)same->own)->command->nohitcount;
	if (order == HIST_CLEAR) {
		h->clears = 1 + atomic_fetch_add_explicit(&h->shared->requests, 1,
							  memory_order_relaxed);
		return 0;
	}
	h->turns = 1 + atomic_fetch_add_explicit(&h->state->requests, 1, memory_order_relaxed);
	h->paused = order == HIST_PAUSE;
	return 0;
}

/* --- what others need of it -------------------------------------------------------------- */

/* The tables of others that a histogram reads. */
struct hist_need {
	const struct hist *of;
	unsigned n;             /* triggers that have its table */
	bool needed;
};

/* trigger_context.find's callback: goes on to the end. */
static bool look_at_needs(const struct event_trigger *t, const void *what)
{
	struct hist_need *need = (struct hist_need *)what;
	const struct hist *h = hist_is(t) ? t->own : NULL;

	if (!h)
		return false;
	need->n += h->shared == need->of->shared;
	for (size_t i = 0; i < h->command->references.n; i++)
		need->needed |= h->command->references.at[i].shared == need->of->shared;
	return false;
}

/* Whether variables of it are read, and no other trigger of its name remains. */
static bool is_needed(const struct event_trigger *t, const struct trigger_context *context)
{
	struct hist_need need = { .of = t->own };

	if (context->find)
		context->find(context->filter.arg, look_at_needs, &need);
	return need.needed && need.n <= 1;
}

/* trigger_ops.makes: names the synthetic events that the actions make records of. */
static void tell_made(const struct event_trigger *t, void (*use)(void *arg, uint32_t index),
		      void *arg)
{
	const struct hist_command *c = ((const struct hist *)t->own)->command;

	for (size_t i = 0; i < c->n_actions; i++)
		if (c->actions[i].synthetic)
			use(arg, c->actions[i].synthetic->index);
}

static const struct trigger_ops ops = { .needed = is_needed,
					.makes = tell_made,
					.parse = parse_hist,
					.show = show_hist,
					.same = is_same_hist,
					.free = hist_free,
					.meet = meet_hist };

static const struct trigger_kind kinds[] = {
	{ "enable_hist", TRIGGER_ENABLE_HIST, TRIGGER_TYPE_ENABLE_HIST, &trigger_counted,
	  .switches = true, .sets_state = true, .wiped = true },
	{ "disable_hist", TRIGGER_DISABLE_HIST, TRIGGER_TYPE_ENABLE_HIST, &trigger_counted,
	  .switches = true, .sets_state = true, .wiped = true },
	{ "hist", TRIGGER_HIST, TRIGGER_TYPE_HIST, &ops, .wiped = true, .last = true },
};

const struct trigger_kinds hist_kinds = { kinds, sizeof(kinds) / sizeof(kinds[0]) };

bool hist_is(const struct event_trigger *t)
{
	return t->kind->action == TRIGGER_HIST;
}

/* --- records ---------------------------------------------------------------------------- */

/* Numbers wrap around. */
static bool is_later(unsigned a, unsigned b)
{
	return (int)(a - b) > 0;
}

/* A request takes effect once. A trigger whose request is older than the latest that took effect,
 * because settings are copied, changes nothing. */
void hist_begin(struct event_trigger *t)
{
	struct hist *h = t->own;
	struct hist_state *s = h->state;
	atomic_uint *clears = &h->shared->clears;

	hist_ask_extras(h->command);
	if (is_later(h->clears, atomic_load_explicit(clears, memory_order_relaxed))) {
		hist_table_clear(&h->shared->table);
		atomic_store_explicit(clears, h->clears, memory_order_relaxed);
	}
	if (is_later(h->turns, atomic_load_explicit(&s->turns, memory_order_relaxed))) {
		atomic_store_explicit(&s->paused, h->paused, memory_order_relaxed);
		/* Release: pairs with the acquire in hist_is_paused(). */
		atomic_store_explicit(&s->turns, h->turns, memory_order_release);
	}
}

/* Atomic, because readers of the `trigger` file look at it on other threads. */
void hist_pause(struct event_trigger *t, bool paused)
{
	struct hist *h = t->own;

	atomic_store_explicit(&h->state->paused, paused, memory_order_relaxed);
}

bool hist_trigger_is_paused(const struct event_trigger *t)
{
	const struct hist *h = t->own;

	return atomic_load_explicit(&h->state->paused, memory_order_relaxed);
}

void hist_lose(struct event_trigger *t, uint64_t n)
{
	struct hist *h = t->own;

	/* A paused histogram would not have counted them. */
	if (!atomic_load_explicit(&h->state->paused, memory_order_relaxed))
		h->shared->table.dropped += n;
}
