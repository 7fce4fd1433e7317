/* Relocated instructions do what the originals do: both are executed from the same random
 * registers, flags and memory, and what they leave is compared. The instructions are the
 * beginnings of all functions of real programs, and some made for each kind of relocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/insn.h"
#include "arch/relocate.h"
#include "machine.h"
#include "sym/module.h"

#define BIAS UINT64_C(0x100200000000) /* also free under AddressSanitizer */
#define WINDOW 5
#define STATES 3

/* Code at its place, and room for its copy. */
struct stage {
	uint64_t base;             /* runtime address of vaddr 0 */
	uint8_t *copy[3];          /* near, far below, far above */
	unsigned long run, refused;
};

/* The other memory that code may touch: the surroundings of its rip-relative operands. */
struct touched { uint8_t *at; uint8_t before[64], after[64]; };

static bool in_range(uint64_t at, uint64_t from, uint64_t n)
{
	return at - from < n;
}

/* Faults are at an instruction of the one or of the other copy. */
static uint64_t place(uint64_t rip, uint64_t from, uint64_t n)
{
	return in_range(rip, from, n) ? 1 : rip;
}

/* Memory before both runs, and after the first. */
static uint8_t stack0[MACHINE_MEMORY], data0[MACHINE_MEMORY], stack1[MACHINE_MEMORY],
	data1[MACHINE_MEMORY];

/* An indirect call that faults itself has not pushed yet; its copy has: the one difference. */
static void forgive_push(const struct relocate_recipe *r, const struct machine_state *a,
			 struct machine_state *b)
{
	bool call = r->n && r->insn[r->n - 1].op == RELOCATE_CALL_IND;

	if (call && a->signal == SIGSEGV && b->signal == SIGSEGV && b->gpr[4] == a->gpr[4] - 8 &&
	    a->rip != b->rip) {
		b->gpr[4] += 8;
		memcpy(machine_stack() + (b->gpr[4] - 8 - (uint64_t)machine_stack()),
		       stack1 + (b->gpr[4] - 8 - (uint64_t)machine_stack()), 8);
	}
}

static bool same(const struct machine_state *a, uint64_t a_from, uint64_t a_n,
		 const struct machine_state *b, uint64_t b_from, uint64_t b_n)
{
	return a->signal == b->signal && a->flags == b->flags && a->mxcsr == b->mxcsr &&
	       a->fault == b->fault && memcmp(a->gpr, b->gpr, sizeof(a->gpr)) == 0 &&
	       memcmp(a->xmm, b->xmm, sizeof(a->xmm)) == 0 &&
	       (a->signal == SIGTRAP ? a->rip == b->rip
				     : place(a->rip, a_from, a_n) == place(b->rip, b_from, b_n));
}

static void report(const uint8_t *code, size_t n, const struct machine_state *a,
		   const struct machine_state *b)
{
	fprintf(stderr, "differs:");
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, " %02x", code[i]);
	fprintf(stderr, "\n signal %d %d rip %lx %lx flags %lx %lx fault %lx %lx\n", a->signal,
		b->signal, a->rip, b->rip, a->flags, b->flags, a->fault, b->fault);
	for (int i = 0; i < 16; i++)
		if (a->gpr[i] != b->gpr[i])
			fprintf(stderr, " r%d %lx %lx\n", i, a->gpr[i], b->gpr[i]);
}

static void save(uint8_t *stack, uint8_t *data)
{
	memcpy(stack, machine_stack(), MACHINE_MEMORY);
	memcpy(data, machine_data(), MACHINE_MEMORY);
}

static void restore(void)
{
	memcpy(machine_stack(), stack0, MACHINE_MEMORY);
	memcpy(machine_data(), data0, MACHINE_MEMORY);
}

static size_t find_touched(const struct stage *g, const struct relocate_recipe *r,
			   struct touched *t)
{
	size_t n = 0;

	for (unsigned i = 0; i < r->n; i++)
		if (r->insn[i].op == RELOCATE_RIP)
			t[n++].at = (uint8_t *)(g->base + (uint64_t)r->insn[i].target);
	return n;
}

/* Runs code, which stands at vaddr, in place and moved. While the copy runs, the bytes a jump
 * would overwrite are gone. */
