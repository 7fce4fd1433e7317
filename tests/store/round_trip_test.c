/* Written records come back: every kind with extreme values, and the trace_info. */
#include "cmocka_all.h"
#include "sample.h"

#include <stdio.h>
#include <string.h>

#include "shared/record.h"

static struct store_reader *open_sample(const struct sample *s)
{
	struct store_reader *r;
	struct err err;

	if (store_open(s->path, &r, &err))
		fail_msg("%s", err.text);
	assert_false(store_was_cut(r, NULL));
	return r;
}

/* Each thread's events against those noted down. */
static void check_events(const struct sample *s, struct store_reader *r)
{
	for (uint32_t t = 0; t < s->threads.n; t++) {
		struct events got;
		struct err err;
		size_t n = 0;

		assert_int_equal(read_thread(r, t, &got, &err), 0);
		for (size_t i = 0; i < s->expect.n; i++) {
			if (s->expect.at[i].thread != t)
				continue;
			assert_true(n < got.n);
			assert_same_event(&got.at[n++], &s->expect.at[i]);
		}
		assert_int_equal(n, got.n);
		vec_free(&got);
	}
}

static void check_sample(struct sample *s)
{
	struct store_reader *r;

	sample_finish(s);
	r = open_sample(s);
	check_events(s, r);
	store_close(r);
	sample_free(s);
}

/* The same records at each level: what is read is the same, and the highest gives a smaller file
 * than the lowest. */
static void test_levels(void **state)
{
	const unsigned levels[] = { 0, 1, 6, 12, 19 };
	uint64_t bytes[5];

	for (size_t i = 0; i < 5; i++) {
		struct store_description d;
		struct store_reader *r;
		struct sample s;

		sample_begin(&s, 2, 1, 1000000);
		store_compress(s.writer, levels[i]);
		for (int run = 0; run < 12; run++)
			sample_run(&s, (uint32_t)run % 2, 20000, run % 4 == 3);
		sample_finish(&s);
		r = open_sample(&s);
		store_describe(r, &d);
		bytes[i] = d.record_bytes;
		check_events(&s, r);
		store_close(r);
		sample_free(&s);
	}
	assert_int_equal(bytes[0], bytes[1]);
	assert_true(bytes[4] < bytes[1]);
}

static void test_plain(void **state)
{
	struct sample s;

	sample_begin(&s, 3, 1, 1000000);
	for (int i = 0; i < 30; i++)
		sample_run(&s, i % 3, 20000, false);
	check_sample(&s);
}

static void test_every_kind(void **state)
{
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct sample s;

		sample_begin(&s, 2, seed, (UINT64_C(5) << 40) - 5000);
		for (int i = 0; i < 20; i++)
			sample_run(&s, i % 2, 1 + sample_random(&s.random) % 900, true);
		check_sample(&s);
	}
}

/* The 40 bits of a stamp wrap inside a packet, and between runs minutes and years apart. */
static void test_wraps(void **state)
{
	struct sample s;

	sample_begin(&s, 1, 3, (UINT64_C(1) << 40) - 3000);
	sample_run(&s, 0, 500, false);
	for (int i = 0; i < 60; i++) {
		s.threads.at[0].tsc += UINT64_C(1) << (i % 62);
		sample_run(&s, 0, 5, false);
	}
	check_sample(&s);
}

/* Every value of every id, and a TSC that moves in steps of 64. */
static void test_all_ids(void **state)
{
	static uint64_t words[1 << 16];
	struct sample s;
	struct err err;
	uint64_t tsc = 64;

	sample_begin(&s, 1, 4, 64);
	for (uint64_t id = 0; id <= RECORD_ID_MAX;) {
		size_t n = 0;

		for (; n < 1 << 16; n++, id++, tsc += 64) {
			bool exit = id < RECORD_EXIT_FLOAT; /* above, they say what follows */

			words[n] = record_word(tsc, (uint32_t)id, exit ? RECORD_EXIT : RECORD_TAIL);
			*vec_add(&s.expect) = (struct event){ .tsc = tsc, .site = exit ? (uint32_t)id : 0,
							      .fn = exit ? 0 : (uint32_t)id,
							      .kind = exit ? EVENT_EXIT : EVENT_TAIL };
		}
		assert_int_equal(store_records(s.writer, 0, tsc - 64 * n, 0, 0, words, n, &err), 0);
	}
	check_sample(&s);
}

static void test_lost(void **state)
{
	struct store_description d;
	struct store_reader *r;
	struct sample s;
	struct err err;

	sample_begin(&s, 1, 5, 1000);
	sample_lost(&s, 0, 1);
	sample_run(&s, 0, 10, false);
	sample_lost(&s, 0, 1u << 31);
	*vec_add(&s.expect) = (struct event){ .kind = EVENT_LOST, .tsc = s.threads.at[0].tsc,
					      .count = 9, .cpu = s.threads.at[0].cpu };
	assert_int_equal(store_records(s.writer, 0, s.threads.at[0].tsc, s.threads.at[0].cpu, 9,
				       NULL, 0, &err), 0);
	sample_finish(&s);
	r = open_sample(&s);
	check_events(&s, r);
	store_describe(r, &d);
	assert_int_equal(d.lost, 10 + (UINT64_C(1) << 31));
	assert_int_equal(d.records, 12);
	store_close(r);
	sample_free(&s);
}

