/* A signal between any two instructions. A child calls a function through every way a hooked call
 * can take (a known call site, one seen for the first time, a tail call, the PLT); its parent steps
 * it by ptrace, instruction by instruction, and sends it a signal at each: through trampoline, stub
 * and the agent's slow paths. Before the call the parent fills every register there is (general,
 * x87, vector, mask) with random bits; they must be the same behind each signal and behind the
 * call.
 *   stepper         the handler calls functions, looks at its stack and returns
 *   stepper calls   the handler calls functions, one after the other, and returns
 *   stepper leap    the handler calls functions, leaves them by siglongjmp, and returns
 *   stepper jump    the handler leaves by siglongjmp, once for each instruction
 *   stepper unwind  the handler ends its thread by pthread_exit, once for each instruction
 * A second argument is the name of the scenarios to be run, in place of all.
 * Behind each run eight calls are made, one within the other, when nothing else is open: a depth
 * that was miscounted shows there. */
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "brace/event.h"
#include "truth.h"

enum { THUNKS = 2000, XSTATE_MAX = 16384, STEPS_MAX = 3000000 };
enum { RT_SIGRETURN = 15 };

/* Memory that parent and child share. */
static struct {
	volatile unsigned long handled, called, leapt, after, complete, wrong, cleaned;
	volatile int last;        /* the scenario ran to its end */
	volatile int again;       /* but is to be run once more */
} *both;

/* --- the child's calls, in assembly so that nothing but the call touches a register ------ */

void leaf(void);
void tailing(void);
void call_known(void);
void call_fresh(void);
void call_tail(void);
void call_plt(void);
void call_brief(void);
void call_framed(void);
void call_branching(void);
void call_calling(void);
void call_hop(void);
void hop(void);
void call_system(void);
void call_named(void);
void call_typed(void);
void typed(long number, const char *text, double half, short narrow);
void (*hop_at)(void) = hop;
extern const char known_before[], known_after[], fresh_before[], fresh_after[], tail_before[], tail_after[],
	plt_before[], plt_after[], brief_before[], brief_after[], framed_before[], framed_after[], branching_before[],
	branching_after[], calling_before[], calling_after[], hop_before[], hop_after[], typed_before[], typed_after[],
	thunks[];
extern const char *fresh_next;
const char *fresh_next;

#define FUNCTION(name, body) \
	".p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body \
	".cfi_endproc\n.size " #name ", .-" #name "\n"
