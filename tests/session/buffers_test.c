/* The ring protocol: threads that write with the agent's own code while the tracer's drain reads.
 * Every record carries its number, so that order, loss and repetition all show. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/lend.h"
#include "agent/lock_points.h"
#include "agent/no_tls.h"
#include "agent/nonlocal.h"
#include "agent/site.h"
#include "agent/user.h"
#include "collect/drain.h"
#include "collect/slots.h"

#define WRITERS 4

struct agent agent;
uint32_t agent_fork_guard[1024] = { SITE_HASH_MULTIPLIER };
static __thread struct agent_tls tls;
struct agent_tls *agent_tls_block(void) { return &tls; }
void site_after_fork(void) { }
uint32_t probe_read_kernel(uint64_t address, void *to, uint32_t n)
{
	memcpy(to, (const void *)address, n);
	return n;
}

bool user_has_changed(void) { return false; }
bool user_left(uint64_t address) { return false; }
void user_move(void) { }
void user_after_fork(void) { }
void mappings_rearm(void) { }
bool nonlocal_disarm(struct agent_tls *t) { return false; }
bool nonlocal_before(struct agent_tls *t, bool armed, uint64_t word, uint64_t sp) { return false; }
void nonlocal_rearm(struct agent_tls *t) { }
uint32_t lend_lenders, agent_no_tls;
bool lend_look_lent(uint64_t slot) { return false; }
void lend_forget(void) { }
uint32_t lock_tables;
void lock_tables_after_fork(void) { }

static struct shared_memory memory;

static void begin(enum memory_mode mode, uint64_t kb)
{
	const struct shared_memory_shape shape = { .mode = mode, .settings.tracer = MEMORY_GRAPH, .thread_kb = kb };
	struct err err;

	assert_int_equal(shared_memory_create(&shape, &memory, &err), 0);
	memory.first_slot = 3 * SLOTS; /* as of the fourth user's memory of a session */
	agent = (struct agent){ .memory = memory.header, .layout = memory.layout, .settings = memory.settings,
				.threads = memory.threads, .descs = memory.descs, .buffers = (uint8_t *)memory.buffers };
}

static uint64_t counter_ahead; /* ticks, of the writers' processors before ours */

static uint64_t stamp(void)
{
	return agent_tsc() + counter_ahead;
}

/* Record i of a writer: every seventh has payload. Ids are 1-based so that no word is 0. */
static void write_record(uint32_t i)
{
	uint64_t payload[2] = { i, 0 };

	buffer_prepare(&tls);
	if (i % 7)
		buffer_put(&tls, NULL, 0,
			   record_word(stamp(), i % RECORD_ID_MAX + 1, RECORD_ENTRY));
	else
		buffer_put(&tls, payload, 2,
			   record_word(stamp(), record_event_id(2, RECORD_EVENT_SPAN),
				       RECORD_EVENT));
}

static void *writer(void *count)
{
	for (uint32_t i = 0; i < (uintptr_t)count; i++)
		write_record(i);
	return NULL;
}

/* The state of each thread slot: the number expected next, and losses told. */
struct seen { uint64_t next[64], got[64], lost[64]; bool exact; };

static uint64_t number_of(const uint64_t *w, uint64_t expected)
{
	if (record_kind(*w) == RECORD_EVENT)
		return w[1];
	return expected - expected % RECORD_ID_MAX + record_id(*w) - 1;
}

static int take(void *context, const struct drain_run *run, struct err *err)
{
	struct seen *s = context;
	uint32_t t = run->slot - memory.first_slot;
	uint64_t records = 0;

	(void)err;
	assert_in_range(t, 0, 63);
	s->lost[t] += run->lost;
	s->next[t] += run->lost;
	for (size_t i = 0; i < run->n; i += 1 + record_payload(run->words[i])) {
		enum record_kind kind = record_kind(run->words[i]);

		if (kind == RECORD_EVENT && record_type(run->words[i]) != RECORD_EVENT_SPAN)
			continue;
		assert_int_equal(number_of(&run->words[i], s->next[t]), s->next[t]);
		s->next[t]++;
		records++;
	}
	assert_int_equal(records, run->records);
	s->got[t] += records;
	return 0;
}