/* A run that ends inside a record, padding, and slots never written. */
static void test_unwhole_run(void **state)
{
	uint64_t span = record_word(1010, record_event_id(2, RECORD_EVENT_SPAN), RECORD_EVENT);
	uint64_t pad = record_word(1020, record_event_id(0, RECORD_EVENT_PAD), RECORD_EVENT);
	uint64_t cut_short[] = { 0, record_word(1000, 1, RECORD_ENTRY), 0, span, 5 };
	uint64_t padded[] = { record_word(1015, 2, RECORD_ENTRY), pad, record_word(1, 9, RECORD_ENTRY) };
	struct sample s;
	struct err err;

	sample_begin(&s, 1, 6, 1000);
	assert_int_equal(store_records(s.writer, 0, 1000, 0, 0, cut_short, 5, &err), 0);
	assert_int_equal(store_records(s.writer, 0, 1015, 0, 0, padded, 3, &err), 0);
	*vec_add(&s.expect) = (struct event){ .tsc = 1000, .fn = 1, .kind = EVENT_ENTRY };
	*vec_add(&s.expect) = (struct event){ .tsc = 1010, .count = 1, .kind = EVENT_LOST };
	*vec_add(&s.expect) = (struct event){ .tsc = 1015, .fn = 2, .kind = EVENT_ENTRY };
	check_sample(&s);
}

static void same_module(const struct trace_module *a, const struct trace_module *b)
{
	assert_int_equal(a->image, b->image);
	assert_string_equal(a->path, b->path);
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->build_id_len, b->build_id_len);
	assert_memory_equal(a->build_id, b->build_id, sizeof(a->build_id));
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->from_tsc, b->from_tsc);
	assert_int_equal(a->to_tsc, b->to_tsc);
	assert_int_equal(a->first_id, b->first_id);
	assert_int_equal(a->functions.n, b->functions.n);
	for (size_t i = 0; i < a->functions.n; i++) {
		const struct trace_function *f = &a->functions.at[i], *g = &b->functions.at[i];

		assert_true(f->vaddr == g->vaddr && f->size == g->size && f->name == g->name &&
			    f->hook == g->hook && f->reason == g->reason && f->flags == g->flags &&
			    f->library == g->library);
	}
	assert_int_equal(a->strings.n, b->strings.n);
	if (a->strings.n)
		assert_memory_equal(a->strings.at, b->strings.at, a->strings.n);
}

static void same_run(const struct trace_run *a, const struct trace_run *b)
{
	assert_string_equal(a->invocation, b->invocation);
	assert_true(a->timed == b->timed && a->ended == b->ended && a->status == b->status &&
		    a->elapsed_ns == b->elapsed_ns && a->user_ns == b->user_ns && a->system_ns == b->system_ns);
}

static void same_settings(const struct trace_info *a, const struct trace_info *b)
{
	assert_int_equal(a->settings.n, b->settings.n);
	for (size_t i = 0; i < a->settings.n; i++) {
		assert_string_equal(a->settings.at[i].file, b->settings.at[i].file);
		assert_string_equal(a->settings.at[i].text, b->settings.at[i].text);
		assert_int_equal(a->settings.at[i].chosen, b->settings.at[i].chosen);
	}
}

static void same_info(const struct trace_info *a, const struct trace_info *b)
{
	assert_string_equal(a->host, b->host);
	assert_string_equal(a->kernel, b->kernel);
	assert_string_equal(a->cpu, b->cpu);
	assert_string_equal(a->cmdline, b->cmdline);
	assert_string_equal(a->version, b->version);
	assert_string_equal(a->tracer, b->tracer);
	assert_int_equal(a->cpus, b->cpus);
	assert_int_equal(a->thresh_ns, b->thresh_ns);
	assert_memory_equal(&a->cost, &b->cost, sizeof(a->cost));
	assert_memory_equal(&a->clock, &b->clock, sizeof(a->clock));
	same_run(&a->run, &b->run);
	same_settings(a, b);
	assert_true(a->total.calls == b->total.calls && a->total.lost == b->total.lost &&
		    a->total.records == b->total.records && b->total.bytes > 1000);
	assert_int_equal(a->images.n, b->images.n);
	for (size_t i = 0; i < a->images.n; i++) {
		assert_int_equal(a->images.at[i].pid, b->images.at[i].pid);
		assert_int_equal(a->images.at[i].tsc, b->images.at[i].tsc);
		assert_string_equal(a->images.at[i].exe, b->images.at[i].exe);
		assert_string_equal(a->images.at[i].cmdline, b->images.at[i].cmdline);
		assert_int_equal(a->images.at[i].sites.n, b->images.at[i].sites.n);
		assert_memory_equal(a->images.at[i].sites.at, b->images.at[i].sites.at,
				    a->images.at[i].sites.n * 8);
	}
	assert_int_equal(a->modules.n, b->modules.n);
	for (size_t i = 0; i < a->modules.n; i++)
		same_module(&a->modules.at[i], &b->modules.at[i]);
	assert_int_equal(a->threads.n, b->threads.n);
	for (size_t i = 0; i < a->threads.n; i++) {
		const struct trace_thread *t = &a->threads.at[i], *u = &b->threads.at[i];

		assert_true(t->pid == u->pid && t->tid == u->tid && t->image == u->image &&
			    t->tsc == u->tsc && t->records == u->records && t->lost == u->lost);
		assert_string_equal(t->comm, u->comm);
		assert_int_equal(t->names.n, u->names.n);
		for (size_t k = 0; k < t->names.n; k++) {
			assert_int_equal(t->names.at[k].tsc, u->names.at[k].tsc);
			assert_string_equal(t->names.at[k].comm, u->names.at[k].comm);
			assert_true(!k || t->names.at[k - 1].tsc <= t->names.at[k].tsc);
			assert_string_not_equal(k ? t->names.at[k - 1].comm : t->comm, t->names.at[k].comm);
			assert_ptr_equal(trace_thread_name_at(t, t->names.at[k].tsc), t->names.at[k].comm);
		}
	}
	assert_int_equal(a->messages.n, b->messages.n);
	for (size_t i = 0; i < a->messages.n; i++) {
		const struct trace_message *t = &a->messages.at[i], *u = &b->messages.at[i];

		assert_true(t->kind == u->kind && t->pid == u->pid && t->number == u->number && t->count == u->count);
		assert_string_equal(t->name, u->name);
	}
}

