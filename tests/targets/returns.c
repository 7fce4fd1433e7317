/* Functions that return what is known, of every kind and width, in trees of calls at random: each
 * notes what it is about to return, so that a tracer's lines can be held against it one by one.
 * Threads, tail calls, longjmp across calls, and signals whose handlers call, too.
 *
 *     returns SEED CALLS THREADS    what was returned goes to $RETURNS: "tid function bits
 *                                   value" lines, each thread's in order
 *
 * With `-` as CALLS, it does a round of so many calls for each number that comes on its standard
 * input, and answers "done".
 * */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "truth.h"

enum kind {
	RET_BOOL, RET_CHAR, RET_UCHAR, RET_SHORT, RET_USHORT, RET_INT, RET_UINT, RET_LONG, RET_ULONG, RET_POINTER, RET_PAIR, RET_WIDE,
	RET_ERROR, RET_INT_ERROR, RET_BIG, RET_DOUBLE, RET_NOTHING, RET_TAIL, RET_OVER, RET_HANDLES, KINDS
};

static const struct { const char *name; unsigned bits; /* 0: what is in rax is nobody's */ } kinds[KINDS] = {
	{ "ret_bool", 8 }, { "ret_char", 8 }, { "ret_uchar", 8 }, { "ret_short", 16 }, { "ret_ushort", 16 }, { "ret_int", 32 },
	{ "ret_uint", 32 }, { "ret_long", 64 }, { "ret_ulong", 64 }, { "ret_pointer", 64 }, { "ret_pair", 64 }, { "ret_wide", 64 },
	{ "ret_error", 64 }, { "ret_int_error", 32 }, { "ret_big", 64 }, { "ret_double", 0 }, { "ret_nothing", 0 },
	{ "ret_tail", 64 }, { "ret_over", 32 }, { "ret_handles", 32 },
};

struct note { enum kind kind; uint64_t value; };
struct pair { uint64_t a, b; };
struct big { uint64_t at[5]; };

#define DEPTH 7
#define NOTES_MAX 400000

struct run {
	uint64_t random;
	struct note *notes;
	size_t n;
	long left;              /* calls to make */
	pid_t tid;
	pthread_t thread;
};

static __thread struct run *run;
static __thread volatile uint64_t handled;
static __thread struct big *big_at;

static inline uint64_t draw(void)
{
	run->random ^= run->random << 13;
	run->random ^= run->random >> 7;
	run->random ^= run->random << 17;
	return run->random;
}

/* Small numbers, error codes, and anything else. */
static inline uint64_t draw_value(void)
{
	uint64_t r = draw();

	switch (r % 5) {
	case 0: return r >> 8 & 3;
	case 1: return -(r >> 8 & 4095);
	default: return draw();
	}
}

static inline void note(enum kind kind, uint64_t value)
{
	require(run->n < NOTES_MAX, "more notes than there is room for");
	run->notes[run->n++] = (struct note){ kind, value };
}

static void call_some(int depth);

/* A function returns `type`, of a value that is drawn after the calls it makes. */
#define RETURNS(name, kind, type)                          \
	TRACED type name(int depth)                        \
	{                                                  \
		type value;                                \
							   \
		call_some(depth);                          \
		value = (type)draw_value();                \
		note(kind, (uint64_t)value);               \
		BARRIER();                                 \
		return value;                              \
	}

RETURNS(ret_bool, RET_BOOL, bool)
RETURNS(ret_char, RET_CHAR, signed char)
RETURNS(ret_uchar, RET_UCHAR, unsigned char)
RETURNS(ret_short, RET_SHORT, short)
RETURNS(ret_ushort, RET_USHORT, unsigned short)
RETURNS(ret_int, RET_INT, int)
RETURNS(ret_uint, RET_UINT, unsigned)
RETURNS(ret_ulong, RET_ULONG, unsigned long)
RETURNS(ret_pointer, RET_POINTER, void *)