static bool run_both(struct stage *g, const struct relocate_recipe *r, uint64_t vaddr, uint8_t *to)
{
	uint8_t *from = (uint8_t *)(g->base + vaddr), code[64];
	struct machine_state a, b;
	struct touched t[RELOCATE_MAX_INSNS];
	size_t n_t = find_touched(g, r, t);
	bool ok;
	int n;

	memcpy(code, from, r->len);
	n = relocate_emit(r, code, vaddr, (uint64_t)from, (uint64_t)to, to);
	if (n < 0 || n > RELOCATE_MAX_BYTES)
		return false;
	machine_randomize(&a);
	a.rip = (uint64_t)from;
	b = a;
	b.rip = (uint64_t)to;
	save(stack0, data0);
	for (size_t i = 0; i < n_t; i++)
		memcpy(t[i].before, t[i].at, 64);
	machine_run(&a);
	save(stack1, data1);
	restore();
	for (size_t i = 0; i < n_t; i++) {
		memcpy(t[i].after, t[i].at, 64);
		memcpy(t[i].at, t[i].before, 64);
	}
	memset(from, 0xcc, r->len < WINDOW ? r->len : WINDOW);
	machine_run(&b);
	memcpy(from, code, r->len);
	forgive_push(r, &a, &b);
	ok = same(&a, (uint64_t)from, r->len, &b, (uint64_t)to, (uint64_t)n) &&
	     memcmp(machine_stack(), stack1, MACHINE_MEMORY) == 0 &&
	     memcmp(machine_data(), data1, MACHINE_MEMORY) == 0;
	for (size_t i = 0; i < n_t; i++) {
		ok &= memcmp(t[i].at, t[i].after, 64) == 0;
		memcpy(t[i].at, t[i].before, 64);
	}
	if (!ok)
		report(code, r->len, &a, &b);
	return ok;
}

/* Instructions that cannot run twice with the same result, or would do harm here. */
static bool harmless(const uint8_t *code, const struct relocate_recipe *r, uint64_t vaddr)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < r->n; at += r->insn[i].len, i++) {
		const struct relocate_insn *k = &r->insn[i];
		struct insn in;

		if (!insn_decode(code + at, r->len + 15 - at, vaddr + at, &in))
			return false;
		if (in.map == MAP_0F &&
		    (in.opcode <= 0x0b || in.opcode == 0x31 || in.opcode == 0x34 ||
		     in.opcode == 0xa2 || in.opcode == 0xae || in.opcode == 0xc7))
			return in.opcode ==
			       0x0b; /* syscall, rdtsc, cpuid, rdrand, fs and gs bases */
		if (in.map == MAP_ONE && (in.opcode == 0xcd || in.opcode == 0x8e ||
					  (in.opcode == 0xd9 && (in.modrm >> 3 & 7) == 6)))
			return false; /* int, segments; fnstenv stores the address of the last x87
					 instruction */
		if ((in.prefixes & PREFIX_SEGMENT) && in.opcode != 0x8b && in.opcode != 0x33)
			return false; /* our own thread's memory */
		if (k->op != RELOCATE_COPY && k->op != RELOCATE_RIP && (uint64_t)k->target == vaddr)
			return false; /* a loop through the entry, which the copy leaves */
	}
	return true;
}

static bool run_window(struct stage *g, const uint8_t *file, size_t n, uint64_t vaddr)
{
	struct relocate_recipe r;
	size_t column;
	uint8_t *place = (uint8_t *)(g->base + vaddr);
	bool ok = true;

	if (relocate_scan(file, n, vaddr, WINDOW, &r, &column) < 0 || !harmless(file, &r, vaddr)) {
		g->refused++;
		return true;
	}
	memcpy(place, file, r.len);
	for (unsigned i = 0; i < STATES && ok; i++)
		ok = run_both(g, &r, vaddr, g->copy[i % 3]);
	memset(place, 0xcc, r.len);
	g->run++;
	return ok;
}

