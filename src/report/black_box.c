/* SPDX-License-Identifier: MIT */
/* Reads and prints the black box (`--mode overwrite`) when a program died by a signal. The commands
 * call it in one thread. The kernel does not say which thread a signal hit, so that guess_culprit()
 * looks at what they did last; a wrong guess only changes the order of the blocks. A damaged trace
 * is -errno and a sentence. */
#include "report/black_box.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/names.h"

#define EVENTS 512
#define LEVELS_MOST 24 /* levels of open calls that are printed: a stack overflow has a million */
/* A running thread stops recording when the signal hits it, the others when the kernel gets to
 * them: threads within this time of the last record were running. */
#define REACH_NS 200000

/* --- reading ----------------------------------------------------------------------------- */

struct black_box_reading {
	struct black_box_thread *to;
	unsigned keep;
};

/* Keeps a finished call; the ring has the last r->keep. */
static void keep_finished(void *arg, const struct call_step *s)
{
	struct black_box_reading *r = arg;
	struct black_box_thread *t = r->to;

	if (s->kind == CALL_ENTER || s->kind == CALL_LOST || s->kind == CALL_EVENT ||
	    s->flags & CALL_UNFINISHED)
		return;
	if (t->finished.n < r->keep) {
		*vec_add(&t->finished) = *s;
	} else if (r->keep) {
		t->finished.at[t->next] = *s;
		t->next = (t->next + 1) % r->keep;
	}
}

/* The latest record's time becomes the thread's end, whether it belongs to a call or not. */
static int read_events(struct store_cursor *cursor, struct calls *calls,
		       struct black_box_reading *r, struct err *err)
{
	struct event events[EVENTS];
	int n;

	while ((n = store_cursor_next(cursor, events, EVENTS, err)) > 0)
		for (int i = 0; i < n; i++) {
			calls_feed(calls, &events[i], keep_finished, r);
			if (events[i].tsc > r->to->tsc)
				r->to->tsc = events[i].tsc;
		}
	return n;
}

/* Keeps the thread's last n finished calls, and those still open at its end. */
static int read_thread(struct store_reader *reader, struct black_box *l, struct sites *sites,
		       uint32_t thread, unsigned n, struct err *err)
{
	struct store_cursor *cursor = store_cursor_open(reader, thread);
	uint32_t image = l->info->threads.at[thread].image;
	struct black_box_thread t = { .thread = thread };
	struct black_box_reading r = { &t, n };
	struct calls calls;
	int e;

	if (!cursor)
		return 0;
	calls_init(&calls, l->info, sites_map(sites, image), image);
	e = read_events(cursor, &calls, &r, err);
	for (size_t i = 0; i < calls.n; i++)
		*vec_add(&t.open) = calls.at[i];
	calls_free(&calls);
	store_cursor_close(cursor);
	*vec_add(&l->threads) = t;
	if (t.tsc > l->end)
		l->end = t.tsc;
	return e;
}

/* --- which one it was ---------------------------------------------------------------------- */

/* Signals that a thread causes itself. */
static bool is_of_a_thread(int sig)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] == sig)
			return true;
	return false;
}

/* `words` ends with NULL. */
static bool begins_with_one_of(struct name name, const char *const *words)
{
	for (; *words; words++)
		if (name.n >= strlen(*words) && !memcmp(name.text, *words, strlen(*words)))
			return true;
	return false;
}

/* The likelihood that the signal came from the call that a thread was in. */
enum doing { DOING_SLEEP, DOING_WORK, DOING_ABORT };

/* Guesses from the name of the innermost open call what the thread did at its end. */
static enum doing what_doing(const struct black_box *l, const struct black_box_thread *t,
			     struct names *names)
{
	static const char *const aborts[] = { "abort",		"raise",
					      "__assert_fail",	"__stack_chk_fail",
					      "std::terminate", "__fortify_fail",
					      "__chk_fail",	NULL };
	static const char *const sleeps[] = {
		"pthread_", "sem_",	   "nanosleep", "clock_nanosleep", "usleep",	   "sleep",
		"poll",	    "ppoll",	   "select",	"pselect",	   "epoll_",	   "read",
		"recv",	    "accept",	   "wait",	"sigwait",	   "sigtimedwait", "pause",
		"syscall",  "sched_yield", NULL
	};
	struct name name;

	if (!t->open.n)
		return DOING_SLEEP;
	name = names_of(names, l->info->threads.at[t->thread].image, t->open.at[t->open.n - 1].fn);
	if (begins_with_one_of(name, aborts))
		return DOING_ABORT;
	return begins_with_one_of(name, sleeps) ? DOING_SLEEP : DOING_WORK;
}

/* Marks the thread that the signal probably hit. For SIGABRT it is one in abort(). Otherwise it is
 * the one that stopped first among those that worked until the very end: the signal stopped it, and
 * its death the others. */
static void guess_culprit(struct black_box *l, int sig)
{
	enum doing wanted = sig == SIGABRT ? DOING_ABORT : DOING_WORK;
	struct black_box_thread *best = NULL;
	struct names names;

	if (!is_of_a_thread(sig))
		return;
	names_init(&names, l->info);
	for (size_t i = 0; i < l->threads.n; i++) {
		struct black_box_thread *t = &l->threads.at[i];

		if (what_doing(l, t, &names) == wanted && (!best || t->tsc < best->tsc) &&
		    trace_clock_delta_ns(&l->info->clock, l->end - t->tsc) <= REACH_NS)
			best = t;
	}
	names_free(&names);
	if (best)
		best->likely = true;
}