/* via_tail: it was jumped to. */
TRACED long ret_long(int depth, int via_tail)
{
	long value;

	call_some(depth);
	value = (long)draw_value();
	note(RET_LONG, (uint64_t)value);
	if (via_tail)
		note(RET_TAIL, (uint64_t)value);
	return value;
}

TRACED long ret_tail(int depth, int ignored)
{
	call_some(depth - 1);
	return ret_long(depth, 1 + 0 * ignored);
}

TRACED struct pair ret_pair(int depth)
{
	struct pair p;

	call_some(depth);
	p = (struct pair){ draw(), draw() };
	note(RET_PAIR, p.a);
	return p;
}

TRACED __int128 ret_wide(int depth)
{
	uint64_t low, high;

	call_some(depth);
	low = draw();
	high = draw();
	note(RET_WIDE, low);
	return (__int128)high << 64 | low;
}

TRACED long ret_error(int depth)
{
	long value;

	call_some(depth);
	value = -(long)(1 + draw() % 4095);
	note(RET_ERROR, (uint64_t)value);
	return value;
}

TRACED int ret_int_error(int depth)
{
	int value;

	call_some(depth);
	value = -(int)(1 + draw() % 4095);
	note(RET_INT_ERROR, (uint32_t)value);
	return value;
}

/* In memory: what is returned is where, as the ABI has it. */
TRACED struct big ret_big(int depth)
{
	struct big b, *at = big_at;

	call_some(depth);
	for (int i = 0; i < 5; i++)
		b.at[i] = draw();
	note(RET_BIG, (uint64_t)at);
	return b;
}

TRACED double ret_double(int depth)
{
	call_some(depth);
	note(RET_DOUBLE, 0);
	return (double)depth / 4;
}

TRACED void ret_nothing(int depth)
{
	call_some(depth);
	note(RET_NOTHING, 0);
}

TRACED void leave(jmp_buf *to, int depth)
{
	call_some(depth - 1);
	longjmp(*to, depth + 1);
}

/* Over calls that never return. */
TRACED int ret_over(int depth)
{
	jmp_buf here;
	int value;

	if (!setjmp(here))
		leave(&here, depth);
	value = (int)draw_value();
	note(RET_OVER, (uint32_t)value);
	return value;
}

TRACED int on_signal(int depth)
{
	call_some(depth);
	handled++;
	return 1;
}

static void handler(int signal)
{
	on_signal(signal == SIGUSR1 ? 1 : 0);
}

/* Interrupted by a handler that calls. */
TRACED int ret_handles(int depth)
{
	uint64_t before = handled;
	int value;

	call_some(depth);
	pthread_kill(pthread_self(), SIGUSR1);
	require(handled > before, "the handler ran");
	value = (int)draw_value();
	note(RET_HANDLES, (uint32_t)value);
	return value;
}

/* The returned value arrives: the last note is of it. */
static inline void check(enum kind kind, uint64_t got)
{
	uint64_t bits = kinds[kind].bits, mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;

	require(run->notes[run->n - 1].kind == kind, kinds[kind].name);
	require(!bits || (run->notes[run->n - 1].value & mask) == (got & mask), kinds[kind].name);
}

/* The compiler would take a place of its own. */
static void call_big(int depth)
{
	struct big *(*as_it_is)(struct big *, int) = (struct big *(*)(struct big *, int))(void *)ret_big, at;

	big_at = &at;
	require(as_it_is(&at, depth) == &at, "a struct in memory");
}

