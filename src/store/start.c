/* SPDX-License-Identifier: MIT */
/* Finds where reading of each thread may begin for a part of a file, and what was open there, from
 * what the packets of records do to stacks (effects.h). Only of a file that is whole; what it says
 * is not checked against the records, since that would mean to read them: a file that lies names
 * calls as open that were not, as its records could. Memory is bounded by what the file has
 * (RAW_TIMES_MAX), and depth by DEPTH_MAX; whatever cannot be is taken for unknown. */
#include "store/reader.h"
#include "store/effects.h"

#include "base/cursor.h"

#define DEPTH_MAX 65536u
#define MARKS_MAX 4096u /* each is held against all others */
/* As reader.c bounds what information decompresses to. */
#define RAW_TIMES_MAX 128
#define RAW_LEAST (64u << 20)

struct store_start { VEC(struct thread_start) threads; };

/* Reading of the packets that tell. */
struct start_reading {
	struct store_reader *reader;
	struct store_start *start;
	struct loader loader;
	size_t entry;      /* of the next packet of records, into reader->entries */
	uint64_t n;        /* packets of records before that */
	uint32_t *seen;    /* by thread: its packets among them */
	uint64_t raw_left; /* bytes that may still be decompressed */
};

/* --- one packet's effect ------------------------------------------------------------- */

static void forget_calls(struct thread_start *t)
{
	vec_free(&t->open);
	vec_free(&t->marks);
}

/* Its thread is read from its beginning. */
static void forget(struct start_reading *r, struct thread_start *t, uint32_t thread)
{
	t->packet = r->reader->first.at[thread];
	t->known = false;
	t->at = 0;
	forget_calls(t);
}

/* A call returns, with its tail calls. One that is not open was called before the trace. */
static void end_call(struct thread_start *t)
{
	while (t->open.n && t->open.at[--t->open.n].tail)
		;
	while (t->marks.n && t->marks.at[t->marks.n - 1].below > t->open.n)
		t->marks.n--;
}

/* Reads a mark; base: the calls that were open before those that the packet opened, n of which it
 * says. */
static bool get_mark(struct cursor *c, struct thread_start *t, size_t base, size_t n, bool apply)
{
	const uint64_t sp = cursor_uleb(c), below = cursor_uleb(c);
	const size_t skipped = base + n - t->open.n; /* a jump to the function that was open */
	size_t kept = 0;

	if (c->bad || below > n)
		return false;
	if (!apply)
		return true;
	for (size_t i = 0; i < t->marks.n; i++)
		if (t->marks.at[i].sp != sp)
			t->marks.at[kept++] = t->marks.at[i];
	t->marks.n = kept;
	*vec_add(&t->marks) = (struct start_mark){
		sp, (uint32_t)(base + below - (below && skipped ? 1 : 0)) };
	return true;
}

/* Reads an open call. A jump to the function that is open is none; that is known only here if the
 * packet began with it. */
static void get_frame(struct cursor *c, struct thread_start *t, uint64_t *tsc, bool apply)
{
	uint64_t what = cursor_uleb(c);
	struct start_frame f = { .fn = (uint32_t)(what >> 1) & RECORD_ID_MAX, .tail = what & 1 };

	*tsc += (uint64_t)bytes_unzigzag(cursor_uleb(c));
	f.tsc = *tsc;
	f.cpu = (uint16_t)cursor_uleb(c);
	if (apply && !c->bad &&
	    !(f.tail && t->open.n && t->open.at[t->open.n - 1].fn == f.fn))
		*vec_add(&t->open) = f;
}

/* Reads the calls and marks that a packet leaves. False: there are more than can be. */
static bool get_open(struct cursor *c, struct thread_start *t, uint64_t tsc, bool apply)
{
	const size_t base = t->open.n;
	const uint64_t n = cursor_uleb(c);
	uint64_t marks;

	if (c->bad || n > EFFECTS_FRAMES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++)
		get_frame(c, t, &tsc, apply);
	marks = cursor_uleb(c);
	if (c->bad || marks > EFFECTS_MARKS_MAX)
		return false;
	while (marks && get_mark(c, t, base, n, apply))
		marks--;
	return !marks;
}

/* Reads what the packet at r->entry tells, and applies it if it comes before its thread's start.
 * False: it is malformed. */
static bool get_effect(struct start_reading *r, struct cursor *c)
{
	const struct packet_records *head = &r->reader->entries.at[r->entry].head.records;
	struct thread_start *t = &r->start->threads.at[head->thread];
	uint32_t packet = r->reader->first.at[head->thread] + r->seen[head->thread]++;
	bool apply = t->known && packet < t->packet;
	uint64_t returns = cursor_uleb(c), at;

	if (!returns) {
		if (apply)
			forget(r, t, head->thread);
		return !c->bad;
	}
	at = cursor_uleb(c);
	if (c->bad)
		return false;
	if (apply && !t->at && !t->open.n)
		t->at = at;
	for (; apply && --returns && t->open.n;)
		end_call(t);
	if (!get_open(c, t, head->first_tsc, apply))
		return false;
	if (apply && (t->open.n > DEPTH_MAX || t->marks.n > MARKS_MAX))
		forget(r, t, head->thread);
	return true;
}

