/* Goes down its stack as it is told, a line at a time, and says how deep that was:
 *
 *	rN    down() N times within itself, then leaf()
 *	aN    room() with N bytes of alloca, then leaf()
 *	tN    as rN in a thread of its own
 *	sN    as rN in a signal handler on a stack of its own
 *	jN    down() N times, then hop(), which jumps to leaf()
 *	q     ends
 *
 * It answers "done DEPTH SIZE...": bytes from the end of the stack's mapping to leaf's return
 * address, and those of the frames: leaf's return address, and of each function from the end of the
 * frame that it called to its own end. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 100000

static uintptr_t ends[FRAMES];
static unsigned frames;
static uintptr_t top;
static volatile unsigned long sink;
static volatile unsigned long wanted;

/* The end of the calling function's frame, right above its return address. */
#define HERE ((uintptr_t)__builtin_frame_address(0) + 16)
#define NOTE() (ends[frames++] = HERE)

static uintptr_t mapping_of(uintptr_t at)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, found = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= at && at < end)
			found = end;
	if (maps)
		fclose(maps);
	return found;
}

__attribute__((noinline)) static void leaf(void)
{
	NOTE();
	sink++;
}

__attribute__((noinline)) static void hop(unsigned long n)
{
	sink += n;
	leaf();
}

__attribute__((noinline)) static unsigned long down(unsigned long n)
{
	volatile char local[48];

	NOTE();
	local[n % sizeof(local)] = 1;
	if (n > 1)
		down(n - 1);
	else if (wanted)
		hop(n);
	else
		leaf();
	sink += local[n % sizeof(local)];
	return sink;
}

__attribute__((noinline)) static void room(unsigned long n)
{
	volatile char *bytes = alloca(n);

	NOTE();
	bytes[0] = bytes[n - 1] = 1;
	leaf();
	sink += bytes[0];
}

static void *in_thread(void *arg)
{
	top = mapping_of(HERE);
	frames = 0;
	NOTE();
	down((unsigned long)arg);
	return NULL;
}

static void thread(unsigned long n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, (void *)n))
		abort();
	pthread_join(t, NULL);
}

static void handler(int signal)
{
	down(wanted);
}

static void elsewhere(unsigned long n)
{
	static char stack[1 << 20];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &action, NULL);
	wanted = n;
	raise(SIGUSR1);
	wanted = 0;
}

static void answer(void)
{
	printf("done %lu 8", frames ? top - ends[frames - 1] + 8 : 0);
	for (unsigned i = frames; i > 1 && frames < 50; i--)
		printf(" %lu", ends[i - 2] - ends[i - 1]);
	printf("\n");
}

__attribute__((noinline)) static void jump(unsigned long n)
{
	NOTE();
	wanted = 1;
	down(n);
	wanted = 0;
}

static void obey(char what, unsigned long n)
{
	static const struct { char what; void (*go)(unsigned long n); } all[] = {
		{ 'a', room }, { 't', thread }, { 's', elsewhere }, { 'j', jump },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].what == what)
			all[i].go(n);
	if (what == 'r')
		down(n);
}

/* Commands come from a file, if one is named. */
int main(int argc, char **argv)
{
	char line[64];

	if (argc > 1 && !freopen(argv[1], "r", stdin))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		frames = 0;
		top = mapping_of(HERE);
		NOTE();
		obey(*line, strtoul(line + 1, NULL, 10));
		answer();
	}
	return 0;
}
