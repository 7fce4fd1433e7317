/* SPDX-License-Identifier: MIT */
/* Seccomp filters that a program installs would kill it for the agent's system calls. So
 * libc_calls.c brings each such call here first, on the calling thread: the filter is run over
 * every call that the agent makes, and abilities that it takes away are given up, in this process
 * and in programs that it executes. If signals cannot be blocked any more, recording ends with a
 * note. */
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/lock_points.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/sys.h"
#include "agent/unblocked.h"
#include "arch/elf.h"
#include "arch/old_calls.h"
#include "arch/page.h"
#include "shared/tasks.h"

#define P UINT64_C(0x7ffff0000000) /* some pointer: filters cannot look where it leads */
#define STUB_BYTES (SITE_BLOCK_BYTES - SITE_RETURNS_BYTES)
#define MINUS(n) ((uint64_t)-(int64_t)(n))
#define EFAULT 14
/* Ticks, some seconds: longer than a thread waits for a sub-buffer without looking. */
#define PATIENCE 10000000000

/* Every call of the agent's, with arguments as it makes them, and the abilities that end without
 * it. A new system call in src/agent belongs in this table, or in TASK_CALLS; one that is made
 * while signals are not blocked goes by unblocked.h. */
static const struct { uint32_t number, needs; uint64_t args[6]; } needed[] = {
	{ __NR_rt_sigprocmask, NEED_SIGNALS | NEED_START, { 2, P, P, 8 } },
	{ __NR_rt_sigprocmask, NEED_SIGNALS | NEED_START, { 2, P, 0, 8 } },
	{ __NR_getpid, NEED_THREADS | NEED_COPY | NEED_START, { 0 } },
	{ __NR_gettid, NEED_THREADS | NEED_START, { 0 } },
	{ __NR_prctl, NEED_THREADS | NEED_START, { PR_GET_NAME, P } },
	{ __NR_futex, NEED_FUTEX, { P, 0, 1, P } },
	{ __NR_futex, NEED_FUTEX, { P, 1, 1, 0 } },
	{ __NR_mprotect, NEED_STUBS | NEED_START, { P, SITE_BLOCK_BYTES, 3 } },
	{ __NR_mprotect, NEED_STUBS | NEED_START, { P, STUB_BYTES, 5 } },
	{ __NR_sched_yield, NEED_YIELD, { 0 } },
	{ __NR_getcpu, NEED_CPU, { P, 0, 0 } },
	{ __NR_mmap, NEED_STACKS, { 0, AGENT_STACK_BYTES, 3, 0x4022, MINUS(1), 0 } },
	{ __NR_mmap, NEED_STACKS, { 0, sizeof(struct lock_table), 3, 0x22, MINUS(1), 0 } },
	{ __NR_tgkill, NEED_STACKS, { 1, 1, 0 } },
	{ __NR_prctl, NEED_COPY, { PR_GET_SECCOMP } },
	{ __NR_process_vm_readv, NEED_COPY, { 1, P, 1, P, 1, 0 } },
	{ __NR_madvise, NEED_PAGES, { P, MEMORY_BUFFER_BYTES, MADV_POPULATE_WRITE } },
	{ __NR_openat, NEED_EXEC | NEED_START, { MINUS(100), P, 02000000 } },
	{ __NR_faccessat, NEED_EXEC, { MINUS(100), P, 1 } },
	{ __NR_openat, NEED_LOCKS | NEED_TEXTS, { MINUS(100), P, 02000000 } },
	{ __NR_read, NEED_LOCKS | NEED_TEXTS, { 3, P, 1024 } },
	{ __NR_close, NEED_LOCKS | NEED_TEXTS, { 3 } },
	{ __NR_mlock, NEED_LOCKS, { P, ARCH_PAGE } },
	{ __NR_mlockall, NEED_LOCKS, { 5 } },
	{ __NR_mlockall, NEED_LOCKS, { 2 } },
	{ OLD_CALL_ACCESS, NEED_EXEC | NEED_START, { OLD_CALL_ACCESS_ARGS(P, 4) } },
	{ __NR_pread64, NEED_EXEC | NEED_START, { 3, P, 1024, 0 } },
	{ OLD_CALL_READLINK, NEED_EXEC, { OLD_CALL_READLINK_ARGS(P, P, 255) } },
	{ __NR_fstat, NEED_EXEC, { 3, P } },
	{ OLD_CALL_STAT, NEED_EXEC | NEED_START, { OLD_CALL_STAT_ARGS(P, P) } },
	{ __NR_fgetxattr, NEED_EXEC, { 3, P, 0, 0 } },
	{ __NR_getuid, NEED_EXEC, { 0 } },
	{ __NR_getgid, NEED_EXEC, { 0 } },
	{ __NR_geteuid, NEED_EXEC | NEED_START, { 0 } },
	{ __NR_getegid, NEED_EXEC, { 0 } },
	{ __NR_prctl, NEED_EXEC, { PR_GET_NO_NEW_PRIVS } },
	{ __NR_close, NEED_EXEC | NEED_START, { 3 } },
	{ __NR_socket, NEED_START, { 1, 5 | 02000000, 0 } },
	{ __NR_connect, NEED_START, { 3, P, 50 } },
	{ __NR_getsockopt, NEED_START, { 3, 1, 17, P, P } },
	{ __NR_sendto, NEED_START, { 3, P, 64, 0x4000 } },
	{ __NR_recvmsg, NEED_START, { 3, P, 0x40000000 } },
	{ __NR_mmap, NEED_START, { 0, ARCH_PAGE, 3, 1, 4, 0 } },
	{ __NR_mmap, NEED_START, { P, ARCH_PAGE, 3, 0x100022, MINUS(1), 0 } },
	{ __NR_mmap, NEED_START, { P, ARCH_PAGE, 5, 0x100002, 4, ARCH_PAGE } },
	{ __NR_prlimit64, NEED_START, { 0, 9, 0, P } },
	{ __NR_munmap, NEED_START, { P, ARCH_PAGE } },
#define TASK_CALL(name, ...) { __NR_##name, NEED_TASKS, { __VA_ARGS__ } },
	TASK_CALLS(TASK_CALL, P)
#undef TASK_CALL
	{ __NR_getresuid, NEED_USER, { P, P, P } },
	{ OLD_CALL_STAT, NEED_USER, { OLD_CALL_STAT_ARGS(P, P) } },
	{ __NR_mmap, NEED_USER, { P, ARCH_PAGE, 3, 0x4032, MINUS(1), 0 } },
	{ __NR_rt_sigaction, NEED_HANDLERS, { 10, 0, P, 8 } },
	{ __NR_madvise, NEED_START | NEED_CHANGE, { P, ARCH_PAGE, 18 } },
	{ __NR_getpid, NEED_CHANGE | NEED_LEAVE, { 0 } },
	{ __NR_socketpair, NEED_CHANGE, { 1, 5 | 02000000, 0, P } },
	{ __NR_recvmsg, NEED_CHANGE, { 3, P, 0x40000000 } },
	{ __NR_mmap, NEED_CHANGE, { P, ARCH_PAGE, 3, 0x100022, MINUS(1), 0 } },
	{ __NR_mmap, NEED_CHANGE, { P, ARCH_PAGE, 5, 0x100002, 4, ARCH_PAGE } },
	{ __NR_close, NEED_CHANGE, { 3 } },
	{ __NR_munmap, NEED_CHANGE | NEED_LEAVE, { P, ARCH_PAGE } },
	{ __NR_madvise, NEED_CHANGE | NEED_LEAVE, { P, ARCH_PAGE, MADV_DONTNEED } },
};

