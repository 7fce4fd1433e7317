/* SPDX-License-Identifier: MIT */
/* Calls functions with decimal numbers and _Float16, each of which returns its argument `a`. What
 * they are called with, gdb knows (tests/run/arguments.sh). */
#include <stdint.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))
#define KEEP(v) __asm__ volatile("" : "+m"(v))

struct mixed { _Decimal64 price; _Float16 h[2]; _Decimal32 rate; int n; };

APART _Float16 half(_Float16 a, int n, _Float16 b)
{
	KEEP(a);
	KEEP(b);
	return a;
}

APART _Decimal64 wide(int n, _Decimal64 a, double x)
{
	KEEP(a);
	KEEP(x);
	return n >= 0 ? a : 0;
}

APART _Decimal32 narrow(_Decimal32 a, float y)
{
	KEEP(a);
	KEEP(y);
	return a;
}

APART _Decimal128 widest(_Decimal128 a, int n)
{
	KEEP(a);
	return n >= 0 ? a : 0;
}

APART int mix(struct mixed m)
{
	KEEP(m);
	return m.n;
}

/* Numbers by their bits: all exponents, all forms of a significand, those that are not canonical,
 * infinities, and what is no number. */
static uint64_t next(void)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state ^ state >> 29;
}

/* gdb does not know that a significand which is too large counts as 0, as libgcc does, and takes
 * what a NaN tells besides for digits of another format. */
static int is_gdbs_fault(int zero, int nan)
{
	return zero || nan;
}

static _Decimal64 any_wide(int i)
{
	/* Small exponents, so that there are points among the digits, as well as any. */
	uint64_t bits = i % 2 ? next() : (uint64_t)(398 - i % 30) << 53 | (next() & ((1ul << 53) - 1));
	_Decimal64 d;

	if (i % 5 == 0)
		bits &= ~0xffffffffful << 4 | 0xfff; /* fewer digits */
	memcpy(&d, &bits, sizeof(d));
	return is_gdbs_fault(d == 0, d != d) ? 1.50DD : d;
}

static _Decimal128 any_widest(int i)
{
	/* The significand has 113 bits; its upper part is little or any. */
	uint64_t bits[2] = { next(), (uint64_t)(6176 - i % 50) << 49 | (next() >> (15 + i)) };
	_Decimal128 d;

	if (i % 3 == 0)
		bits[1] = next();
	memcpy(&d, bits, sizeof(d));
	return is_gdbs_fault(d == 0, d != d) ? 1.50DL : d;
}

static _Decimal32 any_narrow(int i)
{
	uint32_t bits = i % 2 ? (uint32_t)next() : (uint32_t)(101 - i % 15) << 23 | (next() & 0x7fffff);
	_Decimal32 d;

	memcpy(&d, &bits, sizeof(d));
	return is_gdbs_fault(d == 0, d != d) ? 1.50DF : d;
}

static _Float16 any_half(void)
{
	uint16_t bits = (uint16_t)next();
	_Float16 h;

	memcpy(&h, &bits, sizeof(h));
	return h;
}

int main(void)
{
	half(0.1, 1, 65504);
	half(1.0 / 3, 2, 6e-8);
	half(-0.0, 3, __builtin_inf());
	wide(4, __builtin_nand64(""), 1.5);
	widest(-12.3450DL, 1);
	widest(9.999999999999999999999999999999999E6144DL, 2);
	widest(1.E-6176DL, 3);
	narrow(-__builtin_infd32(), 2.5);
	wide(1, 12.50DD, 1.5);
	wide(2, 1.E3DD, 1.5);
	wide(3, 0.000000123DD, 1.5);
	narrow(1.20DF, 2.5);
	for (int i = 0; i < 60; i++) {
		_Float16 h = any_half();

		/* Signals of NaNs get lost where a processor without AVX512-FP16 converts. */
		if (h == h)
			half(h, i, 1);
		wide(i, any_wide(i), i);
		narrow(any_narrow(i), (float)i);
		widest(any_widest(i % 48), i);
		mix((struct mixed){ any_wide(i), { 1.5, -2 }, any_narrow(i), i });
	}
	return 0;
}
