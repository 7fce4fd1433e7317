/* Functions to be probed at each of their instructions: flags alive across instructions, the red
 * zone of a leaf, switch tables, string instructions, calls, recursion, vector registers. */
#include "probe_subjects.h"

#include <string.h>

#define SUBJECT __attribute__((noinline, noclone))

SUBJECT static uint64_t leaf(uint64_t a, uint64_t b)
{
	volatile uint64_t below[12]; /* in the red zone */

	for (int i = 0; i < 12; i++)
		below[i] = a * (uint64_t)i + b;
	return below[3] ^ below[7] ^ below[11];
}

SUBJECT static uint64_t wide(uint64_t a, uint64_t b)
{
	unsigned __int128 sum = (unsigned __int128)a << 64 | b;

	for (int i = 0; i < 5; i++)
		sum = sum * 3 + a - (b >> i); /* adc, sbb */
	return (uint64_t)(sum >> 64) ^ (uint64_t)sum / (a | 1);
}

SUBJECT static uint64_t switches(uint64_t a, uint64_t b)
{
	for (int i = 0; i < 9; i++)
		switch ((a >> i) % 8) {
		case 0: b += 7; break;
		case 1: b ^= a; break;
		case 2: b = b << 3 | b >> 61; break;
		case 3: b -= a >> 2; break;
		case 4: b *= 5; break;
		case 5: b = ~b; break;
		case 6: b += b < a; break;
		default: b /= 3;
		}
	return b;
}

SUBJECT static uint64_t strings(uint64_t a, uint64_t b)
{
	char text[64], copy[64];
	size_t n = sizeof(text);
	char *to = copy;
	const char *from = text;

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (char)(a >> i % 57);
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	to--, from--, n = 32;
	__asm__ volatile("std; rep movsb; cld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return (uint64_t)memcmp(copy, text, sizeof(text)) + strlen(text) + b;
}

SUBJECT static uint64_t recursion(uint64_t a, uint64_t b)
{
	return a < 2 ? b : recursion(a / 3, b + 1) + recursion(a / 5, b ^ 3);
}

SUBJECT static uint64_t floats(uint64_t a, uint64_t b)
{
	double x = (double)a, y = (double)b;
	float z = 1;

	for (int i = 0; i < 6; i++) {
		x = x * 0.5 + y;
		y -= x > y ? 1.25 : z;
		z += (float)i;
	}
	return (uint64_t)(int64_t)(x - y);
}

SUBJECT static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

SUBJECT static uint64_t sorts(uint64_t a, uint64_t b)
{
	int all[9];

	for (int i = 0; i < 9; i++)
		all[i] = (int)((a >> i * 3) % 1000);
	for (int i = 1; i < 9; i++)
		for (int k = i; k && compare(&all[k - 1], &all[k]) > 0; k--) {
			int t = all[k];

			all[k] = all[k - 1];
			all[k - 1] = t;
		}
	return (uint64_t)(all[0] * 31 + all[4] * 7 + all[8]) + b;
}

uint64_t probe_subjects_run(void)
{
	uint64_t a = 0x123456789abcdef, b = 42;

	b = leaf(a, b);
	b = wide(a, b);
	b = switches(a, b);
	b = strings(a, b);
	b += recursion(30, b);
	b = floats(b % 1000, a % 77);
	return sorts(a, b);
}

const char *const probe_subjects[] = { "leaf", "wide", "switches", "strings", "recursion", "floats", "compare", "sorts", NULL };
