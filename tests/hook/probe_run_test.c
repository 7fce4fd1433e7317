/* A probe at each instruction of some functions, run in this process. Ground truth is ptrace: a
 * child runs them a step at a time, and what its registers were before each instruction is what the
 * probe there must see, as often. Then a child is stepped through its own probes, with a signal
 * between any two instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/code.h"
#include "arch/probe_code.h"
#include "arch/trampoline.h"
#include "hook/probe.h"
#include "probe_subjects.h"
#include "shared/probe.h"

#define SPOTS 2000
#define STATUS_FLAGS 0x8d5u /* and the direction's, below */
#define DIRECTION 0x400u

struct seen { uint64_t n, hash; };

/* Memory that the children and we share. */
static struct {
	struct seen expected[SPOTS], probed[SPOTS];
	uint64_t results[SPOTS], result;
	volatile uint64_t signals, partial;
} *both;

static struct spot { uint64_t ip; const struct hook_probe *plan; } spots[SPOTS];
static size_t n_spots;
static uint64_t bias;

/* --- what was seen -------------------------------------------------------------------------- */

/* The program's vector registers are not to be touched. */
#define AS_AGENT __attribute__((target("general-regs-only"), no_sanitize("address", "undefined", "thread")))

AS_AGENT static void note(struct seen *s, const uint64_t regs[FETCH_REGS])
{
	uint64_t h = s->hash;

	for (unsigned i = 0; i < FETCH_REGS; i++) {
		h ^= i == FETCH_FLAGS_REG ? regs[i] & (STATUS_FLAGS | DIRECTION) : regs[i];
		h *= 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	s->hash = h;
	s->n++;
}

void agent_probe_hit(const struct probe_regs *regs, const struct probe_site *site);
extern const char agent_probe[];

AS_AGENT void agent_probe_hit(const struct probe_regs *regs, const struct probe_site *site)
{
	note(&both->probed[site->event], regs->at);
}

static void registers(const struct user_regs_struct *r, uint64_t out[FETCH_REGS])
{
	const uint64_t all[] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8,
				 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->eflags };

	memcpy(out, all, sizeof(all));
}

/* --- probes in ourselves -------------------------------------------------------------------- */

#define REGION 0x10000u

static uint8_t *region;

