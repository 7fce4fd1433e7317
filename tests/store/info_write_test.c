/* SPDX-License-Identifier: MIT */
/* info_write() visits what is new, whatever the trace_info has already: modules that were written,
 * and images that are complete, lie in pages that may not be read. */
#include "cmocka_all.h"

#include <sys/mman.h>

#include "store/info.h"

enum { OLD = 2000, PAGE = 4096, ROOM = 4 << 20 };

/* An array of ROOM bytes whose elements do not move. */
static void *fixed_array(void)
{
	void *at = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

#define FIXED(v) ((v)->at = fixed_array(), (v)->cap = ROOM / sizeof(*(v)->at))

/* Forbids to touch elements up to the n-th, but for those that share a page with it. */
static void shut(void *array, size_t n, size_t size, int protection)
{
	assert_int_equal(mprotect(array, n * size / PAGE * PAGE, protection), 0);
}

static void add_program(struct trace_info *info, uint32_t i)
{
	static uint64_t sites[] = { 0, 0x401000, 0 };
	static struct trace_function functions[] = { { .vaddr = 16, .size = 8, .name = 1 } };
	static char name[] = "\0main\0table";
	static struct trace_global globals[] = { { 4096, 8, 1 }, { 1 << 20, 64, 6 } };

	*vec_add(&info->images) = (struct trace_image){ .pid = i + 1, .exe = "x", .cmdline = "x" };
	info->images.at[i].sites.at = sites;
	info->images.at[i].sites.n = 3;
	*vec_add(&info->modules) = (struct trace_module){ .image = i, .path = "/x", .name = "x", .first_id = 1 };
	info->modules.at[i].functions.at = functions;
	info->modules.at[i].functions.n = 1;
	info->modules.at[i].globals.at = globals;
	info->modules.at[i].globals.n = 2;
	info->modules.at[i].strings.at = name;
	info->modules.at[i].strings.n = sizeof(name);
}

static void write_all(struct info_writer *w, const struct trace_info *info, bool last, struct bytes *out)
{
	size_t before;

	do {
		before = out->n;
		info_write(w, info, last, out);
	} while (out->n > before);
}

static void test_visits(void **state)
{
	struct trace_info info = { 0 }, *read = trace_info_new();
	struct info_writer *w = info_writer_new();
	struct bytes out = { 0 };

	FIXED(&info.images);
	FIXED(&info.modules);
	for (uint32_t i = 0; i < OLD; i++) {
		add_program(&info, i);
		info.images.at[i].complete = i < OLD - 1;
	}
	write_all(w, &info, false, &out);
	shut(info.images.at, OLD - 1, sizeof(*info.images.at), PROT_NONE);
	shut(info.modules.at, OLD, sizeof(*info.modules.at), PROT_NONE);
	write_all(w, &info, false, &out);
	add_program(&info, OLD);
	write_all(w, &info, false, &out);
	shut(info.images.at, OLD - 1, sizeof(*info.images.at), PROT_READ | PROT_WRITE);
	shut(info.modules.at, OLD, sizeof(*info.modules.at), PROT_READ | PROT_WRITE);
	info.modules.at[7].to_tsc = 77;
	write_all(w, &info, true, &out);

	assert_true(info_read(read, out.at, out.n) && info_read_end(read));
	assert_int_equal(read->images.n, OLD + 1);
	assert_int_equal(read->modules.n, OLD + 1);
	assert_int_equal(read->modules.at[7].to_tsc, 77);
	for (uint32_t i = 0; i <= OLD; i++) {
		assert_int_equal(read->images.at[i].sites.n, 3);
		assert_int_equal(read->images.at[i].sites.at[1], 0x401000);
		assert_int_equal(read->modules.at[i].functions.n, 1);
		assert_string_equal(read->modules.at[i].strings.at + 1, "main");
		assert_int_equal(read->modules.at[i].globals.n, 2);
		assert_int_equal(read->modules.at[i].globals.at[0].vaddr, 4096);
		assert_int_equal(read->modules.at[i].globals.at[1].vaddr, 1 << 20);
		assert_int_equal(read->modules.at[i].globals.at[1].size, 64);
		assert_string_equal(read->modules.at[i].strings.at + read->modules.at[i].globals.at[1].name, "table");
	}
	munmap(info.images.at, ROOM);
	munmap(info.modules.at, ROOM);
	trace_info_free(read);
	info_writer_free(w);
	vec_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_visits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