static uint8_t *map_at(uint64_t at, uint64_t n)
{
	void *p = mmap((void *)at, n, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	return p;
}

/* Data as in the file; where code was, only int3. */
static void set_stage(struct stage *g, const struct sym_module *m)
{
	uint64_t end = 0;

	for (size_t i = 0; i < m->segments.n; i++)
		if (m->segments.at[i].vaddr + m->segments.at[i].size > end)
			end = m->segments.at[i].vaddr + m->segments.at[i].size;
	end = (end + 0x1ffff) & ~UINT64_C(0xffff);
	g->base = BIAS;
	map_at(BIAS, end);
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct sym_segment *s = &m->segments.at[i];

		if (s->exec)
			memset((void *)(BIAS + s->vaddr), 0xcc, s->size);
		else if (s->filesz)
			memcpy((void *)(BIAS + s->vaddr), sym_bytes(m, s->vaddr, s->filesz),
			       s->filesz);
	}
	g->copy[0] = map_at(BIAS + end, 4096);
	g->copy[1] = map_at(BIAS - 0x60000000, 4096);
	g->copy[2] = map_at(BIAS + 0x70000000, 4096) + 3;
}

/* In a child: code that goes wrong must not take the tests with it. */
static int in_child(int (*run)(const void *), const void *arg)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int r;

		alarm(300);
		machine_init();
		r = run(arg);
		fflush(stdout);
		_exit(r);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fprintf(stderr, "the child died of signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_file(const void *path)
{
	struct stage g = { 0 };
	struct sym_module *m;
	struct err err;
	unsigned bad = 0;

	if (sym_open(path, &m, &err) < 0)
		return 2;
	set_stage(&g, m);
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const uint8_t *code = sym_bytes(m, f->vaddr, f->size + 32);

		if (code && bad < 10)
			bad += !run_window(&g, code, f->size, f->vaddr);
	}
	printf("%s: %lu windows executed, %lu not\n", (const char *)path, g.run, g.refused);
	return bad || g.run < 20 * g.refused ? 1 : 0;
}