static struct seen run_writers(uintptr_t count, bool partial)
{
	pthread_t threads[WRITERS];
	struct drain *d = drain_new(&memory);
	struct seen seen = { 0 };
	struct err err = { 0 };
	uint64_t lost = 0;
	void *(*body)(void *) = writer;
	int alive = WRITERS;

	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)count), 0);
	while (alive) {
		__atomic_fetch_add(&memory.header->heartbeat, 1, __ATOMIC_RELAXED);
		if (memory.layout.mode != MEMORY_OVERWRITE)
			assert_true(drain_pass(d, partial, take, &seen, &err) >= 0);
		if (pthread_tryjoin_np(threads[alive - 1], NULL) == 0)
			alive--;
	}
	assert_true(drain_finish(d, take, &seen, &lost, &err) >= 0);
	assert_int_equal(lost, 0); /* each loss is a thread's, and was told as its */
	for (uint32_t t = 0; t < shared_memory_threads(&memory); t++)
		seen.lost[63] += seen.lost[t];
	drain_free(d);
	return seen;
}

static uint64_t total(const uint64_t *per_thread)
{
	uint64_t n = 0;

	for (uint32_t t = 0; t < shared_memory_threads(&memory); t++)
		n += per_thread[t];
	return n;
}

static void nothing_is_lost_in_block_mode(void **state)
{
	const uintptr_t count = 300000;
	struct seen seen;

	(void)state;
	begin(MEMORY_BLOCK, 128);
	seen = run_writers(count, true);
	assert_int_equal(shared_memory_threads(&memory), WRITERS);
	for (int t = 0; t < WRITERS; t++)
		assert_int_equal(seen.got[t], count);
	assert_int_equal(seen.lost[63], 0);
	shared_memory_destroy(&memory);
}

static void losses_are_counted_exactly_in_stream_mode(void **state)
{
	const uintptr_t count = 500000;
	struct seen seen;

	(void)state;
	begin(MEMORY_STREAM, 128);
	seen = run_writers(count, false);
	assert_int_equal(total(seen.got) + seen.lost[63], count * WRITERS);
	assert_true(total(seen.got) > 0);
	shared_memory_destroy(&memory);
}

static void overwrite_mode_keeps_the_newest(void **state)
{
	const uintptr_t count = 200000;
	struct seen seen;

	(void)state;
	begin(MEMORY_OVERWRITE, 192);
	seen = run_writers(count, false);
	assert_int_equal(total(seen.got) + seen.lost[63], count * WRITERS);
	for (int t = 0; t < WRITERS; t++) {
		assert_int_equal(seen.next[t], count); /* the last one is there */
		assert_true(seen.got[t] > 8192);
	}
	shared_memory_destroy(&memory);
}

/* A handler interrupts a writer between reserving its slot and filling it, and fills the
 * sub-buffer: the tracer waits for the slot, and nothing is lost. */
static void an_interrupted_writer_is_waited_for(void **state)
{
	struct seen seen = { 0 };
	struct drain *d;
	struct err err;
	uint64_t *slot, lost = 0;

	(void)state;
	begin(MEMORY_BLOCK, 256);
	d = drain_new(&memory);
	tls = (struct agent_tls){ 0 };
	write_record(0);
	slot = (uint64_t *)tls.pos;
	tls.pos += 8; /* reserved: number 1 */
	for (uint32_t i = 2; i < 9000; i++)
		write_record(i);
	assert_int_equal(drain_pass(d, false, take, &seen, &err), 0);
	*slot = record_word(agent_tsc(), 2, RECORD_ENTRY);
	assert_int_equal(drain_pass(d, false, take, &seen, &err), 1);
	assert_true(drain_finish(d, take, &seen, &lost, &err) >= 0);
	assert_int_equal(seen.next[0], 9000);
	assert_int_equal(lost + seen.lost[0], 0);
	drain_free(d);
	shared_memory_destroy(&memory);
}

