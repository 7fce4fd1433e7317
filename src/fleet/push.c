/* SPDX-License-Identifier: MIT */
/* From a trace's calls to batches of rows. The trace file is what a push that was cut short begins
 * from again: the same file makes the same batches. ui/pushing.c calls it, on the command's thread,
 * which reads while the sender's thread sends. Fails on a trace that cannot be read and as the
 * sender does. */
#include "fleet/push.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/keyed_hash.h"
#include "base/mem.h"
#include "export/walk.h"
#include "fleet/minutes.h"
#include "fleet/trace_file.h"

#define BATCH_ROWS 250000
#define MINUTE_ROWS_KEPT 100000 /* in memory, before they become a batch */
#define NS UINT64_C(1000000000)
#define SECONDS_A_DAY 86400

/* Open calls of functions and lanes below these are counted in an array of their lane: 64 MiB of
 * arrays at most, whatever number of threads a trace has. */
#define ARRAY_FUNCTIONS 2048
#define ARRAY_LANES 8192

struct lane_counts { VEC(uint32_t) of; };

struct upload {
	struct fleet_push *push;
	struct fleet_sender *sender;
	struct walk walk;
	VEC(uint64_t) numbers;      /* of functions in the tables, by their rows in the walk */
	struct fleet_minutes minutes;
	/* calls of a function that are open on a lane, and those beyond the arrays */
	VEC(struct lane_counts) lanes;
	struct number_map open;
	struct fleet_block blocks[FLEET_TABLES];
	uint32_t day, minutes_day;  /* of the rows in the blocks of calls and of minutes */
	struct err *err;
};

/* --- numbers that hosts agree on ----------------------------------------------------- */

/* No secret: the same bytes have the same number on every host. */
static const struct hash_key public_key = { { 0, 0 } };

static uint64_t hash_text(uint64_t h, const char *text)
{
	return text ? keyed_hash_bytes(&public_key, h, text, strlen(text)) : h;
}

/* A build-id and an address tell a function apart; without one, its names do. A file without one is
 * told by its name alone: two versions of it share their functions then. */
static uint64_t function_number(struct upload *u, uint32_t row)
{
	const struct walk_function *f = &u->walk.functions.at[row];
	const struct trace_module *m = NULL;
	const struct trace_function *t = walk_function(&u->walk, row, &m);
	uint64_t h = hash_text(1, f->text);

	if (!m || !t || !m->build_id_len)
		return hash_text(hash_text(h, f->file), m ? m->name : "");
	h = keyed_hash_bytes(&public_key, h, m->build_id, m->build_id_len);
	return keyed_hash(&public_key, h, t->vaddr);
}

/* A number of the trace that no other trace has. fleet_push() adds the file's bytes and the part.
 * The TSC and the pid tell recordings of one command apart that began in one moment of a coarse
 * clock. */
static uint64_t trace_number(const struct trace_info *info)
{
	uint64_t h = hash_text(hash_text(0, info->host), info->run.invocation);

	h = keyed_hash(&public_key, h, info->clock.real_ns);
	h = keyed_hash(&public_key, h, info->clock.tsc);
	return keyed_hash(&public_key, h, info->images.n ? info->images.at[0].pid : 0);
}

/* --- rows ----------------------------------------------------- */

/* In unsigned numbers: a time from before the recording's pair of clocks wraps twice, and is
 * right. */
static uint64_t real_ns(const struct upload *u, uint64_t mono_ns)
{
	const struct trace_clock *c = &u->walk.info->clock;

	return c->real_ns + (mono_ns - c->mono_ns);
}

