/* SPDX-License-Identifier: MIT */
/* Pages made by hand, for what the golden ones need not have: losses, absolute stamps, padding, and
 * damage at every byte; a mapped ring in memory, whose writer goes on; and the order of rings. */
#include "../store/cmocka_all.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/pages.h"
#include "kernel/perf_record.h"
#include "kernel/ring_map.h"
#include "kernel/rings.h"
#include "kernel/symbols.h"

#define MISSED (UINT64_C(1) << 31)
#define STORED (UINT64_C(1) << 30)

/* A page under construction. */
struct draft { uint8_t bytes[4096]; size_t n; };

static void put(struct draft *d, const void *bytes, size_t n)
{
	memcpy(d->bytes + d->n, bytes, n);
	d->n += n;
}

static void put_u32(struct draft *d, uint32_t v) { put(d, &v, sizeof(v)); }
static void put_u64(struct draft *d, uint64_t v) { put(d, &v, sizeof(v)); }
static void put_word(struct draft *d, uint32_t kind, uint32_t delta)
{
	put_u32(d, delta << 5 | kind);
}

static struct draft begin(uint64_t tsc)
{
	struct draft d = { .n = 0 };

	put_u64(&d, tsc);
	put_u64(&d, 0);
	return d;
}

/* Fills in the header's second word. */
static void end(struct draft *d, uint64_t flags)
{
	uint64_t commit = (d->n - 16) | flags;

	memcpy(d->bytes + 8, &commit, sizeof(commit));
}

/* One word of data. */
static void put_short(struct draft *d, uint32_t delta, uint32_t value)
{
	put_word(d, 1, delta);
	put_u32(d, value);
}

static void assert_next(struct kernel_page *p, uint64_t tsc, uint32_t n, uint32_t value)
{
	struct kernel_page_record r;
	uint32_t first;

	assert_true(kernel_page_next(p, &r));
	assert_int_equal(r.tsc, tsc);
	assert_int_equal(r.n, n);
	memcpy(&first, r.data, sizeof(first));
	assert_int_equal(first, value);
}

static void assert_end(struct kernel_page *p, bool bad)
{
	struct kernel_page_record r;

	assert_false(kernel_page_next(p, &r));
	assert_int_equal(p->bad, bad);
}

static void times_and_lengths(void **state)
{
	const uint32_t many[40] = { 7 };
	struct draft d = begin(1000);
	struct kernel_page p;

	put_short(&d, 5, 1);
	/* 2^27 ticks and 3 more. */
	put_word(&d, 30, 3);
	put_u32(&d, 1);
	put_short(&d, 0, 2);
	/* The length is in a word of its own, which counts. */
	put_word(&d, 0, 10);
	put_u32(&d, sizeof(many) + 4);
	put(&d, many, sizeof(many));
	/* A record that was taken back: its time does not count. */
	put_word(&d, 29, 100);
	put_u32(&d, 8);
	put_u32(&d, 0);
	put_short(&d, 1, 3);
	end(&d, 0);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_int_equal(p.lost, 0);
	assert_next(&p, 1005, 4, 1);
	assert_next(&p, 1008 + (1 << 27), 4, 2);
	assert_next(&p, 1018 + (1 << 27), sizeof(many), 7);
	assert_next(&p, 1019 + (1 << 27), 4, 3);
	assert_end(&p, false);
}

/* An absolute stamp has 59 bits; the upper ones are those of the time before. */
static void absolute_stamps(void **state)
{
	const uint64_t upper = UINT64_C(3) << 59;
	struct draft d = begin(upper | 500);
	struct kernel_page p;

	put_word(&d, 31, 700);
	put_u32(&d, 2);
	put_short(&d, 0, 1);
	put_word(&d, 31, 10);
	put_u32(&d, 0);
	put_short(&d, 0, 2);
	end(&d, 0);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_next(&p, upper | (700 + (UINT64_C(2) << 27)), 4, 1);
	/* Less than the one before: the 59 bits have overflowed. */
	assert_next(&p, (UINT64_C(4) << 59) + 10, 4, 2);
	assert_end(&p, false);
}