uint32_t seccomp_forbids(const struct sock_filter *program, uint32_t n, uint32_t *first)
{
	uint32_t forbidden = 0;

	for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		struct seccomp_data data = {
			.nr = needed[i].number, .arch = ELF_AUDIT_ARCH, .instruction_pointer = P,
		};

		for (int a = 0; a < 6; a++)
			data.args[a] = needed[i].args[a];
		if (bpf_allows(bpf_run(program, n, &data)))
			continue;
		if (needed[i].needs & ~forbidden & NEED_SIGNALS)
			*first = needed[i].number;
		forbidden |= needed[i].needs;
	}
	return forbidden;
}

/* True if the program's memory can be read. A pointer may lead nowhere, so the kernel copies it,
 * into a place that nobody reads. */
bool seccomp_can_read(uint64_t at, uint64_t bytes)
{
	static uint8_t nowhere[BPF_MAXINSNS * sizeof(struct sock_filter)];
	const struct {
		void *at;
		uint64_t bytes;
	} to = { nowhere, bytes }, from = { (void *)at, bytes };
	long got;

	if (!unblocked_begin(NEED_COPY))
		return at != 0;
	got = sys6(__NR_process_vm_readv, sys0(__NR_getpid), (long)&to, 1, (long)&from, 1, 0);
	unblocked_end();
	return got != -EFAULT;
}

static uint64_t mode_of(const struct call_registers *r)
{
	if (r->number == __NR_prctl)
		return r->arg1;
	if (r->arg0 == SECCOMP_SET_MODE_STRICT && (r->arg1 || r->arg2))
		/* Libseccomp asks in this way whether the call exists. */
		return SECCOMP_MODE_DISABLED;
	return r->arg0 + 1; /* SECCOMP_MODE_* are SECCOMP_SET_MODE_* and one */
}