static void make_region(void)
{
	uintptr_t near = (uintptr_t)probe_subjects_run & ~(uintptr_t)0xfffff;

	for (unsigned i = 1; i < 1000 && !region; i++) {
		void *at = mmap((void *)(near - i * 0x100000), REGION, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		region = at == MAP_FAILED ? NULL : at;
	}
	assert_non_null(region);
}

static void put_bytes(uint64_t at, const uint8_t *bytes, size_t n)
{
	memcpy((void *)(uintptr_t)at, bytes, n);
}

/* The region: the agent's address, the site, the code. */
static void put_in(size_t i)
{
	const struct hook_probe *p = spots[i].plan;
	struct probe_site *site = (void *)(region + 64);
	uint64_t agent = (uint64_t)(uintptr_t)agent_probe, code = (uint64_t)(uintptr_t)region + 512;
	uint64_t patch = spots[i].ip - p->before;
	const struct probe_code c = { &p->lead, &p->rest, p->bytes, p->vaddr, spots[i].ip,
				      (uint64_t)(uintptr_t)region, (uint64_t)(uintptr_t)site, 0 };
	uint8_t jump[5], out[PROBE_CODE_MAX_BYTES];
	struct probe_code_steps steps;
	int n = probe_code_emit(&c, code, out, &steps);

	assert_true(n > 0);
	memcpy(region, &agent, 8);
	*site = (struct probe_site){ .magic = PROBE_MAGIC, .ip = spots[i].ip, .event = (uint32_t)i };
	put_bytes(code, out, (size_t)n);
	assert_memory_equal((void *)(uintptr_t)patch, p->bytes, p->len);
	assert_int_equal(code_jump(patch, code, jump), 0);
	if (p->kind == HOOK_SHORT) {
		uint64_t island = patch + (uint64_t)(int64_t)p->island;
		const uint8_t hop[2] = { 0xeb, (uint8_t)(p->island - 2) };

		assert_int_equal(code_jump(island, code, jump), 0);
		put_bytes(island, jump, 5);
		put_bytes(patch, hop, 2);
	} else {
		put_bytes(patch, jump, 5);
	}
}

static void take_out(size_t i)
{
	const struct hook_probe *p = spots[i].plan;
	uint64_t patch = spots[i].ip - p->before;

	put_bytes(patch, p->bytes, p->patch_len);
	if (p->kind == HOOK_SHORT)
		put_bytes(patch + (uint64_t)(int64_t)p->island, p->island_bytes, 5);
}

static void make_writable(void)
{
	uintptr_t from = (uintptr_t)spots[0].ip, to = from;

	for (size_t i = 0; i < n_spots; i++) {
		from = spots[i].ip < from ? (uintptr_t)spots[i].ip : from;
		to = spots[i].ip > to ? (uintptr_t)spots[i].ip : to;
	}
	from = (from - 4096) & ~(uintptr_t)4095;
	assert_int_equal(mprotect((void *)from, to + 8192 - from, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
}

static void find_spots(struct hook_prober *p, const char *name)
{
	const struct sym_module *m = hook_prober_module(p);

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const char *s = sym_name(m, f);

		if (!s || strcmp(s, name) != 0)
			continue;
		for (uint64_t at = f->vaddr; at < f->vaddr + f->size; at++) {
			const struct hook_probe *plan = hook_probe_plan(p, at);

			if (plan->kind == HOOK_NONE)
				continue;
			assert_true(n_spots < SPOTS);
			spots[n_spots++] = (struct spot){ at, plan };
		}
	}
}

/* --- the children: all run the subjects by the same calls, from the same depth -------------- */

/* On the same stack and with the same registers each time, whatever came before. */
uint64_t run_from_zero(void);
__asm__(".local own_stack\n.comm own_stack, 65536, 64\n"
	".text\n.type run_from_zero, @function\nrun_from_zero:\n"
	".cfi_startproc; .cfi_offset %rbx, -16; .cfi_offset %rbp, -24; .cfi_offset %r12, -32\n"
	".cfi_offset %r13, -40; .cfi_offset %r14, -48; .cfi_offset %r15, -56\n"
	".cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 56\n" /* CFA = *rsp + 56: so it is at the call */
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, %rax; lea own_stack+65536(%rip), %rsp; push %rax; push %rax\n"
	"mov $2, %ebx; mov $3, %ecx; mov $4, %edx; mov $5, %esi; mov $6, %edi; mov $7, %ebp; mov $8, %r8d\n"
	"mov $9, %r9d; mov $10, %r10d; mov $11, %r11d; mov $12, %r12d; mov $13, %r13d; mov $14, %r14d; mov $15, %r15d\n"
	"xor %eax, %eax; call probe_subjects_run\n"
	"pop %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	".cfi_endproc\n.size run_from_zero, .-run_from_zero\n");

__attribute__((noinline)) static uint64_t run_one(size_t i, bool stop)
{
	uint64_t result;

	if (i < SPOTS)
		put_in(i);
	if (stop)
		raise(SIGSTOP);
	result = run_from_zero();
	if (stop)
		syscall(SYS_getppid); /* the end */
	if (i < SPOTS)
		take_out(i);
	return result;
}

static pid_t start(void (*child)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	child();
	_exit(0);
}

static void child_stepped(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	both->result = run_one(SPOTS, true);
}

static void child_probed(void)
{
	make_writable();
	for (size_t i = 0; i < n_spots; i++)
		both->results[i] = run_one(i, false);
}

static size_t spot_at(uint64_t ip)
{
	for (size_t i = 0; i < n_spots; i++)
		if (spots[i].ip == ip)
			return i;
	return SPOTS;
}

static bool at_the_end(const struct user_regs_struct *r)
{
	return r->rax == SYS_getppid && ptrace(PTRACE_PEEKTEXT, 0, 0, 0) != 0;
}

/* Every instruction, up to the system call at the end. */
static void step_all(pid_t pid)
{
	struct user_regs_struct r;
	uint64_t regs[FETCH_REGS], last = 0;
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	for (;;) {
		size_t i;

		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			return;
		assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &r), 0);
		i = spot_at(r.rip);
		registers(&r, regs);
		/* a repeated string instruction stops at each round, a probe sees its begin */
		if (i < SPOTS && r.rip != last)
			note(&both->expected[i], regs);
		last = r.rip;
		if (r.orig_rax == (unsigned long long)SYS_getppid || (r.rax == SYS_getppid && at_the_end(&r)))
			break;
	}
	ptrace(PTRACE_CONT, pid, 0, 0);
}

static void test_every_instruction(void **state)
{
	unsigned bad = 0;
	uint64_t hits = 0;
	int status;
	pid_t pid = start(child_stepped);

	step_all(pid);
	waitpid(pid, &status, 0);
	pid = start(child_probed);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("the program died of signal %d", WTERMSIG(status));
	for (size_t i = 0; i < n_spots; i++) {
		const struct seen *a = &both->expected[i], *b = &both->probed[i];

		hits += b->n;
		if (a->n == b->n && a->hash == b->hash && both->results[i] == both->result)
			continue;
		if (bad++ < 10)
			print_error("%#llx: %llu steps, %llu hits, registers %s, result %s\n",
				    (unsigned long long)spots[i].ip, (unsigned long long)a->n, (unsigned long long)b->n,
				    a->hash == b->hash ? "equal" : "differ", both->results[i] == both->result ? "equal" : "differs");
	}
	printf("%zu instructions probed, %llu hits\n", n_spots, (unsigned long long)hits);
	assert_int_equal(bad, 0);
	assert_true(hits > n_spots);
}

/* --- signals -------------------------------------------------------------------------------- */

static void *outermost;

__attribute__((noinline)) static void on_signal(int signal)
{
	void *at[64];
	int n = backtrace(at, 64);

	both->partial += at[n - 1] != outermost;
	both->signals++;
	__asm__ volatile("int3"); /* from here on it is stepped again */
}

#define SIGNALS_AT 7 /* of so many instructions one */

static size_t signalled;

static void child_signalled(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	void *at[64];

	outermost = at[backtrace(at, 64) - 1];
	sigaction(SIGUSR1, &act, NULL);
	make_writable();
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	both->results[signalled] = run_one(signalled, true);
}

static bool in_agent(uint64_t rip)
{
	return rip - (uint64_t)(uintptr_t)agent_probe < 200;
}

static void step(pid_t pid, enum __ptrace_request how, int signal, struct user_regs_struct *r)
{
	int status;

	assert_int_equal(ptrace(how, pid, 0, signal), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		fail_msg("the program got %#x at %#llx, agent %p, region %p", status, (unsigned long long)r->rip, (void *)agent_probe, (void *)region);
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, r), 0);
}

