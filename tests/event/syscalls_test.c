/* System calls as events: the kernel's own files byte for byte where there are some, its numbers by
 * the C library's header, and the one rule all others follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/syscall_copies.h"
#include "event/syscall_names.h"
#include "golden.h"

static struct event_catalogue *c;

static int setup(void **state)
{
	c = events_new();
	syscalls_provider.add_common(c);
	return 0;
}

static int teardown(void **state)
{
	events_free(c);
	return 0;
}

/* Two files but for their numbers. */
static void same_but_id(const char *kernel, const char *system, const char *name)
{
	char *file = mem_printf("init.events.%s.%s.format", system, name), *want = golden_read(kernel, file);
	const struct event_entry *e = events_find(c, system, name);
	char *id, *text, *rest;

	assert_non_null(e);
	id = strstr(want, "ID: ");
	rest = strchr(id, '\n');
	*id = 0;
	text = mem_printf("%sID: %u%s", want, e->format->id, rest);
	golden_same(file, e->text, text);
	free(text);
	free(want);
	free(file);
}

static void as_the_kernel_has_them(void **state)
{
	static const char *const kernels[] = { "k6.12-own", "k6.12-debian", "k7.2-own" };

	for (size_t i = 0; i < 3; i++) {
		same_but_id(kernels[i], "raw_syscalls", "sys_enter");
		same_but_id(kernels[i], "syscalls", "sys_exit_openat");
	}
	/* Older kernels copy no strings. */
	same_but_id("k7.2-own", "syscalls", "sys_enter_openat");
}

static void without_arguments(void **state)
{
	const struct event_entry *e = syscalls_find(c, 39).enter;

	assert_string_equal(e->format->name, "sys_enter_getpid");
	assert_int_equal(e->format->n, 1);
	assert_string_equal(e->format->print, "\"\"");
	assert_int_equal(event_record_bytes(e->format), 12);
}

static void with_six(void **state)
{
	const struct event_entry *e = syscalls_find(c, 9).enter;

	assert_string_equal(e->format->name, "sys_enter_mmap");
	assert_int_equal(event_record_bytes(e->format), 8 + sizeof(struct syscall_enter));
	assert_string_equal(e->format->fields[6].name, "off");
	assert_int_equal(e->format->fields[6].offset, 8 + offsetof(struct syscall_enter, args[5]));
	assert_int_equal(event_record_bytes(events_find(c, "raw_syscalls", "sys_enter")->format),
			 8 + sizeof(struct syscall_raw_enter));
	assert_int_equal(event_record_bytes(events_find(c, "raw_syscalls", "sys_exit")->format),
			 8 + sizeof(struct syscall_raw_exit));
	assert_int_equal(event_record_bytes(syscalls_find(c, 9).exit->format), 8 + sizeof(struct syscall_exit));
}

/* --- numbers: the C library's header ---------------------------------------------------------- */

#define LAST 462u /* mseal: Linux 6.12 has no more */

static const struct { const char *number, *function; } renamed[] = {
	{ "stat", "newstat" }, { "fstat", "newfstat" }, { "lstat", "newlstat" }, { "uname", "newuname" },
	{ "sendfile", "sendfile64" }, { "umount2", "umount" },
};

/* The kernel has these numbers, and nothing behind them. */
static const char *const nothing[] = {
	"uselib", "_sysctl", "create_module", "get_kernel_syms", "query_module", "nfsservctl", "getpmsg", "putpmsg",
	"afs_syscall", "tuxcall", "security", "set_thread_area", "get_thread_area", "lookup_dcookie", "epoll_ctl_old",
	"epoll_wait_old", "vserver",
};

static const char *function_of(const char *name)
{
	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		if (strcmp(nothing[i], name) == 0)
			return NULL;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (strcmp(renamed[i].number, name) == 0)
			return renamed[i].function;
	return name;
}

static void by_their_numbers(void **state)
{
	FILE *f = popen("echo '#include <asm/unistd_64.h>' | cc -E -dM -xc -", "r");
	char line[256], name[128];
	unsigned number, n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const struct syscall_info *s;
		const char *want;

		if (sscanf(line, "#define __NR_%127s %u", name, &number) != 2 || number > LAST)
			continue;
		want = function_of(name);
		s = syscall_by_number(number);
		if (!want != !s || (s && strcmp(s->name, want) != 0))
			fail_msg("%u is %s, not %s", number, s ? s->name : "nothing", want ? want : "nothing");
		n++;
	}
	assert_int_equal(pclose(f), 0);
	assert_in_range(n, 340, 600);
}

/* An argument each in 8 bytes (or the result), then 4 bytes for each copy. */
static void arguments_and_copies(const struct syscall_info *s, const struct event_format *f, bool behind)
{
	size_t n = behind ? 1 : syscall_arguments(s);
	struct call_copy copies[CALL_COPIES];
	unsigned k = syscall_copies(s, behind, copies);

	assert_true(n <= SYSCALL_ARGS);
	assert_int_equal(f->n, 1 + n + k);
	for (size_t i = 1; i < f->n; i++) {
		assert_true(*f->fields[i].name && *f->fields[i].type);
		assert_int_equal(f->fields[i].offset, i <= n ? 8 + 8 * i : 16 + 8 * n + 4 * (i - 1 - n));
	}
	for (unsigned i = 0; i < k; i++) {
		char name[64], want[80];

		syscall_argument(s, copies[i].argument - 1u, NULL, name, sizeof(name));
		snprintf(want, sizeof(want), "__%s_%s", name, copies[i].length >= CALL_COPY_GATHER && copies[i].length < CALL_COPY_INTS ? "data" : "val");
		assert_string_equal(f->fields[1 + n + i].name, want);
		assert_string_equal(f->fields[1 + n + i].type, "__data_loc char[]");
	}
}

