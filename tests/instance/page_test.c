/* Sub-buffers as the kernel's: what we write is read back by libtraceevent's decoder, and what a
 * kernel wrote, read by it and written again by us, is the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/kbuffer.h>

#include "instance/reorder.h"
#include "trace/cpu_order.h"

struct made { uint64_t ns, missed; uint32_t n; uint8_t bytes[PAGE_RECORD_MAX]; };
typedef VEC(struct made) made_list;

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % below;
}

/* --- the decoder that is not ours -------------------------------------------------------- */

static struct kbuffer *decoder(void)
{
	struct kbuffer *k = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);

	assert_non_null(k);
	return k;
}

/* Adds the page's records; those missing before it are the first one's. */
static void decode(struct kbuffer *k, void *page, made_list *out)
{
	unsigned long long ns;
	void *data;
	int missed;

	assert_int_equal(kbuffer_load_subbuffer(k, page), 0);
	missed = kbuffer_missed_events(k);
	while ((data = kbuffer_read_event(k, &ns))) {
		struct made *m = vec_add(out);

		*m = (struct made){ .ns = ns, .missed = missed > 0 ? (uint64_t)missed : 0, .n = (uint32_t)kbuffer_event_size(k) };
		assert_in_range(m->n, 4, PAGE_RECORD_MAX);
		memcpy(m->bytes, data, m->n);
		missed = 0;
		kbuffer_next_event(k, NULL);
	}
}

static void decode_all(struct pages *p, bool unfinished, made_list *out)
{
	struct kbuffer *k = decoder();
	uint8_t page[PAGE_BYTES];

	while (pages_take(p, unfinished, page))
		decode(k, page, out);
	kbuffer_free(k);
}

static void assert_same(const made_list *want, const made_list *got)
{
	assert_int_equal(got->n, want->n);
	for (size_t i = 0; i < want->n; i++) {
		assert_int_equal(got->at[i].ns, want->at[i].ns);
		assert_int_equal(got->at[i].missed, want->at[i].missed);
		assert_int_equal(got->at[i].n, want->at[i].n);
		assert_memory_equal(got->at[i].bytes, want->at[i].bytes, want->at[i].n);
	}
}

/* --- records ------------------------------------------------------------------------ */

static const struct made *make(made_list *l, uint64_t ns, uint32_t n, uint64_t missed)
{
	struct made *m = vec_add(l);

	*m = (struct made){ .ns = ns, .missed = missed, .n = n };
	for (uint32_t i = 0; i < n; i++)
		m->bytes[i] = (uint8_t)draw(256);
	return m;
}

static void add(struct pages *p, const struct made *m)
{
	if (m->missed)
		pages_miss(p, m->missed);
	pages_add(p, m->ns, m->bytes, m->n);
}

/* All that there are edges at: 2^27 takes a second word, 2^59 a new page. */
static uint64_t some_delta(void)
{
	static const uint64_t edges[] = { 0, 1, (1u << 27) - 1, 1u << 27, (1u << 27) + 1, UINT64_C(1) << 32, (UINT64_C(1) << 59) - 1,
					  UINT64_C(1) << 59 };

	return draw(8) ? draw(5000) : edges[draw(sizeof(edges) / sizeof(*edges))];
}

static uint32_t some_size(void)
{
	static const uint32_t edges[] = { 4, 8, 108, 112, 116, 120, 512, PAGE_RECORD_MAX };

	return draw(3) ? 4 * (1 + (uint32_t)draw(20)) : draw(2) ? edges[draw(8)] : 4 * (1 + (uint32_t)draw(PAGE_RECORD_MAX / 4));
}

static void test_random(void **state)
{
	for (unsigned round = 0; round < 400; round++) {
		made_list want = { 0 }, got = { 0 };
		struct pages p = { 0 };
		uint64_t ns = round;

		seed = round;
		for (unsigned i = 0; i < 600; i++) {
			ns += ns < UINT64_MAX / 2 ? some_delta() : 1; /* time does not go round */
			add(&p, make(&want, ns, some_size(), draw(40) ? 0 : 1 + draw(100000)));
			if (!draw(200))
				decode_all(&p, draw(2), &got);
		}
		assert_int_equal(p.records + p.read, want.n);
		decode_all(&p, true, &got);
		assert_same(&want, &got);
		assert_int_equal(p.read, want.n);
		assert_int_equal(p.records, 0);
		pages_free(&p);
		vec_free(&want);
		vec_free(&got);
	}
}