#define CALL(name, target) \
	FUNCTION(call_##name, "\tlea -8(%rsp), %rsp\n\t.cfi_adjust_cfa_offset 8\n" #name "_before:\n\tcall " target "\n" \
		 #name "_after:\n\tlea 8(%rsp), %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n")

#define SYSTEM(name, number) \
	FUNCTION(call_##name, "\tlea -8(%rsp), %rsp\n\t.cfi_adjust_cfa_offset 8\n\tmov $" number ", %eax\n" \
		 "\tlea (%rsp), %rsp\n\tlea (%rsp), %rsp\n\tsyscall\n\tlea (%rsp), %rsp\n" \
		 "\tlea (%rsp), %rsp\n\tlea 8(%rsp), %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n")

__asm__(".text\n"
	FUNCTION(leaf, "\tlea (%rsp), %rsp\n\tlea (%rsp), %rsp\n\tret\n")
	FUNCTION(tailing, "\tlea (%rsp), %rsp\n\tlea (%rsp), %rsp\n\tjmp leaf\n")
	/* Too short for a jump, and no padding behind it: it is entered through its caller. */
	FUNCTION(brief, "\tret\n")
	".globl beside\n.type beside, @function\nbeside:\n.cfi_startproc\n\tret\n.cfi_endproc\n.size beside, .-beside\n"
	CALL(brief, "brief")
	/* Their first instructions, which move, make a frame, branch, and call. */
	FUNCTION(framed, "\tpush %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbp, 0\n\tmov %rsp, %rbp\n"
		 "\t.cfi_def_cfa_register rbp\n\tpush %rbx\n\t.cfi_rel_offset rbx, -8\n\tpop %rbx\n\tpop %rbp\n"
		 "\t.cfi_def_cfa rsp, 8\n\tret\n")
	FUNCTION(branching, "\tpush %rcx\n\t.cfi_adjust_cfa_offset 8\n\tjrcxz 1f\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n"
		 "\tpush %rax\n\t.cfi_adjust_cfa_offset 8\n\tlea 16(%rsp), %rsp\n\t.cfi_adjust_cfa_offset -16\n"
		 "1:\tlea 8(%rsp), %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n")
	FUNCTION(calling, "\tcall beside\n\tret\n")
	/* Too short for a jump, too, but with padding near: it is entered through an island
	 * there. */
	FUNCTION(hop, "\tnop\n\tret\n")
	".globl behind\n.type behind, @function\nbehind:\n.cfi_startproc\n\tnop\n\tret\n.cfi_endproc\n.size behind, .-behind\n"
	CALL(framed, "framed") CALL(branching, "branching") CALL(calling, "calling") CALL(hop, "*hop_at(%rip)")
	CALL(typed, "typed") CALL(known, "leaf") CALL(fresh, "*fresh_next(%rip)") CALL(tail, "tailing")
	/* A system call: what its events need is done before it and behind it. No names here, and
	 * no addresses anywhere: somebody might jump there. */
	SYSTEM(system, "110")
	/* access(), with any bits for a path. */
	SYSTEM(named, "21")
	".p2align 4\nthunks:\n.cfi_startproc\n.rept 2000\n\tcall leaf\n\tret\n\tnop\n\tnop\n.endr\n.cfi_endproc\n");

/* In C, because debug information tells its parameters: with --args the agent reads them, and what
 * a register full of random bits leads to. No register changes. */
__attribute__((noinline, optimize("O2", "omit-frame-pointer"))) void typed(long number, const char *text, double half, short narrow)
{
	__asm__ volatile("lea (%rsp), %rsp\n\tlea (%rsp), %rsp");
}

static void fresh(void)
{
	static unsigned next;

	fresh_next = thunks + 8 * next;
	next = (next + 1) % THUNKS;
	call_fresh();
}

/* An event of our own: C calls the agent there, which may use what C functions may. What is looked
 * at is the record, and those of the handlers: stepper.sh counts them. */
BRACE_EVENT(stepper, at, BRACE_PROTO(long a, int b, int c), BRACE_ARGS(a, b, c),
	    BRACE_FIELDS(BRACE_FIELD(long, a, a), BRACE_FIELD(int, b, b), BRACE_FIELD(int, c, c)),
	    BRACE_PRINT("a=%ld b=%d c=%d", REC->a, REC->b, REC->c))

static void call_event(void)
{
	for (int i = 0; i < 3; i++)
		brace_stepper_at(1234567890123, i, -7);
}

#define NOWHERE UINT32_MAX

/* Without `before`: from so many bytes of `run` to so many, and between them the flags and the 128
 * bytes below the stack pointer are kept, too. */
static const struct scenario {
	const char *name;
	void (*run)(void);
	const char *before, *after;
	unsigned from, to;
	int shape;                /* only its first instructions are different: not for ways that take long */
} scenarios[] = {
	{ "fresh", fresh, fresh_before, fresh_after },
	{ "known", call_known, known_before, known_after },
	{ "known", call_known, known_before, known_after },
	{ "tail", call_tail, tail_before, tail_after },
	{ "tail", call_tail, tail_before, tail_after },
	{ "brief", call_brief, brief_before, brief_after },
	{ "brief", call_brief, brief_before, brief_after },
	{ "framed", call_framed, framed_before, framed_after, .shape = 1 },
	{ "branching", call_branching, branching_before, branching_after, .shape = 1 },
	{ "calling", call_calling, calling_before, calling_after, .shape = 1 },
	{ "hop", call_hop, hop_before, hop_after, .shape = 1 },
	{ "typed", call_typed, typed_before, typed_after },
	{ "typed", call_typed, typed_before, typed_after },
	{ "system", call_system, .from = 10, .to = 18 },
	{ "system", call_system, .from = 10, .to = 18 },
	{ "system", call_system, .from = 10, .to = 18 },
	{ "system", call_system, .from = 20, .to = 28 },
	{ "system", call_system, .from = 20, .to = 28 },
	{ "system", call_system, .from = 20, .to = 28 },
	{ "named", call_named, .from = 10, .to = 18 },
	{ "named", call_named, .from = 10, .to = 18 },
	{ "event", call_event, .from = NOWHERE },
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(*scenarios) };
static const char *only; /* their name; NULL: all */

static void *outermost; /* what the stack begins with */
static sigjmp_buf out, within;

TRACED static unsigned long in_handler(unsigned long n)
{
	BARRIER();
	both->called++;
	if (n)
		n += in_handler(n - 1);
	BARRIER();
	return n;
}

TRACED static void on_return(int signal)
{
	void *at[64];
	int n = backtrace(at, 64);

	both->complete = at[n - 1] == outermost;
	both->wrong += in_handler(3) != 6;
	both->handled++;
}

static void on_calls(int signal)
{
	both->wrong += in_handler(3) != 6;
	both->wrong += in_handler(2) != 3;
	both->complete = 1; /* it does not look */
	both->handled++;
}

TRACED static void leap(int n)
{
	BARRIER();
	both->leapt++;
	if (n)
		leap(n - 1);
	siglongjmp(within, 1);
}

static void on_leap(int signal)
{
	both->wrong += in_handler(1) != 1;
	both->complete = 1;
	both->handled++;
	if (!sigsetjmp(within, 1))
		leap(2);
}

TRACED static void on_jump(int signal)
{
	both->wrong += in_handler(2) != 3;
	both->handled++;
	siglongjmp(out, 1);
}

TRACED static void on_unwind(int signal)
{
	both->wrong += in_handler(2) != 3;
	both->handled++;
	pthread_exit(NULL);
}

/* The parent steps from each stop to finished(). */
__attribute__((noinline)) static void finished(void)
{
	BARRIER();
	both->last = !both->again;
	both->again = 0;
}

static void stop_and_run(const struct scenario *s)
{
	void *at[64];

	outermost = at[backtrace(at, 64) - 1];
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSTOP);
	s->run();
	finished();
}

