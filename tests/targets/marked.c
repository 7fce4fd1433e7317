/* A program with markers that keeps account of them: how often each was passed, and the sum of its
 * arguments.
 *   marked [ROUNDS]          one thread
 *   marked threads SECONDS   four threads, until the time is up or a line comes in; the
 *                            semaphore is shown
 * Built at every optimisation level, so that arguments stand in registers, on the stack, in memory,
 * in the instruction. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEMAPHORE(name) __extension__ volatile unsigned short marked_##name##_semaphore __attribute__((section(".probes")))
SEMAPHORE(widths);
SEMAPHORE(plain);
SEMAPHORE(memory);
SEMAPHORE(sites);
SEMAPHORE(constant);
SEMAPHORE(leaf);
SEMAPHORE(guarded);
SEMAPHORE(storm);

struct account { uint64_t n, sum; };
static struct account widths, plain, memory, sites, constant, leaf, guarded;
static struct { int32_t a[8]; int64_t b; uint8_t c; } thing = { { 3, -4, 5, -6, 7, -8, 9, -10 }, -77, 200 };
int32_t global_number = -12345;

#define KEEP __attribute__((noinline, noclone))

static void add(struct account *a, uint64_t what)
{
	a->n++;
	a->sum += what;
}

KEEP static void do_widths(uint64_t x)
{
	uint8_t u8 = (uint8_t)x; int8_t s8 = (int8_t)(x >> 1);
	uint16_t u16 = (uint16_t)(x * 3); int16_t s16 = (int16_t)(x * 7);
	uint32_t u32 = (uint32_t)(x * 11); int32_t s32 = (int32_t)(x * 13);
	uint64_t u64 = x * 17; int64_t s64 = -(int64_t)(x * 19);

	STAP_PROBE8(marked, widths, u8, s8, u16, s16, u32, s32, u64, s64);
	add(&widths, u8 + (uint64_t)(int64_t)s8 + u16 + (uint64_t)(int64_t)s16 + u32 + (uint64_t)(int64_t)s32 + u64 + (uint64_t)s64);
}

KEEP static void do_plain(void)
{
	STAP_PROBE(marked, plain);
	add(&plain, 0);
}

KEEP static void do_memory(const int32_t *p, unsigned i, const int64_t *q)
{
	STAP_PROBE5(marked, memory, p[i], thing.b, thing.c, global_number, *q);
	add(&memory, (uint64_t)((int64_t)p[i] + thing.b + thing.c + global_number + *q));
}

KEEP static uint64_t do_leaf(uint64_t a, uint64_t b)
{
	volatile uint64_t below[8]; /* in the red zone */

	for (int i = 0; i < 8; i++)
		below[i] = a + b * (uint64_t)i;
	STAP_PROBE2(marked, leaf, below[5], a);
	leaf.n++;
	leaf.sum += below[5] + a;
	return below[2] ^ below[7];
}

KEEP static void do_sites(uint64_t x)
{
	if (x % 3 == 0) {
		STAP_PROBE1(marked, sites, x);
		add(&sites, x);
	} else if (x % 3 == 1) {
		STAP_PROBE1(marked, sites, (int32_t)-5);
		add(&sites, (uint64_t)-5);
	} else {
		STAP_PROBE1(marked, sites, (uint8_t)9);
		add(&sites, 9);
	}
}

KEEP static void do_constant(void)
{
	STAP_PROBE3(marked, constant, 5, -6, 0x123456789ab);
	add(&constant, 5ull - 6 + 0x123456789ab);
}

KEEP static void do_guarded(uint64_t x)
{
	if (marked_guarded_semaphore) {
		STAP_PROBE1(marked, guarded, x * x);
		add(&guarded, x * x);
	}
}

static void round_of(uint64_t x, uint64_t *hash)
{
	int64_t q = (int64_t)(x * 5) - 1000;

	do_widths(x * 0x9e3779b97f4a7c15);
	do_plain();
	do_memory(thing.a, x % 8, &q);
	*hash ^= do_leaf(x, *hash);
	do_sites(x);
	do_constant();
	do_guarded(x);
}

static void show(const char *name, const struct account *a)
{
	printf("%s %llu %llu\n", name, (unsigned long long)a->n, (unsigned long long)a->sum);
}

/* --- threads -------------------------------------------------------------------------------- */

static volatile int stop;
static uint64_t total[4];

KEEP static uint64_t storm(uint64_t x)
{
	STAP_PROBE2(marked, storm, x, ~x);
	return x * 6364136223846793005 + 1;
}

static void *storming(void *arg)
{
	uint64_t *n = arg, x = 1, back = 1;

	for (; !stop; ++*n) {
		x = storm(x);
		back = back * 6364136223846793005 + 1;
		if (x != back)
			abort();
	}
	return NULL;
}

static int threads(int seconds)
{
	pthread_t all[4];
	struct pollfd in = { 0, POLLIN, 0 };

	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, storming, &total[i]);
	printf("running\n");
	fflush(stdout);
	poll(&in, 1, seconds * 1000);
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	printf("storm %llu semaphore %u\n", (unsigned long long)(total[0] + total[1] + total[2] + total[3]), marked_storm_semaphore);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	uint64_t hash = 1;

	if (argc > 2 && !strcmp(argv[1], "threads"))
		return threads(atoi(argv[2]));
	for (int i = 0; i < rounds; i++)
		round_of((uint64_t)i, &hash);
	show("widths", &widths);
	show("plain", &plain);
	show("memory", &memory);
	show("leaf", &leaf);
	show("sites", &sites);
	show("constant", &constant);
	show("guarded", &guarded);
	printf("hash %llx\n", (unsigned long long)hash);
	return 0;
}
