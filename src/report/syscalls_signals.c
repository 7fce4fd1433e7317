/* SPDX-License-Identifier: MIT */
/* Signals behind system calls' pointers, as strace writes them: sets, actions, what a signal or a
 * child's end tells. syscalls_structs.c calls it. No state; nothing fails. Any thread. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "report/syscalls_structs.h"

/* The kernel's first real-time signal; the C library keeps the first two for itself. */
#define FIRST_REAL_TIME 32
#define ALL_SIGNALS 64

/* Without SIG, as in sets. Numbers from 32 on are the kernel's, as strace counts them: the C
 * library's SIGRTMIN is two more. */
static void print_short(int number, FILE *f)
{
	/* The C library calls it POLL. */
	const char *name = number == SIGIO ? "IO"
			 : number < FIRST_REAL_TIME ? sigabbrev_np(number) : NULL;

	if (name)
		fputs(name, f);
	else if (number == FIRST_REAL_TIME)
		fputs("RTMIN", f);
	else if (number > FIRST_REAL_TIME && number <= ALL_SIGNALS)
		fprintf(f, "RT_%d", number - FIRST_REAL_TIME);
	else
		fprintf(f, "%d", number);
}

void syscalls_print_signal(int number, FILE *f)
{
	if (number > 0 && number <= ALL_SIGNALS)
		fputs("SIG", f);
	print_short(number, f);
}

/* Prints the signals of the set; if most are in it, `~` and those that are not. Two thirds is
 * strace's limit, too. Programs block all signals but a few, and such sets would fill the line. */
static void print_set(uint64_t set, FILE *f)
{
	bool most = __builtin_popcountll(set) >= ALL_SIGNALS * 2 / 3;
	const char *before = "";

	set = most ? ~set : set;
	fputs(most ? "~[" : "[", f);
	for (int i = 1; i <= ALL_SIGNALS; i++) {
		if (!(set >> (i - 1) & 1))
			continue;
		fputs(before, f);
		print_short(i, f);
		before = " ";
	}
	fputc(']', f);
}

/* The kernel's set has 64 bits; the C library's sigset_t is longer, and its rest is never read. */
bool syscalls_print_signals(const struct syscalls_memory *m, FILE *f)
{
	uint64_t set;

	if (m->n < sizeof(set))
		return false;
	memcpy(&set, m->at, sizeof(set));
	print_set(set, f);
	return true;
}

/* pselect6 has the address and the size of a set behind one pointer. The copy has the set behind
 * the two words if it could be read; else the address is all that is known. */
bool syscalls_print_signals_at(const struct syscalls_memory *m, FILE *f)
{
	uint64_t v[3];

	if (m->n < 16)
		return false;
	memcpy(v, m->at, m->n < sizeof(v) ? m->n : sizeof(v));
	fputs("{sigmask=", f);
	if (!v[0])
		fputs("NULL", f);
	else if (m->n >= sizeof(v))
		print_set(v[2], f);
	else
		fprintf(f, "0x%" PRIx64, v[0]);
	fprintf(f, ", sigsetsize=%" PRIu64 "}", v[1]);
	return true;
}

/* The kernel's structure, which is not the C library's. It is asm/signal.h's; the C library makes
 * it of its own, and sets the restorer and SA_RESTORER. */
struct kernel_action { uint64_t handler, flags, restorer, mask; };

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

bool syscalls_print_action(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name flags[] = {
		NAMED(SA_RESTORER), NAMED(SA_ONSTACK), NAMED(SA_RESTART), NAMED(SA_NODEFER),
		NAMED(SA_RESETHAND), NAMED(SA_SIGINFO), NAMED(SA_NOCLDSTOP), NAMED(SA_NOCLDWAIT),
		NAMED_END };
	static const char *const handlers[] = { "SIG_DFL", "SIG_IGN" };
	struct kernel_action a;

	if (m->n < sizeof(a))
		return false;
	memcpy(&a, m->at, sizeof(a));
	if (a.handler < 2)
		fprintf(f, "{sa_handler=%s, sa_mask=", handlers[a.handler]);
	else
		fprintf(f, "{sa_handler=0x%" PRIx64 ", sa_mask=", a.handler);
	print_set(a.mask, f);
	fputs(", sa_flags=", f);
	syscalls_print_flags(flags, a.flags, f);
	if (a.flags & SA_RESTORER)
		fprintf(f, ", sa_restorer=0x%" PRIx64, a.restorer);
	fputc('}', f);
	return true;
}

