/* SPDX-License-Identifier: MIT */
/* The kernel's events have times of CLOCK_MONOTONIC, the program's of the TSC. Each read of the
 * kernel's ring ends with one instant on both clocks, and an event between two such instants is
 * placed between them: no rate is assumed, because CLOCK_MONOTONIC is slewed. Called on the thread
 * that reads the program's stream; what fails there (the ring) ends the run. */
#include "ui/follow_border.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/clock.h"
#include "follow/merge.h"
#include "ui/follow_side.h"

/* The ring is read so often, in parts of a second, while the program keeps the stream busy. */
#define READS_A_SECOND 100u

struct instant { uint64_t tsc, mono; };

struct follow_border {
	struct follow_side side;
	struct session_beside beside;
	struct source *source;
	follow_sink *sink;
	void *context;
	struct follow_merge merge;
	struct instant last;         /* of the last read */
	VEC(struct follow_event) read; /* whose times are the kernel's */
	uint64_t kernel_told;        /* all of the kernel's events until then are in `merge` */
	uint64_t idle_ns;            /* when the stream had nothing */
	size_t threads;              /* of the stream, whose processes are asked for */
	struct follow_losses losses;
	struct err failed;           /* code 0: nothing did */
};

static uint64_t ns_of(const struct follow_border *b, uint64_t tsc)
{
	return trace_clock_ns(&b->source->info->clock, tsc);
}

static struct instant now(void)
{
	struct instant i;

	clock_instant_mono(&i.tsc, &i.mono);
	return i;
}

/* --- reading ---------------------------------------------------------------------------- */

/* A follow_sink. */
static void take_event(void *context, const struct follow_event *e)
{
	struct follow_border *b = context;

	*vec_add(&b->read) = *e;
}

/* The TSC at a time between two instants, or a little beside them. Signed: the kernel may have
 * stamped an event a little before the last read's instant, while that read was under way. 128
 * bits, since ns times TSC ticks of a long pause are more than 64. A span of 0 has no rate: the
 * later instant stands for all. */
static uint64_t tsc_between(const struct instant *a, const struct instant *z, uint64_t mono)
{
	int64_t since = (int64_t)(mono - a->mono), span = (int64_t)(z->mono - a->mono);

	if (span <= 0)
		return z->tsc;
	return a->tsc + (uint64_t)((__int128)since * (int64_t)(z->tsc - a->tsc) / span);
}

/* Reads the kernel's ring, and puts its events among the program's. */
static int read_kernel(struct follow_border *b, struct err *err)
{
	/* `began` bounds what is told: an event from before it is in the ring by now, and read; one
	 * that came while the ring was read may be in either read. `ended` bounds the
	 * interpolation. */
	struct instant began = now(), ended;
	int e = follow_kernel_read(b->side.kernel, 0, take_event, b, err);

	ended = now();
	for (size_t i = 0; i < b->read.n; i++) {
		struct follow_event *event = &b->read.at[i];

		event->ns = ns_of(b, tsc_between(&b->last, &ended, event->ns));
		/* From here on both sides' events are in one sequence: the bit tells whose table of
		 * functions the number is of. */
		event->function |= FOLLOW_BORDER_FUNCTION;
		event->beyond = 1;
		follow_merge_add(&b->merge, event);
	}
	b->read.n = 0;
	b->last = ended;
	b->kernel_told = ns_of(b, began.tsc);
	return e;
}

/* Processes that the program made belong to it. One that there is no room for is not asked for. */
static void ask_for_new(struct follow_border *b)
{
	const struct trace_info *info = b->source->info;

	/* Threads are only ever added: each is looked at once. Several of one process write the
	 * same entry of the map. */
	for (; b->threads < info->threads.n; b->threads++)
		follow_kernel_ask_for(b->side.kernel, info->threads.at[b->threads].pid, false);
}

/* until: ns, up to which both sides have told all they have. What is later waits. */
static void give_merged(struct follow_border *b, uint64_t until)
{
	follow_merge_give(&b->merge, until, b->sink, b->context);
}

/* --- the stream -------------------------------------------------------------------------- */

void follow_border_begin(struct follow_border *b, struct source *source, follow_sink *sink,
			 void *context)
{
	b->source = source;
	b->sink = sink;
	b->context = context;
	/* The merge needs the program's events by time over all threads, not thread by thread. */
	source->ordered = true;
}

void follow_border_event(void *border, const struct follow_event *e)
{
	struct follow_border *b = border;

	follow_merge_add(&b->merge, e);
}

