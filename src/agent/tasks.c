/* SPDX-License-Identifier: MIT */
/* Events of threads and processes. The kernel writes them where it makes, names and ends threads;
 * here the thread that asks for it does, at the system call (syscalls.c). A new program tells of
 * its execution itself, at its start, because before nobody knows whether it will succeed; the old
 * program's thread number and name wait in the session memory until then. A fact that a filter
 * forbids to ask for is recorded as 0 or as the usual value. */
#include "agent/tasks.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/delivery.h"
#include "agent/event.h"
#include "agent/lend.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/scope.h"
#include "agent/rename.h"
#include "agent/sys.h"
#include "agent/unblocked.h"
#include "arch/old_calls.h"
#include "arch/probe_regs.h"
#include "shared/filter.h"


#define PRIORITY_NORMAL 120 /* nice 0, as the kernel counts */
#define POLICY_FIFO 1
#define POLICY_RR 2
#define POLICY_DEADLINE 6
#define POLICY_FLAGS 0x40000000
#define PATH_BYTES (8 * (RECORD_PAYLOAD_MAX + 1) - 8 - sizeof(struct task_exec))

/* Storage for an event's record; its first word is left for the header. */
#define RECORD(type) struct { uint64_t header; struct type r; }
#define WORDS(record) (unsigned)(sizeof(record) / 8)

void task_write(const struct task_at *t, enum task_event kind, void *record, unsigned n)
{
	const struct task_block *b = t->block;
	const struct filter_program *f =
		(const struct filter_program *)((const uint8_t *)b + b->at[kind].filter);
	uint32_t event = b->at[kind].event;
	uint64_t *words = record;

	if (event == TASK_NO_EVENT ||
	    !scope_is_open(b->at[kind].scopes, t->regs ? t->regs->at[PROBE_SP] : 0) ||
	    (b->at[kind].filter && !event_passes(f, f->bytes, event, words, 8 * n)))
		return;
	if (b->at[kind].stacked && t->regs)
		probe_stack(t->regs, t->ip, event);
	words[0] = record_word(agent_tsc(), record_event_id(n - 1, RECORD_EVENT_TRACE + event),
			       RECORD_EVENT);
	buffer_write_words(agent_tls_block(), words, n, 0);
}

/* True if one of the two events is armed. */
static bool wants_event(const struct task_at *t, enum task_event one, enum task_event other)
{
	const struct task_block *b = t->block;

	return b->at[one].event != TASK_NO_EVENT || b->at[other].event != TASK_NO_EVENT;
}

/* Volatile, else the compiler makes the loop a call of memcpy, which the agent does not have. */
static void copy_name(char *to, const char *from)
{
	for (unsigned i = 0; i < TASK_COMM; i++)
		((volatile char *)to)[i] = from[i];
}

/* Zeros after its end, as in the kernel. */
static void read_name(char *comm)
{
	copy_name(comm, (const char[TASK_COMM]){ 0 });
	if (!unblocked_begin(NEED_THREADS))
		return;
	sys2(__NR_prctl, PR_GET_NAME, comm);
	unblocked_end();
}

/* Asks the kernel, since a child of vfork has its parent's thread-local memory. */
static int32_t current_tid(void)
{
	return unblocked_call0(__NR_gettid);
}

static int32_t current_pid(void)
{
	return unblocked_call0(__NR_getpid);
}

static int32_t ask_priority(void)
{
	long policy;
	int32_t rt = 0;

	policy = sys1(__NR_sched_getscheduler, 0) & ~POLICY_FLAGS;
	if (policy == POLICY_DEADLINE)
		return -1;
	if (policy != POLICY_FIFO && policy != POLICY_RR)
		return PRIORITY_NORMAL + 20 - (int32_t)sys2(__NR_getpriority, 0, 0);
	sys2(__NR_sched_getparam, 0, &rt);
	return 99 - rt;
}

/* The kernel's internal priority: 120 is nice 0, real-time ones are below 100. */
static int32_t current_priority(void)
{
	int32_t priority;

	if (!unblocked_begin(NEED_TASKS))
		return PRIORITY_NORMAL;
	priority = ask_priority();
	unblocked_end();
	return priority;
}