/* The same, but it never comes back (siglongjmp): one record is lost, and said to be. */
static void a_slot_that_stays_empty_is_one_loss(void **state)
{
	struct seen seen = { 0 };
	struct drain *d;
	struct err err;
	uint64_t lost = 0;

	(void)state;
	begin(MEMORY_BLOCK, 256);
	d = drain_new(&memory);
	tls = (struct agent_tls){ 0 };
	tls.pos = 0;
	write_record(0);
	*(uint64_t *)(tls.pos - 8) = 0; /* a hole before everything else but the header */
	for (uint32_t i = 1; i < 9000; i++)
		write_record(i);
	for (int i = 0; i < 2000 && !seen.got[0]; i++)
		assert_true(drain_pass(d, false, take, &seen, &err) >= 0);
	assert_true(drain_finish(d, take, &seen, &lost, &err) >= 0);
	assert_int_equal(seen.got[0] + seen.lost[0] + lost, 9000);
	drain_free(d);
	shared_memory_destroy(&memory);
}

/* A record of a writer's own that only counts: its number would be out of order. */
static int take_counts(void *context, const struct drain_run *run, struct err *err)
{
	struct seen *s = context;

	(void)err;
	s->got[(run->slot - memory.first_slot)] += run->records;
	s->lost[(run->slot - memory.first_slot)] += run->lost;
	return 0;
}

static uint64_t counted(struct seen *seen)
{
	struct drain *d = drain_new(&memory);
	struct err err;
	uint64_t lost = 0;

	assert_true(drain_finish(d, take_counts, seen, &lost, &err) >= 0);
	drain_free(d);
	return total(seen->got) + total(seen->lost) + lost;
}

/* The writer died between a record's payload and its header. The payload is a stack pointer, which
 * reads like the header of a record from when the time's low 40 bits began anew last. */
static void a_payload_without_its_header_is_no_record(void **state)
{
	struct seen seen = { 0 };
	uint64_t *words;

	(void)state;
	begin(MEMORY_STREAM, 256);
	tls = (struct agent_tls){ 0 };
	write_record(1);
	words = (uint64_t *)tls.pos - 1;
	words[0] = 0;
	words[1] = UINT64_C(0x7ffd12345670);
	memory.descs[tls.buffer].tsc = agent_tsc() & ~((UINT64_C(1) << RECORD_TSC_BITS) - 1);
	assert_int_equal(counted(&seen), 0);
	shared_memory_destroy(&memory);
}

/* A handler that overwrites the whole ring between a writer's reservation and its store: nobody
 * else's record may stand in that slot by then. */
static void an_interrupted_writers_slot_is_not_used_again(void **state)
{
	const uint32_t count = 60000;
	struct seen seen = { 0 };
	uint64_t *slot;

	(void)state;
	begin(MEMORY_OVERWRITE, 128);
	tls = (struct agent_tls){ 0 };
	write_record(0);
	slot = (uint64_t *)tls.pos;
	tls.pos += 8; /* reserved: number 1 */
	for (uint32_t i = 2; i < count; i++)
		write_record(i);
	assert_int_equal(*slot, 0);
	*slot = record_word(agent_tsc(), 2, RECORD_ENTRY);
	assert_int_equal(counted(&seen), count);
	shared_memory_destroy(&memory);
}

static void an_interrupted_loss_is_counted(void **state)
{
	const uint32_t count = 40000;
	struct seen seen = { 0 };

	(void)state;
	begin(MEMORY_STREAM, 128);
	tls = (struct agent_tls){ 0 };
	for (uint32_t i = 0; i < count; i++) {
		write_record(i);
		if (i == count / 2) { /* long in the void */
			tls.pos += 8;
			i++;
		}
	}
	assert_int_equal(counted(&seen), count);
	shared_memory_destroy(&memory);
}

/* A pass that finds a thread gone tells its last losses, with a time behind its end. */
static pthread_barrier_t halfway;

static void *write_twice(void *count)
{
	writer(count);
	pthread_barrier_wait(&halfway);
	pthread_barrier_wait(&halfway);
	return writer(count);
}

struct last_losses { struct seen seen; uint64_t lost, tsc; };

static int take_last_losses(void *context, const struct drain_run *run, struct err *err)
{
	struct last_losses *l = context;
	uint32_t t = run->slot - memory.first_slot;

	(void)err;
	l->seen.got[t] += run->records;
	l->seen.lost[t] += run->lost;
	if (!run->n) {
		l->lost += run->lost;
		l->tsc = run->near_tsc;
	}
	return 0;
}

