/* Lines of uprobe_events and kprobe_events against what Linux 6.12 said of each
 * (golden/k6.12-debian.uprobe_commands.txt, kprobe_commands.txt: a line, then "taken", "COLUMN
 * SENTENCE" of its error_log, or "refused" where it logs nothing); and what lines define. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/probe_command.h"

/* Lines of which the answer differs, and why. */
static const char *const differ[] = {
	/* the kernel's answer depends on events that were defined before */
	"p /bin/cat:0x3000 a=+0(%di):b4@4/8", "p /bin/cat:0x3000 \\\"abc\"", "p:sched/sched_switch /bin/cat:0x3000",
	"p:dup /bin/cat:0x3000 a=%di", "p:dup /bin/cat:0x3004 b=%di", "p10 /bin/cat:0x3000", "px /bin/cat:0x3000",
	"p /bin/cat:0x3000%return", "r:dup /bin/cat:0x3004 a=%di",
	/* the kernel looks at the file here, brace when it defines the event */
	"p /:0x10",
	/* the kernel takes whatever begins with $retval */
	"r /bin/cat:0x3000 $retvalx",
	/* the kernel takes a number of active calls here, and forgets the name behind it */
	"r10 /bin/cat:0x3000", "r10:foo /bin/cat:0x3000 $retval", "r0:foo /bin/cat:0x3000", "rx:foo /bin/cat:0x3000",
	/* not here: reference counters, and registers that a program does not compute with */
	"p /bin/cat:0x3000(0x10)%return", "p /bin/cat:0x3000%return(0x10)", "p /bin/cat:0x3000 a=%cs b=%ss c=%orig_ax",
	/* the kernel drops what is behind the bracket */
	"p /bin/cat:0x3000 +0(%di)x",
	/* a symbol is a function of the program here; in the kernel it is one of its own, so that
	 * uprobes have none */
	"p /bin/cat:0x3000 a=+0(%di):symbol b=%di:symbol", "p /bin/cat:0x3000 a=+0(%di):char[2] b=+0(%di):symbol[2]",
	"p:t1 /bin/cat:0x3000 %di %ax:u8 s=+0(%si):string $comm $stack $stack2:s16 @0x10 @+0x10:x8 \\5:s64 +8(+16(%dx)):u32 $COMM c=\\-3 "
	"+u8(%di) d=%di:char e=+0(%di):symbol",
	/* the kernel's caret is too far to the right by the dereferences before it */
	"p /bin/cat:0x3000 a=+0(%di):b4@5/8", "p /bin/cat:0x3000 a=+0(%di):b0@5/8", "p /bin/cat:0x3000 a=+0(%di):b@5/8",
	"p /bin/cat:0x3000 a=+0(%di):b4@/8", "p /bin/cat:0x3000 a=+0(%di):b9@0/8", "p /bin/cat:0x3000 a=+0(%di):b4@4x/8",
	/* there are types of arguments only where the source's words are translated, before this */
	"p vfs_read $arg10000", "p vfs_read args=$arg*", "p vfs_read +0($arg*)", "p vfs_read $arg* $arg*", "p vfs_read+20 $arg*",
	"p vfs_read hoge", "p kfree $arg10", "r kfree $retval",
	/* the kernel keeps no arguments for a uprobe's return */
	"r /bin/cat:0x3000 $arg1",
	/* 512 bytes of a record are too few for this */
	"p /bin/cat:0x3000 a=+0(%di):u64[64]",
};

static bool differs(const char *line)
{
	for (size_t i = 0; i < sizeof(differ) / sizeof(*differ); i++)
		if (!strcmp(line, differ[i]))
			return true;
	return false;
}

/* probe_symbols.find: two functions of the program, and one of which there are two. */
static unsigned find(void *arg, const char *module, const char *symbol, uint64_t more, struct symbol_match *out)
{
	bool known = !strcmp(symbol, "vfs_read") || !strcmp(symbol, "kfree");

	if (!strcmp(symbol, "name_show"))
		return 2;
	if (!known || (module && strcmp(module, "kern") != 0) || more > 0x100)
		return 0;
	*out = (struct symbol_match){ strdup("/bin/kern"), 0x1000 + more, 0x401000 + more, !more };
	return 1;
}

