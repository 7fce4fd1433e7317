/* A file that ends early or was changed: what is read is a beginning of what was written, per
 * thread, and damage is always said. */
#include "cmocka_all.h"
#include "sample.h"

#include <string.h>
#include <time.h>
#include <zstd.h>

#include "store/crc.h"
#include "store/format.h"

struct whole {
	struct sample sample;
	uint8_t *bytes;
	size_t n;
	struct events events[4]; /* each thread's, from the whole file */
};

static void read_whole(struct whole *w)
{
	struct store_reader *r;
	struct err err;

	w->bytes = read_bytes(w->sample.path, &w->n);
	if (store_open_bytes("whole", w->bytes, w->n, &r, &err))
		fail_msg("%s", err.text);
	assert_false(store_was_cut(r, NULL));
	for (uint32_t t = 0; t < w->sample.threads.n; t++)
		assert_int_equal(read_thread(r, t, &w->events[t], &err), 0);
	store_close(r);
}

static void make_whole_at(struct whole *w, unsigned level, uint32_t threads, int runs, size_t records)
{
	memset(w, 0, sizeof(*w));
	sample_begin(&w->sample, threads, 11, 1u << 30);
	store_compress(w->sample.writer, level);
	for (int i = 0; i < runs; i++) {
		struct err err;

		sample_run(&w->sample, (uint32_t)i % threads, records, true);
		if (i % 3 == 2)
			assert_int_equal(store_flush(w->sample.writer, UINT64_MAX, &err), 0);
	}
	sample_finish(&w->sample);
	read_whole(w);
}

static void make_whole(struct whole *w, uint32_t threads, int runs, size_t records)
{
	make_whole_at(w, 0, threads, runs, records);
}

static void free_whole(struct whole *w)
{
	for (int t = 0; t < 4; t++)
		vec_free(&w->events[t]);
	free(w->bytes);
	sample_free(&w->sample);
}

/* How a damaged file was taken. */
struct outcome {
	bool opened, cut, failed;
	size_t events;
};

static struct outcome read_damaged(const struct whole *w, const uint8_t *bytes, size_t n)
{
	struct outcome o = {0};
	struct store_reader *r;
	struct err err = {0};

	if (store_open_bytes("damaged", bytes, n, &r, &err)) {
		assert_true(err.code && strlen(err.text) > 20);
		assert_null(r);
		return o;
	}
	o.opened = true;
	o.cut = store_was_cut(r, NULL);
	for (uint32_t t = 0; t < store_info(r)->threads.n; t++) {
		struct events got;

		o.failed |= read_thread(r, t, &got, &err) < 0;
		assert_true(got.n <= w->events[t].n);
		for (size_t i = 0; i < got.n; i++)
			assert_same_event(&got.at[i], &w->events[t].at[i]);
		o.events += got.n;
		vec_free(&got);
	}
	store_close(r);
	return o;
}

/* Bytes of its own size, so that a sanitizer sees a read past the cut. */
static struct outcome read_cut(const struct whole *w, size_t n)
{
	uint8_t *bytes = memcpy(mem_realloc(NULL, n + 1, 1), w->bytes, n);
	struct outcome o;

	bytes = mem_realloc(bytes, n ? n : 1, 1);
	o = read_damaged(w, bytes, n);
	free(bytes);
	return o;
}

static void test_cut_everywhere(void **state)
{
	size_t most = 0, opened = 0;
	struct whole w;

	make_whole(&w, 3, 12, 8);
	for (size_t n = 0; n < w.n; n++) {
		struct outcome o = read_cut(&w, n);

		opened += o.opened;
		if (!o.opened)
			assert_true(opened == 0); /* once there is enough to open, more never harms */
		else
			assert_true(o.cut && !o.failed && o.events >= most);
		most = o.events;
	}
	assert_int_equal(most, w.events[0].n + w.events[1].n + w.events[2].n);
	assert_true(opened > 500);
	free_whole(&w);
}

static void test_cut_large(void **state)
{
	uint64_t random = 5;
	struct whole w;

	make_whole_at(&w, 19, 4, 40, 2000);
	for (int i = 0; i < 500; i++) {
		struct outcome o = read_cut(&w, sample_random(&random) % w.n);

		assert_true(!o.opened || (o.cut && !o.failed));
	}
	free_whole(&w);
}

/* Whether the byte is of the packet that tells of stacks (store/effects.h), which these readers do
 * not look at. */
static bool tells_of_stacks(const struct whole *w, size_t at)
{
	struct packet_header head;

	for (size_t i = FILE_HEADER_SIZE; i < w->n; i += head.size + (size_t)head.payload) {
		if (!format_read_packet_header(w->bytes + i, w->n - i, &head))
			return false;
		if (at < i + head.size + head.payload)
			return head.type == PACKET_EFFECTS;
	}
	return false;
}

static void test_bit_flips(void **state)
{
	size_t unread = 0;
	struct whole w;

	make_whole(&w, 2, 12, 8);
	for (size_t i = 0; i < w.n; i++) {
		struct outcome o;

		w.bytes[i] ^= 1 << i % 8;
		o = read_damaged(&w, w.bytes, w.n);
		w.bytes[i] ^= 1 << i % 8;
		if (tells_of_stacks(&w, i))
			unread++;
		else
			assert_true(!o.opened || o.cut || o.failed);
	}
	assert_in_range(unread, 1, 200);
	free_whole(&w);
}

