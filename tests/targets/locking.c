/* Threads that take locks, with a clock of their own around each call: at its end the program says
 * of each lock, by its address, how often it was taken, how long that took and how long it was
 * held, in nanoseconds: ADDRESS KIND TAKEN WAIT HOLD. Two locks are taken in both orders, one
 * thread after the other; two others in both, but under a third one. With the argument `deadlock`
 * two threads end in one, and a third waits for them, when the program has said "stuck". With `odd`
 * it does what locks are rarely used for, says ADDRESS ACQUIRED HELD of each, and is killed. With
 * `until` two threads take turns until a SIGTERM comes; then it says whether both got the lock. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define TURNS 100

struct account { void *lock; const char *kind; uint64_t taken, wait, hold; };
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER, a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER,
		       gate = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER, d = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t both;
static sem_t sem;
static struct account accounts[3];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work(unsigned us)
{
	usleep(us);
}

/* The accounts are written while the lock is held. */
#define TURN(account, kind_, lock_, take, release) do { \
	uint64_t begun = now(), got; \
	take(lock_); \
	got = now(); \
	work(50); \
	(account)->lock = (void *)(lock_); \
	(account)->kind = kind_; \
	(account)->taken++; \
	(account)->wait += got - begun; \
	(account)->hold += now() - got; \
	release(lock_); \
} while (0)

__attribute__((noinline)) void take_shared(void) { TURN(&accounts[0], "mutex", &shared, pthread_mutex_lock, pthread_mutex_unlock); }
__attribute__((noinline)) void take_rw(void) { TURN(&accounts[1], "rwlock", &rw, pthread_rwlock_wrlock, pthread_rwlock_unlock); }
__attribute__((noinline)) void take_spin(void) { TURN(&accounts[2], "spinlock", &spin, pthread_spin_lock, pthread_spin_unlock); }

static void *turns(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		take_shared();
		if (i % 2)
			take_rw();
		if (i % 10 == 0)
			take_spin();
		if (pthread_mutex_trylock(&shared) == 0) {
			accounts[0].taken++;
			pthread_mutex_unlock(&shared);
		}
	}
	return arg;
}

static void nested(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

__attribute__((noinline)) void *ab(void *arg) { nested(&a, &b); return arg; }
__attribute__((noinline)) void *ba(void *arg) { nested(&b, &a); return arg; }

static void *gated(void *arg)
{
	pthread_mutex_lock(&gate);
	nested(arg ? &c : &d, arg ? &d : &c);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static void *grab(void *arg)
{
	pthread_mutex_t *first = arg ? &a : &b, *second = arg ? &b : &a;

	pthread_mutex_lock(first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(second);
	return NULL;
}

static void one(void *(*f)(void *), void *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, f, arg);
	pthread_join(t, NULL);
}

static void deadlock(void)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 3);
	pthread_create(&t, NULL, grab, &a);
	pthread_create(&t, NULL, grab, NULL);
	pthread_barrier_wait(&both); /* each has its first one */
	printf("stuck %p %p\n", (void *)&a, (void *)&b);
	fflush(stdout);
	pthread_mutex_lock(&a);
	pthread_join(t, NULL);
}

/* --- odd ---------------------------------------------------------------------------------- */

static void say(const void *lock, int acquired, int held)
{
	printf("%p %d %d\n", lock, acquired, held);
	fflush(stdout);
}

static void recursive(void)
{
	static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&m);
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
		pthread_mutex_unlock(&m);
	}
	say(&m, 20, 10);
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int come, go, cleaned;

static void clean(void *arg)
{
	cleaned++;
	pthread_mutex_unlock(arg);
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&guard);
	pthread_cleanup_push(clean, &guard);
	come++;
	while (!go)
		pthread_cond_wait(&condition, &guard);
	pthread_cleanup_pop(0);
	pthread_mutex_unlock(&guard);
	return arg;
}