static void take_from_a_thread_that_ended(void)
{
	const uintptr_t count = 40000;
	const uint64_t began = agent_tsc();
	struct drain *d;
	struct last_losses l = { 0 };
	struct err err;
	pthread_t thread;
	uint64_t lost = 0, ended;

	begin(MEMORY_STREAM, 128);
	d = drain_new(&memory);
	pthread_barrier_init(&halfway, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, write_twice, (void *)count), 0);
	pthread_barrier_wait(&halfway);
	assert_true(drain_pass(d, false, take_last_losses, &l, &err) >= 0);
	assert_int_equal(l.lost, 0); /* it lives */
	pthread_barrier_wait(&halfway);
	pthread_join(thread, NULL);
	/* The kernel has the number for a moment more. */
	while (tgkill(getpid(), (pid_t)memory.threads[0].tid, 0) == 0)
		sched_yield();
	ended = agent_tsc();
	assert_true(drain_pass(d, false, take_last_losses, &l, &err) >= 0);
	assert_int_equal(total(l.seen.got) + total(l.seen.lost), 2 * count);
	assert_true(l.lost > 0);
	assert_in_range(l.tsc, counter_ahead ? began + counter_ahead : ended, stamp());
	assert_int_equal(drain_finish(d, take_last_losses, &l, &lost, &err), 0);
	assert_int_equal(total(l.seen.got) + total(l.seen.lost) + lost, 2 * count);
	pthread_barrier_destroy(&halfway);
	drain_free(d);
	shared_memory_destroy(&memory);
}

static void a_thread_that_ended_has_told_its_losses(void **state)
{
	(void)state;
	take_from_a_thread_that_ended();
}

/* The last record's time is later than that of the look. */
static void losses_are_told_behind_the_last_record(void **state)
{
	(void)state;
	counter_ahead = UINT64_C(1) << 36;
	take_from_a_thread_that_ended();
	counter_ahead = 0;
}

/* The thread has, as in another pid namespace, the numbers that another process has here. When that
 * one ends, the thread still fills its sub-buffer. */
static void the_end_of_a_namesake_is_no_end(void **state)
{
	const uintptr_t count = 40000;
	char *const argv[] = { (char *)"sleep", (char *)"infinity", NULL };
	struct drain *d;
	struct last_losses l = { 0 };
	struct err err;
	pthread_t thread;
	pid_t namesake;
	uint64_t lost = 0;

	(void)state;
	begin(MEMORY_STREAM, 128);
	d = drain_new(&memory);
	pthread_barrier_init(&halfway, NULL, 2);
	assert_int_equal(posix_spawnp(&namesake, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_twice, (void *)count), 0);
	pthread_barrier_wait(&halfway);
	memory.threads[0].pid = memory.threads[0].tid = (uint32_t)namesake;
	assert_true(drain_pass(d, false, take_last_losses, &l, &err) >= 0);
	kill(namesake, SIGKILL);
	assert_int_equal(waitpid(namesake, NULL, 0), namesake);
	assert_true(drain_pass(d, false, take_last_losses, &l, &err) >= 0);
	assert_int_equal(l.lost, 0);
	pthread_barrier_wait(&halfway);
	pthread_join(thread, NULL);
	assert_true(drain_finish(d, take_last_losses, &l, &lost, &err) >= 0);
	assert_true(l.lost > 0);
	assert_int_equal(total(l.seen.got) + total(l.seen.lost) + lost, 2 * count);
	pthread_barrier_destroy(&halfway);
	drain_free(d);
	shared_memory_destroy(&memory);
}

static uint64_t entry(uint32_t i)
{
	return record_word(agent_tsc(), i + 1, RECORD_ENTRY);
}

/* Adds as xadd does, and returns the old value. */
static uint64_t reserve(void)
{
	uint64_t at = tls.pos;

	tls.pos += 8;
	return at;
}

/* Where `places` more words would close the sub-buffer. */
static uint32_t fill_up_to(uint32_t i, unsigned places)
{
	while (tls.end - tls.pos > 8 * places) {
		buffer_prepare(&tls);
		buffer_put(&tls, NULL, 0, entry(i++));
	}
	return i;
}