/* A disk that lost power may leave zeros where the last writes were. */
static void test_zeroed_end(void **state)
{
	struct whole w;
	struct outcome o;

	make_whole(&w, 2, 12, 200);
	memset(w.bytes + w.n / 2, 0, w.n - w.n / 2);
	o = read_damaged(&w, w.bytes, w.n);
	assert_true(o.opened && o.cut && !o.failed && o.events > 0);
	free_whole(&w);
}

static int open_error(const void *bytes, size_t n, const char *says)
{
	struct store_reader *r;
	struct err err = {0};
	int code = store_open_bytes("FILE", bytes, n, &r, &err);

	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
	return code;
}

static void test_refusals(void **state)
{
	struct store_reader *r;
	struct whole w;
	struct err err;

	make_whole(&w, 1, 1, 1);
	open_error("", 0, "empty");
	open_error("\177ELF\2\1\1", 7, "not a brace trace file");
	open_error("PERFILE2 and more than a header's length", 40, "not a brace trace file");
	open_error(w.bytes, 5, "cut before anything was recorded");
	open_error(w.bytes, 30, "cut before anything was recorded");
	w.bytes[8] = FORMAT_VERSION + 1;
	open_error(w.bytes, w.n, "use a newer brace");
	w.bytes[8] = 1;
	w.bytes[14] ^= 1;
	open_error(w.bytes, w.n, "damaged");
	assert_int_equal(store_open("/nonexistent/file", &r, &err), -2);
	assert_non_null(strstr(err.text, "No such file"));
	assert_true(store_open("/dev/null", &r, &err) < 0);
	assert_non_null(strstr(err.text, "not a regular file"));
	assert_true(store_open("/tmp", &r, &err) < 0);
	free_whole(&w);
}

/* A packet of information that is all one item of a kind that no reader knows. */
static void add_large_info(struct bytes *file)
{
	size_t n = PACKET_RAW_MAX, bound = ZSTD_compressBound(n);
	struct packet_header h = { .type = PACKET_INFO, .raw = (uint32_t)n };
	struct bytes raw = { 0 }, payload = { 0 };

	bytes_uleb(&raw, 100);
	bytes_uleb(&raw, n - 5); /* the type is one byte, this number four */
	vec_reserve(&raw, n);
	memset(raw.at + raw.n, 0, n - raw.n);
	vec_reserve(&payload, bound);
	payload.n = ZSTD_compress(payload.at, bound, raw.at, n, 1);
	h.payload = (uint32_t)payload.n;
	h.crc = crc32c(payload.at, payload.n);
	format_packet_header(file, &h);
	bytes_put(file, payload.at, payload.n);
	vec_free(&raw);
	vec_free(&payload);
}

/* A few kilobytes that stand for more memory than a machine has. */
static void test_large_info(void **state)
{
	struct bytes file = { 0 };

	format_file_header(&file, FORMAT_VERSION, 0);
	for (unsigned i = 0; i < 4; i++)
		add_large_info(&file);
	open_error(file.at, file.n, "cut before anything was recorded");
	add_large_info(&file);
	open_error(file.at, file.n, "more than 128 times as large");
	vec_free(&file);
}

/* Records of thread 0 in a file that is being written. */
static size_t events_so_far(struct sample *s)
{
	struct store_reader *r;
	struct events got;
	struct err err;
	size_t n;

	if (store_open(s->path, &r, &err))
		return 0;
	assert_true(store_was_cut(r, NULL));
	assert_int_equal(read_thread(r, 0, &got, &err), 0);
	n = got.n;
	assert_true(store_info(r)->threads.at[0].records >= n);
	for (size_t i = 0; i < n; i++)
		assert_same_event(&got.at[i], &s->expect.at[i]);
	vec_free(&got);
	store_close(r);
	return n;
}

/* A tracer that dies leaves no store_finish: what has waited two seconds is in the file. */
static void test_unfinished(void **state)
{
	time_t end = time(NULL) + 20;
	struct sample s;

	sample_begin(&s, 2, 12, 1u << 30);
	sample_run(&s, 0, 1000, false);
	s.threads.at[1].tsc += 3 * s.info->clock.hz;
	sample_run(&s, 1, 10, false);
	while (events_so_far(&s) < 1000)
		assert_true(time(NULL) < end);
	sample_free(&s);
}

/* After store_wait_written(), a file that is being written has all. */
static void test_written(void **state)
{
	struct sample s;
	struct err err;

	sample_begin(&s, 2, 13, 1u << 30);
	for (int i = 1; i < 20; i++) {
		sample_run(&s, 0, 100, false);
		assert_int_equal(store_wait_written(s.writer, &err), 0);
		assert_int_equal(events_so_far(&s), 100 * i);
	}
	sample_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_everywhere), cmocka_unit_test(test_cut_large),
		cmocka_unit_test(test_bit_flips), cmocka_unit_test(test_zeroed_end),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_large_info),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
