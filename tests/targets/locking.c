/* Threads that take locks, with a clock of their own around each call: at its end the program says
 * of each lock, by its address, how often it was taken, how long that took and how long it was
 * held, in nanoseconds: ADDRESS KIND TAKEN WAIT HOLD. Two locks are taken in both orders, one
 * thread after the other; two others in both, but under a third one. With the argument `deadlock`
 * two threads end in one, and a third waits for them, when the program has said "stuck". */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&sem, 0, 2);
	if (argc > 1 && !strcmp(argv[1], "deadlock"))
		deadlock();
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
