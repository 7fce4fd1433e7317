/* SPDX-License-Identifier: MIT */
/* No handler of ours stands before the program's: the kernel enters the program's own, whose first instruction leads here
 * (delivery.S), and everything it was entered with is looked at. A function that merely is a handler too, and is called,
 * has not the kernel's frame above it; one that another handler goes on to by a jump has it, but is not whom the kernel was
 * told to enter. Which handler and flags a signal has is learnt from the system calls that set them, and from the kernel when
 * there is doubt: asked behind a delivery, it knows no more of a handler with SA_RESETHAND. */
#include "agent/delivery.h"

#include <asm/signal.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "agent/talk.h"
#include "agent/tasks.h"

#define SIGNALS 64u
#define MASK_BYTES 8u
/* What a frame of the kernel's begins with: the address of rt_sigreturn's call, then these. */
#define FRAME_CONTEXT 8u
#define FRAME_INFO (FRAME_CONTEXT + 304)
#define FLAGS_KNOWN 0xdc000c07u /* the kernel forgets the others */
#define ASKED 512u

enum { RDX = 2, RSP = 4, RSI = 6, RDI = 7, R10 = 10 };

/* As the kernel has it. */
struct action { uint64_t handler, flags, restorer, mask; };

/* By signal. current: as last seen; coming: as somebody asked for, which may be in force already. handler 0: none. */
static struct action current[SIGNALS + 1], coming[SIGNALS + 1];
static uint64_t asked[ASKED]; /* handlers that the tracer knows of, each in its place */

static bool is_function(const struct action *a)
{
	return a->handler > 1; /* SIG_DFL, SIG_IGN */
}

/* --- which action ----------------------------------------------------------------------------- */

static bool action_now(uint32_t sig, struct action *out)
{
	return !(agent.forbidden & NEED_HANDLERS) && sys4(__NR_rt_sigaction, sig, 0, out, MASK_BYTES) == 0;
}

static void settle(uint32_t sig, const struct action *a)
{
	current[sig] = *a;
	if (coming[sig].handler == a->handler && coming[sig].flags == a->flags)
		coming[sig].handler = 0;
}

/* By which the kernel entered the handler; false: it did not. */
static bool action_of(uint32_t sig, uint64_t handler, struct action *out)
{
	struct action now = { 0 };
	bool known;

	*out = current[sig];
	if (out->handler == handler && !coming[sig].handler)
		return true;
	known = action_now(sig, &now);
	if (known && now.handler == handler) {
		settle(sig, &now);
		*out = now;
		return true;
	}
	if (coming[sig].handler == handler && (!known || (!is_function(&now) && coming[sig].flags & SA_RESETHAND))) {
		*out = coming[sig];
		settle(sig, out);
		return true;
	}
	return out->handler == handler; /* another was told to the kernel since */
}

/* --- deliveries ------------------------------------------------------------------------------- */

static bool is_frame(const uint64_t *regs)
{
	return regs[RDI] - 1 < SIGNALS && regs[RSI] == regs[RSP] + FRAME_INFO && regs[RDX] == regs[RSP] + FRAME_CONTEXT;
}

void delivery_hit(const struct probe_regs *regs, const struct probe_site *site)
{
	const struct signal_about *about = (const struct signal_about *)&site->program;
	const int32_t *info = (const int32_t *)regs->at[RSI];
	struct { uint64_t header; struct task_signal r; } record;
	uint32_t sig = (uint32_t)regs->at[RDI];
	struct action a;

	if (!is_frame(regs->at) || !action_of(sig, about->handler, &a) || *(const uint64_t *)regs->at[RSP] != a.restorer)
		return;
	record.r = (struct task_signal){ .sig = (int32_t)sig, .code = TASK_CODE_UNKNOWN, .handler = a.handler, .flags = a.flags };
	if (a.flags & SA_SIGINFO) {
		record.r.errnum = info[1];
		record.r.code = info[2];
	}
	task_write(&(struct task_at){ &about->tasks, regs, site->ip }, TASK_SIGNAL, &record, sizeof(record) / 8);
}

/* --- handlers that come ------------------------------------------------------------------------ */

static bool may_ask(void)
{
	return !agent.abandoned && !agent.memory->stopped && !(agent.forbidden & (NEED_START | NEED_HANDLERS | NEED_THREADS));
}

static void ask(uint64_t handler)
{
	uint64_t *place = &asked[(handler * UINT64_C(0x9e3779b97f4a7c15)) >> 55], signals;
	int fd;

	if (*place == handler || !may_ask())
		return;
	buffer_check_fork();
	if (sys0(__NR_getpid) != agent.pid)
		return; /* a child of vfork, in whose memory others run */
	signals = signals_block();
	fd = talk_connect(agent.door[0] ? agent.door : agent.socket);
	if (fd >= 0) {
		if (talk_hello(fd, PROTOCOL_HANDLER, handler))
			talk_wait(fd);
		sys1(__NR_close, fd);
	}
	*place = handler;
	signals_restore(signals);
}

void delivery_changes(const uint64_t *regs)
{
	uint64_t sig = regs[RDI];
	struct action new;

	if (sig - 1 >= SIGNALS || regs[R10] != MASK_BYTES || !regs[RSI] || read_anywhere(regs[RSI], &new, sizeof(new)) != sizeof(new) ||
	    !is_function(&new))
		return;
	new.flags &= FLAGS_KNOWN;
	coming[sig] = new;
	ask(new.handler);
}

/* What was learnt stays true as long as the system calls are seen. */
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
