/* A zlib stream made in blocks by all cores, against zlib's own reading. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "export/deflate.h"

struct stream { VEC(unsigned char) bytes; size_t most; };

static int put(void *arg, const unsigned char *bytes, size_t n)
{
	struct stream *s = arg;

	if (s->most && s->bytes.n + n > s->most)
		return -EPIPE;
	for (size_t i = 0; i < n; i++)
		*vec_add(&s->bytes) = bytes[i];
	return 0;
}

/* Text that repeats itself, with noise, so that blocks refer to those before. */
static char *some_text(size_t n)
{
	char *text = mem_realloc(NULL, n + 1, 1);
	uint32_t random = 7;

	for (size_t i = 0; i < n; i++) {
		random = random * 1664525 + 1013904223;
		text[i] = i > 20000 && random >> 24 ? text[i - 20000] : (char)(random >> 16);
	}
	return text;
}

static void check(const char *text, size_t n, size_t piece)
{
	struct stream s = { 0 };
	struct deflater *d = deflate_new(put, &s);
	uLongf got = n + 1;
	char *again = mem_realloc(NULL, got, 1);
	struct err err;

	for (size_t at = 0; at < n; at += piece)
		assert_int_equal(deflate_add(d, text + at, piece < n - at ? piece : n - at, &err), 0);
	assert_int_equal(deflate_finish(d, &err), 0);
	deflate_free(d);
	assert_int_equal(uncompress((Bytef *)again, &got, s.bytes.at, s.bytes.n), Z_OK);
	assert_int_equal(got, n);
	assert_memory_equal(again, text, n);
	/* what stands more than a block before is found too: the noise is 1 byte of 256 */
	assert_true(n < 100000 || s.bytes.n < n / 3);
	free(again);
	vec_free(&s.bytes);
}

static void zlib_reads_it(void **state)
{
	static const size_t sizes[] = { 0, 1, 262143, 262144, 262145, 2097151, 2097152, 2097153, 5000000 };
	char *text = some_text(5000000);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check(text, sizes[i], 16384);
		check(text, sizes[i], 999983);
	}
	free(text);
}

static void a_full_output_ends_it(void **state)
{
	struct stream s = { .most = 1000 };
	struct deflater *d = deflate_new(put, &s);
	char *text = some_text(3000000);
	struct err err;

	assert_int_equal(deflate_add(d, text, 3000000, &err), -EPIPE);
	deflate_free(d);
	vec_free(&s.bytes);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zlib_reads_it), cmocka_unit_test(a_full_output_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