/* Each row of the table of copies names a call and an argument that exist; the strings are those of
 * the calls that have paths. */
static void copies(void **state)
{
	static const struct { const char *call; bool behind; unsigned n; uint8_t first, length; } want[] = {
		{ "open", false, 1, 1, CALL_COPY_STRING },     { "openat", false, 1, 2, CALL_COPY_STRING },
		{ "rename", false, 2, 1, CALL_COPY_STRING },   { "renameat2", false, 2, 2, CALL_COPY_STRING },
		{ "mount", false, 3, 1, CALL_COPY_STRING },    { "execve", false, 3, 1, CALL_COPY_STRING },
		{ "write", false, 1, 2, CALL_COPY_BYTES | 2 }, { "writev", false, 2, 2, CALL_COPY_PAIRS | 2 },
		{ "read", false, 0, 0, 0 },                    { "read", true, 1, 2, CALL_COPY_RESULT },
		{ "write", true, 0, 0, 0 },                    { "sethostname", false, 1, 1, CALL_COPY_BYTES | 1 },
		{ "newuname", true, 1, 1, CALL_COPY_UTSNAME },              { "newfstatat", true, 1, 3, CALL_COPY_FIXED | 36 },
		{ "recvmsg", true, 1, 2, CALL_COPY_MESSAGE_RETURNED }, { "readv", true, 2, 2, CALL_COPY_PAIRS | 2 },
		{ "pselect6", false, 5, 2, CALL_COPY_BITS },   { "epoll_wait", true, 1, 2, CALL_COPY_RETURNED | 3 },
		{ "getpid", false, 0, 0, 0 },                  { "sendto", false, 2, 2, CALL_COPY_BYTES | 2 },
	};
	size_t n;
	const struct syscall_info *all = syscalls_all(&n);

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct call_copy got[CALL_COPIES] = { { 0, 0 } };
		size_t k = 0;

		while (k < n && strcmp(all[k].name, want[i].call) != 0)
			k++;
		assert_true(k < n);
		if (syscall_copies(&all[k], want[i].behind, got) != want[i].n || got[0].argument != want[i].first ||
		    got[0].length != want[i].length)
			fail_msg("%s: %u, %u", want[i].call, got[0].argument, got[0].length);
	}
	assert_true(syscall_copies_are_right(&n));
	assert_in_range(n, 150, 200);
}

/* Each row of the table of names is an argument of a call; openat stays as the kernel has it. */
static void names(void **state)
{
	size_t n;

	assert_true(syscall_names_are_right(&n));
	assert_in_range(n, 60, 200);
	assert_null(syscall_named("openat", "flags"));
	assert_null(syscall_named("openat", "dfd"));
	assert_null(syscall_named("rseq", "sig"));
	assert_non_null(syscall_named("unlinkat", "dfd"));
	assert_non_null(strstr(syscalls_find(c, 10).enter->format->print,
			       "(REC->prot) ? __print_flags(REC->prot, \"|\", { 0x1, \"PROT_READ\" }, "
			       "{ 0x2, \"PROT_WRITE\" }"));
	assert_non_null(strstr(syscalls_find(c, 62).enter->format->print, "{ 0x9, \"SIGKILL\" }"));
}

static void every_line_is_right(void **state)
{
	size_t n;
	const struct syscall_info *all = syscalls_all(&n);

	assert_in_range(n, 350, SYSCALL_NUMBERS);
	for (size_t i = 0; i < n; i++) {
		struct syscall_events e = syscalls_find(c, all[i].number);

		assert_true(i == 0 || all[i - 1].number < all[i].number);
		assert_ptr_equal(syscall_by_number(all[i].number), &all[i]);
		assert_non_null(e.enter);
		assert_non_null(e.exit);
		assert_true(events_can_enable(e.enter) && e.enter->provider == &syscalls_provider);
		arguments_and_copies(&all[i], e.enter->format, false);
		arguments_and_copies(&all[i], e.exit->format, true);
	}
	assert_null(syscall_by_number(134));
	assert_null(syscall_by_number(400));
	assert_null(syscall_by_number(UINT32_MAX));
	assert_null(syscalls_find(c, 134).enter);
}

/* A field of them in a filter. */
static void filtered(void **state)
{
	static const struct { unsigned number; const char *text; bool right; } filters[] = {
		{ 0, "fd == 3 && count > 100", true },
		{ 0, "__syscall_nr == 0", true },
		{ 0, "length > 1", false },
		{ 0, "__buf_val ~ \"a*\"", false },
		{ 1, "__buf_val ~ \"a*\"", true },
		{ 257, "filename ~ \"/etc/*\"", true },
		{ 257, "__filename_val ~ \"/etc/*\" && flags & 1", true },
	};
	struct filter_context context = { 0 };

	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct filter_fault fault = { 0 };
		struct filter_program *f = NULL;
		int r = filter_compile(syscalls_find(c, filters[i].number).enter->format, filters[i].text, strlen(filters[i].text),
				       &context, &f, &fault);

		assert_int_equal(r == 0, filters[i].right);
		free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernel_has_them), cmocka_unit_test(without_arguments),
		cmocka_unit_test(with_six), cmocka_unit_test(copies), cmocka_unit_test(by_their_numbers),
		cmocka_unit_test(names), cmocka_unit_test(every_line_is_right), cmocka_unit_test(filtered),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