static void null_padding_ends_the_page(void **state)
{
	struct draft d = begin(1);
	struct kernel_page p;

	put_short(&d, 1, 1);
	put_word(&d, 29, 0);
	put_short(&d, 1, 2);
	end(&d, 0);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_next(&p, 2, 4, 1);
	assert_end(&p, false);
}

static void losses(void **state)
{
	struct draft d = begin(1);
	struct kernel_page p;

	put_short(&d, 1, 1);
	end(&d, MISSED);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_true(p.lost == KERNEL_PAGE_LOST_UNKNOWN);
	end(&d, MISSED | STORED);
	put_u64(&d, 42);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_int_equal(p.lost, 42);
	assert_next(&p, 2, 4, 1);
	assert_end(&p, false);
}

/* Each prefix of a page lies in memory of its own, so that a sanitizer sees reads behind it. */
static void cut_pages(void **state)
{
	struct draft d = begin(1);
	struct kernel_page_record r;
	struct kernel_page p;

	put_short(&d, 1, 1);
	put_word(&d, 0, 1);
	put_u32(&d, 12);
	put_u64(&d, 1);
	end(&d, 0);
	for (size_t n = 0; n < d.n; n++) {
		uint8_t *exact = malloc(n + !n);

		memcpy(exact, d.bytes, n);
		kernel_page_begin(&p, exact, n);
		assert_false(kernel_page_next(&p, &r));
		assert_true(p.bad);
		free(exact);
	}
}

static void damaged_lengths(void **state)
{
	struct kernel_page p;
	struct draft d = begin(1);

	put_word(&d, 0, 1);
	put_u32(&d, 3);
	put_u64(&d, 1);
	end(&d, 0);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_end(&p, true);
	d = begin(1);
	put_word(&d, 28, 1);
	put_u32(&d, 1);
	end(&d, 0);
	kernel_page_begin(&p, d.bytes, d.n);
	assert_end(&p, true);
}

/* --- a mapped ring ------------------------------------------------------------------------ */

#define RING_PAGES 3u
#define RING_PAGE_BYTES 256u

/* The kernel's side: what it maps. */
struct ring { uint32_t meta[8]; uint8_t pages[RING_PAGES][RING_PAGE_BYTES]; };

static void begin_ring(struct ring *ring, struct kernel_ring_map *map)
{
	size_t at, n;

	*ring = (struct ring){ .meta = { 4096, 64, RING_PAGE_BYTES, RING_PAGES } };
	assert_true(kernel_ring_map_begin(map, ring->meta, &at, &n));
	assert_int_equal(at, 4096);
	assert_int_equal(n, RING_PAGES * RING_PAGE_BYTES);
	map->pages = ring->pages[0];
}

/* Sub-buffer id is the reader's, and the kernel takes n bytes of its records for read. */
static void turn(struct ring *ring, uint32_t id, const struct draft *d, uint32_t n)
{
	ring->meta[6] = id;
	ring->meta[7] = n;
	memcpy(ring->pages[id], d->bytes, d->n);
}

static size_t values_taken(struct kernel_ring_map *map, uint32_t *values, uint64_t *lost)
{
	static uint8_t bytes[KERNEL_RING_PAGE_BYTES];
	struct kernel_page_record r;
	struct kernel_page p;
	size_t n, from, count = 0;

	if (!kernel_ring_map_take(map, bytes, &n, &from))
		return 0;
	kernel_page_begin(&p, bytes, n);
	kernel_page_skip(&p, from);
	*lost = p.lost;
	while (kernel_page_next(&p, &r))
		memcpy(&values[count++], r.data, sizeof(*values));
	assert_false(p.bad);
	return count;
}