TRACED static void after(int n)
{
	BARRIER();
	both->after++;
	if (n)
		after(n - 1);
	BARRIER();
}

static const struct scenario *next_scenario(const struct scenario *s);

static void all_returning(void)
{
	for (const struct scenario *s = NULL; (s = next_scenario(s)); after(7))
		stop_and_run(s);
}

static void all_jumping(void)
{
	for (const struct scenario *volatile s = NULL; (s = next_scenario(s));)
		for (both->last = 0; !both->last; after(7))
			if (!sigsetjmp(out, 1))
				stop_and_run(s);
}

static void cleaned(void *arg) { both->cleaned++; }

static void *ending_thread(void *s)
{
	pthread_cleanup_push(cleaned, NULL);
	stop_and_run(s);
	pthread_cleanup_pop(1);
	return NULL;
}

static void all_unwinding(void)
{
	pthread_t thread;

	for (const struct scenario *s = NULL; (s = next_scenario(s));)
		for (both->last = 0; !both->last; after(7)) {
			require(!pthread_create(&thread, NULL, ending_thread, (void *)s), "pthread_create");
			pthread_join(thread, NULL);
		}
}

static const struct way { const char *name; void (*handler)(int); void (*all)(void); int once; } ways[] = {
	{ "return", on_return, all_returning, 0 },
	{ "calls", on_calls, all_returning, 0 },
	{ "leap", on_leap, all_returning, 0 },
	{ "jump", on_jump, all_jumping, 1 },
	{ "unwind", on_unwind, all_unwinding, 1 },
}, *way = ways;

