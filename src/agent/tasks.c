/* SPDX-License-Identifier: MIT */
/* The kernel writes these events where it makes threads, names and ends them; here they are told by who asks it to, at
 * the system call. A program that is executed tells of it itself, when it is there: before, nobody knows whether it
 * will come to be. Until then what is lost with the old program waits in the session memory. */
#include "agent/tasks.h"

#include <asm/unistd.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#include "agent/agent.h"
#include "agent/delivery.h"
#include "agent/lend.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "shared/filter.h"

enum { RAX = 0, RSI = 6, RDI = 7 };

#define PRIORITY_NORMAL 120 /* of nice 0 */
#define POLICY_FIFO 1
#define POLICY_RR 2
#define POLICY_DEADLINE 6
#define POLICY_FLAGS 0x40000000
#define PATH_BYTES (8 * (RECORD_PAYLOAD_MAX + 1) - 8 - sizeof(struct task_exec))

/* What an event's record is built in: the first word is the header's. */
#define RECORD(type) struct { uint64_t header; struct type r; }
#define WORDS(record) (unsigned)(sizeof(record) / 8)

void task_write(const struct task_at *t, enum task_event kind, void *record, unsigned n)
{
	const struct task_block *b = t->block;
	const struct filter_program *f = (const struct filter_program *)((const uint8_t *)b + b->at[kind].filter);
	uint32_t event = b->at[kind].event;
	uint64_t *words = record;

	if (event == TASK_NO_EVENT || (b->at[kind].filter && !event_passes(f, f->bytes, event, words, 8 * n)))
		return;
	if (b->at[kind].stacked && t->regs)
		probe_stack(t->regs, t->ip, event);
	words[0] = record_word(read_tsc(), record_event_id(n - 1, RECORD_EVENT_TRACE + event), RECORD_EVENT);
	buffer_write_words(agent_tls_block(), words, n, 0);
}

static bool wants(const struct task_at *t, enum task_event one, enum task_event other)
{
	const struct task_block *b = t->block;

	return b->at[one].event != TASK_NO_EVENT || b->at[other].event != TASK_NO_EVENT;
}

static void copy_name(char *to, const char *from)
{
	for (unsigned i = 0; i < TASK_COMM; i++)
		((volatile char *)to)[i] = from[i];
}

/* Zeros behind its end, as the kernel has them. */
static void read_name(char *comm)
{
	copy_name(comm, (const char[TASK_COMM]){ 0 });
	if (!(agent.forbidden & NEED_THREADS))
		sys2(__NR_prctl, PR_GET_NAME, comm);
}

/* A child of vfork has its parent's thread-local memory: the kernel knows who it is. */
static int32_t tid(void)
{
	return agent.forbidden & NEED_THREADS ? 0 : (int32_t)sys0(__NR_gettid);
}

static int32_t pid(void)
{
	return agent.forbidden & NEED_THREADS ? 0 : (int32_t)sys0(__NR_getpid);
}

/* As the kernel counts them. */
static int32_t priority(void)
{
	long policy;
	int32_t rt = 0;

	if (agent.forbidden & NEED_TASKS)
		return PRIORITY_NORMAL;
	policy = sys1(__NR_sched_getscheduler, 0) & ~POLICY_FLAGS;
	if (policy == POLICY_DEADLINE)
		return -1;
	if (policy != POLICY_FIFO && policy != POLICY_RR)
		return PRIORITY_NORMAL + 20 - (int32_t)sys2(__NR_getpriority, 0, 0);
	sys2(__NR_sched_getparam, 0, &rt);
	return 99 - rt;
}

/* --- new threads and processes -------------------------------------------------------------- */

static uint64_t clone_flags(const uint64_t *regs, uint32_t number)
{
	uint64_t flags = 0; /* fork's */

	if (number == __NR_vfork)
		flags = CLONE_VFORK | CLONE_VM;
	else if (number == __NR_clone)
		flags = (uint32_t)regs[RDI] & ~CSIGNAL;
	else if (number == __NR_clone3)
		read_anywhere(regs[RDI], &flags, sizeof(flags));
	return flags;
}

/* Its parent waits until it has executed something or ended. So the child tells, as long as it has everything that
 * its parent has, the place of its records too. */
static bool child_tells(uint64_t flags)
{
	return (flags & (CLONE_VFORK | CLONE_VM | CLONE_SETTLS | CLONE_NEWPID)) == (CLONE_VFORK | CLONE_VM);
}

static int32_t parent_of_block(void)
{
	const struct own_thread *own = agent.memory ? own_thread(agent_tls_block()) : NULL;

	if (lend_lender())
		return (int32_t)lend_lender();
	if (own)
		return (int32_t)own->tid;
	return agent.forbidden & NEED_TASKS ? 0 : (int32_t)sys0(__NR_getppid);
}

static void tell_new(const struct task_at *t, uint64_t flags, int32_t child, int32_t parent)
{
	RECORD(task_newtask) new = { 0, { .pid = child, .clone_flags = flags, .oom_score_adj = (int16_t)agent.oom_score_adj } };
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
	int64_t result = (int64_t)regs[RAX];
	uint64_t flags;

	if (number != __NR_clone && number != __NR_clone3 && number != __NR_vfork && number != __NR_fork)
		return;
	if (result < 0 || !wants(t, TASK_NEWTASK, TASK_SCHED_FORK))
		return;
	if (!result && tid() != pid())
		return; /* a thread: its creator has gone on, and what clone3 was told may be overwritten by now */
	flags = clone_flags(regs, number);
	if ((result == 0) == child_tells(flags))
		tell_new(t, flags, result ? (int32_t)result : pid(), child_tells(flags) ? parent_of_block() : tid());
}

