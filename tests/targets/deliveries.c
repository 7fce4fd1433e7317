/* Signals in every way there is, and an account of each delivery by the handler that had it: a line
 *
 *     HANDLER sig=SIG [code=CODE] flags=FLAGS TIMES
 *
 * A code is told if the handler has SA_SIGINFO. `deliveries WHAT...`: alone, or all but `later`,
 * which waits for a line of input first; `load N` sends itself N signals. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESTORER 0x04000000u
#define NO_CODE (-1000)
#define LINES 256

struct account { const char *name; int sig, code; unsigned flags; atomic_int n; };
static struct account *accounts; /* shared with children */
static unsigned flags_of[65];
static volatile bool no_delivery; /* raise() is said to call nothing of ours */

static void count(const char *name, int sig, int code)
{
	unsigned flags = flags_of[sig];

	if (no_delivery)
		return;
	for (int i = 0; i < LINES; i++) {
		struct account *a = &accounts[i];

		if (!a->name) {
			a->sig = sig;
			a->code = code;
			a->flags = flags;
			a->name = name;
		}
		if (a->name == name && a->sig == sig && a->code == code && a->flags == flags) {
			a->n++;
			return;
		}
	}
	abort();
}

static void print(void)
{
	for (int i = 0; i < LINES && accounts[i].name; i++) {
		const struct account *a = &accounts[i];

		printf("%s sig=%d ", a->name, a->sig);
		if (a->code != NO_CODE)
			printf("code=%d ", a->code);
		printf("flags=%x %d\n", a->flags, a->n);
	}
}

static void plain(int sig) { count("plain", sig, NO_CODE); }
static void other(int sig) { count("other", sig, NO_CODE); }
static void informed(int sig, siginfo_t *info, void *context)
{
	(void)context;
	count("informed", sig, info->si_code);
}

static void set_action(int sig, const struct sigaction *a)
{
	struct sigaction now;

	flags_of[sig] = (unsigned)a->sa_flags | RESTORER;
	if (sigaction(sig, a, NULL) < 0 || sigaction(sig, NULL, &now) < 0 || now.sa_handler != a->sa_handler)
		abort();
}

static void set(int sig, void (*handler)(int), int flags)
{
	const struct sigaction a = { .sa_handler = handler, .sa_flags = flags };

	set_action(sig, &a);
}

static void set_informed(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	const struct sigaction a = { .sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO };

	set_action(sig, &a);
}

/* --- ways ----------------------------------------------------------------------------------- */

static void shared_by_several(void)
{
	for (int sig = SIGUSR1; sig <= SIGUSR2; sig += SIGUSR2 - SIGUSR1)
		set(sig, plain, 0);
	set(SIGHUP, plain, SA_RESTART);
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		kill(getpid(), SIGUSR2);
		raise(SIGHUP);
	}
}

static void changed(void)
{
	for (int i = 0; i < 40; i++) {
		set(SIGUSR1, i % 2 ? plain : other, i % 3 ? SA_RESTART : 0);
		raise(SIGUSR1);
		raise(SIGUSR1);
	}
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	set(SIGUSR1, plain, 0);
	raise(SIGUSR1);
}

static void once(void)
{
	for (int i = 0; i < 10; i++) {
		set(SIGUSR1, plain, SA_RESETHAND);
		raise(SIGUSR1);
		set_informed(SIGUSR2, informed, (int)SA_RESETHAND | SA_NODEFER);
		kill(getpid(), SIGUSR2);
	}
}

static volatile int depth;
static void nested(int sig, siginfo_t *info, void *context)
{
	(void)context;
	count("nested", sig, info->si_code);
	if (++depth % 5)
		raise(sig);
}

static void inner(int sig, siginfo_t *info, void *context)
{
	(void)context;
	count("inner", sig, info->si_code);
}

static void outer(int sig, siginfo_t *info, void *context)
{
	(void)context;
	count("outer", sig, info->si_code);
	raise(SIGUSR2);
}

static void nesting(void)
{
	set_informed(SIGUSR1, nested, SA_NODEFER);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	set_informed(SIGUSR1, outer, 0);
	set_informed(SIGUSR2, inner, 0);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
}

static void queued(void)
{
	sigset_t some, old;

	sigemptyset(&some);
	for (int k = 0; k < 3; k++) {
		set_informed(SIGRTMIN + k, informed, 0);
		sigaddset(&some, SIGRTMIN + k);
	}
	sigprocmask(SIG_BLOCK, &some, &old);
	for (int i = 0; i < 60; i++)
		if (sigqueue(getpid(), SIGRTMIN + i % 3, (union sigval){ .sival_int = i }) < 0)
			abort();
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void on_a_stack(void)
{
	enum { BYTES = 65536 };
	char *guarded = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = guarded + 4096, .ss_size = BYTES };
	const stack_t none = { .ss_flags = SS_DISABLE };

	mprotect(guarded, 4096, PROT_NONE);
	sigaltstack(&stack, NULL);
	set_informed(SIGUSR1, informed, SA_ONSTACK);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	sigaltstack(&none, NULL);
}

/* As little as the kernel takes, with nothing below it. Returns the deliveries that no record may
 * fit beside. */
