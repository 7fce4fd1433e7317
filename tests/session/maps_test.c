/* Reading a process's mappings, and finding room near a module. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/maps.h"

static void our_own_text_is_there(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)our_own_text_is_there;
	struct maps maps;
	struct err err;
	bool found = false;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	for (size_t i = 0; i < maps.at.n; i++)
		if (here >= maps.at.at[i].start && here < maps.at.at[i].end) {
			assert_true(maps.at.at[i].exec);
			assert_non_null(strstr(maps.at.at[i].path, "maps_test"));
			found = true;
		}
	assert_true(found);
	maps_free(&maps);
}

/* The kernel is the judge: what we find can be mapped, and reaches the module. */
static void find_and_map(struct maps *maps, uint64_t lo, uint64_t hi)
{
	const uint64_t bytes = 1 << 20;
	uint64_t at = maps_find_room(maps, lo, hi, bytes);
	void *wanted = (void *)(uintptr_t)at;

	assert_int_not_equal(at, 0);
	assert_ptr_equal(mmap(wanted, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 wanted);
	assert_true((at < hi ? hi - at : at + bytes - lo) < UINT64_C(1) << 31);
}

static void room_is_free_and_near(void **state)
{
	struct maps maps, now;
	struct err err;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_int_equal(maps_read(getpid(), &now, &err), 0);
	for (size_t i = 0; i < now.at.n; i++)
		if (now.at.at[i].exec && now.at.at[i].path[0] == '/')
			find_and_map(&maps, now.at.at[i].start, now.at.at[i].end);
	maps_free(&maps);
	maps_free(&now);
}

static struct map map_of(uint64_t start, uint64_t end, const char *path)
{
	return (struct map){ .start = start, .end = end, .exec = true, .path = mem_strdup(path) };
}

/* A program at 4 MB with its heap behind it: not below (too little), not where brk grows. */
static void the_heap_keeps_its_room(void **state)
{
	struct maps maps = { 0 };
	uint64_t at;

	(void)state;
	*vec_add(&maps.at) = map_of(0x400000, 0x900000, "/usr/bin/program");
	*vec_add(&maps.at) = map_of(0x1000000, 0x1100000, "[heap]");
	*vec_add(&maps.at) = map_of(0x7f0000000000, 0x7f0000001000, "/lib/x.so");
	at = maps_find_room(&maps, 0x400000, 0x900000, 16 << 20);
	assert_true(at >= 0x1100000 + (UINT64_C(1) << 29));
	assert_true(at + (16 << 20) - 0x400000 < UINT64_C(1) << 31);
	maps_free(&maps);
}

static void no_room_is_said(void **state)
{
	struct maps maps = { 0 };

	(void)state;
	*vec_add(&maps.at) = map_of(0x1000, UINT64_C(1) << 40, "/full");
	assert_int_equal(maps_find_room(&maps, UINT64_C(1) << 33, (UINT64_C(1) << 33) + 4096, 4096), 0);
	maps_free(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_text_is_there),
		cmocka_unit_test(room_is_free_and_near),
		cmocka_unit_test(the_heap_keeps_its_room),
		cmocka_unit_test(no_room_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
