/* SPDX-License-Identifier: MIT */
/* Recognises signal deliveries. No handler of ours stands before the program's: the kernel enters
 * the program's own handler, whose first instruction leads here (delivery.S), on the thread that
 * got the signal. A function that is a handler too, but is called, has not the kernel's frame above
 * it; one that another handler jumps to has it, but is not the handler that the kernel was told to
 * enter. Handlers and flags are learnt from the system calls that set them. In doubt the kernel is
 * asked, but after a delivery it does not know a handler with SA_RESETHAND any more. If nothing can
 * be found out, no event is recorded. */
#include "agent/delivery.h"

#include <asm/signal.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/sys.h"
#include "agent/talk.h"
#include "agent/tasks.h"
#include "arch/probe_regs.h"

#define SIGNALS 64u
#define MASK_BYTES 8u
/* Layout of a kernel's signal frame: the address of the rt_sigreturn call, then the context and the
 * info. */
#define FRAME_CONTEXT 8u
#define FRAME_INFO (FRAME_CONTEXT + 304)
#define FLAGS_KNOWN 0xdc000c07u /* SA_* flags that the kernel keeps */
#define ASKED 512u


/* The kernel's struct kernel_sigaction. */
struct signal_action { uint64_t handler, flags, restorer, mask; };

/* By signal number. current: the action last seen; coming: one that a thread has asked for, which
 * may be in force already. handler 0: none. Threads race here without a lock; a mix of two actions
 * is recognised by the restorer, or costs one event. */
static struct signal_action current[SIGNALS + 1], coming[SIGNALS + 1];
/* Handlers that the tracer knows, each in the place of its hash. */
static uint64_t asked[ASKED];

/* SIG_DFL and SIG_IGN are numbers in the handler's place. */
static bool is_function(const struct signal_action *a)
{
	return a->handler > 1; /* SIG_DFL, SIG_IGN */
}

/* --- which action ----------------------------------------------------------------------------- */

/* Asks the kernel. False: a filter of the program's forbids the call, or there is no such
 * signal. */
static bool action_now(uint32_t sig, struct signal_action *out)
{
	return !agent_forbids(NEED_HANDLERS) &&
	       sys4(__NR_rt_sigaction, sig, 0, out, MASK_BYTES) == 0;
}

/* The kernel has the action in force, so that it is no longer one to come. */
static void confirm_action(uint32_t sig, const struct signal_action *a)
{
	current[sig] = *a;
	if (coming[sig].handler == a->handler && coming[sig].flags == a->flags)
		coming[sig].handler = 0;
}

/* Finds the action by which the kernel entered the handler; false: it did not enter it. */
static bool action_of(uint32_t sig, uint64_t handler, struct signal_action *out)
{
	struct signal_action now = { 0 };
	bool known;

	*out = current[sig];
	if (out->handler == handler && !coming[sig].handler)
		return true;
	known = action_now(sig, &now);
	if (known && now.handler == handler) {
		confirm_action(sig, &now);
		*out = now;
		return true;
	}
	if (coming[sig].handler == handler &&
	    (!known || (!is_function(&now) && coming[sig].flags & SA_RESETHAND))) {
		*out = coming[sig];
		confirm_action(sig, out);
		return true;
	}
	return out->handler == handler; /* another action was set since */
}

/* --- deliveries ------------------------------------------------------------------------------- */

/* The kernel passes signal, info and context in registers, at fixed distances from the stack
 * pointer. */
static bool is_frame(const uint64_t *regs)
{
	return regs[PROBE_ARG0] - 1 < SIGNALS && regs[PROBE_ARG1] == regs[PROBE_SP] + FRAME_INFO &&
	       regs[PROBE_ARG2] == regs[PROBE_SP] + FRAME_CONTEXT;
}

void delivery_hit(const struct probe_regs *regs, const struct probe_site *site)
{
	const struct signal_info *about = (const struct signal_info *)&site->program;
	const int32_t *info = (const int32_t *)regs->at[PROBE_ARG1];
	struct { uint64_t header; struct task_signal r; } record;
	uint32_t sig = (uint32_t)regs->at[PROBE_ARG0];
	struct signal_action a;

	if (!is_frame(regs->at) || !action_of(sig, about->handler, &a) ||
	    *(const uint64_t *)regs->at[PROBE_SP] != a.restorer)
		return;
	record.r = (struct task_signal){ .sig = (int32_t)sig,
					 .code = TASK_CODE_UNKNOWN,
					 .handler = a.handler,
					 .flags = a.flags };
	if (a.flags & SA_SIGINFO) {
		record.r.errnum = info[1];
		record.r.code = info[2];
	}
	task_write(&(struct task_at){ &about->tasks, regs, site->ip }, TASK_SIGNAL, &record,
		   sizeof(record) / 8);
}

/* --- handlers that come ----------------------------------------------------------------------- */

static bool may_ask(void)
{
	/* Pairs with has_no_tracer() and leave_memory(). */
	return !__atomic_load_n(&agent.abandoned, __ATOMIC_ACQUIRE) &&
	       !memory_is_stopped(agent.memory) &&
	       !agent_forbids(NEED_START | NEED_HANDLERS | NEED_THREADS);
}

/* Asks the tracer to probe a new handler, and waits for it: a signal may come as soon as the
 * program's call returns. */
static void ask_for_handler(uint64_t handler)
{
	const char *way = agent.agent_socket[0] ? agent.agent_socket : agent.socket;
	uint64_t *place = &asked[(handler * UINT64_C(0x9e3779b97f4a7c15)) >> 55], signals;
	int fd;

	if (*place == handler || !may_ask())
		return;
	buffer_check_fork();
	if (sys0(__NR_getpid) != agent.pid)
		return; /* a child of vfork: others run in its memory */
	signals = signals_block();
	fd = talk_connect(way);
	if (fd >= 0) {
		if (talk_hello(fd, way, PROTOCOL_HANDLER, handler))
			talk_wait(fd);
		sys1(__NR_close, fd);
	}
	*place = handler;
	signals_restore(signals);
}

void delivery_changes(const uint64_t *regs)
{
	uint64_t sig = regs[PROBE_ARG0];
	struct signal_action new;

	/* Only real handlers: SIG_DFL and SIG_IGN need no probe. */
	if (sig - 1 >= SIGNALS || regs[PROBE_ARG3] != MASK_BYTES || !regs[PROBE_ARG1] ||
	    probe_read_kernel(regs[PROBE_ARG1], &new, sizeof(new)) != sizeof(new) ||
	    !is_function(&new))
		return;
	new.flags &= FLAGS_KNOWN;
	coming[sig] = new;
	ask_for_handler(new.handler);
}

/* Begins or ends the watching of actions. Actions that were learnt stay true as long as the system
 * calls are seen. */
void delivery_begin(bool told)
{
	static bool were_told;

	for (unsigned i = 0; i < ASKED; i++)
		asked[i] = 0;
	for (uint32_t sig = 1; told && !were_told && sig <= SIGNALS; sig++) {
		coming[sig].handler = 0;
		if (!action_now(sig, &current[sig]))
			current[sig].handler = 0;
	}
	were_told = told;
}
