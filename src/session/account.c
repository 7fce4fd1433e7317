/* SPDX-License-Identifier: MIT */
/* The threads that runs of records are of, and what is counted of each: records, calls, losses, and
 * the session's messages. The recording (record.c), the live stream (live.c) and the consumer
 * (consumer.c) call it for each run, on the session's thread. A run of an image that does not exist
 * was forged by a program: it is shown as the first program's, and a message says so. */
#include <errno.h>

#include "collect/messages.h"
#include "collect/switches.h"
#include "session/control.h"
#include "session/held_calls.h"
#include "session/internal.h"

/* Whether a thread can have the image. What programs write into their memory may be anything. */
static bool is_image_of(const struct session *s, uint32_t slot, uint32_t image)
{
	return image < s->info->images.n && (image >= s->first_image || !slot_in_memory(slot));
}

/* Describes a thread by its slot. False: its image is not in info, or not yet. The image of a
 * thread whose source knows none is that of another thread of its process. */
static bool describe_thread(const struct session *s, uint32_t slot, struct trace_thread *out)
{
	if (producers_thread(&s->producers, slot, out))
		return is_image_of(s, slot, out->image);
	out->image = s->first_image;
	for (size_t i = s->info->threads.n; i-- > 0;)
		if (s->info->threads.at[i].pid == out->pid &&
		    s->info->threads.at[i].image >= s->first_image) {
			out->image = s->info->threads.at[i].image;
			break;
		}
	return true;
}

/* Where the slot's index into info->threads stands; UINT32_MAX: it has none yet. */
static uint32_t *index_of(struct session *s, uint32_t slot)
{
	uint32_t part = slot / SLOTS, i = slot_within(slot);

	while (s->threads[part].n <= i)
		*vec_add(&s->threads[part]) = UINT32_MAX;
	return &s->threads[part].at[i];
}

/* The thread's number in the trace, given at its first record. Adding one may move the table. */
uint32_t session_thread(struct session *s, uint32_t slot)
{
	uint32_t *index = index_of(s, slot);

	if (*index == UINT32_MAX) {
		struct trace_thread thread;

		if (!describe_thread(s, slot, &thread))
			thread.image = s->first_image; /* spoiled since it was looked at */
		*index = (uint32_t)s->info->threads.n;
		thread.unnamed = s->unnamed;
		*vec_add(&s->info->threads) = thread;
		thread_names_begin(s, slot, *index);
	}
	return *index;
}

/* Looks for the image of a new thread: a record may be seen before its image's update. An image
 * that does not exist was written there by the traced program. It ends nobody's recording, since
 * other programs may be recorded, too; its thread is shown as the first program's. */
static void expect_image(struct session *s, uint32_t slot)
{
	struct trace_thread t;
	bool known = describe_thread(s, slot, &t);

	if (!known && control_wait_update(s->control, t.image)) {
		session_take_updates(s);
		known = is_image_of(s, slot, t.image);
	}
	if (!known)
		messages_add(&s->memories.at[0].header->messages, MESSAGE_SPOILED, 0, "");
}

/* Makes the thread of a slot and its image known. */
static int expect_thread(struct session *s, uint32_t slot, uint32_t *thread, struct err *err)
{
	if (s->info->images.n <= s->first_image)
		session_take_updates(s);
	if (*index_of(s, slot) == UINT32_MAX)
		expect_image(s, slot);
	if (s->info->images.n <= s->first_image && slot_in_memory(slot))
		return err_set(
			err, EPROTO,
			"the traced program spoiled the session memory: it has records of no program");
	*thread = session_thread(s, slot);
	return 0;
}

/* Where a condition on returned values holds calls back, their runs come to the sink later, in
 * parts. */
int session_take_run(struct session *s, const struct drain_run *run, drain_sink *sink,
		     void *context, struct err *err)
{
	uint32_t thread;
	int r;

	if (!s->held)
		return sink(context, run, err);
	r = expect_thread(s, run->slot, &thread, err);
	if (r < 0)
		return r;
	session_catch_up(s);
	return held_calls_take(s->held, thread, run, sink, context, err);
}