static void on_a_small_stack(void)
{
	long bytes = (long)getauxval(AT_MINSIGSTKSZ), pages = (bytes + 4095) & ~4095L;
	char *guarded = mmap(NULL, (size_t)pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = guarded + 4096, .ss_size = (size_t)bytes };
	const stack_t none = { .ss_flags = SS_DISABLE };

	mprotect(guarded, 4096, PROT_NONE);
	sigaltstack(&stack, NULL);
	set(SIGUSR1, plain, SA_ONSTACK);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	sigaltstack(&none, NULL);
}

static sigjmp_buf back;
static void jumps(int sig)
{
	count("jumps", sig, NO_CODE);
	siglongjmp(back, 1);
}

static void faults(int sig, siginfo_t *info, void *context)
{
	(void)context;
	count("faults", sig, info->si_code);
	siglongjmp(back, 1);
}

static void left_by_jumps(void)
{
	volatile int i;

	set(SIGUSR1, jumps, 0);
	set_informed(SIGSEGV, faults, 0);
	for (i = 0; i < 10; i++) {
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
		if (!sigsetjmp(back, 1))
			*(volatile int *)(uintptr_t)(i + 1) = 0;
	}
}

static void *thread(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++)
		pthread_kill(pthread_self(), i % 2 ? SIGUSR1 : SIGUSR2);
	return NULL;
}

static void in_threads(void)
{
	pthread_t t[6];

	set(SIGUSR1, plain, 0);
	set_informed(SIGUSR2, informed, 0);
	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
}

/* A handler that is new while other threads run. */
static void newest(int sig) { count("newest", sig, NO_CODE); }
static atomic_bool enough;
static void *works(void *arg)
{
	while (!enough)
		(void)getppid();
	return arg;
}

static void beside_threads(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, works, NULL);
	set(SIGUSR1, newest, 0);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	enough = true;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void of_a_child(int sig) { count("of_a_child", sig, NO_CODE); }
static void ends(int sig, siginfo_t *info, void *context)
{
	(void)context;
	count("ends", sig, info->si_code);
}

static void in_children(void)
{
	set_informed(SIGCHLD, ends, SA_RESTART | SA_NOCLDSTOP);
	set(SIGUSR1, plain, 0);
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			raise(SIGUSR1);
			set(SIGUSR1, of_a_child, 0);
			raise(SIGUSR1);
			_exit(0);
		}
		while (waitpid(pid, NULL, 0) < 0)
			;
	}
	signal(SIGCHLD, SIG_DFL);
}

/* Neither is a delivery. */
static void (*volatile called)(int) = plain;
static void (*volatile chained)(int, siginfo_t *, void *) = informed;
static void chains(int sig, siginfo_t *info, void *context)
{
	count("chains", sig, info->si_code);
	no_delivery = true;
	chained(sig, info, context); /* by a jump, at -O2 */
}

static void by_others(void)
{
	set(SIGUSR2, plain, 0);
	set_informed(SIGUSR1, informed, 0);
	raise(SIGUSR1);
	no_delivery = true;
	called(SIGUSR2);
	no_delivery = false;
	set_informed(SIGUSR1, chains, 0);
	for (int i = 0; i < 10; i++) {
		raise(SIGUSR1);
		no_delivery = false;
	}
}

static void by_a_timer(void)
{
	const struct timespec often = { 0, 1000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimerspec each = { often, often };
	timer_t timer;

	set_informed(SIGALRM, informed, SA_RESTART);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		abort();
	timer_settime(timer, 0, &each, NULL);
	for (int i = 0; i < 20; i++)
		pause();
	timer_delete(timer);
	signal(SIGALRM, SIG_IGN);
}

/* A handler that is in no file: nobody can say where its instructions are. */
static void made(void)
{
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	at[0] = 0xc3; /* ret */
	set(SIGUSR1, (void (*)(int))(uintptr_t)at, 0);
	raise(SIGUSR1);
}

/* --- under load ------------------------------------------------------------------------------ */

static atomic_int heard;
static void counts(int sig) { (void)sig; heard++; }

static void load(int n)
{
	set(SIGUSR1, counts, 0);
	for (int i = 0; i < n; i++)
		raise(SIGUSR1);
	printf("counts sig=%d flags=%x %d\n", SIGUSR1, RESTORER, heard);
}

static const struct { const char *name; void (*f)(void); } ways[] = {
	{ "shared", shared_by_several }, { "changed", changed }, { "once", once }, { "nesting", nesting }, { "queued", queued },
	{ "stack", on_a_stack }, { "jumps", left_by_jumps }, { "threads", in_threads }, { "beside", beside_threads },
	{ "children", in_children }, { "others", by_others }, { "timer", by_a_timer }, { "small", on_a_small_stack },
	{ "made", made },
};

int main(int argc, char **argv)
{
	char line[16];

	accounts = mmap(NULL, sizeof(*accounts) * LINES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "later") == 0) {
			set(SIGHUP, plain, SA_RESTART); /* installed before anybody comes */
			set_informed(SIGUSR2, informed, (int)SA_RESETHAND);
			printf("ready\n");
			fflush(stdout);
			if (!fgets(line, sizeof(line), stdin))
				return 1;
			raise(SIGHUP);
			raise(SIGUSR2);
		}
		if (strcmp(argv[i], "load") == 0 && i + 1 < argc)
			load(atoi(argv[i + 1]));
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			if (strcmp(argv[i], ways[k].name) == 0)
				ways[k].f();
	}
	print();
	return 0;
}