/* Runs once for each instruction make a call known: none of them is repeated. */
static int is_left_out(const struct scenario *s)
{
	return (only && strcmp(only, s->name)) || (way->once && s->shape) || (way->once && s > scenarios && s->run == s[-1].run && s->from == s[-1].from);
}

/* The first is behind NULL; NULL: there is none. */
static const struct scenario *next_scenario(const struct scenario *s)
{
	do
		s = s ? s + 1 : scenarios;
	while (s < scenarios + SCENARIOS && is_left_out(s));
	return s < scenarios + SCENARIOS ? s : NULL;
}

static void child(void)
{
	struct sigaction act = { .sa_handler = way->handler };
	sigaction(SIGUSR1, &act, NULL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	after(7); /* the thread's first records are not disturbed */
	way->all();
	_exit(0);
}

/* --- the parent ------------------------------------------------------------------------- */

struct registers { struct user_regs_struct general; uint8_t x[XSTATE_MAX]; size_t x_bytes; };

static void get(pid_t pid, struct registers *r)
{
	struct iovec v = { r->x, sizeof(r->x) };

	require(!ptrace(PTRACE_GETREGS, pid, 0, &r->general), "PTRACE_GETREGS");
	require(!ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &v), "PTRACE_GETREGSET");
	r->x_bytes = v.iov_len;
}

static void set(pid_t pid, struct registers *r)
{
	struct iovec v = { r->x, r->x_bytes };

	require(!ptrace(PTRACE_SETREGS, pid, 0, &r->general), "PTRACE_SETREGS");
	require(!ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &v), "PTRACE_SETREGSET");
}

/* Not the x87's pointers to its last instruction, nor what the kernel and the processor note in
 * the area about itself (which parts are in use). */
static int same_x(const struct registers *a, const struct registers *b)
{
	return !memcmp(a->x, b->x, 6) && !memcmp(a->x + 24, b->x + 24, 464 - 24) &&
	       !memcmp(a->x + 576, b->x + 576, a->x_bytes - 576);
}

static int same_general(const struct registers *a, const struct registers *b, int flags)
{
	struct user_regs_struct x = a->general, y = b->general;

	x.orig_rax = y.orig_rax = 0;
	if (!flags)
		x.eflags = y.eflags = 0;
	x.eflags &= ~0x10100ul; /* of the stepping itself */
	y.eflags &= ~0x10100ul;
	return !memcmp(&x, &y, sizeof(x));
}

static void scramble(void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)at)[i] = (uint8_t)rand();
}

/* Everything but rsp and rip, segments and control words: x87, vector and mask registers as far
 * as the processor has them (the parts behind them in the area stay as they are). */
static void fill(pid_t pid, const struct registers *from, struct registers *now)
{
	struct user_regs_struct *g = &now->general;
	unsigned long long *all[] = { &g->rax, &g->rbx, &g->rcx, &g->rdx, &g->rsi, &g->rdi, &g->rbp, &g->r8,
				      &g->r9, &g->r10, &g->r11, &g->r12, &g->r13, &g->r14, &g->r15 };
	uint64_t parts;

	*now = *from;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		scramble(all[i], 8);
	g->orig_rax = (unsigned long long)-1;
	memcpy(&parts, now->x + 464, 8); /* what the kernel enabled */
	parts &= 0xe7;                   /* x87, SSE, AVX, masks, ZMM */
	scramble(now->x + 160, 256);
	for (int i = 0; i < 8; i++)
		memcpy(now->x + 32 + 16 * i, &(long double){ rand() * 0.5L + 1 }, 10);
	now->x[4] = 0xff; /* all eight are in use */
	if (parts & 4)
		scramble(now->x + 576, 256);
	if ((parts & 0xe0) == 0xe0 && now->x_bytes >= 2688)
		scramble(now->x + 1088, 64), scramble(now->x + 1152, 512 + 1024);
	memcpy(now->x + 512, &parts, 8);
	set(pid, now);
	get(pid, now);
}

