/* Threads that wake each other in turn, each pair in its own way: by a semaphore, a condition
 * variable, a pipe, an eventfd in an epoll set, a pair of sockets that is polled, a signal. At its
 * end each thread says how often it has waited by the kernel's account, NAME VOLUNTARY-SWITCHES. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int turns = 100, ends[2], event, set, sockets[2], token;
static sem_t given, taken[6];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t signalled;

static void must(int holds)
{
	if (!holds) {
		perror("waking");
		exit(1);
	}
}

__attribute__((noinline)) void wait_semaphore(void) { must(!sem_wait(&given)); }
__attribute__((noinline)) void wake_semaphore(void) { must(!sem_post(&given)); }
__attribute__((noinline)) void wait_pipe(void) { char c; must(read(ends[0], &c, 1) == 1); }
__attribute__((noinline)) void wake_pipe(void) { must(write(ends[1], "", 1) == 1); }
__attribute__((noinline)) void wake_event(void) { uint64_t one = 1; must(write(event, &one, 8) == 8); }
__attribute__((noinline)) void wake_socket(void) { must(write(sockets[1], "", 1) == 1); }
__attribute__((noinline)) void wake_signal(void) { must(!pthread_kill(signalled, SIGUSR1)); }

__attribute__((noinline)) void wait_condition(void)
{
	pthread_mutex_lock(&lock);
	while (!token)
		pthread_cond_wait(&changed, &lock);
	token = 0;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void wake_condition(void)
{
	pthread_mutex_lock(&lock);
	token = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&changed);
}

__attribute__((noinline)) void wait_event(void)
{
	struct epoll_event e;
	uint64_t value;

	must(epoll_wait(set, &e, 1, -1) == 1);
	must(read(event, &value, 8) == 8);
}

__attribute__((noinline)) void wait_socket(void)
{
	struct pollfd p = { .fd = sockets[0], .events = POLLIN };
	char c;

	must(poll(&p, 1, -1) == 1);
	must(read(sockets[0], &c, 1) == 1);
}

__attribute__((noinline)) void wait_signal(void)
{
	sigset_t s;
	int signal;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	must(!sigwait(&s, &signal));
}

static const struct way { const char *name; void (*wait)(void), (*wake)(void); } ways[] = {
	{ "semaphore", wait_semaphore, wake_semaphore }, { "condition", wait_condition, wake_condition },
	{ "pipe", wait_pipe, wake_pipe }, { "event", wait_event, wake_event },
	{ "socket", wait_socket, wake_socket }, { "signal", wait_signal, wake_signal },
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static void begin(const char *who, const char *way)
{
	char name[16];

	snprintf(name, sizeof(name), "%s.%s", who, way);
	must(!prctl(PR_SET_NAME, name));
}

static void finish(const char *who, const char *way)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	dprintf(1, "%s.%s %ld\n", who, way, u.ru_nvcsw);
}

static void *waiter(void *arg)
{
	const struct way *w = arg;

	begin("wt", w->name);
	for (int i = 0; i < turns; i++) {
		w->wait();
		must(!sem_post(&taken[w - ways]));
	}
	finish("wt", w->name);
	return NULL;
}

static void *waker(void *arg)
{
	const struct way *w = arg;

	begin("wk", w->name);
	for (int i = 0; i < turns; i++) {
		w->wake();
		must(!sem_wait(&taken[w - ways]));
	}
	finish("wk", w->name);
	return NULL;
}

int main(int argc, char **argv)
{
	struct epoll_event e = { .events = EPOLLIN };
	pthread_t threads[2 * WAYS];
	sigset_t s;

	if (argc > 1)
		turns = atoi(argv[1]);
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	must(!pthread_sigmask(SIG_BLOCK, &s, NULL));
	must(!pipe(ends) && (event = eventfd(0, 0)) >= 0 && (set = epoll_create1(0)) >= 0);
	must(!epoll_ctl(set, EPOLL_CTL_ADD, event, &e) && !socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	sem_init(&given, 0, 0);
	for (size_t i = 0; i < WAYS; i++)
		sem_init(&taken[i], 0, 0);
	for (size_t i = 0; i < WAYS; i++) {
		must(!pthread_create(&threads[2 * i], NULL, waiter, (void *)&ways[i]));
		signalled = threads[2 * i]; /* the last one is the signal's */
	}
	for (size_t i = 0; i < WAYS; i++)
		must(!pthread_create(&threads[2 * i + 1], NULL, waker, (void *)&ways[i]));
	for (size_t i = 0; i < 2 * WAYS; i++)
		pthread_join(threads[i], NULL);
	if (fork() == 0) {
		usleep(20000);
		_exit(0);
	}
	wait(NULL);
	return 7;
}