/* True if the process has a filter; strict mode is then refused by the kernel. */
static bool has_filter(void)
{
	return agent_forbids(NEED_COPY) ||
	       sys5(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_DISABLED;
}

/* Replaces strict mode by a filter: strict mode would also forbid the time stamp counter, which
 * trampolines and stubs read. A filter that allows the same four calls does not, and the program
 * cannot tell the difference while it lives. */
static void ask_for_strict(struct call_plan *p)
{
	static const struct sock_filter four[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ELF_AUDIT_ARCH, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, __NR_write, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
	};
	static struct sock_fprog program;

	program.len = sizeof(four) / sizeof(*four);
	program.filter = (struct sock_filter *)four;
	sys5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	p->number = __NR_seccomp;
	p->arg0 = SECCOMP_SET_MODE_FILTER;
	p->arg1 = 0;
	p->arg2 = (uint64_t)&program;
}

/* Returns the needs that the process is about to forbid itself; 0 also for a call that the kernel
 * will refuse. */
static uint32_t about_to_forbid(uint64_t mode, uint64_t program, uint32_t *first)
{
	const struct sock_fprog *f = (const struct sock_fprog *)program;

	*first = __NR_rt_sigprocmask;
	if (mode == SECCOMP_MODE_STRICT && has_filter())
		return 0;
	if (mode == SECCOMP_MODE_STRICT)
		return NEED_ALL;
	if (mode != SECCOMP_MODE_FILTER || !seccomp_can_read((uint64_t)f, sizeof(*f)) ||
	    f->len > BPF_MAXINSNS ||
	    !seccomp_can_read((uint64_t)f->filter, f->len * sizeof(*f->filter)))
		return 0;
	return seccomp_forbids(f->filter, f->len, first);
}

/* Waits once, in a wait that began at `since`. False: the wait has lasted some seconds. */
static bool wait_on(uint64_t since, uint32_t forbidden_before)
{
	if (!(forbidden_before & NEED_YIELD))
		sys0(__NR_sched_yield);
	return agent_tsc() - since < PATIENCE;
}

/* Other threads may be in a slow path, and would be killed by its next system call. Waits for them
 * to leave. */
static void wait_for_slow_paths(uint32_t forbidden_before)
{
	uint64_t since = agent_tsc();

	while (agent_fork_guard[0] && signals_inside() && wait_on(since, forbidden_before))
		;
}

/* Or they are about to make a system call outside of one. A thread that has left that by a jump out
 * of a handler is waited for once. */
static void wait_for_calls(uint32_t forbidden_before)
{
	uint64_t since = agent_tsc();

	while (agent_fork_guard[0] && unblocked_others())
		if (!wait_on(since, forbidden_before)) {
			unblocked_forget();
			return;
		}
}

uint64_t agent_filter_coming(const struct call_registers *r, struct call_plan *p)
{
	uint32_t first = 0, forbidden, before = agent_forbidden();

	*p = libc_call_as_it_is(r);
	if (dispatch_is_coming(r)) {
		dispatch_coming(p);
		return 0;
	}
	if (!agent.memory)
		return 0;
	if (r->number == __NR_prctl && (uint32_t)r->arg0 == PR_SET_TSC) {
		/* No option of prctl's: the call fails, as on a processor that cannot do it. */
		p->arg0 = 0;
		return 0;
	}
	forbidden = about_to_forbid(mode_of(r), r->arg2, &first);
	if (mode_of(r) == SECCOMP_MODE_STRICT && forbidden)
		ask_for_strict(p);
	if (!(forbidden & ~before))
		return 0;
	p->forbidden = before;
	p->forbids = forbidden;
	if (forbidden & ~before & NEED_SIGNALS && !(before & NEED_THREADS))
		p->note = message_stopped(first);
	/* Pairs with signals_block(): that counts itself inside, then looks at `forbidden`; this
	 * sets it, then looks who is inside. */
	__atomic_fetch_or(&agent.forbidden, forbidden, __ATOMIC_SEQ_CST);
	wait_for_slow_paths(before);
	wait_for_calls(before);
	return 0;
}

__attribute__((noinline)) void seccomp_seen(uint64_t mode, uint64_t program)
{
	uint32_t first, before = agent_forbidden();

	/* Strict mode allows no trampoline either; libc_calls.c's has a filter in its place, which
	 * it asks for because there is none yet. */
	if (mode != SECCOMP_MODE_FILTER || agent_forbids(NEED_COPY))
		return;
	if (!(about_to_forbid(mode, program, &first) & NEED_COPY))
		return;
	/* Pairs with the fetch_or of agent_filter_coming() and that of dispatch_coming(), which
	 * other threads may be at: none of them loses another's bits. Then with unblocked_begin():
	 * a thread that has seen the old bits is waited for. */
	__atomic_fetch_or(&agent.forbidden, NEED_COPY, __ATOMIC_SEQ_CST);
	wait_for_calls(before);
}