/* And back to what it interrupted. */
static void run_handler(pid_t pid, struct user_regs_struct *r)
{
	const struct user_regs_struct before = *r;

	step(pid, PTRACE_CONT, SIGUSR1, r);
	while (r->rip != before.rip || r->rsp != before.rsp)
		step(pid, PTRACE_SINGLESTEP, 0, r);
}

/* A signal at every instruction of the trampoline and the agent. */
static unsigned step_signalled(pid_t pid)
{
	struct user_regs_struct r;
	unsigned sent = 0;
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (;;) {
		step(pid, PTRACE_SINGLESTEP, 0, &r);
		if (r.rax == SYS_getppid && r.rip - (uint64_t)(uintptr_t)region >= REGION)
			break;
		if (!in_agent(r.rip) && r.rip - (uint64_t)(uintptr_t)region >= REGION)
			continue;
		run_handler(pid, &r);
		sent++;
	}
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return sent;
}

static void test_signals(void **state)
{
	unsigned sent = 0, rounds = 0;

	for (signalled = 0; signalled < n_spots && rounds < 12; signalled++) {
		uint64_t n = both->probed[signalled].n;

		if (signalled % SIGNALS_AT || !n || n > 3)
			continue;
		both->probed[signalled] = (struct seen){ 0 };
		both->results[signalled] = 0;
		sent += step_signalled(start(child_signalled));
		rounds++;
		assert_int_equal(both->probed[signalled].n, n);
		assert_int_equal(both->results[signalled], both->result);
	}
	printf("%u signals, %llu handlers saw %llu whole stacks\n", sent, (unsigned long long)both->signals,
	       (unsigned long long)(both->signals - both->partial));
	assert_true(sent > 100);
	assert_int_equal(both->signals, sent);
	assert_true(both->partial < sent / 3); /* those in the trampoline, of which unwinders know nothing */
}

/* The distance by which this program was moved. */
static uint64_t own_bias(const struct sym_module *m)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		if (name && strcmp(name, "probe_subjects_run") == 0)
			return (uint64_t)(uintptr_t)probe_subjects_run - m->functions.at[i].vaddr;
	}
	fail_msg("no symbols");
	return 0;
}

static struct hook_prober *prober;

static int teardown(void **state)
{
	hook_prober_close(prober);
	return 0;
}

static int setup(void **state)
{
	struct err err;

	both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(hook_prober_open("/proc/self/exe", &prober, &err), 0);
	for (size_t i = 0; probe_subjects[i]; i++)
		find_spots(prober, probe_subjects[i]);
	bias = own_bias(hook_prober_module(prober));
	for (size_t i = 0; i < n_spots; i++)
		spots[i].ip += bias;
	make_region();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_instruction), cmocka_unit_test(test_signals) };

	return cmocka_run_group_tests_name("hook_probe_run", tests, setup, teardown);
}