/* Every size, from every place near the end of a page on. */
static void test_boundaries(void **state)
{
	for (uint32_t n = 4; n <= PAGE_RECORD_MAX; n += 4)
		for (uint32_t first = 4; first <= 64; first += 4) {
			made_list want = { 0 }, got = { 0 };
			struct pages p = { 0 };

			add(&p, make(&want, 7, first, first == 8 ? 3 : 0));
			for (uint32_t used = 0; used <= 2 * PAGE_BYTES; used += n)
				add(&p, make(&want, 7 + used + (first == 12 ? (uint64_t)used << 20 : 0), n, 0));
			decode_all(&p, true, &got);
			assert_same(&want, &got);
			pages_free(&p);
			vec_free(&want);
			vec_free(&got);
		}
}

/* The number of records without room is told by the page after it, exactly. */
static void test_overrun(void **state)
{
	made_list want = { 0 }, got = { 0 };
	struct pages p = { .limit = 4 * PAGE_BYTES };
	uint64_t told = 0;

	for (uint32_t i = 0; i < 5000; i++)
		add(&p, make(&want, i, some_size(), 0));
	assert_true(p.overrun);
	assert_int_equal(p.overrun + p.records, want.n);
	decode_all(&p, true, &got);
	for (size_t i = 0; i < got.n; i++)
		told += got.at[i].missed;
	assert_int_equal(told, p.overrun);
	assert_int_equal(told + got.n, want.n);
	assert_int_equal(got.at[got.n - 1].ns, 4999);
	pages_free(&p);
	vec_free(&want);
	vec_free(&got);
}

static void test_time_goes_back(void **state)
{
	made_list got = { 0 };
	struct pages p = { 0 };
	uint32_t word = 1;

	pages_add(&p, 100, &word, sizeof(word));
	pages_add(&p, 90, &word, sizeof(word));
	decode_all(&p, true, &got);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.at[1].ns, 100);
	pages_free(&p);
	vec_free(&got);
}

static void test_what_is_there(void **state)
{
	uint8_t page[PAGE_BYTES];
	struct pages p = { 0 };
	uint32_t word = 1;
	uint64_t ns;

	assert_false(pages_take(&p, true, page));
	assert_false(pages_oldest(&p, &ns));
	pages_add(&p, 5, &word, sizeof(word));
	assert_true(pages_oldest(&p, &ns) && ns == 5);
	assert_int_equal(pages_full_bytes(&p), 0);
	assert_false(pages_take(&p, false, page));
	assert_int_equal(pages_bytes(&p), 8);
	assert_true(pages_take(&p, true, page));
	assert_int_equal(pages_bytes(&p), 0);
	pages_add(&p, 5, &word, sizeof(word));
	pages_clear(&p);
	assert_false(pages_take(&p, true, page));
	assert_int_equal(p.records, 0);
	pages_free(&p);
}

/* --- the kernel's ---------------------------------------------------------------------- */

static const char *const kernels[] = {
	"k6.12-debian.raw.fork-exit.cpu0.bin", "k6.12-debian.raw.function-vfs_read-write.cpu0.bin",
	"k6.12-debian.raw.function_graph-vfs_read.cpu0.bin", "k6.12-debian.raw.markers.cpu0.bin",
	"k6.12-debian.raw.overrun.cpu0.bin", "k7.2-own.raw.fork-exit.cpu0.bin",
	"k7.2-own.raw.function-vfs_read-write.cpu0.bin", "k7.2-own.raw.overrun.cpu1.bin",
};

static size_t used_bytes(const uint8_t *page)
{
	uint32_t commit;

	memcpy(&commit, page + 8, sizeof(commit));
	return PAGE_HEADER + (commit & 0xfffff);
}

static void again(const char *name, const uint8_t *page)
{
	uint8_t copy[PAGE_BYTES], ours[PAGE_BYTES];
	struct kbuffer *k = decoder();
	made_list records = { 0 };
	struct pages p = { 0 };

	memcpy(copy, page, sizeof(copy));
	decode(k, copy, &records);
	assert_int_not_equal(records.n, 0);
	for (size_t i = 0; i < records.n; i++)
		add(&p, &records.at[i]);
	assert_true(pages_take(&p, true, ours));
	if (memcmp(ours, page, used_bytes(page)))
		fail_msg("a page of %s is not the same", name);
	assert_false(pages_take(&p, true, ours));
	kbuffer_free(k);
	pages_free(&p);
	vec_free(&records);
}