/* probe_symbols.object */
static bool object(void *arg, const struct symbol_match *place, const char *name, size_t n, uint64_t *vaddr)
{
	*vaddr = 0x404000;
	return n == 4 && !memcmp(name, "work", 4);
}

/* probe_symbols.at: vfs_read's begin, and a byte behind it. */
static bool at(void *arg, uint64_t address, struct symbol_match *out)
{
	const uint64_t more = address - 0x555555401000;

	return more < 2 && find(arg, NULL, "vfs_read", more, out) == 1;
}

static const struct probe_symbols symbols = { .find = find, .object = object, .at = at };

static void check(const char *line, const char *said, const struct probe_symbols *with)
{
	struct probe_command c;
	struct err err = { 0 };
	int r = with ? probe_command_parse_symbols(line, with, &c, &err) : probe_command_parse(line, &c, &err);
	char *text;
	size_t column = strtoul(said, &text, 10);

	if (r >= 0)
		probe_command_free(&c);
	if (!strcmp(said, "taken") || (!strcmp(said, "refused") && r < 0)) {
		if ((r >= 0) != !strcmp(said, "taken"))
			fail_msg("%s: %s", line, err.text);
	} else if (!strcmp(said, "refused")) {
		fail_msg("%s is taken", line);
	} else if (r >= 0 || strcmp(err.text, text + 1) != 0 || err.column != column) {
		fail_msg("%s: %zu %s, not %s", line, err.column, err.text, said);
	}
}

static void check_all(const char *path, unsigned lines, const struct probe_symbols *with)
{
	FILE *f = fopen(path, "re");
	char line[1024], said[1024];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && fgets(said, sizeof(said), f)) {
		line[strcspn(line, "\n")] = said[strcspn(said, "\n")] = '\0';
		if (!differs(line))
			check(line, said, with);
		n++;
	}
	fclose(f);
	assert_int_equal(n, lines);
}

static void as_the_kernel(void **state)
{
	check_all(GOLDEN "/k6.12-debian.uprobe_commands.txt", 71, NULL);
	check_all(GOLDEN "/k6.12-debian.uprobe_types.txt", 82, NULL);
	check_all(GOLDEN "/k6.12-debian.kprobe_commands.txt", 57, &symbols);
}

static void what_is_defined(void **state)
{
	struct probe_command c;
	struct err err;

	assert_int_equal(probe_command_parse("p:a.b  /lib/x.so.6:0x10   %di n=%si:u8\t# why", &c, &err), 0);
	assert_int_equal(c.action, PROBE_DEFINE);
	assert_string_equal(c.group, "a");
	assert_string_equal(c.event, "b");
	assert_string_equal(c.definition->path, "/lib/x.so.6");
	assert_int_equal(c.definition->offset, 0x10);
	assert_string_equal(c.definition->arguments, " arg1=%di n=%si:u8");
	assert_non_null(strstr(c.format, "\"(%lx) arg1=0x%Lx n=%u\", REC->__probe_ip, REC->arg1, REC->n"));
	probe_command_free(&c);
	assert_int_equal(probe_command_parse("p /lib/x86/libc.so.6:12300", &c, &err), 0);
	assert_string_equal(c.group, "uprobes");
	assert_string_equal(c.event, "p_libc_0x300c");
	probe_command_free(&c);
	assert_int_equal(probe_command_parse("p:x /lib/x.so:0x10%return $retval:s32 s=$stack1", &c, &err), 0);
	assert_true(c.definition->returns && c.definition->offset == 0x10);
	assert_string_equal(c.definition->arguments, " arg1=$retval:s32 s=$stack1");
	assert_non_null(strstr(c.format, "\"(%lx <- %lx) arg1=%d s=0x%Lx\", REC->__probe_func, REC->__probe_ret_ip, REC->arg1, REC->s"));
	probe_command_free(&c);
	assert_int_equal(probe_command_parse("-:g/", &c, &err), 0);
	assert_true(c.action == PROBE_REMOVE && !strcmp(c.group, "g") && !c.event);
	probe_command_free(&c);
	assert_int_equal(probe_command_parse("-:e", &c, &err), 0);
	assert_true(c.action == PROBE_REMOVE && !c.group && !strcmp(c.event, "e"));
	probe_command_free(&c);
	assert_int_equal(probe_command_parse("-:g/e /lib/x.so:0x0000000000000010  a=%di # why", &c, &err), 0);
	assert_true(c.action == PROBE_REMOVE && !strcmp(c.listed, " /lib/x.so:0x0000000000000010 a=%di"));
	probe_command_free(&c);
	assert_int_equal(probe_command_parse("  # nothing", &c, &err), 0);
	assert_int_equal(c.action, PROBE_NOTHING);
	probe_command_free(&c);
}