/* --- all of them --------------------------------------------------------------------- */

/* Moves to the next packet of records. False: there is none. */
static bool find_records(struct start_reading *r)
{
	const struct packet_index *p = &r->reader->entries;

	while (r->entry < p->n && p->at[r->entry].head.type != PACKET_RECORDS)
		r->entry++;
	return r->entry < p->n;
}

/* Reads a packet that tells. False: it is not what comes next, or malformed. The entry is a copy,
 * since reader_raw() writes to it: workers, and the line that shows how far a reading is, read the
 * reader's entries at the same time. */
static bool read_told(struct start_reading *r, struct packet_entry entry)
{
	struct cursor c;
	uint64_t first, n;

	if (reader_raw(r->reader, &entry, &r->loader, NULL) || r->loader.raw.n > r->raw_left)
		return false;
	r->raw_left -= r->loader.raw.n;
	c = cursor_of(r->loader.raw.at, r->loader.raw.n);
	first = cursor_uleb(&c);
	n = cursor_uleb(&c);
	if (c.bad || first != r->n || !n)
		return false;
	for (; n && find_records(r); n--, r->n++, r->entry++) {
		const uint32_t thread = r->reader->entries.at[r->entry].head.records.thread;

		if (get_effect(r, &c))
			continue;
		forget(r, &r->start->threads.at[thread], thread);
		return false;
	}
	return !n && !cursor_left(&c);
}

/* Threads with packets that nothing is told of, before their starts. */
static void forget_untold(struct start_reading *r)
{
	for (uint32_t i = 0; i < r->start->threads.n; i++) {
		struct thread_start *t = &r->start->threads.at[i];

		if (t->known && r->reader->first.at[i] + r->seen[i] < t->packet)
			forget(r, t, i);
	}
}

/* The first packet that ends at tsc or later; behind the last: there is none. */
static uint32_t packet_at(const struct store_reader *r, uint32_t thread, uint64_t tsc)
{
	uint32_t i = r->first.at[thread];

	while (i < r->first.at[thread + 1] &&
	       r->entries.at[r->packets.at[i]].head.records.last_tsc < tsc)
		i++;
	return i;
}

/* The bytes that are unpacked are bounded by the file's size: a small file must not take much
 * memory. */
struct store_start *store_start_at(struct store_reader *r, uint64_t tsc)
{
	struct start_reading reading = { .reader = r };
	struct store_start *s;
	const size_t threads = r->info->threads.n;

	/* Packets' heads have the stamps as they are: none that belongs behind may come before. */
	if (r->pairs)
		tsc = tsc > clock_pairs_reach(r->pairs) ? tsc - clock_pairs_reach(r->pairs) : 0;
	if (r->cut || !tsc)
		return NULL;
	s = mem_zalloc(sizeof(*s));
	reading.start = s;
	reading.seen = mem_zalloc((threads + 1) * sizeof(*reading.seen));
	reading.raw_left =
		r->size > RAW_LEAST / RAW_TIMES_MAX ? r->size * RAW_TIMES_MAX : RAW_LEAST;
	for (uint32_t i = 0; i < threads; i++)
		*vec_add(&s->threads) =
			(struct thread_start){ .packet = packet_at(r, i, tsc), .known = true };
	for (size_t i = 0; i < r->entries.n; i++)
		if (r->entries.at[i].head.type == PACKET_EFFECTS &&
		    !read_told(&reading, r->entries.at[i]))
			break;
	forget_untold(&reading);
	reader_loader_free(&reading.loader);
	free(reading.seen);
	return s;
}

void store_start_free(struct store_start *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->threads.n; i++)
		forget_calls(&s->threads.at[i]);
	vec_free(&s->threads);
	free(s);
}

/* --- use ------------------------------------------------------------------------------ */

const struct thread_start *store_start_of(const struct store_start *start, uint32_t thread)
{
	const struct thread_start *t;

	if (!start || thread >= start->threads.n)
		return NULL;
	t = &start->threads.at[thread];
	return t->known ? t : NULL;
}

bool store_start_next(const struct thread_start *s, struct start_told *told, uint32_t thread,
		       uint64_t tsc, struct event *out)
{
	const struct start_frame *f = told->open < s->open.n ? &s->open.at[told->open] : NULL;

	*out = (struct event){ .tsc = tsc, .thread = thread };
	if (told->open)
		out->tsc = s->open.at[told->open - 1].tsc;
	else if (f)
		out->tsc = f->tsc;
	if (s->at && !told->at) {
		told->at = true;
		out->kind = EVENT_AT;
		out->count = s->at;
		return true;
	}
	if (told->marks < s->marks.n && s->marks.at[told->marks].below <= told->open) {
		out->kind = EVENT_MARK;
		out->count = s->marks.at[told->marks++].sp;
		return true;
	}
	if (!f)
		return false;
	told->open++;
	out->tsc = f->tsc;
	out->fn = f->fn;
	out->cpu = f->cpu;
	out->kind = f->tail ? EVENT_TAIL : EVENT_ENTRY;
	return true;
}