/* libc's syscall(), which the agent leads, has no place behind it that could be probed: the last block that was seen before it. */
const struct task_block *agent_clones_told;

void task_cloned(uint64_t number, uint64_t rdi, int64_t child)
{
	const struct task_at at = { .block = __atomic_load_n(&agent_clones_told, __ATOMIC_ACQUIRE) };
	const uint64_t regs[RDI + 1] = { [RDI] = rdi };

	if (at.block && agent.memory)
		tell_new(&at, clone_flags(regs, (uint32_t)number), (int32_t)child, tid());
}

void task_forget(void)
{
	__atomic_store_n(&agent_clones_told, NULL, __ATOMIC_RELEASE);
}

/* --- names ---------------------------------------------------------------------------------- */

static void tell_renamed(const struct task_at *t, const char *before, const char *now)
{
	RECORD(task_rename) rename = { 0, { .pid = tid(), .oom_score_adj = (int16_t)agent.oom_score_adj } };
	bool ended = false;

	copy_name(rename.r.oldcomm, before);
	for (unsigned i = 0; i < TASK_COMM; i++) {
		ended |= i == TASK_COMM - 1 || !now[i];
		((volatile char *)rename.r.newcomm)[i] = ended ? 0 : now[i];
	}
	task_write(t, TASK_RENAME, &rename, WORDS(rename));
}

/* What cannot be read the kernel refuses too. */
static void tell_name(const struct task_at *t, uint64_t at)
{
	char before[TASK_COMM], now[TASK_COMM];

	copy_name(now, (const char[TASK_COMM]){ 0 });
	if (!read_anywhere(at, now, TASK_COMM))
		return;
	read_name(before);
	tell_renamed(t, before, now);
}

/* --- ends ----------------------------------------------------------------------------------- */

static void tell_end(const struct task_at *t)
{
	RECORD(task_exit) end;

	read_name(end.r.comm);
	end.r.pid = tid();
	end.r.prio = priority();
	task_write(t, TASK_EXIT, &end, WORDS(end));
	task_write(t, TASK_SCHED_EXIT, &end, WORDS(end));
	if ((uint32_t)end.r.pid < MEMORY_TIDS)
		__atomic_fetch_or(&agent.ends[end.r.pid / 64], UINT64_C(1) << end.r.pid % 64, __ATOMIC_RELEASE);
}

/* --- programs that are executed ------------------------------------------------------------- */

static struct task_exec_note *note_of(uint32_t process)
{
	return &agent.memory->execs[process % TASK_EXECS];
}

static void leave_note(void)
{
	uint32_t process = (uint32_t)pid();
	struct task_exec_note *n = note_of(process);

	__atomic_store_n(&n->pid, 0, __ATOMIC_RELAXED);
	n->tid = (uint32_t)tid();
	read_name(n->comm);
	__atomic_store_n(&n->pid, process, __ATOMIC_RELEASE);
}

/* False: somebody else took its place, or execve was seen by nobody. */
static bool take_note(uint32_t process, struct task_exec_note *out)
{
	struct task_exec_note *n = note_of(process);

	if (!process || __atomic_load_n(&n->pid, __ATOMIC_ACQUIRE) != process)
		return false;
	out->tid = n->tid;
	copy_name(out->comm, n->comm);
	return __atomic_exchange_n(&n->pid, 0, __ATOMIC_ACQ_REL) == process;
}

static void tell_executed(const struct task_at *t, uint32_t before)
{
	struct { uint64_t header; struct task_exec r; char text[PATH_BYTES]; } exec;
	const uint32_t at = sizeof(exec.header) + sizeof(exec.r);
	const char *path = agent.executed ? agent.executed : "";
	uint32_t n = 0, words;

	for (; n < PATH_BYTES - 1 && path[n]; n++)
		((volatile char *)exec.text)[n] = path[n];
	exec.r.filename = (n + 1) << 16 | at;
	exec.r.pid = pid();
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
	struct task_exec_note before = { .comm = "<...>" }; /* ftrace's name of one that is not known */
	char now[TASK_COMM];

	if (!take_note((uint32_t)pid(), &before))
		before.tid = (uint32_t)pid();
	read_name(now);
	tell_renamed(t, before.comm, now);
	if (wants(t, TASK_EXEC, TASK_SCHED_EXEC))
		tell_executed(t, before.tid);
}

/* --- ---------------------------------------------------------------------------------------- */

void task_before(const struct task_at *t, uint32_t number)
{
	const uint64_t *regs = t->regs->at;

	switch (number) {
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
		if (wants(t, TASK_NEWTASK, TASK_SCHED_FORK))
			__atomic_store_n(&agent_clones_told, t->block, __ATOMIC_RELEASE);
		break;
	case __NR_rt_sigaction:
		if (wants(t, TASK_SIGNAL, TASK_SIGNAL))
			delivery_changes(regs);
		break;
	case __NR_prctl:
		if ((uint32_t)regs[RDI] == PR_SET_NAME && wants(t, TASK_RENAME, TASK_RENAME))
			tell_name(t, regs[RSI]);
		break;
	case __NR_exit:
	case __NR_exit_group:
		if (wants(t, TASK_EXIT, TASK_SCHED_EXIT))
			tell_end(t);
		break;
	case __NR_execve:
	case __NR_execveat:
		leave_note();
		break;
	}
}