/* Later events of the program are not older than this one. */
int follow_border_reach(struct follow_border *b, uint64_t tsc, struct err *err)
{
	uint64_t reached = ns_of(b, tsc), hz = b->source->info->clock.hz;
	int e = 0;

	ask_for_new(b);
	/* follow_border_idle() cannot return an error: it is kept until here. */
	if (b->failed.code) {
		*err = b->failed;
		return -err->code;
	}
	if (clock_tsc() - b->last.tsc > hz / READS_A_SECOND)
		e = read_kernel(b, err);
	/* The earlier of both: up to it neither side can bring more. */
	give_merged(b, reached < b->kernel_told ? reached : b->kernel_told);
	return e;
}

/* The pass that found nothing began after the last time here: all that is older has been given. */
void follow_border_idle(struct follow_border *b)
{
	if (!b->failed.code)
		read_kernel(b, &b->failed);
	ask_for_new(b);
	give_merged(b, b->idle_ns < b->kernel_told ? b->idle_ns : b->kernel_told);
	b->idle_ns = ns_of(b, clock_tsc());
}

/* The ring still has the events of before the functions were let go. Read twice, before and after
 * the detaching: the second read takes events of calls that were under way meanwhile. The losses
 * are asked for before (follow_kernel_losses()). */
int follow_border_end(struct follow_border *b, struct err *err)
{
	int e = read_kernel(b, err);

	follow_kernel_losses(b->side.kernel, &b->losses);
	follow_side_detach(&b->side);
	if (!e)
		e = read_kernel(b, err);
	give_merged(b, UINT64_MAX);
	return e;
}

/* --- open and close ---------------------------------------------------------------------- */

static int ask_for(struct follow_border *b, pid_t pid, bool waits, struct err *err)
{
	return follow_kernel_ask_for(b->side.kernel, (uint32_t)pid, waits)
		       ? 0
		       : err_set(err, ENOMEM, "the kernel has no room for process %d", (int)pid);
}

/* session_beside.born: the new process is there, and has not executed its program. */
static int ask_for_program(void *context, pid_t pid, struct err *err)
{
	return ask_for(context, pid, true, err);
}

/* The kernel's -l, -n and -L, which begin with k:. */
static int read_lists(const struct invocation *inv, struct settings *out, struct err *err)
{
	int e = 0;

	settings_init(out);
	for (size_t i = 0; i < inv->kernel_writes.n && !e; i++) {
		const struct setting_write *w = &inv->kernel_writes.at[i];

		e = settings_write(out, w->file, w->text, w->append, err);
	}
	return e;
}

static int open_side(struct follow_border *b, const struct invocation *inv, const char *text,
		     struct err *err)
{
	struct settings lists;
	int e = follow_side_read(&b->side, text, NULL, err);

	if (e)
		return e;
	e = read_lists(inv, &lists, err);
	if (!e)
		e = follow_side_open(&b->side, inv, &lists, NULL, true, err);
	settings_free(&lists);
	if (e)
		return e;
	/* The first instant comes before the first event, which is placed behind it. */
	b->last = now();
	e = follow_kernel_attach(b->side.kernel, err);
	b->side.attach_ms = (now().mono - b->last.mono) / 1000000;
	for (size_t i = 0; i < inv->pids.n && !e; i++)
		e = ask_for(b, inv->pids.at[i], false, err);
	return e;
}

int follow_border_open(const struct invocation *inv, const char *text, struct follow_border **out,
		       struct err *err)
{
	struct follow_border *b = mem_zalloc(sizeof(*b));
	int e = open_side(b, inv, text, err);

	if (e) {
		follow_border_free(b);
		return e;
	}
	b->beside = (struct session_beside){ NULL, ask_for_program, b, NULL };
	*out = b;
	return 0;
}

const struct session_beside *follow_border_beside(struct follow_border *b)
{
	return &b->beside;
}

const struct follow_function *follow_border_function(const struct follow_border *b, uint32_t n)
{
	return follow_kernel_function(b->side.kernel, n & ~FOLLOW_BORDER_FUNCTION);
}

void follow_border_print_json(const struct follow_border *b, struct out *to)
{
	follow_side_print_json(&b->side, &b->losses, to);
}

void follow_border_say(const struct follow_border *b)
{
	follow_side_say_functions(&b->side);
	follow_side_say_losses(&b->losses);
}

void follow_border_free(struct follow_border *b)
{
	if (!b)
		return;
	follow_side_free(&b->side);
	follow_merge_free(&b->merge);
	vec_free(&b->read);
	free(b);
}
