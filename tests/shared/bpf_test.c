/* The filter interpreter against the kernel's: thousands of random filters, each installed in a
 * child that then makes the calls, and run here on the same numbers. */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared/bpf.h"

#define FILTERS 600
#define CALLS 8
#define BODY 24
#define NUMBER SYS_getpriority /* what it would do does not matter: it is always answered by the filter */

static uint64_t state = 1;
static uint32_t next(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static uint32_t number(void)
{
	static const uint32_t some[] = { 0, 1, 2, 31, 32, 255, 4095, 0x7fffffff, 0x80000000, 0xffffffff };

	return next(2) ? some[next(10)] : next(1u << 31) * 2 + next(2);
}

static struct sock_filter alu(void)
{
	static const uint16_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR, BPF_LSH, BPF_RSH, BPF_XOR };
	uint16_t op = ops[next(9)], source = next(2) ? BPF_X : BPF_K;
	uint32_t k = op == BPF_LSH || op == BPF_RSH ? next(32) : number();

	if (source == BPF_X && (op == BPF_LSH || op == BPF_RSH))
		source = BPF_K; /* the kernel leaves open what a shift by 32 or more gives */
	return (struct sock_filter)BPF_STMT(BPF_ALU | op | source, op == BPF_DIV && !k ? 1 : k);
}

/* One that is not a return, `left` instructions before the end. */
static struct sock_filter any(unsigned left)
{
	static const uint16_t jumps[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };

	switch (next(9)) {
	case 0: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, next(16) * 4);
	case 1: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_IMM, number());
	case 2: return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, number());
	case 3: return (struct sock_filter)BPF_STMT((uint16_t)(next(2) ? BPF_ST : BPF_STX), 0);
	case 4: return (struct sock_filter)BPF_STMT((uint16_t)(next(2) ? BPF_LD : BPF_LDX) | BPF_MEM, 0);
	case 5: return (struct sock_filter)BPF_STMT(BPF_MISC | (next(2) ? BPF_TAX : BPF_TXA), 0);
	case 6: return (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | jumps[next(4)] | (next(2) ? BPF_X : BPF_K)),
						    number(), (uint8_t)next(left), (uint8_t)next(left));
	case 7: return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_NEG, 0);
	default: return alu();
	}
}

/* Lets all calls but one through; what it says to that is computed. */
static unsigned make(struct sock_filter *f)
{
	unsigned n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NUMBER, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ST, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0);
	for (unsigned i = 0; i < BODY; i++)
		f[n++] = any(BODY - i);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfff);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return n;
}

static void child(struct sock_filter *f, unsigned n, const uint64_t args[CALLS][6], int to)
{
	struct sock_fprog program = { (unsigned short)n, f };
	int said[CALLS];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
	for (int i = 0; i < CALLS; i++) {
		const uint64_t *a = args[i];

		said[i] = syscall(NUMBER, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
	}
	_exit(write(to, said, sizeof(said)) != sizeof(said));
}

/* The upper half of the address of the call is not known here: it is left to what the kernel
 * says. */
static uint32_t ours(const struct sock_filter *f, unsigned n, const uint64_t *args)
{
	struct seccomp_data data = { .nr = NUMBER, .arch = AUDIT_ARCH_X86_64 };

	memcpy(data.args, args, sizeof(data.args));
	return bpf_run(f, n, &data);
}

static bool reads_address(const struct sock_filter *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (f[i].code == (BPF_LD | BPF_W | BPF_ABS) && (f[i].k == 8 || f[i].k == 12))
			return true;
	return false;
}

static void test_kernel(void **context)
{
	struct sock_filter f[BODY + 16];
	uint64_t args[CALLS][6];
	unsigned compared = 0;

	for (int round = 0; round < FILTERS; round++) {
		unsigned n = make(f);
		int pipes[2], said[CALLS], status;
		pid_t pid;

		if (reads_address(f, n))
			continue;
		for (int i = 0; i < CALLS * 6; i++)
			args[i / 6][i % 6] = (uint64_t)number() << 32 | number();
		assert_int_equal(pipe(pipes), 0);
		pid = fork();
		if (!pid)
			child(f, n, args, pipes[1]);
		close(pipes[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status)) { /* a division by zero, in one of the calls */
			bool denied = false;

			for (int i = 0; i < CALLS; i++)
				denied |= !(ours(f, n, args[i]) & ~(SECCOMP_RET_KILL_PROCESS | SECCOMP_RET_DATA));
			assert_true(denied);
		} else {
			assert_int_equal(status, 0);
			assert_int_equal(read(pipes[0], said, sizeof(said)), sizeof(said));
			for (int i = 0; i < CALLS; i++)
				assert_int_equal(ours(f, n, args[i]), SECCOMP_RET_ERRNO | (unsigned)said[i]);
			compared++;
		}
		close(pipes[0]);
	}
	assert_true(compared > FILTERS / 4);
}

/* A filter that the kernel refuses is no permission. */
static void test_malformed(void **context)
{
	const struct seccomp_data data = { .nr = 1 };
	const struct sock_filter wrong[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),  BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS),
		BPF_STMT(BPF_ST, BPF_MEMWORDS),         BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 1), BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, 9), BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const struct sock_filter f[] = { wrong[i], BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

		assert_int_equal(bpf_run(f, 2, &data), SECCOMP_RET_KILL_PROCESS);
	}
	assert_int_equal(bpf_run(wrong, 0, &data), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