/* Behind the last pass: what still waits is decided by what is known. */
int session_take_rest(struct session *s, drain_sink *sink, void *context, struct err *err)
{
	return s->held ? held_calls_end(s->held, sink, context, err) : 0;
}

/* The calls of a run: entries, without jumps of functions to their own first instruction. Where
 * there is a file, its writer leaves those out at the end (store_count). */
static uint64_t calls_of(struct session *s, uint32_t thread, const struct drain_run *run)
{
	if (s->store)
		return run->calls;
	while (s->loops.n <= thread)
		*vec_add(&s->loops) = (struct loops){ 0 };
	return run->calls - loops_follow(&s->loops.at[thread], run->words, run->n);
}

/* Counts a run that is about to be stored. 0, or -errno and *err: the run's thread makes no
 * sense. */
int session_account(struct session *s, const struct drain_run *run, struct err *err)
{
	struct trace_thread *t;
	uint32_t thread;
	int r = expect_thread(s, run->slot, &thread, err); /* first: it may move the array */

	if (r < 0)
		return r;
	thread_names_follow(s, thread);
	t = &s->info->threads.at[thread];
	t->records += run->records;
	t->lost += run->lost;
	s->total.records += run->records;
	s->total.calls += calls_of(s, thread, run);
	s->total.lost += run->lost;
	return 0;
}

/* An entry of the table for losses that belong to no thread. */
uint32_t session_threadless(struct session *s, uint64_t lost)
{
	*vec_add(&s->info->threads) = (struct trace_thread){
		.pid = (uint32_t)s->pid, .tsc = s->ready_tsc, .comm = "<...>", .lost = lost
	};
	s->total.lost += lost;
	return (uint32_t)s->info->threads.n - 1;
}

/* Tells the calls that were held back for their returned value, and lost. */
static void add_held(struct session *s)
{
	struct held_counts c = { 0 };

	if (s->held)
		c = held_calls_counts(s->held);
	c.open += s->info->held_open;
	c.too_long += s->info->held_too_long;
	if (c.open)
		*vec_add(&s->info->messages) =
			(struct trace_message){ .kind = MESSAGE_UNRETURNED, .count = c.open };
	if (c.too_long)
		*vec_add(&s->info->messages) =
			(struct trace_message){ .kind = MESSAGE_TOO_LONG, .count = c.too_long };
}

/* The agent knows an event by its number alone. */
static void name_unkept(struct trace_info *info)
{
	for (size_t i = 0; i < info->messages.n; i++) {
		struct trace_message *m = &info->messages.at[i];
		const struct trace_event *e =
			m->kind == MESSAGE_UNKEPT ? trace_info_event(info, m->number) : NULL;

		if (e)
			snprintf(m->name, sizeof(m->name), "%s:%s", e->system, e->name);
	}
}

/* A message of the session as a whole, if there is something to count. */
static void add_count(struct trace_info *info, enum message_kind kind, uint64_t count)
{
	if (count)
		*vec_add(&info->messages) = (struct trace_message){
			.kind = kind, .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX
		};
}

void session_take_messages(struct session *s)
{
	uint64_t unseen = switches_unseen(s->switches);

	/* Each time from the beginning: counts grow while the session runs. */
	s->info->messages.n = 0;
	for (uint32_t i = 0, n = memories_n(&s->memories); i < n; i++)
		messages_take(&s->memories.at[i].header->messages, s->info);
	name_unkept(s->info);
	add_count(s->info, MESSAGE_UNSEEN, unseen);
	add_held(s);
	rotation_describe(s);
	add_count(s->info, MESSAGE_RENAMES, s->info->renames_left_out);
	add_count(s->info, MESSAGE_UNNAMED, s->info->made_left_out);
	if (!s->clock.steady)
		*vec_add(&s->info->messages) = clock_message(&s->clock, s->info, s->output != NULL);
}

/* True: there are new images or functions. Called between passes, so that records find what
 * describes them. */
bool session_catch_up(struct session *s)
{
	bool update = session_take_updates(s);

	if (update && s->held)
		held_calls_renew(s->held);
	producers_describe(&s->producers, s->info);
	clock_take_pairs(&s->clock, s->info);
	session_take_sites(s);
	session_take_messages(s);
	return update;
}