/* A handler between a trampoline's reservation and its comparison with the end, which is another by
 * then. lower: the new sub-buffer lies below the old one, so that the trampoline takes the slow
 * path; else it stores. */
static void interrupted_before_comparing(bool lower, unsigned places)
{
	struct seen seen = { 0 };
	uint64_t at, handlers;
	uint32_t i;

	begin(MEMORY_STREAM, 256);
	memory.header->buffers_used = 2;
	memory.header->free_head = lower ? 1 : 0;
	memory.descs[lower ? 1 : 0].next = lower ? 0 : 1;
	memory.descs[lower ? 0 : 1].next = MEMORY_NONE;
	tls = (struct agent_tls){ 0 };
	write_record(1);
	assert_int_equal(tls.buffer, lower);
	i = fill_up_to(2, places);
	at = reserve();
	while (tls.pos < tls.end)
		*(uint64_t *)reserve() = entry(i++);
	handlers = reserve();
	agent_record(entry(i++), handlers, 0);
	assert_int_equal(tls.buffer, !lower);
	if (at >= tls.end)
		agent_record(entry(i++), at, 0);
	else
		*(uint64_t *)at = entry(i++);
	assert_int_equal(counted(&seen), i - 1);
	assert_int_equal(seen.got[0], i - 1);
	shared_memory_destroy(&memory);
}

static void a_slot_has_one_record_whatever_the_end_is(void **state)
{
	(void)state;
	interrupted_before_comparing(true, 3);
	interrupted_before_comparing(false, 3);
	interrupted_before_comparing(true, 0);
	interrupted_before_comparing(false, 0);
}

/* A window that a handler closed had that slot counted. */
static void a_slot_of_a_counted_window_is_lost_once(void **state)
{
	struct seen seen = { 0 };
	uint64_t at;
	uint32_t i = 0;

	(void)state;
	begin(MEMORY_STREAM, 128);
	tls = (struct agent_tls){ 0 };
	while (!memory.threads[0].discarding)
		write_record(i++);
	i = fill_up_to(i, 0);
	at = reserve();
	agent_record(entry(i++), reserve(), 0);
	agent_record(entry(i++), at, 0);
	assert_int_equal(counted(&seen), i);
	shared_memory_destroy(&memory);
}

/* The first record of a thread has its slot at 0: its trampoline must never find an end above
 * it. */
static void a_handler_in_a_threads_first_record_opens_nothing(void **state)
{
	struct seen seen = { 0 };
	uint64_t first;

	(void)state;
	begin(MEMORY_STREAM, 128);
	tls = (struct agent_tls){ 0 };
	first = reserve();
	agent_record(entry(0), reserve(), 0);
	agent_record(entry(1), UNRESERVED, 0);
	assert_int_equal(tls.end, 0);
	agent_record(entry(2), first, 0);
	assert_true(tls.end != 0);
	assert_int_equal(counted(&seen), 3);
	assert_int_equal(seen.got[0], 1);
	shared_memory_destroy(&memory);
}

/* The function tracer's records have two words. */
static void an_empty_slot_of_two_words_is_one_loss(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	begin(MEMORY_STREAM, 128);
	agent.settings.tracer = memory.settings.tracer = MEMORY_FUNCTION;
	tls = (struct agent_tls){ 0 };
	for (int i = 0; i < 5000; i++) {
		const uint64_t words[2] = {
			record_word(agent_tsc(), record_event_id(1, RECORD_EVENT_CALL), 0), 7
		};

		if (i == 3)
			tls.pos += 16;
		else if (i == 5)
			((uint64_t *)(tls.pos += 16))[-1] = 7; /* interrupted before its header */
		else
			buffer_write_words(&tls, words, 2, 0);
	}
	assert_int_equal(counted(&seen), 5000);
	assert_int_equal(seen.lost[0], 2);
	shared_memory_destroy(&memory);
}