/* sigaltstack(2): the kernel's structure is the C library's stack_t. */
bool syscalls_print_signal_stack(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name flags[] = { NAMED(SS_ONSTACK), NAMED(SS_DISABLE),
						     NAMED_END };
	stack_t s;

	if (m->n < sizeof(s))
		return false;
	memcpy(&s, m->at, sizeof(s));
	if (s.ss_sp)
		fprintf(f, "{ss_sp=%p, ss_flags=", s.ss_sp);
	else
		fputs("{ss_sp=NULL, ss_flags=", f);
	syscalls_print_flags(flags, (uint32_t)s.ss_flags, f);
	fprintf(f, ", ss_size=%zu}", s.ss_size);
	return true;
}

/* struct sigevent begins with these three members; what follows depends on the way, and is not
 * shown. */
bool syscalls_print_signal_event(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name ways[] = { NAMED(SIGEV_SIGNAL), NAMED(SIGEV_NONE),
						    NAMED(SIGEV_THREAD), NAMED(SIGEV_THREAD_ID),
						    NAMED_END };
	/* the value, the signal, the way */
	struct { uint64_t value; int32_t signal, notify; } e;

	if (m->n < sizeof(e))
		return false;
	memcpy(&e, m->at, sizeof(e));
	fputc('{', f);
	if (e.value)
		fprintf(f, "sigev_value={sival_int=%" PRId32 ", sival_ptr=%#" PRIx64 "}, ",
			(int32_t)e.value, e.value);
	fputs("sigev_signo=", f);
	syscalls_print_signal(e.signal, f);
	fputs(", sigev_notify=", f);
	syscalls_print_name(ways, (uint32_t)e.notify, f);
	fputc('}', f);
	return true;
}

/* si_code has one meaning for SIGCHLD from the kernel (above 0), and one for all signals that are
 * sent (0 and below, and SI_KERNEL): see sigaction(2). */
static const struct syscall_name child_codes[] = {
	NAMED(CLD_EXITED), NAMED(CLD_KILLED), NAMED(CLD_DUMPED), NAMED(CLD_TRAPPED),
	NAMED(CLD_STOPPED), NAMED(CLD_CONTINUED), NAMED_END };
static const struct syscall_name sent_codes[] = {
	NAMED(SI_USER), NAMED(SI_QUEUE), NAMED(SI_TIMER), NAMED(SI_MESGQ), NAMED(SI_ASYNCIO),
	NAMED(SI_TKILL), NAMED(SI_KERNEL), NAMED_END };

/* At most the part of a siginfo_t that has names here is there; the rest is 0. si_signo 0 is what
 * waitid(2) with WNOHANG gives where no child has changed. si_status of an exit is a number, and
 * else a signal. */
bool syscalls_print_signal_info(const struct syscalls_memory *m, FILE *f)
{
	siginfo_t i = { 0 };
	bool is_child;

	if (m->n < offsetof(siginfo_t, si_stime) + sizeof(i.si_stime))
		return false;
	memcpy(&i, m->at, m->n < sizeof(i) ? m->n : sizeof(i));
	is_child = i.si_signo == SIGCHLD && i.si_code > 0;
	if (!i.si_signo) {
		fputs("{}", f);
		return true;
	}
	fputs("{si_signo=", f);
	syscalls_print_signal(i.si_signo, f);
	fputs(", si_code=", f);
	syscalls_print_name(is_child ? child_codes : sent_codes, (uint32_t)i.si_code, f);
	if (is_child || i.si_code == SI_USER || i.si_code == SI_TKILL || i.si_code == SI_QUEUE)
		fprintf(f, ", si_pid=%d, si_uid=%u", i.si_pid, i.si_uid);
	if (is_child) {
		fputs(", si_status=", f);
		if (i.si_code == CLD_EXITED)
			fprintf(f, "%d", i.si_status);
		else
			syscalls_print_signal(i.si_status, f);
		fprintf(f, ", si_utime=%ld, si_stime=%ld", (long)i.si_utime, (long)i.si_stime);
	}
	fputc('}', f);
	return true;
}

/* The macros are those of wait(2); what fits none of those that are asked for here is shown as a
 * number. */
bool syscalls_print_status(const struct syscalls_memory *m, FILE *f)
{
	int status;

	/* A child that has not ended has no status. */
	if (m->n < sizeof(status) || !m->result)
		return false;
	memcpy(&status, m->at, sizeof(status));
	if (WIFEXITED(status)) {
		fprintf(f, "[{WIFEXITED(s) && WEXITSTATUS(s) == %d}]", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		fputs("[{WIFSIGNALED(s) && WTERMSIG(s) == ", f);
		syscalls_print_signal(WTERMSIG(status), f);
		fputs(WCOREDUMP(status) ? " && WCOREDUMP(s)}]" : "}]", f);
	} else if (WIFSTOPPED(status)) {
		fputs("[{WIFSTOPPED(s) && WSTOPSIG(s) == ", f);
		syscalls_print_signal(WSTOPSIG(status), f);
		fputs("}]", f);
	} else {
		fprintf(f, "[%#x]", (unsigned)status);
	}
	return true;
}