/* The build-id in hex; "" for none. */
static void put_build_id(struct fleet_block *b, const struct trace_module *m)
{
	char hex[2 * sizeof(m->build_id) + 1] = "";

	for (size_t i = 0; m && i < m->build_id_len; i++) {
		hex[2 * i] = "0123456789abcdef"[m->build_id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[m->build_id[i] & 15];
		hex[2 * i + 2] = '\0';
	}
	fleet_put_text(b, hex);
}

static void put_function(struct upload *u, uint32_t row, uint64_t number)
{
	struct fleet_block *b = &u->blocks[FLEET_FUNCTIONS];
	const struct trace_module *m = NULL;
	const struct trace_function *t = walk_function(&u->walk, row, &m);

	fleet_put_number(b, number);
	fleet_put_text(b, u->walk.functions.at[row].text);
	fleet_put_text(b, u->walk.functions.at[row].file);
	put_build_id(b, m);
	fleet_put_number(b, t ? t->vaddr : 0);
}

/* The function's number, whose row is put when it is first asked for. Rows of the walk are numbered
 * as functions are met, so that this puts each function once, and the place in `numbers` is the
 * row. */
static uint64_t number_of(struct upload *u, uint32_t row)
{
	while (u->numbers.n <= row) {
		const uint32_t next = (uint32_t)u->numbers.n;

		*vec_add(&u->numbers) = function_number(u, next);
		put_function(u, next, u->numbers.at[next]);
	}
	return u->numbers.at[row];
}

static int send_block(struct upload *u, enum fleet_table_number table)
{
	return fleet_send(u->sender, &u->blocks[table], u->err);
}

/* Sends the block if a row of that day has no place in it: a batch is of one day. *of: the day of
 * its rows. Call it before the row's batch is asked for: a block that is sent ends its batch, and
 * the row belongs to the next one. */
static int make_room(struct upload *u, enum fleet_table_number table, uint32_t *of, uint32_t day)
{
	const int r = day != *of || u->blocks[table].rows == BATCH_ROWS ? send_block(u, table) : 0;

	*of = day;
	return r;
}

/* Without a timed call `least` is still UINT64_MAX, which would be a time for whoever takes the
 * least of several rows. */
static int put_minute(struct upload *u, const struct fleet_minute *m)
{
	struct fleet_block *b = &u->blocks[FLEET_MINUTES];
	const uint32_t day = m->minute / SECONDS_A_DAY;
	const int r = make_room(u, FLEET_MINUTES, &u->minutes_day, day);
	const uint64_t numbers[] = {
		day, m->minute, u->push->run, fleet_sender_batch(u->sender, FLEET_MINUTES),
		number_of(u, m->function), m->calls, m->timed, m->durations, m->total, m->self,
		m->timed ? m->least : 0, m->most,
	};

	fleet_put_numbers(b, numbers, sizeof(numbers) / sizeof(*numbers));
	fleet_put_smalls(b, m->buckets.at, m->buckets.n);
	fleet_put_counts(b, m->counts.at, m->counts.n);
	u->push->minute_rows++;
	return r;
}

/* The sums so far become rows. A minute that goes on has further rows: they are added up by whoever
 * asks. Sorted, they need few batches: a new day would end a batch each time that it comes. */
static int put_minutes(struct upload *u)
{
	int r = 0;

	fleet_minutes_sort(&u->minutes);
	for (size_t i = 0; !r && i < u->minutes.rows.n; i++)
		r = put_minute(u, &u->minutes.rows.at[i]);
	fleet_minutes_clear(&u->minutes);
	return r;
}

/* A call's duration and own time, in ns. */
static void times_of(const struct upload *u, const struct walk_step *s, uint64_t *ns,
		     uint64_t *self)
{
	const struct trace_clock *c = &u->walk.info->clock;
	const uint64_t begin = s->frame->begin;

	*ns = trace_clock_span_ns(c, begin, s->ticks);
	*self = trace_clock_span_ns(c, begin + s->ticks - s->self, s->self);
}

/* A call's day is that of its end, as its minute is. `day`, `run` and `batch` are one value for a
 * whole block (`same` in tables.c), which make_room() sees to. */
static int put_call(struct upload *u, const struct walk_step *s, uint64_t ns, uint64_t self)
{
	struct fleet_block *b = &u->blocks[FLEET_CALLS];
	const struct trace_thread *t = &u->walk.info->threads.at[u->walk.lanes.at[s->lane].thread];
	const uint32_t day = (uint32_t)(real_ns(u, s->ns) / NS / SECONDS_A_DAY);
	const int r = make_room(u, FLEET_CALLS, &u->day, day);
	const uint64_t numbers[] = {
		day, u->push->run, fleet_sender_batch(u->sender, FLEET_CALLS), t->pid, t->tid,
		real_ns(u, s->begin_ns), ns, self, s->depth, number_of(u, s->function),
	};

	fleet_put_numbers(b, numbers, sizeof(numbers) / sizeof(*numbers));
	u->push->call_rows++;
	return r;
}

/* --- the reading ----------------------------------------------------- */

/* Counts of the arrays' functions; those that are not there yet are 0. */
static uint32_t *count_in_array(struct upload *u, const struct walk_step *s)
{
	struct lane_counts *lane;

	while (u->lanes.n <= s->lane)
		*vec_add(&u->lanes) = (struct lane_counts){ 0 };
	lane = &u->lanes.at[s->lane];
	while (lane->of.n <= s->function)
		*vec_add(&lane->of) = 0;
	return &lane->of.at[s->function];
}

/* Adds to how many calls of the function are open on the lane; the number before. by: 1 or -1. A
 * key of 0 is not kept by the map, hence + 1. An entry of no open calls is removed, so that the map
 * is only as large as the stacks are deep. */
static uint64_t add_open(struct upload *u, const struct walk_step *s, int by)
{
	const uint64_t key = ((uint64_t)s->lane << 32 | s->function) + 1;
	uint64_t n;

	if (s->function < ARRAY_FUNCTIONS && s->lane < ARRAY_LANES) {
		uint32_t *count = count_in_array(u, s);

		n = *count;
		*count += (uint32_t)by;
		return n;
	}
	n = number_map_get(&u->open, key);
	n = n == NUMBER_NONE ? 0 : n;
	if (n + (uint64_t)by)
		number_map_set(&u->open, key, n + (uint64_t)by);
	else
		number_map_remove(&u->open, key);
	return n;
}

/* A call inside of one of the same function adds no time to the function's, as in brace report. A
 * call whose return was not followed has no duration: it is counted, and is in no mean and no
 * histogram. */
static int end_call(struct upload *u, const struct walk_step *s)
{
	const uint64_t second = real_ns(u, s->ns) / NS;
	const bool outermost = add_open(u, s, -1) == 1;
	uint64_t ns, self;

	u->push->n_calls++;
	times_of(u, s, &ns, &self);
	if (s->flags & WALK_UNFOLLOWED)
		fleet_minutes_count(&u->minutes, second, s->function);
	else
		fleet_minutes_add(&u->minutes, second, s->function,
				  &(struct fleet_times){ ns, outermost ? ns : 0, self });
	return u->push->calls ? put_call(u, s, ns, self) : 0;
}

static int take_step(void *arg, const struct walk_step *s)
{
	struct upload *u = arg;
	int r = 0;

	if (s->kind == WALK_BEGIN)
		add_open(u, s, 1);
	else if (s->kind == WALK_END)
		r = end_call(u, s);
	else if (s->kind == WALK_LOST)
		u->push->lost += s->lost;
	if (!r && u->minutes.rows.n >= MINUTE_ROWS_KEPT)
		r = put_minutes(u);
	return r;
}

/* --- the run ----------------------------------------------------- */

static uint32_t begin_day(const struct upload *u)
{
	return (uint32_t)(u->walk.info->clock.real_ns / NS / SECONDS_A_DAY);
}

static void put_run(struct upload *u)
{
	const struct trace_info *info = u->walk.info;
	struct fleet_block *b = &u->blocks[FLEET_RUNS];
	const uint64_t begin = info->clock.real_ns;

	fleet_put_number(b, u->push->run);
	fleet_put_number(b, begin_day(u));
	fleet_put_number(b, begin);
	fleet_put_text(b, info->host ? info->host : "");
	fleet_put_number(b, info->images.n ? info->images.at[0].pid : 0);
	fleet_put_text(b, u->push->no_command || !info->cmdline ? "" : info->cmdline);
	fleet_put_text(b, u->push->labels);
	fleet_put_text(b, info->version ? info->version : "");
	fleet_put_number(b, u->push->n_calls);
	fleet_put_number(b, u->push->lost);
	fleet_put_number(b, info->thresh_ns);
	fleet_put_number(b, u->push->minute_rows);
	fleet_put_number(b, u->push->call_rows);
}

/* Sends the blocks that are not full. The run's row is last: it stands for all the others. It has
 * counts that are known only after put_minutes(), and all statements of `brace fleet` choose by it:
 * without it the other rows do not count. Functions are sent first, so that no sum of a whole run
 * lacks its name. */
static int send_rest(struct upload *u)
{
	static const enum fleet_table_number order[] = {
		FLEET_FUNCTIONS, FLEET_MINUTES, FLEET_CALLS,
	};
	int r = put_minutes(u);

	put_run(u);
	for (size_t i = 0; !r && i < sizeof(order) / sizeof(*order); i++)
		r = send_block(u, order[i]);
	if (!r && u->push->whole)
		r = fleet_trace_send(u->sender, u->push->whole, begin_day(u), u->err);
	return r ? r : send_block(u, FLEET_RUNS);
}

static void free_upload(struct upload *u)
{
	for (size_t i = 0; i < FLEET_TABLES; i++)
		fleet_block_free(&u->blocks[i]);
	for (size_t i = 0; i < u->lanes.n; i++)
		vec_free(&u->lanes.at[i].of);
	vec_free(&u->lanes);
	fleet_minutes_clear(&u->minutes);
	vec_free(&u->numbers);
	number_map_free(&u->open);
	walk_free(&u->walk);
}

/* Reads on this thread, while the sender's sends the block before. 0, or -errno and *err. */
static int send_run(struct fleet_push *p, struct fleet_sender *sender, struct err *err)
{
	struct upload u = { .push = p, .sender = sender, .err = err };
	int r;

	for (size_t i = 0; i < FLEET_TABLES; i++)
		u.blocks[i].table = &fleet_tables[i];
	walk_init(&u.walk, p->source);
	u.walk.stop = p->stop;
	r = walk_run(&u.walk, take_step, &u, err);
	if (!r)
		r = send_rest(&u);
	free_upload(&u);
	return r;
}

int fleet_push(struct fleet_push *p, struct err *err)
{
	struct fleet_sender sender = { .servers = p->servers, .retry_ns = p->retry_ns,
				       .verify = p->verify, .has_file = p->whole != NULL,
				       .stop = p->stop };
	int r;

	p->run = keyed_hash(&public_key, trace_number(p->source->info), p->file);
	/* Numbers that are signed elsewhere have room for it. */
	p->run = keyed_hash(&public_key, p->run, p->part) >> 1;
	p->server = p->run % p->servers->at.n;
	/* A bit for each server: FLEET_SERVERS_MAX is 64. A spool of many files must not wait
	 * --retry for each of them. */
	if (p->away >> p->server & 1)
		return err_set(err, ETIMEDOUT, "%s did not answer before",
			       p->servers->at.at[p->server].url);
	sender.run = p->run;
	sender.server = p->server;
	/* fleet_sender_end() follows even a beginning that failed: it frees what that asked. */
	r = fleet_sender_begin(&sender, err);
	if (!r)
		r = send_run(p, &sender, err);
	r = fleet_sender_end(&sender, r, err);
	if (r == -ETIMEDOUT)
		p->away |= UINT64_C(1) << p->server;
	p->batches = sender.batches;
	p->sent = sender.sent;
	p->there = sender.there;
	p->missing = sender.missing;
	return r;
}