/* Entries have one word, exits that tell what was returned two. */
static void an_empty_slot_of_an_exit_with_a_value_is_one_loss(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	begin(MEMORY_STREAM, 128);
	agent.settings.values = memory.settings.values = 1;
	tls = (struct agent_tls){ 0 };
	for (uint32_t i = 0; i < 5000; i++) {
		const uint64_t value[2] = {
			record_word(agent_tsc(), 40 | RECORD_EXIT_VALUE, RECORD_EXIT), i % 3 ? i : 0
		};

		if (i == 4)
			tls.pos += 8; /* of an entry */
		else if (i == 7)
			tls.pos += 16;
		else if (i == 11)
			((uint64_t *)(tls.pos += 16))[-1] = 7; /* interrupted before its header */
		else if (i % 2)
			buffer_write_words(&tls, value, 2, 0);
		else
			buffer_write(&tls, record_word(agent_tsc(), 9, RECORD_ENTRY));
	}
	assert_int_equal(counted(&seen), 5000);
	assert_int_equal(seen.lost[0], 3);
	shared_memory_destroy(&memory);
}

/* A descriptor's news is told when it was read, even if its thread died before it said so; and
 * the tracer's own word is never taken back. */
static void the_tracers_death_tells_nothing_twice(void **state)
{
	struct seen seen = { 0 };
	struct drain *d;
	struct err err;

	(void)state;
	begin(MEMORY_STREAM, 128);
	tls = (struct agent_tls){ 0 };
	write_record(1);
	memory.threads[0].lost = memory.descs[0].lost = memory.descs[0].lost_upto = 5;
	memory.descs[0].used = 8;
	memory.descs[0].state = MEMORY_FULL;
	memory.threads[0].taken = 100;
	d = drain_new(&memory);
	assert_int_equal(drain_pass(d, false, take_counts, &seen, &err), 1);
	drain_free(d);
	assert_int_equal(seen.lost[0], 5);
	assert_int_equal(counted(&seen), 6);
	assert_int_equal(memory.threads[0].taken, 106);
	memory.descs[0].begins = 1; /* given back to the state before, as a quarantined one stays */
	memory.descs[0].state = MEMORY_FULL;
	counted(&seen);
	assert_int_equal(memory.threads[0].taken, 106);
	shared_memory_destroy(&memory);
}

/* Slots that stay empty keep their sub-buffers from others until the thread ends, but not the
 * thread from new ones: else a few siglongjmps would end its recording. */
static void quarantine_takes_nothing_from_the_quota(void **state)
{
	struct seen seen = { 0 };
	struct drain *d;
	struct err err;
	uint32_t i = 0;

	(void)state;
	begin(MEMORY_STREAM, 128); /* quota: 2 */
	d = drain_new(&memory);
	tls = (struct agent_tls){ 0 };
	for (int holes = 1; holes <= 2; holes++) {
		write_record(i++);
		tls.pos += 8; /* of sub-buffer holes - 1 */
		while (memory.threads[0].seq < (uint32_t)holes + 1)
			write_record(i++);
		while (seen.lost[0] < (uint64_t)holes) {
			assert_true(drain_pass(d, false, take_counts, &seen, &err) >= 0);
			usleep(10000);
		}
	}
	seen.got[0] = 0;
	for (uint32_t n = 0; n < 20000; n++) {
		write_record(i++);
		assert_true(drain_pass(d, false, take_counts, &seen, &err) >= 0);
	}
	assert_true(seen.got[0] > 10000);
	drain_free(d);
	shared_memory_destroy(&memory);
}

static void *hold_one(void *arg)
{
	pthread_barrier_t *b = arg;

	tls = (struct agent_tls){ 0 };
	write_record(0);
	pthread_barrier_wait(b);
	pthread_barrier_wait(b); /* for whoever waits for a sub-buffer */
	return NULL;
}

/* The tracer's side in threads of its own: a heart that beats, and passes. A pass that takes
 * something takes slow_ms. */
struct tracer {
	pthread_t heart, passes;
	struct drain *drain;
	struct seen seen;
	unsigned slow_ms;
	bool stop;
};

static void *beat(void *arg)
{
	struct tracer *t = arg;

	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
		shared_memory_heartbeat(&memory);
		usleep(10000);
	}
	return NULL;
}

static int take_slowly(void *context, const struct drain_run *run, struct err *err)
{
	struct tracer *t = context;

	usleep(t->slow_ms * 1000);
	return take_counts(&t->seen, run, err);
}