static int blocked(pid_t pid)
{
	uint64_t mask = 0;

	require(!ptrace(PTRACE_GETSIGMASK, pid, 8, &mask), "PTRACE_GETSIGMASK");
	return mask >> (SIGUSR1 - 1) & 1;
}

/* True if it stands at a stop; false if it ended. */
static int wait_for(pid_t *pid, int *stop)
{
	int status;

	*pid = waitpid(*pid, &status, __WALL);
	require(*pid > 0, "waitpid");
	if (!WIFSTOPPED(status)) {
		*stop = status;
		return 0;
	}
	*stop = status >> 8;
	return 1;
}

static void go(pid_t pid, int how, int signal)
{
	require(!ptrace(how, pid, 0, signal), "ptrace");
}

/* A signal here, up to the instruction behind the handler's return, which is this one. */
static void interrupt(pid_t pid, const char *where)
{
	static struct registers before, after;
	int stop, enters = 0;

	get(pid, &before);
	go(pid, PTRACE_SYSCALL, SIGUSR1);
	for (;;) {
		require(wait_for(&pid, &stop), "the child outlives a signal");
		if (stop != (SIGTRAP | 0x80)) {
			fprintf(stderr, "signal %d in the handler, %s rip %llx\n", stop & 0xff, where, before.general.rip);
			exit(98);
		}
		get(pid, &after);
		if (enters && after.general.rip == before.general.rip)
			break;
		enters = after.general.orig_rax == RT_SIGRETURN;
		go(pid, PTRACE_SYSCALL, 0);
	}
	require(same_general(&before, &after, 1), "general registers behind a signal");
	require(same_x(&before, &after), "vector registers behind a signal");
}

struct phase {
	unsigned long skip;       /* ways that happen once: instructions to let pass */
	unsigned long n;          /* and how many of `trace` are known; the last is where the signal came */
	unsigned long steps, signals, complete, partial;
	const struct scenario *scenario;
	int filled, of_program_partial;
};

extern const char __executable_start[], etext[];

static int of_program(uint64_t rip)
{
	return rip >= (uint64_t)__executable_start && rip < (uint64_t)etext;
}

static void check_backtrace(struct phase *p, uint64_t rip)
{
	if (!p->filled)
		return;
	p->complete += both->complete > 0;
	p->partial += !both->complete;
	if (!both->complete && of_program(rip) && !p->of_program_partial++)
		fprintf(stderr, "the stack is not seen from %llx\n", (unsigned long long)rip);
}

/* --- what only a part of a function keeps ---------------------------------------------------- */

enum { FLAGS = 0xcd5, RED_ZONE = 16 /* words */ };

static uint64_t below(unsigned i)
{
	return 0x0101010101010101ul * (i + 1);
}

static void fill_part(pid_t pid, struct registers *r)
{
	r->general.eflags = (r->general.eflags & ~(unsigned long long)FLAGS) | ((unsigned)rand() & FLAGS);
	set(pid, r);
	for (unsigned i = 0; i < RED_ZONE; i++)
		require(!ptrace(PTRACE_POKEDATA, pid, r->general.rsp - 8 * (i + 1), below(i)), "PTRACE_POKEDATA");
}

static int part_is_kept(pid_t pid, const struct registers *want, const struct registers *got)
{
	for (unsigned i = 0; i < RED_ZONE; i++)
		if ((uint64_t)ptrace(PTRACE_PEEKDATA, pid, want->general.rsp - 8 * (i + 1), 0) != below(i))
			return 0;
	return same_general(want, got, 1);
}