/* The lock is free when the thread waits. */
static pthread_t begin_wait(void)
{
	pthread_t t;

	come = 0;
	pthread_create(&t, NULL, waits, NULL);
	for (int there = 0; !there;) {
		while (pthread_mutex_trylock(&guard))
			usleep(100);
		there = come;
		pthread_mutex_unlock(&guard);
	}
	return t;
}

/* One wait is ended by a signal, one by a cancellation, whose handler has the mutex. */
static void conditions(void)
{
	pthread_t t = begin_wait();

	pthread_cancel(t);
	pthread_join(t, NULL);
	t = begin_wait();
	pthread_mutex_lock(&guard);
	go = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&guard);
	pthread_join(t, NULL);
	printf("cleaned %d\n", cleaned);
	say(&condition, 1, 0);
}

static void *fails(void *arg)
{
	struct timespec past = { 1, 0 };

	for (int i = 0; i < 5; i++)
		if (pthread_mutex_trylock(arg) != EBUSY || pthread_mutex_timedlock(arg, &past) != ETIMEDOUT)
			abort();
	return NULL;
}

static void failing(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	one(fails, &m);
	pthread_mutex_unlock(&m);
	say(&m, 1, 1);
}

/* In a child, with a lock of before the fork. */
static void forked(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pid_t child;

	pthread_mutex_lock(&m);
	child = fork();
	for (int i = 0; i < (child ? 3 : 7); i++) {
		pthread_mutex_unlock(&m);
		pthread_mutex_lock(&m);
	}
	pthread_mutex_unlock(&m);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	say(&m, 1 + 3 + 7, 1 + 3 + 1 + 7);
}

#define MANY 3000
static pthread_mutex_t many[MANY];

static void *each(void *arg)
{
	for (int i = 0; i < MANY; i++) {
		pthread_mutex_lock(&many[i]);
		pthread_mutex_unlock(&many[i]);
	}
	return arg;
}

static sem_t asked;
static volatile int alarms;

static void handler(int signal)
{
	sem_trywait(&asked);
	alarms++;
}

/* The handler comes upon the agent's work, too. */
static void storm(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	int n = 0;

	sem_init(&asked, 0, 1000000);
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; alarms < 200 || n % 1000; n++) {
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	say(&m, n, n);
	printf("alarms %p %d\n", (void *)&asked, alarms);
}

static void odd(void)
{
	recursive();
	conditions();
	failing();
	forked();
	one(each, NULL);
	one(each, NULL);
	say(&many[0], 2, 2);
	say(&many[MANY - 1], 2, 2);
	storm();
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

/* --- until -------------------------------------------------------------------------------- */

static volatile sig_atomic_t ended;

static void end(int signal)
{
	ended = 1;
}

static void *long_turns(void *count)
{
	while (!ended) {
		pthread_mutex_lock(&shared);
		usleep(2000);
		++*(int *)count;
		pthread_mutex_unlock(&shared);
		usleep(10);
	}
	return NULL;
}

static void until(void)
{
	int counts[2] = { 0 };
	pthread_t t;

	signal(SIGTERM, end);
	pthread_create(&t, NULL, long_turns, &counts[0]);
	long_turns(&counts[1]);
	pthread_join(t, NULL);
	printf("%d\n", counts[0] > 0 && counts[1] > 0);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&sem, 0, 2);
	if (argc > 1 && !strcmp(argv[1], "deadlock"))
		deadlock();
	if (argc > 1 && !strcmp(argv[1], "odd"))
		odd();
	if (argc > 1 && !strcmp(argv[1], "until")) {
		until();
		return 0;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, turns, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sem_wait(&sem);
	one(ab, NULL);
	one(ba, NULL);
	one(gated, NULL);
	one(gated, &gate);
	for (int i = 0; i < 3; i++)
		printf("%p %s %llu %llu %llu\n", accounts[i].lock, accounts[i].kind, (unsigned long long)accounts[i].taken,
		       (unsigned long long)accounts[i].wait, (unsigned long long)accounts[i].hold);
	printf("%p %p\n", (void *)&a, (void *)&b);
	return 5;
}