/* Everything that may change while a program runs does so between two calls. */
static void change_info(struct trace_info *info, int step)
{
	struct trace_module *m = &info->modules.at[0];
	struct trace_image *image = &info->images.at[0];
	struct trace_thread t = { .pid = 1, .tid = (uint32_t)step, .image = 1, .comm = "new" };
	const char name[TRACE_COMM] = { (char)('a' + step % 3) };
	struct trace_message note = { .kind = (uint32_t)step, .pid = 7, .number = 14, .count = 1u << 31 };

	trace_info_rename(info, 1, (uint64_t)step * 7919 % 1000 * 1000, name); /* in no order, and again and again */
	m->to_tsc = (uint64_t)step;
	memset(note.name, 'n', (size_t)step % sizeof(note.name));
	*vec_add(&info->messages) = note;
	m->functions.at[step].hook ^= 1;
	*vec_add(&m->functions) = (struct trace_function){ .vaddr = 1u << 20 | step, .name = 1 };
	*vec_add(&m->strings) = (char)('a' + step % 26);
	*vec_add(&m->strings) = 0;
	image->sites.at[1 + step] = 0xffffffffff600000u + step;
	*vec_add(&image->sites) = step % 2 ? 0 : UINT64_MAX;
	*vec_add(&info->threads) = t;
	info->threads.at[0].records += 5;
	info->threads.at[1].lost++;
	snprintf(info->threads.at[0].comm, sizeof(t.comm), "r-%d", step % 100);
}

static void test_info(void **state)
{
	struct store_reader *r;
	struct sample s;
	struct err err;

	sample_begin(&s, 2, 7, 1000);
	for (int step = 0; step < 20; step++) {
		change_info(s.info, step);
		assert_int_equal(store_sync_info(s.writer, &err), 0);
	}
	change_info(s.info, 20);
	s.info->run = (struct trace_run){ s.info->run.invocation, true, true, 0x8b, 1u << 31, UINT64_MAX, 2 };
	s.info->total = (struct trace_total){ .calls = UINT64_MAX, .lost = 3, .records = 4 };
	sample_finish(&s);
	r = open_sample(&s);
	same_info(s.info, store_info(r));
	store_close(r);
	sample_free(&s);
}

/* A program as big as a browser: its tables take several packets. */
static void test_big_module(void **state)
{
	struct store_reader *r;
	struct sample s;
	struct err err;

	sample_begin(&s, 1, 8, 1000);
	for (uint32_t i = 0; i < 300000; i++) {
		struct trace_module *m = &s.info->modules.at[2];
		char name[40];

		*vec_add(&m->functions) = (struct trace_function){ .vaddr = i * 32, .size = 16,
								   .name = (uint32_t)m->strings.n };
		for (int c = snprintf(name, sizeof(name), "_ZN4node7%08x", i * 2654435761u), k = 0; k <= c; k++)
			*vec_add(&m->strings) = name[k];
	}
	assert_int_equal(store_sync_info(s.writer, &err), 0);
	for (uint32_t i = 0; i < 300000; i += 7)
		s.info->modules.at[2].functions.at[i].reason = 3;
	sample_finish(&s);
	r = open_sample(&s);
	same_info(s.info, store_info(r));
	store_close(r);
	sample_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels), cmocka_unit_test(test_plain), cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_wraps), cmocka_unit_test(test_all_ids),
		cmocka_unit_test(test_lost), cmocka_unit_test(test_unwhole_run),
		cmocka_unit_test(test_info), cmocka_unit_test(test_big_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