static void maps_a_page_that_grows(void **state)
{
	struct kernel_ring_map map;
	struct draft d = begin(1000);
	uint32_t values[32];
	uint64_t lost;
	struct ring ring;

	begin_ring(&ring, &map);
	for (uint32_t i = 0; i < 4; i++)
		put_short(&d, 1, i);
	end(&d, 0);
	/* The writer has two records more than the kernel takes for read. */
	turn(&ring, 1, &d, 16);
	assert_int_equal(values_taken(&map, values, &lost), 2);
	assert_int_equal(values[1], 1);
	assert_int_equal(values_taken(&map, values, &lost), 0);
	turn(&ring, 1, &d, 32);
	assert_int_equal(values_taken(&map, values, &lost), 2);
	assert_int_equal(values[0], 2);
	assert_int_equal(values_taken(&map, values, &lost), 0);
}

static void maps_losses(void **state)
{
	struct kernel_ring_map map;
	struct draft d = begin(1000);
	uint32_t values[32];
	uint64_t lost;
	struct ring ring;

	begin_ring(&ring, &map);
	put_short(&d, 1, 7);
	end(&d, MISSED | STORED);
	put_u64(&d, 42);
	turn(&ring, 2, &d, 8);
	assert_int_equal(values_taken(&map, values, &lost), 1);
	assert_int_equal(lost, 42);
	/* The same sub-buffer, used again: another page, of which nothing was taken. */
	d = begin(2000);
	put_short(&d, 1, 8);
	end(&d, 0);
	turn(&ring, 2, &d, 8);
	assert_int_equal(values_taken(&map, values, &lost), 1);
	assert_int_equal(values[0], 8);
	assert_int_equal(lost, 0);
}

static void maps_nothing_outside(void **state)
{
	struct kernel_ring_map map;
	struct draft d = begin(1000);
	uint32_t values[32];
	uint64_t lost;
	struct ring ring;
	size_t at, n;

	begin_ring(&ring, &map);
	put_short(&d, 1, 7);
	end(&d, 0);
	turn(&ring, 2, &d, 8);
	ring.meta[6] = RING_PAGES;
	assert_int_equal(values_taken(&map, values, &lost), 0);
	ring.meta[6] = 2;
	ring.meta[7] = RING_PAGE_BYTES - 15;
	assert_int_equal(values_taken(&map, values, &lost), 0);
	ring.meta[7] = 8;
	assert_int_equal(values_taken(&map, values, &lost), 1);
	/* Layouts that are none. */
	ring.meta[2] = 16;
	assert_false(kernel_ring_map_begin(&map, ring.meta, &at, &n));
	ring.meta[2] = 1 << 20;
	assert_false(kernel_ring_map_begin(&map, ring.meta, &at, &n));
	ring.meta[2] = RING_PAGE_BYTES;
	ring.meta[3] = 0;
	assert_false(kernel_ring_map_begin(&map, ring.meta, &at, &n));
}

/* --- pages that brace makes, of perf's records -------------------------------------------- */

/* Stamps far apart and equal, one that goes back, the largest record, and losses. */
static void made_pages_read_back(void **state)
{
	static const uint64_t stamps[] = { 1000, 1000, 999, 1000 + (UINT64_C(1) << 27),
					   UINT64_C(1) << 58 };
	static const uint32_t sizes[] = { 4, 112, 116, 65536, 8 };
	static uint8_t data[65536];
	struct kernel_made_page made = { 0 };
	struct kernel_page_record record;
	struct kernel_page page;
	uint64_t last = 0;

	for (unsigned i = 0; i < 5; i++) {
		memset(data, (int)i + 1, sizes[i]);
		kernel_made_add(&made, stamps[i], data, sizes[i]);
	}
	kernel_made_end(&made, 7);
	kernel_page_begin(&page, made.bytes.at, made.bytes.n);
	assert_int_equal(page.lost, 7);
	for (unsigned i = 0; i < 5; i++) {
		last = stamps[i] > last ? stamps[i] : last;
		assert_true(kernel_page_next(&page, &record));
		assert_true(record.tsc == last);
		assert_int_equal(record.n, sizes[i]);
		assert_int_equal(record.data[0], i + 1);
		assert_int_equal(record.data[sizes[i] - 1], i + 1);
	}
	assert_false(kernel_page_next(&page, &record));
	assert_false(page.bad);
	made.bytes.n = 0;
	kernel_made_end(&made, 3);
	kernel_page_begin(&page, made.bytes.at, made.bytes.n);
	assert_int_equal(page.lost, 3);
	assert_false(kernel_page_next(&page, &record) || page.bad);
	vec_free(&made.bytes);
}