static void symbols_are_found(void **state)
{
	struct probe_command c;
	struct err err;

	assert_int_equal(probe_command_parse_symbols("r3 kern:vfs_read+0 $retval", &symbols, &c, &err), 0);
	assert_string_equal(c.group, "kprobes");
	assert_string_equal(c.event, "r_vfs_read_0");
	assert_string_equal(c.definition->path, "/bin/kern");
	assert_string_equal(c.definition->symbol, "kern:vfs_read");
	assert_true(c.definition->returns && c.definition->active == 3 && c.definition->offset == 0x1000);
	assert_non_null(strstr(c.format, "\"(%ps <- %pS) arg1=0x%Lx\""));
	probe_command_free(&c);
	assert_int_equal(probe_command_parse_symbols("p vfs_read+0x10 n=@work+8:u32", &symbols, &c, &err), 0);
	assert_string_equal(c.event, "p_vfs_read_16");
	assert_string_equal(c.definition->symbol, "vfs_read+0x10");
	assert_non_null(strstr(c.format, "\"(%pS) n=%u\""));
	probe_command_free(&c);
	assert_int_equal(probe_command_parse_symbols("p vfs_read a=$arg1 g=$arg7:u8", &symbols, &c, &err), 0);
	probe_command_free(&c);
	assert_int_equal(probe_command_parse_symbols("p 0x555555401000 a=$arg1", &symbols, &c, &err), 0);
	assert_string_equal(c.event, "p_0x555555401000");
	assert_string_equal(c.definition->symbol, "0x555555401000");
	assert_int_equal(c.definition->offset, 0x1000);
	probe_command_free(&c);
	assert_int_equal(probe_command_parse_symbols("r 0x555555401001", &symbols, &c, &err), -EINVAL);
	assert_int_equal(probe_command_parse_symbols("p 0x555555401002", &symbols, &c, &err), -EINVAL);
	assert_int_equal(probe_command_parse_symbols("p 7:vfs_read", &symbols, &c, &err), -EINVAL);
	assert_non_null(strstr(err.text, "Invalid probed address or symbol"));
	assert_int_equal(probe_command_parse_symbols("f 0x555555401000", &symbols, &c, &err), -EINVAL);
	assert_int_equal(probe_command_parse_symbols("p name_show", &symbols, &c, &err), -EADDRNOTAVAIL);
	assert_int_equal(probe_command_parse_symbols("p vfs_read+4 $arg1", &symbols, &c, &err), -EINVAL);
	assert_int_equal(probe_command_parse_symbols("p vfs_read @nothing", &symbols, &c, &err), -EINVAL);
	assert_true(probe_command_is_of_file("p /bin/cat:0x10") && !probe_command_is_of_file("p libc.so.6:malloc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_kernel), cmocka_unit_test(what_is_defined),
					    cmocka_unit_test(symbols_are_found) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