static void *pass(void *arg)
{
	struct tracer *t = arg;
	struct err err;

	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
		assert_true(drain_pass(t->drain, false, take_slowly, t, &err) >= 0);
		usleep(10000);
	}
	return NULL;
}

static void tracer_begin(struct tracer *t, unsigned slow_ms)
{
	*t = (struct tracer){ .drain = drain_new(&memory), .slow_ms = slow_ms };
	assert_int_equal(pthread_create(&t->heart, NULL, beat, t), 0);
	assert_int_equal(pthread_create(&t->passes, NULL, pass, t), 0);
}

/* How many records there were, kept and lost. */
static uint64_t tracer_end(struct tracer *t)
{
	uint64_t lost = 0;
	struct err err;

	__atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
	pthread_join(t->heart, NULL);
	pthread_join(t->passes, NULL);
	t->slow_ms = 0;
	assert_true(drain_finish(t->drain, take_slowly, t, &lost, &err) >= 0);
	drain_free(t->drain);
	return total(t->seen.got) + total(t->seen.lost) + lost;
}

static void have_buffers(uint32_t n)
{
	agent.layout.buffers_max = memory.layout.buffers_max = n;
}

static void write_records(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		write_record(i);
}

static uint32_t noted(enum message_kind kind)
{
	return memory.header->messages.counts[kind];
}

/* Block mode, every sub-buffer with a thread that waits for this one, which has none: it goes on,
 * and says so. */
static void waiting_for_those_who_wait_ends(void **state)
{
	pthread_barrier_t b;
	struct tracer tracer;
	pthread_t other;

	(void)state;
	begin(MEMORY_BLOCK, 128);
	have_buffers(1);
	pthread_barrier_init(&b, NULL, 2);
	tracer_begin(&tracer, 0);
	assert_int_equal(pthread_create(&other, NULL, hold_one, &b), 0);
	pthread_barrier_wait(&b);
	tls = (struct agent_tls){ 0 };
	write_records(1000);
	pthread_barrier_wait(&b);
	pthread_join(other, NULL);
	assert_false(agent.abandoned);
	assert_int_equal(noted(MESSAGE_VAIN), 1);
	assert_int_equal(tracer_end(&tracer), 1001);
	pthread_barrier_destroy(&b);
	shared_memory_destroy(&memory);
}

static void *write_one(void *arg)
{
	(void)arg;
	tls = (struct agent_tls){ 0 };
	write_record(0);
	return NULL;
}

/* A slow disk, say: longer than a thread that holds nothing waits for a tracer that finds nothing
 * to give back. */
static void a_slow_tracer_is_waited_for(void **state)
{
	struct tracer tracer;
	pthread_t other;

	(void)state;
	begin(MEMORY_BLOCK, 128);
	have_buffers(1);
	assert_int_equal(pthread_create(&other, NULL, write_one, NULL), 0);
	pthread_join(other, NULL);
	tls = (struct agent_tls){ 0 };
	tracer_begin(&tracer, 1500);
	write_records(1000);
	assert_int_equal(tracer_end(&tracer), 1001);
	assert_int_equal(total(tracer.seen.lost), 0);
	assert_int_equal(noted(MESSAGE_VAIN) + noted(MESSAGE_GIVEN_UP), 0);
	shared_memory_destroy(&memory);
}

/* One that was stopped, say. What is written once it goes on is not lost. */
static void a_tracer_that_was_held_up_is_waited_for_again(void **state)
{
	struct tracer tracer;

	(void)state;
	begin(MEMORY_BLOCK, 128);
	have_buffers(1);
	tls = (struct agent_tls){ 0 };
	write_records(10000);
	assert_true(agent.abandoned);
	assert_int_equal(noted(MESSAGE_GIVEN_UP), 1);
	tracer_begin(&tracer, 0);
	while (!__atomic_load_n(&memory.header->heartbeat, __ATOMIC_ACQUIRE))
		sched_yield();
	write_records(100000);
	assert_false(agent.abandoned);
	assert_int_equal(tracer_end(&tracer), 110000);
	assert_in_range(total(tracer.seen.lost), 1, 10000);
	shared_memory_destroy(&memory);
}

