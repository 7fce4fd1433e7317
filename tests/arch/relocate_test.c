/* Input bytes, expected output bytes; and what the relocator must refuse. The window stands at
 * vaddr 0x1000 = runtime address 0x401000, its copy at 0x402000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "arch/relocate.h"

#define VADDR 0x1000u
#define FROM 0x401000u
#define TO 0x402000u

struct moved {
	const char *what;
	size_t n; const char *in;
	uint8_t covered; bool falls;
	size_t n_out; const char *out;
};

static const struct moved moved[] = {
	{ "push %rbp; mov %rsp, %rbp; push %r15", 6, "\x55\x48\x89\xe5\x41\x57", 6, true,
	  11, "\x55\x48\x89\xe5\x41\x57\xe9\xfb\xef\xff\xff" },
	{ "lea 0x10(%rip), %rax", 7, "\x48\x8d\x05\x10\x00\x00\x00", 7, true,
	  12, "\x48\x8d\x05\x10\xf0\xff\xff\xe9\xfb\xef\xff\xff" },
	{ "movl $1, 0x10(%rip)", 10, "\xc7\x05\x10\x00\x00\x00\x01\x00\x00\x00", 10, true,
	  15, "\xc7\x05\x10\xf0\xff\xff\x01\x00\x00\x00\xe9\xfb\xef\xff\xff" },
	{ "jmp +0x40", 2, "\xeb\x40", 2, false, 5, "\xe9\x3d\xf0\xff\xff" },
	{ "jne +0x40; mov %rax, %rbx", 5, "\x75\x40\x48\x89\xc3", 5, true,
	  14, "\x0f\x85\x3c\xf0\xff\xff\x48\x89\xc3\xe9\xf7\xef\xff\xff" },
	{ "jae far +0x100", 6, "\x0f\x83\x00\x01\x00\x00", 6, true,
	  11, "\x0f\x83\x00\xf1\xff\xff\xe9\xfb\xef\xff\xff" },
	{ "jrcxz +0x40; inc %rax", 5, "\xe3\x40\x48\xff\xc0", 5, true,
	  17, "\xe3\x02\xeb\x05\xe9\x39\xf0\xff\xff\x48\xff\xc0\xe9\xf4\xef\xff\xff" },
	{ "jecxz +0x40; inc %eax", 5, "\x67\xe3\x40\xff\xc0", 5, true,
	  17, "\x67\xe3\x02\xeb\x05\xe9\x39\xf0\xff\xff\xff\xc0\xe9\xf4\xef\xff\xff" },
	{ "call +0x100", 5, "\xe8\x00\x01\x00\x00", 5, false,
	  19, "\xff\x35\x05\x00\x00\x00\xe9\xfa\xf0\xff\xff\x05\x10\x40\x00\x00\x00\x00\x00" },
	{ "mov %rbx, %rax; call *%rax", 5, "\x48\x89\xd8\xff\xd0", 5, false,
	  19, "\x48\x89\xd8\xff\x35\x02\x00\x00\x00\xff\xe0\x05\x10\x40\x00\x00\x00\x00\x00" },
	{ "call *0x10(%rip)", 6, "\xff\x15\x10\x00\x00\x00", 6, false,
	  20, "\xff\x35\x06\x00\x00\x00\xff\x25\x0a\xf0\xff\xff\x06\x10\x40\x00\x00\x00\x00\x00" },
	{ "xor %eax, %eax; ret", 3, "\x31\xc0\xc3", 3, false, 3, "\x31\xc0\xc3" },
	{ "je to the push; nop; nop; push: to the copy", 5, "\x74\x01\x90\x50\x99", 5, true,
	  14, "\x0f\x84\x01\x00\x00\x00\x90\x50\x99\xe9\xf7\xef\xff\xff" },
	{ "dec; jne to the entry: to the original", 5, "\x48\xff\xc9\x75\xfb", 5, true,
	  14, "\x48\xff\xc9\x0f\x85\xf7\xef\xff\xff\xe9\xf7\xef\xff\xff" },
	{ "je just behind the window: to the original", 5, "\x74\x03\x48\x89\xc3", 5, true,
	  14, "\x0f\x84\xff\xef\xff\xff\x48\x89\xc3\xe9\xf7\xef\xff\xff" },
};

static void test_moved(void **state)
{
	for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); i++) {
		const struct moved *c = &moved[i];
		uint8_t out[RELOCATE_MAX_BYTES];
		struct relocate_recipe r;
		size_t column;
		int n;

		print_message("%s\n", c->what);
		assert_int_equal(relocate_scan((const uint8_t *)c->in, c->n, VADDR, 5, &r, &column),
				 0);
		assert_int_equal(r.len, c->covered);
		assert_int_equal(r.falls, c->falls);
		assert_true(relocate_valid(&r, (const uint8_t *)c->in));
		n = relocate_emit(&r, (const uint8_t *)c->in, VADDR, FROM, TO, out);
		assert_int_equal(n, c->n_out);
		assert_memory_equal(out, c->out, c->n_out);
	}
}

static const struct {
	const char *what;
	size_t n;
	const char *in;
	int error;
	size_t column;
} refused[] = {
	{ "int3", 5, "\xcc\x90\x90\x90\x90", EOPNOTSUPP, 0 },
	{ "hlt", 5, "\x90\xf4\x90\x90\x90", EOPNOTSUPP, 1 },
	{ "in %dx, %al", 5, "\xec\x90\x90\x90\x90", EOPNOTSUPP, 0 },
	{ "cli", 5, "\xfa\x90\x90\x90\x90", EOPNOTSUPP, 0 },
	{ "iretq", 5, "\x48\xcf\x90\x90\x90", EOPNOTSUPP, 0 },
	{ "lret", 5, "\xcb\x90\x90\x90\x90", EOPNOTSUPP, 0 },
	{ "ljmp *(%rax)", 5, "\xff\x28\x90\x90\x90", EOPNOTSUPP, 0 },
	{ "xbegin", 6, "\xc7\xf8\x00\x00\x00\x00", EOPNOTSUPP, 0 },
	{ "mov %cr0, %rax", 5, "\x0f\x20\xc0\x90\x90", EOPNOTSUPP, 0 },
	{ "data16 jmp: 16 bits on some processors", 6, "\x66\xe9\x00\x00\x00\x00", EOPNOTSUPP, 0 },
	{ "mov (%eip), %eax", 7, "\x67\x8b\x05\x00\x00\x00\x00", EOPNOTSUPP, 0 },
	{ "call *(%rsp)", 5, "\xff\x14\x24\x90\x90", EOPNOTSUPP, 0 },
	{ "call *8(%rsp,%rax,8)", 7, "\x50\xff\x54\xc4\x08\x90\x90", EOPNOTSUPP, 1 },
	{ "call *%rsp", 5, "\x48\x89\xd8\xff\xd4", EOPNOTSUPP, 3 },
	{ "push; call *%rdi; pop: returns into the window", 5, "\x50\xff\xd7\x58\xc3", EBUSY, 1 },
	{ "no instruction", 5, "\x06\x90\x90\x90\x90", EILSEQ, 0 },
	{ "cut off", 3, "\x55\x48\x89", EILSEQ, 1 },
	{ "too short", 3, "\x55\x89\xe5", ENODATA, 3 },
	{ "je into an instruction of the window", 5, "\x74\x01\x48\x89\xc3", EOPNOTSUPP, 0 },
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct relocate_recipe r;
		size_t column = 99;

		print_message("%s\n", refused[i].what);
		assert_int_equal(relocate_scan((const uint8_t *)refused[i].in, refused[i].n, VADDR,
					       5, &r, &column),
				 -refused[i].error);
		assert_int_equal(column, refused[i].column);
	}
}

static void test_out_of_reach(void **state)
{
	static const uint8_t lea[] = "\x48\x8d\x05\x10\x00\x00\x00",
			     push[] = "\x55\x48\x89\xe5\x41\x57";
	uint8_t out[RELOCATE_MAX_BYTES];
	struct relocate_recipe r;
	size_t column;

	assert_int_equal(relocate_scan(lea, 7, VADDR, 5, &r, &column), 0);
	assert_int_equal(relocate_emit(&r, lea, VADDR, FROM, FROM + 0x7fff0000ull, out), 12);
	assert_int_equal(relocate_emit(&r, lea, VADDR, FROM, FROM + 0x80010000ull, out), -ERANGE);
	assert_int_equal(relocate_scan(push, 6, VADDR, 5, &r, &column), 0);
	assert_int_equal(relocate_emit(&r, push, VADDR, FROM, FROM + 0x80010000ull, out), -ERANGE);
	assert_int_equal(relocate_emit(&r, push, VADDR, FROM + 0x80010000ull, FROM, out), -ERANGE);
}

/* A stored recipe that was damaged must not make relocate_emit write anywhere. */
static void test_damaged_recipes(void **state)
{
	static const uint8_t code[] = "\x48\x8d\x05\x10\x00\x00\x00";
	struct relocate_recipe good, bad;
	size_t column;

	assert_int_equal(relocate_scan(code, 7, VADDR, 5, &good, &column), 0);
	assert_true(relocate_valid(&good, code));
	bad = good, bad.insn[0].field = 4;
	assert_false(relocate_valid(&bad, code));
	bad = good, bad.insn[0].op = 77;
	assert_false(relocate_valid(&bad, code));
	bad = good, bad.insn[0].len = 8;
	assert_false(relocate_valid(&bad, code));
	bad = good, bad.n = RELOCATE_MAX_INSNS + 1;
	assert_false(relocate_valid(&bad, code));
	bad = good, bad.insn[0].inside = 2;
	assert_false(relocate_valid(&bad, code));
	bad = good, bad.insn[0].op = RELOCATE_JCC, bad.insn[0].field = 16;
	assert_false(relocate_valid(&bad, code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_out_of_reach),
		cmocka_unit_test(test_damaged_recipes),
	};

	return cmocka_run_group_tests_name("relocate", tests, NULL, NULL);
}