static void test_real_windows(void **state)
{
	static const char *const files[] = {
		"/usr/bin/python3", "/usr/bin/git", "/usr/bin/perl", "/usr/bin/bash",
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libm.so.6",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_int_equal(in_child(run_file, files[i]), 0);
}

/* --- made by hand ---------------------------------------------------------------- */

/* At vaddr 0x1000 of a stage; targets +-0x40 and 0x5000 (data) are within it. */
static const struct { const char *what; size_t n; const char *bytes; } cases[] = {
	{ "jmp rel8", 5, "\xeb\x40\x90\x90\x90" },
	{ "jmp rel32", 5, "\xe9\x00\x10\x00\x00" },
	{ "je rel8, taken or not", 5, "\x74\x40\x48\x89\xc3" },
	{ "jle rel32", 6, "\x0f\x8e\x00\x10\x00\x00" },
	{ "jo jno js jp", 8, "\x70\x40\x71\x3e\x78\x3c\x7a\x3a" },
	{ "loop", 5, "\xe2\x40\x48\x01\xc8" },
	{ "loopne, prefixed loope", 5, "\xe0\x40\x67\xe1\x3d" },
	{ "jrcxz", 5, "\xe3\x40\x48\xff\xc0" },
	{ "jecxz", 6, "\x67\xe3\x40\x48\xff\xc0" },
	{ "call rel32", 5, "\xe8\x00\x10\x00\x00" },
	{ "push, call rel32", 6, "\x50\xe8\x00\x10\x00\x00" },
	{ "call *%rax behind mov", 5, "\x48\x89\xd8\xff\xd0" },
	{ "call *%r11, rex", 6, "\x48\x89\xd8\x41\xff\xd3" },
	{ "call *(%rbx)", 5, "\x48\x89\xd8\xff\x13" },
	{ "call *0x10(%r12)", 8, "\x48\x89\xd8\x41\xff\x54\x24\x10" },
	{ "call *8(%rax,%rbx,8)", 7, "\x48\x31\xdb\xff\x54\xd8\x08" },
	{ "call *slot(%rip)", 6, "\xff\x15\xfa\x3f\x00\x00" },
	{ "notrack call *%rax", 6, "\x48\x89\xd8\x3e\xff\xd0" },
	{ "mov slot(%rip), %rax", 7, "\x48\x8b\x05\xf9\x3f\x00\x00" },
	{ "lea slot(%rip), %r9", 7, "\x4c\x8d\x0d\xf9\x3f\x00\x00" },
	{ "cmpl $imm8, slot(%rip)", 7, "\x83\x3d\xf9\x3f\x00\x00\x05" },
	{ "movl $imm32, slot(%rip)", 10, "\xc7\x05\xf6\x3f\x00\x00\x78\x56\x34\x12" },
	{ "addsd slot(%rip), %xmm1", 8, "\xf2\x0f\x58\x0d\xf8\x3f\x00\x00" },
	{ "vmovdqu slot(%rip), %xmm3", 8, "\xc5\xfa\x6f\x1d\xf8\x3f\x00\x00" },
	{ "pshufd $imm, slot(%rip), %xmm1", 9, "\x66\x0f\x70\x0d\xf7\x3f\x00\x00\x1b" },
	{ "lock incl slot(%rip)", 7, "\xf0\xff\x05\xf9\x3f\x00\x00" },
	{ "push slot(%rip)", 6, "\xff\x35\xfa\x3f\x00\x00" },
	{ "jmp *slot(%rip)", 6, "\xff\x25\xfa\x3f\x00\x00" },
	{ "jmp *%rcx", 5, "\x48\x89\xc8\xff\xe1" },
	{ "ret", 5, "\x48\x89\xc8\xc3\x90" },
	{ "ret $16", 6, "\x48\x89\xc8\xc2\x10\x00" },
	{ "ud2", 5, "\x48\x89\xc8\x0f\x0b" },
	{ "div, which may fault", 5, "\x31\xd2\x48\xf7\xf1" },
	{ "endbr64, push", 5, "\xf3\x0f\x1e\xfa\x55" },
	{ "je over one instruction of the window", 5, "\x74\x01\x50\x48\x99" },
	{ "jmp over one byte of the window", 5, "\xeb\x01\x90\x89\xc8" },
	{ "jne behind the window", 6, "\x75\x04\x48\x89\xc8\x90" },
	{ "add, adc, setc", 9, "\x48\x01\xd8\x48\x11\xca\x0f\x92\xc1" },
	{ "push %rsp, pop", 5, "\x54\x5b\x48\x29\xe3" },
	{ "rep stosb", 5, "\xb1\x20\xf3\xaa\x90" },
	{ "std, cld", 5, "\xfd\xa4\xfc\x90\x90" },
	{ "fld, fstp", 6, "\xdd\x03\xdd\x5b\x08\x90" },
	{ "pushfq, popfq", 5, "\x9c\x58\x50\x9d\x90" },
};

static int run_cases(const void *arg)
{
	static const struct sym_segment segments[] = {
		{ .vaddr = 0, .size = 0x5000, .exec = true },
		{ .vaddr = 0x5000, .size = 0x3000, .write = true },
	};
	struct sym_module m = { .segments = { (struct sym_segment *)segments, 2, 2 } };
	struct stage g = { 0 };
	uint8_t code[64];
	unsigned bad = 0;

	set_stage(&g, &m);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(code, 0x90, sizeof(code));
		memcpy(code, cases[i].bytes, cases[i].n);
		for (unsigned k = 0; k < 100; k++) {
			if (run_window(&g, code, sizeof(code) - 32, 0x1000))
				continue;
			fprintf(stderr, "%s\n", cases[i].what);
			bad++;
			break;
		}
	}
	if (g.refused)
		fprintf(stderr, "%lu refused\n", g.refused);
	return bad || g.refused ? 1 : 0;
}

static void test_made_by_hand(void **state)
{
	assert_int_equal(in_child(run_cases, NULL), 0);
}

/* The comparison notices a wrong copy: one with another displacement, one with a flag lost. */
static int run_wrong(const void *arg)
{
	static const struct sym_segment segment = { .vaddr = 0, .size = 0x8000, .exec = true };
	static const uint8_t code[32] =
		"\x48\x8d\x05\xf9\x3f\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90\x90";
	struct sym_module m = { .segments = { (struct sym_segment *)&segment, 1, 1 } };
	struct stage g = { 0 };
	struct relocate_recipe r;
	size_t column;

	set_stage(&g, &m);
	memcpy((void *)(g.base + 0x1000), code, sizeof(code));
	if (relocate_scan(code, sizeof(code), 0x1000, WINDOW, &r, &column) < 0)
		return 2;
	r.insn[0].target++;
	if (!freopen("/dev/null", "w", stderr))
		return 2;
	return run_both(&g, &r, 0x1000, g.copy[0]) ? 1 : 0;
}

static void test_comparison_notices(void **state)
{
	assert_int_equal(in_child(run_wrong, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_by_hand),
		cmocka_unit_test(test_comparison_notices),
		cmocka_unit_test(test_real_windows),
	};

	return cmocka_run_group_tests_name("relocate_run", tests, NULL, NULL);
}