/* The address of a scenario's begin or end: a label, or an offset from its function. */
static uint64_t mark_of(const struct scenario *s, const char *mark, unsigned offset)
{
	return s->before ? (uint64_t)mark : (uint64_t)s->run + offset;
}

static void at_marks(pid_t pid, struct phase *p, uint64_t rip)
{
	static struct registers saved, want, got;
	const struct scenario *s = p->scenario;

	if (!p->filled && rip == mark_of(s, s->before, s->from)) {
		get(pid, &saved);
		fill(pid, &saved, &want);
		if (!s->before)
			fill_part(pid, &want);
		p->filled = 1;
	} else if (p->filled && rip == mark_of(s, s->after, s->to)) {
		get(pid, &got);
		got.general.rip = want.general.rip;
		require(same_general(&want, &got, 0), "general registers behind the call");
		require(same_x(&want, &got), "vector registers behind the call");
		require(s->before || part_is_kept(pid, &want, &got), "flags and red zone behind a system call's events");
		saved.general.rip = rip;
		set(pid, &saved);
		p->filled = 0;
	}
}

/* --- ways that happen once: to where the last run's signal came, without steps ---------------- */

#define TRACE_MAX 65536
static uint64_t trace[TRACE_MAX]; /* the instructions of the last run, from the mark on */

static void note_step(struct phase *p, uint64_t rip)
{
	if (way->once && (p->filled || p->n) && p->n < TRACE_MAX)
		trace[p->n++] = rip;
}

static void poke_debug(pid_t pid, unsigned i, uint64_t value)
{
	require(!ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg) + 8 * i, value), "a breakpoint");
}

/* A virtual machine may have none: then each run is stepped through. */
static int has_breakpoints(pid_t pid)
{
	return !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg), (uint64_t)finished) &&
	       !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg) + 8 * 7, 1ul) &&
	       !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg) + 8 * 7, 0ul);
}

/* Goes on to the instruction, the n-th time that it comes. 0: the run's end came before. The mark
 * behind the call is a stop, too: a run that goes another way passes it with the registers that
 * were filled, which are not those of the program that follows. */