static void call_one(int depth)
{
	enum kind kind = (enum kind)(draw() % KINDS);

	switch (kind) {
	case RET_BOOL: check(kind, ret_bool(depth)); break;
	case RET_CHAR: check(kind, (uint64_t)ret_char(depth)); break;
	case RET_UCHAR: check(kind, ret_uchar(depth)); break;
	case RET_SHORT: check(kind, (uint64_t)ret_short(depth)); break;
	case RET_USHORT: check(kind, ret_ushort(depth)); break;
	case RET_INT: check(kind, (uint64_t)ret_int(depth)); break;
	case RET_UINT: check(kind, ret_uint(depth)); break;
	case RET_LONG: check(kind, (uint64_t)ret_long(depth, 0)); break;
	case RET_ULONG: check(kind, ret_ulong(depth)); break;
	case RET_POINTER: check(kind, (uint64_t)ret_pointer(depth)); break;
	case RET_PAIR: check(kind, ret_pair(depth).a); break;
	case RET_WIDE: check(kind, (uint64_t)ret_wide(depth)); break;
	case RET_ERROR: check(kind, (uint64_t)ret_error(depth)); break;
	case RET_INT_ERROR: check(kind, (uint64_t)ret_int_error(depth)); break;
	case RET_BIG: call_big(depth); break;
	case RET_DOUBLE: require(ret_double(depth) == (double)depth / 4, "a double"); break;
	case RET_NOTHING: ret_nothing(depth); break;
	case RET_TAIL: check(kind, (uint64_t)ret_tail(depth, 0)); break;
	case RET_OVER: check(kind, (uint64_t)ret_over(depth)); break;
	default: check(RET_HANDLES, (uint64_t)ret_handles(depth)); break;
	}
}

static void call_some(int depth)
{
	if (depth <= 0)
		return;
	for (unsigned n = draw() % 4; n && run->left > 0; n--) {
		run->left--;
		call_one(depth - 1);
	}
}

static void *thread(void *arg)
{
	run = arg;
	run->tid = (pid_t)syscall(SYS_gettid);
	while (run->left > 0)
		call_some(DEPTH);
	return NULL;
}

static void write_notes(const struct run *r, size_t from)
{
	FILE *f = fopen(getenv("RETURNS") ? getenv("RETURNS") : "/dev/null", "a");

	require(f != NULL, "$RETURNS can be written");
	for (size_t i = from; i < r->n; i++)
		fprintf(f, "%d %s %u %llx\n", (int)r->tid, kinds[r->notes[i].kind].name, kinds[r->notes[i].kind].bits,
			(unsigned long long)r->notes[i].value);
	fclose(f);
}

static void run_init(struct run *r, uint64_t seed, long calls)
{
	*r = (struct run){ .random = seed * 0x9e3779b97f4a7c15 + 1, .left = calls };
	r->notes = malloc(NOTES_MAX * sizeof(*r->notes));
	require(r->notes != NULL, "memory");
}

static void rounds(uint64_t seed)
{
	struct run r;
	long calls;

	run_init(&r, seed, 0);
	printf("ready\n");
	fflush(stdout);
	while (scanf("%ld", &calls) == 1) {
		size_t from = r.n;

		r.left = calls;
		thread(&r);
		write_notes(&r, from);
		printf("done\n");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = handler, .sa_flags = SA_NODEFER };
	static struct run runs[16];
	int n = argc > 3 ? atoi(argv[3]) : 1;

	require(argc > 2 && n > 0 && n <= 16, "usage: returns SEED CALLS [THREADS]");
	sigaction(SIGUSR1, &act, NULL);
	if (!strcmp(argv[2], "-")) {
		rounds(strtoull(argv[1], NULL, 0));
		return 0;
	}
	for (int i = 0; i < n; i++)
		run_init(&runs[i], strtoull(argv[1], NULL, 0) + (uint64_t)i, atol(argv[2]));
	for (int i = 1; i < n; i++)
		require(pthread_create(&runs[i].thread, NULL, thread, &runs[i]) == 0, "a thread");
	thread(&runs[0]);
	for (int i = 0; i < n; i++) {
		if (i)
			pthread_join(runs[i].thread, NULL);
		write_notes(&runs[i], 0);
	}
	return 0;
}