/* A thread that writes a little and ends leaves the rest of its sub-buffer as it was: no memory. */
static void looking_for_an_end_touches_no_pages(void **state)
{
	const uint32_t threads = 32;
	struct seen seen = { 0 };
	pthread_t thread;
	size_t touched = 0;

	(void)state;
	begin(MEMORY_STREAM, 128);
	for (uint32_t i = 0; i < threads; i++) {
		assert_int_equal(pthread_create(&thread, NULL, write_one, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(counted(&seen), threads);
	for (uint32_t i = 0; i < threads; i++)
		touched += shared_memory_touched(&memory, i);
	assert_int_equal(touched, threads * (size_t)sysconf(_SC_PAGESIZE));
	shared_memory_destroy(&memory);
}

/* The traced program can write anything there: the tracer may read rubbish, nothing worse. */
static int take_anything(void *context, const struct drain_run *run, struct err *err)
{
	uint64_t *sum = context;

	(void)err;
	assert_in_range((run->slot - memory.first_slot), 0, memory.layout.threads_max - 1);
	assert_in_range(run->n, 0, MEMORY_BUFFER_WORDS);
	for (size_t i = 0; i < run->n; i++)
		*sum += run->words[i];
	return 0;
}

static void a_scribbled_memory_does_no_harm(void **state)
{
	uint64_t sum = 0, lost = 0;
	struct err err;

	(void)state;
	srand(1);
	for (int round = 0; round < 10; round++) {
		struct drain *d;

		begin(MEMORY_STREAM, 128);
		d = drain_new(&memory);
		tls = (struct agent_tls){ 0 };
		for (uint32_t i = 0; i < 20000; i++)
			write_record(i);
		for (int k = 0; k < 50; k++)
			((uint8_t *)memory.descs)[rand() % (4 * sizeof(struct memory_desc))] = (uint8_t)rand();
		for (int k = 0; k < 50; k++)
			((uint8_t *)memory.threads)[rand() % sizeof(struct memory_thread)] = (uint8_t)rand();
		for (int k = 0; k < 50; k++)
			((uint8_t *)memory.buffers)[rand() % (2 * MEMORY_BUFFER_BYTES)] = (uint8_t)rand();
		memory.header->buffers_used = (uint32_t)rand();
		memory.header->threads_used = (uint32_t)rand();
		memory.header->free_head = (uint64_t)rand();
		drain_pass(d, true, take_anything, &sum, &err);
		drain_finish(d, take_anything, &sum, &lost, &err);
		drain_free(d);
		shared_memory_destroy(&memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_in_block_mode),
		cmocka_unit_test(losses_are_counted_exactly_in_stream_mode),
		cmocka_unit_test(overwrite_mode_keeps_the_newest),
		cmocka_unit_test(an_interrupted_writer_is_waited_for),
		cmocka_unit_test(a_slot_that_stays_empty_is_one_loss),
		cmocka_unit_test(a_payload_without_its_header_is_no_record),
		cmocka_unit_test(an_interrupted_writers_slot_is_not_used_again),
		cmocka_unit_test(an_interrupted_loss_is_counted),
		cmocka_unit_test(a_thread_that_ended_has_told_its_losses),
		cmocka_unit_test(losses_are_told_behind_the_last_record),
		cmocka_unit_test(the_end_of_a_namesake_is_no_end),
		cmocka_unit_test(a_slot_has_one_record_whatever_the_end_is),
		cmocka_unit_test(a_slot_of_a_counted_window_is_lost_once),
		cmocka_unit_test(a_handler_in_a_threads_first_record_opens_nothing),
		cmocka_unit_test(an_empty_slot_of_two_words_is_one_loss),
		cmocka_unit_test(an_empty_slot_of_an_exit_with_a_value_is_one_loss),
		cmocka_unit_test(the_tracers_death_tells_nothing_twice),
		cmocka_unit_test(quarantine_takes_nothing_from_the_quota),
		cmocka_unit_test(waiting_for_those_who_wait_ends),
		cmocka_unit_test(a_slow_tracer_is_waited_for),
		cmocka_unit_test(a_tracer_that_was_held_up_is_waited_for_again),
		cmocka_unit_test(looking_for_an_end_touches_no_pages),
		cmocka_unit_test(a_scribbled_memory_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