static struct draft perf_header(uint32_t type, uint16_t misc)
{
	struct draft d = { .n = 0 };

	put_u32(&d, type);
	put_u32(&d, misc);
	return d;
}

static void put_id(struct draft *d)
{
	put_u32(d, 40);
	put_u32(d, 41);
	put_u64(d, 123456);
	put_u64(d, 1);
}

static struct kernel_perf_record read_draft(const struct draft *d)
{
	struct kernel_perf_record p;

	assert_true(kernel_perf_record_read(d->bytes, d->n, &p));
	return p;
}

/* The layout is that of perf_event_open(2). */
static void perf_records_are_read(void **state)
{
	struct draft sample = perf_header(PERF_RECORD_SAMPLE, 0), lost, comm, fork, runs;
	struct kernel_perf_record p;

	put_id(&sample);
	put_u32(&sample, 12);
	put(&sample, "\x05\x00\x00\x00\x29\x00\x00\x00more", 12);
	p = read_draft(&sample);
	assert_true(p.kind == KERNEL_PERF_SAMPLE_OF && p.tid == 41 && p.time == 123456);
	assert_true(p.n == 12 && !memcmp(p.data + 8, "more", 4));
	lost = perf_header(PERF_RECORD_LOST, 0);
	put_u64(&lost, 99);
	put_u64(&lost, 17);
	put_id(&lost);
	p = read_draft(&lost);
	assert_true(p.kind == KERNEL_PERF_LOST && p.lost == 17);
	comm = perf_header(PERF_RECORD_COMM, 0);
	put_u32(&comm, 40);
	put_u32(&comm, 77);
	put(&comm, "two\nlines\0\0\0\0\0\0", 16);
	put_id(&comm);
	p = read_draft(&comm);
	assert_true(p.kind == KERNEL_PERF_COMM && p.tid == 77);
	assert_string_equal(p.comm, "two lines");
	fork = perf_header(PERF_RECORD_FORK, 0);
	put(&fork, (const uint32_t[4]){ 50, 40, 51, 41 }, 16);
	put_u64(&fork, 1);
	put_id(&fork);
	p = read_draft(&fork);
	assert_true(p.kind == KERNEL_PERF_FORK && p.tid == 51 && p.parent == 41);
	runs = perf_header(PERF_RECORD_SWITCH, 0);
	put_id(&runs);
	p = read_draft(&runs);
	assert_true(p.kind == KERNEL_PERF_RUNS && p.tid == 41 && p.time == 123456);
}

/* What is cut off anywhere, or too short for its size, is no record. */
static void damaged_perf_records(void **state)
{
	struct draft sample = perf_header(PERF_RECORD_SAMPLE, 0);
	struct draft out = perf_header(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT);
	struct kernel_perf_record p;

	put_id(&sample);
	put_u32(&sample, 12);
	put(&sample, "twelve bytes", 12);
	for (size_t n = 0; n < sample.n; n++)
		assert_false(kernel_perf_record_read(sample.bytes, n, &p));
	put_id(&out);
	assert_false(kernel_perf_record_read(out.bytes, out.n, &p));
	assert_true(p.kind == KERNEL_PERF_OTHER);
}