static int go_to(pid_t pid, struct phase *p, uint64_t at, unsigned long n)
{
	uint64_t rip = 0;
	int stop;

	poke_debug(pid, 0, at);
	poke_debug(pid, 1, (uint64_t)finished);
	poke_debug(pid, 2, mark_of(p->scenario, p->scenario->after, p->scenario->to));
	poke_debug(pid, 7, 1 | 4 | 16); /* all three, for the execution of one byte */
	while (n && rip != (uint64_t)finished) {
		go(pid, PTRACE_CONT, 0);
		require(wait_for(&pid, &stop) && (stop & 0xff) == SIGTRAP, "a breakpoint comes");
		rip = (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
		n -= rip == at;
		if (p->filled && rip != at)
			at_marks(pid, p, rip);
	}
	poke_debug(pid, 7, 0);
	return !n;
}

/* Of a repeated instruction only the first time stops at a breakpoint. */
static unsigned long times_in_trace(unsigned long to)
{
	unsigned long n = 0;

	for (unsigned long i = 1; i <= to; i++)
		n += trace[i] == trace[to] && trace[i] != trace[i - 1];
	return n;
}

/* 0: this run went another way, and is over. */
static int run_up(pid_t pid, struct phase *p)
{
	uint64_t mark = mark_of(p->scenario, p->scenario->before, p->scenario->from);

	if (!go_to(pid, p, mark, 1))
		return 0;
	at_marks(pid, p, mark);
	return p->n == 1 || go_to(pid, p, trace[p->n - 1], times_in_trace(p->n - 1));
}

/* One run of a scenario, from the child's stop to finished() or to where the signal led it. */
static int step_through(pid_t pid, struct phase *p)
{
	uint64_t last = 0, rip;
	unsigned long passed = 0;
	int stop;

	p->filled = 0;
	if (p->n && p->n < TRACE_MAX && has_breakpoints(pid)) {
		if (!run_up(pid, p)) {
			p->n = 0;
			both->again = 1;
			go(pid, PTRACE_CONT, 0);
			return 1;
		}
		last = trace[p->n - 1];
		passed = p->skip;
	} else {
		p->n = 0;
	}
	for (; p->steps < STEPS_MAX; p->steps++) {
		go(pid, PTRACE_SINGLESTEP, 0);
		require(wait_for(&pid, &stop), "the child outlives a step");
		require((stop & 0xff) == SIGTRAP, "a step ends");
		rip = (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
		if (rip == (uint64_t)finished)
			return 0;
		at_marks(pid, p, rip);
		note_step(p, rip);
		if (rip == last || (way->once && !p->filled) || blocked(pid))
			continue;
		last = rip;
		if (way->once && passed++ < p->skip)
			continue;
		p->signals++;
		if (way->once) {
			p->skip++;
			go(pid, PTRACE_CONT, SIGUSR1);
			return 1;
		}
		interrupt(pid, p->filled ? "in the call" : "outside");
		check_backtrace(p, rip);
	}
	return 0;
}

static void report(const struct phase *p)
{
	const char *path = getenv("STEPS");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "scenario %d: %lu steps, %lu signals, stack complete %lu partial %lu\n",
		(int)(p->scenario - scenarios), p->steps, p->signals, p->complete, p->partial);
	fclose(f);
}

/* Its own SIGSTOP, not that of a new thread. */
static int is_beginning(pid_t pid, int stop)
{
	siginfo_t info;

	return stop == SIGSTOP && !ptrace(PTRACE_GETSIGINFO, pid, 0, &info) && info.si_code == SI_TKILL;
}

/* Every stop of the child's is the beginning of one run. */
static void drive(pid_t main_pid)
{
	struct phase p = { .scenario = next_scenario(NULL) };
	int stop;

	for (;;) {
		pid_t pid = -1;

		if (!wait_for(&pid, &stop)) {
			if (pid != main_pid)
				continue;
			require(WIFEXITED(stop) && WEXITSTATUS(stop) == 0, "the child's end");
			return;
		}
		if (!is_beginning(pid, stop)) {
			int signal = stop & 0xff;

			go(pid, PTRACE_CONT, stop >> 8 || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
			continue;
		}
		if (step_through(pid, &p))
			continue;
		report(&p);
		require(p.steps < STEPS_MAX, "the scenario ends");
		require(!p.of_program_partial, "the stack is seen from the program's own instructions");
		p = (struct phase){ .scenario = next_scenario(p.scenario) };
		go(pid, PTRACE_CONT, 0);
	}
}

#ifdef FAR
static int no_thread(void *arg)
{
	return arg != NULL;
}
#endif

static void make_shared(void)
{
	both = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(both != MAP_FAILED, "mmap");
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			way = &ways[i];
	only = argc > 2 && *argv[2] ? argv[2] : NULL;
	make_shared();
#ifdef FAR
	/* the kernel refuses: but a thread without a thread pointer of its own might have begun */
	require(clone(no_thread, (char *)both + 4096, CLONE_VM | CLONE_THREAD, NULL) < 0, "clone is refused");
#endif
	pid = fork();
	if (!pid)
		child();
	require(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the child's first stop");
	require(!ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL),
		"PTRACE_SETOPTIONS");
	go(pid, PTRACE_CONT, 0);
	drive(pid);
	require(!both->wrong && both->handled, "every handler computed the same");
	printf("all registers kept behind every instruction\n");
	truth("in_handler", both->called);
	truth("after", both->after);
	if (both->leapt)
		truth("leap", both->leapt);
	if (!way->once && (!only || !strcmp(only, "known")))
		truth("call_known", 2);
	return 0;
}
