/* Every class of argument and of result the ABI has: each goes through a traced function and
 * comes back as the same value, printed. */
#include <complex.h>
#include <alloca.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "truth.h"

struct pair { long a, b; };
struct mixed { long a; double b; };
struct floats { float x, y, z; };
struct doubles { double x, y; };
struct big { long v[6]; };
struct bits { char c[3]; };
typedef float v4 __attribute__((vector_size(16)));
typedef double v4d __attribute__((vector_size(32)));
typedef __int128 wide;

TRACED static long integers(long a, int b, short c, char d, bool e, unsigned f, long g, int h, char i)
{
	BARRIER(); /* or one call does for all */
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

TRACED static double reals(double a, float b, double c, double d, float e, double f, double g, double h, double i, float j)
{
	BARRIER(); /* or one call does for all */
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

TRACED static long double extended(long double a, int n, long double b) { return a * n + b; }
TRACED static double complex complex_of(double complex a, float complex b) { return a * b; }
TRACED static long double complex extended_complex(long double complex a) { return a * a; }
TRACED static wide wide_of(int n, wide a, unsigned __int128 b) { return a * n + (wide)(b >> 3); }
TRACED static struct pair pair_of(struct pair p, int n) { return (struct pair){p.b + n, p.a - n}; }
TRACED static struct mixed mixed_of(struct mixed m, double d) { return (struct mixed){m.a * 2, m.b + d}; }
TRACED static struct floats floats_of(struct floats f) { return (struct floats){f.z, f.x, f.y}; }
TRACED static struct doubles doubles_of(struct doubles d, struct doubles e) { return (struct doubles){d.x * e.y, d.y * e.x}; }
TRACED static struct big big_of(struct big b, int n) { b.v[n] = 77; return b; }
TRACED static struct bits bits_of(struct bits b) { b.c[1]++; return b; }
TRACED static v4 vector_of(v4 a, v4 b) { return a * b + a; }
TRACED static bool flag_of(double a, double b) { return a < b; }
TRACED static void nothing(void) { BARRIER(); }
TRACED __attribute__((target("avx"))) static v4d wide_vector_of(v4d a, v4d b) { return a * b - a; }
/* Realigns its stack: a pointer to the arguments is made from the frame it was entered with. */
TRACED __attribute__((target("avx"), force_align_arg_pointer)) static double realigned(v4d a, double b, struct big c)
{
	volatile v4d kept = a * b;
	volatile char room[64] __attribute__((aligned(64)));

	room[c.v[0] & 63] = 3;
	return kept[0] + kept[3] + c.v[5] + room[c.v[0] & 63] + ((uintptr_t)room & 63);
}

TRACED static double variadic(const char *kinds, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, kinds);
	for (; *kinds; kinds++)
		sum = sum * 3 + (*kinds == 'i' ? va_arg(list, int) : *kinds == 'd' ? va_arg(list, double) :
				 *kinds == 'l' ? (double)va_arg(list, long double) : va_arg(list, struct pair).b);
	va_end(list);
	return sum;
}

TRACED static unsigned long on_stack(unsigned n)
{
	unsigned char *p = alloca(n);
	unsigned long sum = 0;

	memset(p, 3, n);
	for (unsigned i = 0; i < n; i++)
		sum += p[i] * i;
	return sum;
}

/* A nested function reached through a trampoline on the stack has its frame in r10. */
TRACED static long static_chain(long n)
{
	long kept = n;
	long add(long x) { BARRIER(); return x + kept; }
	long (*volatile pointer)(long) = add;

	return pointer(5) + add(6);
}

TRACED __attribute__((target("avx"))) static void avx(void)
{
	v4d v = wide_vector_of((v4d){1, 2, 3, 4}, (v4d){5, 6, 7, 8});

	printf("%g %g %g %g\n", v[0], v[1], v[2], v[3]);
	printf("%g\n", realigned(v, 2.5, (struct big){{9, 8, 7, 6, 5, 4}}));
}

static void scalars(void)
{
	wide w = wide_of(7, (wide)1 << 90, (unsigned __int128)1 << 77);
	double complex c = complex_of(1.5 + 2 * I, 0.25f - 3 * I);
	long double complex e = extended_complex(2.0L - 1.0Li);

	printf("%ld %.17g %.20Lg\n", integers(1, -2, 3, 'd', true, 6, -7, 8, 9),
	       reals(1.1, 2.2f, 3.3, 4.4, 5.5f, 6.6, 7.7, 8.8, 9.9, 10.1f), extended(1.1L, 3, 1e-18L));
	printf("%.17g %.17g %.20Lg %.20Lg %lx %lx\n", creal(c), cimag(c), creall(e), cimagl(e), (long)(w >> 64), (long)w);
	printf("%.17g %d %lu %ld\n", variadic("idlpidddddddddl", 1, 2.5, 3.5L, ((struct pair){4, 5}), 6, 7., 8., 9., 10., 11., 12., 13., 14., 15., 16.5L),
	       flag_of(1, 2), on_stack(5000), static_chain(30));
}

static void structures(void)
{
	struct pair p = pair_of((struct pair){10, 20}, 3);
	struct mixed m = mixed_of((struct mixed){5, 0.5}, 0.25);
	struct floats f = floats_of((struct floats){1, 2, 3});
	struct doubles d = doubles_of((struct doubles){1.5, 2.5}, (struct doubles){3.5, 4.5});
	struct big b = big_of((struct big){{1, 2, 3, 4, 5, 6}}, 4);
	struct bits s = bits_of((struct bits){"ab"});
	v4 v = vector_of((v4){1, 2, 3, 4}, (v4){5, 6, 7, 8});

	printf("%ld %ld %ld %g %g%g%g %g %g\n", p.a, p.b, m.a, m.b, f.x, f.y, f.z, d.x, d.y);
	printf("%ld %ld %s %g %g %g %g\n", b.v[4], b.v[5], s.c, v[0], v[1], v[2], v[3]);
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		scalars();
		structures();
		nothing();
		if (__builtin_cpu_supports("avx"))
			avx();
	}
	truth("integers", 3);
	truth("variadic", 3);
	truth("big_of", 3);
	truth("nothing", 3);
	truth("realigned", 3);
	return 0;
}