/* --- waits for locks ------------------------------------------------------------------------ */

/* The kernel's word for the lock behind a call of futex, as far as the call tells: libc's mutexes
 * wait by FUTEX_WAIT, those with priority inheritance by FUTEX_LOCK_PI; FUTEX_WAIT_BITSET is of
 * rwlocks, semaphores, conditions and others'. False: the call does not wait. */
static bool read_contention(const uint64_t *regs, uint32_t *flags)
{
	switch ((uint32_t)regs[PROBE_ARG1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT: *flags = TASK_LOCK_MUTEX; return true;
	case FUTEX_WAIT_BITSET: case FUTEX_WAIT_REQUEUE_PI: *flags = 0; return true;
	case FUTEX_LOCK_PI: case FUTEX_LOCK_PI2:
		*flags = TASK_LOCK_RT | TASK_LOCK_MUTEX;
		return true;
	default: return false;
	}
}

static void tell_wait(const struct task_at *t)
{
	const uint64_t *regs = t->regs->at;
	RECORD(task_contention) wait = { 0, { .lock = regs[PROBE_ARG0] } };

	if (read_contention(regs, &wait.r.flags))
		task_write(t, TASK_CONTENTION_BEGIN, &wait, WORDS(wait));
}

/* The kernel leaves the arguments' registers as they are. */
static void tell_waited(const struct task_at *t)
{
	const uint64_t *regs = t->regs->at;
	RECORD(task_contended) waited = { 0, { .lock = regs[PROBE_ARG0],
					       .result = (int32_t)regs[PROBE_RESULT] } };
	uint32_t flags;

	if (read_contention(regs, &flags))
		task_write(t, TASK_CONTENTION_END, &waited, WORDS(waited));
}

/* --- new threads and processes -------------------------------------------------------------- */

/* Returns the flags that clone3 would have for the call, without the signal of the child's end. */
static uint64_t clone_flags(const uint64_t *regs, uint32_t number)
{
	uint64_t flags = 0; /* fork's */

	if (old_calls_is_vfork(number))
		flags = CLONE_VFORK | CLONE_VM;
	else if (number == __NR_clone)
		flags = (uint32_t)regs[PROBE_ARG0] & ~CSIGNAL;
	else if (number == __NR_clone3)
		probe_read_kernel(regs[PROBE_ARG0], &flags, sizeof(flags));
	return flags;
}

/* True for calls like vfork, whose child shares all that its parent has, the thread-local memory
 * included. The parent is blocked until the child has executed a program or ended, so the child
 * records its own birth. */
static bool child_tells(uint64_t flags)
{
	return (flags & (CLONE_VFORK | CLONE_VM | CLONE_SETTLS | CLONE_NEWPID)) ==
	       (CLONE_VFORK | CLONE_VM);
}

/* Returns the thread id of a vfork child's parent: the lender of its block, or the thread that has
 * the block. */
static int32_t parent_of_block(void)
{
	const struct own_thread *own = agent.memory ? agent_own_thread(agent_tls_block()) : NULL;

	if (lend_lender())
		return (int32_t)lend_lender();
	if (own)
		return (int32_t)own->tid;
	return unblocked_call0(__NR_getppid);
}

/* Records the new thread. It has its creator's name, so the calling thread's name serves for
 * both. */
static void tell_new(const struct task_at *t, uint64_t flags, int32_t child, int32_t parent)
{
	RECORD(task_newtask)
	new = { 0,
		{ .pid = child,
		  .clone_flags = flags,
		  .oom_score_adj = (int16_t)agent.oom_score_adj } };
	RECORD(task_fork) fork;

	read_name(new.r.comm);
	task_write(t, TASK_NEWTASK, &new, WORDS(new));
	copy_name(fork.r.parent_comm, new.r.comm);
	copy_name(fork.r.child_comm, new.r.comm);
	fork.r.child_pid = child;
	fork.r.parent_pid = parent;
	task_write(t, TASK_SCHED_FORK, &fork, WORDS(fork));
}

void task_behind(const struct task_at *t, uint32_t number)
{
	const uint64_t *regs = t->regs->at;
	int64_t result = (int64_t)regs[PROBE_RESULT];
	uint64_t flags;

	if (number == __NR_futex)
		tell_waited(t);
	if (!old_calls_makes_task(number))
		return;
	if (result < 0 || !wants_event(t, TASK_NEWTASK, TASK_SCHED_FORK))
		return;
	if (!result && current_tid() != current_pid())
		/* A thread: its creator tells, and clone3's arguments may be overwritten by now. */
		return;
	flags = clone_flags(regs, number);
	/* Either the parent or the child tells of the new task, never both. */
	if ((result == 0) == child_tells(flags))
		tell_new(t, flags, result ? (int32_t)result : current_pid(),
			 child_tells(flags) ? parent_of_block() : current_tid());
}

/* Where libc's syscall(), which leads through the agent, has no place after the call that could be
 * probed, this is the block that was last seen before such a call. */
const struct task_block *agent_clones_told;

void task_cloned(uint64_t number, uint64_t arg0, int64_t child)
{
	/* Pairs with the releases in task_before() and task_forget(): the block is there, or not
	 * used any more. */
	const struct task_at at = { .block =
					    __atomic_load_n(&agent_clones_told, __ATOMIC_ACQUIRE) };
	const uint64_t regs[PROBE_ARG0 + 1] = { [PROBE_ARG0] = arg0 };

	if (at.block && agent.memory)
		tell_new(&at, clone_flags(regs, (uint32_t)number), (int32_t)child, current_tid());
}

void task_forget(void)
{
	/* Pairs with the acquire in task_cloned(). */
	__atomic_store_n(&agent_clones_told, NULL, __ATOMIC_RELEASE);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Records a change of name. The kernel cuts names to 15 characters and pads with zeros; so does
 * this. */
static void tell_renamed(const struct task_at *t, const char *before, const char *now)
{
	RECORD(task_rename)
	rename = { 0, { .pid = current_tid(), .oom_score_adj = (int16_t)agent.oom_score_adj } };
	bool ended = false;

	copy_name(rename.r.oldcomm, before);
	for (unsigned i = 0; i < TASK_COMM; i++) {
		ended |= i == TASK_COMM - 1 || !now[i];
		((volatile char *)rename.r.newcomm)[i] = ended ? 0 : now[i];
	}
	task_write(t, TASK_RENAME, &rename, WORDS(rename));
}

/* A name that cannot be read is refused by the kernel, too. */
static void tell_name(const struct task_at *t, uint64_t at)
{
	char before[TASK_COMM], now[TASK_COMM];

	copy_name(now, (const char[TASK_COMM]){ 0 });
	if (!probe_read_kernel(at, now, TASK_COMM))
		return;
	rename_note(now); /* an attached process may have no intercepted prctl() that would */
	read_name(before);
	tell_renamed(t, before, now);
}

/* --- ends ----------------------------------------------------------------------------------- */

/* Records the end, and tells the tracer that it is recorded: else the tracer makes an end up when
 * the kernel reports one. */
static void tell_end(const struct task_at *t)
{
	RECORD(task_exit) end;

	read_name(end.r.comm);
	end.r.pid = current_tid();
	end.r.prio = current_priority();
	task_write(t, TASK_EXIT, &end, WORDS(end));
	task_write(t, TASK_SCHED_EXIT, &end, WORDS(end));
	if ((uint32_t)end.r.pid < MEMORY_TIDS)
		/* Pairs with shared_memory_take_end(): the record of the end is written before the
		 * bit. */
		__atomic_fetch_or(&agent.ends[end.r.pid / 64], UINT64_C(1) << end.r.pid % 64,
				  __ATOMIC_RELEASE);
}

/* --- programs that are executed ------------------------------------------------------------- */

static struct task_exec_note *note_of(uint32_t process)
{
	return &agent.memory->execs[process % TASK_EXECS];
}

/* Leaves the thread's number and name for the program that is about to be executed. A failed execve
 * leaves a note that nobody takes. */
static void write_exec_note(void)
{
	uint32_t process = (uint32_t)current_pid();
	struct task_exec_note *n = note_of(process);

	/* No process takes a half-written note. */
	__atomic_store_n(&n->pid, 0, __ATOMIC_RELAXED);
	n->tid = (uint32_t)current_tid();
	read_name(n->comm);
	/* Pairs with the acquire in take_note(), in the new program. */
	__atomic_store_n(&n->pid, process, __ATOMIC_RELEASE);
}

/* False: another process took the place over, or no thread was seen in execve. */
static bool take_note(uint32_t process, struct task_exec_note *out)
{
	struct task_exec_note *n = note_of(process);

	/* Pairs with the releases in write_exec_note(), here and in inject/launch.c. */
	if (!process || __atomic_load_n(&n->pid, __ATOMIC_ACQUIRE) != process)
		return false;
	out->tid = n->tid;
	copy_name(out->comm, n->comm);
	/* Pairs with the same releases: only one taker gets it, and none if its writer has
	 * changed. */
	return __atomic_exchange_n(&n->pid, 0, __ATOMIC_ACQ_REL) == process;
}

/* Records the execution, with the path as it was executed, cut to what a record holds. */
static void tell_executed(const struct task_at *t, uint32_t before)
{
	struct { uint64_t header; struct task_exec r; char text[PATH_BYTES]; } exec;
	const uint32_t at = sizeof(exec.header) + sizeof(exec.r);
	const char *path = agent.executed ? agent.executed : "";
	uint32_t n = 0, words;

	for (; n < PATH_BYTES - 1 && path[n]; n++)
		((volatile char *)exec.text)[n] = path[n];
	exec.r.filename = (n + 1) << 16 | at;
	exec.r.pid = current_pid();
	exec.r.old_pid = (int32_t)before;
	words = (at + n + 1 + 7) / 8;
	for (; at + n < 8 * words; n++)
		((volatile char *)exec.text)[n] = 0;
	task_write(t, TASK_EXEC, &exec, words);
	task_write(t, TASK_SCHED_EXEC, &exec, words);
}

void task_begun(const struct task_block *b)
{
	const struct task_at at = { .block = b }, *t = &at;
	struct task_exec_note before = { .comm = "<...>" }; /* ftrace's name for an unknown one */
	char now[TASK_COMM];

	if (!take_note((uint32_t)current_pid(), &before))
		before.tid = (uint32_t)current_pid();
	read_name(now);
	tell_renamed(t, before.comm, now);
	if (wants_event(t, TASK_EXEC, TASK_SCHED_EXEC))
		tell_executed(t, before.tid);
}

/* --- at the system calls --- */

void task_before(const struct task_at *t, uint32_t number)
{
	const uint64_t *regs = t->regs->at;

	if (!libc_calls_clones_seen && old_calls_makes_task(number) &&
	    wants_event(t, TASK_NEWTASK, TASK_SCHED_FORK))
		/* Pairs with the acquire in task_cloned(). */
		__atomic_store_n(&agent_clones_told, t->block, __ATOMIC_RELEASE);
	switch (number) {
	case __NR_futex: tell_wait(t); break;
	case __NR_rt_sigaction:
		if (wants_event(t, TASK_SIGNAL, TASK_SIGNAL))
			delivery_changes(regs);
		break;
	case __NR_prctl:
		if ((uint32_t)regs[PROBE_ARG0] == PR_SET_NAME &&
		    wants_event(t, TASK_RENAME, TASK_RENAME))
			tell_name(t, regs[PROBE_ARG1]);
		break;
	case __NR_exit:
	case __NR_exit_group:
		if (wants_event(t, TASK_EXIT, TASK_SCHED_EXIT))
			tell_end(t);
		break;
	case __NR_execve:
	case __NR_execveat:
		write_exec_note();
		break;
	}
}