/* --- the records of two processors ------------------------------------------------------- */

static const char tick_format[] =
	"name: tick\nID: 9\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"n=%d\", REC->n\n";

struct order { uint16_t cpus[8]; uint64_t stamps[8]; size_t n; };

static int note(void *context, const struct event *e, struct err *err)
{
	struct order *o = context;

	assert_true(o->n < 8);
	o->cpus[o->n] = e->cpu;
	o->stamps[o->n++] = e->tsc;
	return 0;
}

/* Three ticks of each CPU, by turns; CPU 1's counter is 1,000,000 behind. */
static void give_ticks(const struct live_clock *clock, uint64_t until, struct order *out)
{
	struct kernel_records records;
	struct trace_info *info = trace_info_new();
	struct kernel_rings *rings = kernel_rings_empty(&records);
	struct err err;

	info->clock.hz = 1000000000;
	kernel_records_init(&records, info, (uint32_t)kernel_symbols_add(info, KERNEL_SYMBOLS_NONE, &err),
			    NULL);
	records.names = "";
	assert_int_equal(kernel_records_format(&records, "test", tick_format, &err), 0);
	for (uint16_t cpu = 0; cpu < 2; cpu++) {
		struct kernel_made_page made = { 0 };

		for (uint32_t i = 0; i < 3; i++) {
			const uint32_t data[3] = { 9, 77, i };

			kernel_made_add(&made, 5000000 + i * 2000 + cpu * UINT64_C(1000) -
						       cpu * UINT64_C(1000000), data, sizeof(data));
		}
		kernel_made_end(&made, 0);
		kernel_rings_add(rings, cpu, made.bytes.at, made.bytes.n, 0);
		vec_free(&made.bytes);
	}
	*out = (struct order){ .n = 0 };
	kernel_rings_set_clock(rings, clock);
	assert_int_equal(kernel_rings_give(rings, until, note, out, &err), 0);
	kernel_rings_free(rings);
	kernel_records_free(&records);
	trace_info_free(info);
}

/* The order is that of the one clock, and so is the bound; stamps stay the counter's. */
static void rings_of_apart_processors(void **state)
{
	struct trace_info info = { .clock.hz = 1000000000 };
	struct live_clock *clock = live_clock_new();
	struct order o;

	give_ticks(NULL, UINT64_MAX, &o);
	assert_true(o.n == 6 && o.cpus[0] == 1 && o.cpus[1] == 1 && o.cpus[2] == 1);
	for (uint16_t cpu = 0; cpu < 2; cpu++)
		*vec_add(&info.clock_pairs) = (struct trace_clock_pair){
			.tsc = 4000000 - cpu * UINT64_C(1000000), .ns = 4000000, .cpu = cpu };
	live_clock_add(clock, &info, 4000000);
	give_ticks(clock, UINT64_MAX, &o);
	assert_int_equal(o.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_true(o.cpus[i] == i % 2 &&
			    o.stamps[i] == 5000000 + i * 1000 - i % 2 * 1000000);
	give_ticks(clock, 5003000, &o);
	assert_int_equal(o.n, 4);
	live_clock_free(clock);
	vec_free(&info.clock_pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_and_lengths),
		cmocka_unit_test(absolute_stamps),
		cmocka_unit_test(null_padding_ends_the_page),
		cmocka_unit_test(losses),
		cmocka_unit_test(cut_pages),
		cmocka_unit_test(damaged_lengths),
		cmocka_unit_test(maps_a_page_that_grows),
		cmocka_unit_test(maps_losses),
		cmocka_unit_test(maps_nothing_outside),
		cmocka_unit_test(made_pages_read_back),
		cmocka_unit_test(perf_records_are_read),
		cmocka_unit_test(damaged_perf_records),
		cmocka_unit_test(rings_of_apart_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