/* Likely first, then threads with open calls, then the latest. */
static int by_likelihood(const void *a, const void *b)
{
	const struct black_box_thread *x = a, *y = b;

	if (x->likely != y->likely)
		return x->likely ? -1 : 1;
	if (!x->open.n != !y->open.n)
		return x->open.n ? -1 : 1;
	return x->tsc != y->tsc ? (x->tsc > y->tsc ? -1 : 1) : 0;
}

/* Only threads of that process; each is read whole. */
int black_box_read(struct store_reader *r, uint32_t pid, unsigned n, int sig, struct black_box *out,
		   struct err *err)
{
	struct trace_info *info = store_info(r);
	struct sites sites;
	int e = 0;

	*out = (struct black_box){ .info = info };
	sites_init(&sites, info);
	for (uint32_t i = 0; i < info->threads.n && e >= 0; i++)
		if (info->threads.at[i].pid == pid)
			e = read_thread(r, out, &sites, i, n, err);
	sites_free(&sites);
	guess_culprit(out, sig);
	if (out->threads.n)
		qsort(out->threads.at, out->threads.n, sizeof(out->threads.at[0]), by_likelihood);
	return e;
}

void black_box_free(struct black_box *l)
{
	for (size_t i = 0; i < l->threads.n; i++) {
		vec_free(&l->threads.at[i].finished);
		vec_free(&l->threads.at[i].open);
	}
	vec_free(&l->threads);
}

/* --- printing ------------------------------------------------------------------------------- */

struct printing {
	const struct black_box *l;
	const struct black_box_thread *t;
	const char *prefix;
	struct names names;
	struct out *out;
};

/* Indented by the depth, up to LEVELS_MOST. */
static void put_name(struct printing *p, uint32_t fn, size_t depth)
{
	struct name name = names_of(&p->names, p->l->info->threads.at[p->t->thread].image, fn);

	out_spaces(p->out, 2 * (depth < LEVELS_MOST ? depth : LEVELS_MOST));
	out_bytes(p->out, name.text, name.n);
	out_char(p->out, '\n');
}

/* Prints microseconds in 11 columns. */
static void put_time(struct printing *p, uint64_t ticks)
{
	uint64_t ns = trace_clock_delta_ns(&p->l->info->clock, ticks);

	out_u64(p->out, ns / 1000, 11, ' ');
	out_char(p->out, '.');
	out_u64(p->out, ns % 1000, 3, '0');
	out_str(p->out, " us");
}

/* Time until the last record of all threads; 0 for what came after it. */
static uint64_t before_end(const struct printing *p, uint64_t tsc)
{
	return tsc < p->l->end ? p->l->end - tsc : 0;
}

/* When the call ended, and how long it had lasted; of a call whose return is not followed, that
 * it was made. */
static void print_finished(struct printing *p, const struct call_step *s)
{
	out_str(p->out, p->prefix);
	put_time(p, before_end(p, s->tsc));
	if (s->kind == CALL_ONLY) {
		out_str(p->out, "       called       ");
	} else {
		out_str(p->out, "  took");
		put_time(p, s->tsc - call_step_begin(s));
	}
	out_str(p->out, "  ");
	put_name(p, s->fn, s->depth);
}

/* Both ends of a deep stack are shown: the beginning says who, the end says where. */
static void print_open(struct printing *p)
{
	size_t n = p->t->open.n, left_out = n > LEVELS_MOST ? n - LEVELS_MOST : 0;

	for (size_t i = 0; i < n; i++) {
		if (left_out && i >= LEVELS_MOST / 2 && i < LEVELS_MOST / 2 + left_out) {
			out_printf(p->out, "%s   ... %zu levels more\n", p->prefix, left_out);
			i += left_out;
		}
		out_str(p->out, p->prefix);
		put_time(p, before_end(p, p->t->open.at[i].begin));
		out_str(p->out, "  open since then      ");
		put_name(p, p->t->open.at[i].fn, i < LEVELS_MOST / 2 ? i : i - left_out);
	}
}

/* The oldest of the finished calls is at t->next. */
static void print_thread(struct printing *p)
{
	const struct trace_thread *t = &p->l->info->threads.at[p->t->thread];

	out_printf(p->out, "%sthread %u (", p->prefix, t->tid);
	out_foreign(p->out, trace_thread_name(t), format_comm(trace_thread_name(t)));
	out_printf(p->out, ")%s, us before the last record of all:\n",
		   p->t->likely ? ", most likely the one it hit" : "");
	for (size_t i = 0; i < p->t->finished.n; i++)
		print_finished(p, &p->t->finished.at[(p->t->next + i) % p->t->finished.n]);
	print_open(p);
}

/* prefix stands before each line, so that the box is told from what the program printed last. */
void black_box_print(const struct black_box *l, unsigned threads_most, const char *prefix,
		     struct out *out)
{
	struct printing p = { .l = l, .prefix = prefix, .out = out };

	names_init(&p.names, l->info);
	for (size_t i = 0; i < l->threads.n && i < threads_most; i++) {
		p.t = &l->threads.at[i];
		print_thread(&p);
	}
	if (l->threads.n > threads_most)
		out_printf(out, "%s%zu threads more\n", prefix, l->threads.n - threads_most);
	names_free(&p.names);
}