static void test_kernels(void **state)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		uint8_t page[PAGE_BYTES];
		char path[512];
		FILE *f;

		snprintf(path, sizeof(path), GOLDEN "/%s", kernels[i]);
		f = fopen(path, "re");
		assert_non_null(f);
		while (fread(page, sizeof(page), 1, f) == 1)
			again(kernels[i], page);
		fclose(f);
	}
}

/* --- order -------------------------------------------------------------------------- */

/* As passes bring them: each thread's in order, threads one after the other, and what is too young
 * stays. */
static void test_order(void **state)
{
	for (unsigned round = 0; round < 50; round++) {
		struct reorder o = { 0 };
		struct pages p = { 0 };
		made_list got = { 0 };
		uint64_t next[3] = { 0 }, all = 0;

		seed = round;
		for (uint64_t pass = 1; pass <= 50; pass++) {
			for (uint32_t thread = 0; thread < 3; thread++)
				for (; next[thread] < 1000 * pass + draw(700); next[thread] += 1 + draw(200), all++)
					reorder_add(&o, next[thread], &thread, sizeof(thread));
			reorder_release(&o, 1000 * pass, &p);
			decode_all(&p, true, &got);
			assert_true(!got.n || got.at[got.n - 1].ns <= 1000 * pass);
		}
		assert_false(reorder_is_empty(&o));
		reorder_miss(&o, UINT64_MAX / 2, 7);
		reorder_release(&o, UINT64_MAX, &p);
		assert_true(reorder_is_empty(&o));
		assert_int_equal(p.missed, 7);
		decode_all(&p, true, &got);
		assert_int_equal(got.n, all);
		for (size_t i = 1; i < got.n; i++)
			assert_true(got.at[i].ns >= got.at[i - 1].ns);
		reorder_free(&o);
		pages_free(&p);
		vec_free(&got);
	}
}

/* A thread's numbered records on two CPUs, by a clock that counts in steps: a merge by time, and by
 * CPU where times are the same, has the numbers in order. */
static void test_order_across_cpus(void **state)
{
	made_list got[2] = { 0 };
	struct pages p[2] = { 0 };
	struct cpu_order order = { 0 };
	size_t at[2] = { 0 };
	uint64_t now = 1000;

	seed = 3;
	for (uint32_t n = 0; n < 100000; n++) {
		uint32_t cpu = (uint32_t)draw(2);

		pages_add(&p[cpu], cpu_order_time(&order, 5, cpu, now / 10 * 10), &n, sizeof(n));
		now += draw(4) ? 3 + draw(4) : draw(2000);
	}
	for (int cpu = 0; cpu < 2; cpu++)
		decode_all(&p[cpu], true, &got[cpu]);
	for (uint32_t n = 0; n < 100000; n++) {
		bool second = at[0] == got[0].n || (at[1] < got[1].n && got[1].at[at[1]].ns < got[0].at[at[0]].ns);
		const struct made *m = &got[second].at[at[second]++];

		assert_memory_equal(m->bytes, &n, sizeof(n));
	}
	cpu_order_free(&order);
	for (int cpu = 0; cpu < 2; cpu++) {
		pages_free(&p[cpu]);
		vec_free(&got[cpu]);
	}
}

/* Stamps are the program's: a wrong one is not believed further than a step of the clock. */
static void test_wrong_stamps(void **state)
{
	struct cpu_order order = { 0 };

	assert_int_equal(cpu_order_time(&order, 0, 0, UINT64_MAX), UINT64_MAX);
	assert_int_equal(cpu_order_time(&order, 0, 1, 100), 100);
	assert_int_equal(cpu_order_time(&order, 0, 0, 100), 101);
	assert_int_equal(cpu_order_time(&order, 1, 0, 100), 100);
	cpu_order_free(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_time_goes_back),
		cmocka_unit_test(test_what_is_there),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_across_cpus),
		cmocka_unit_test(test_wrong_stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
