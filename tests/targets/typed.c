/* SPDX-License-Identifier: MIT */
/* Functions with parameters and values of every type that brace shows, called with values at
 * random. The program tells what it called with and what came back, so that a tracer's lines can
 * be held against it one by one.
 *
 *     typed SEED CALLS    writes "price(cents=4, name="x1") = 6" lines to $ACCOUNT
 *     typed unmap CALLS   passes strings that another thread maps and unmaps meanwhile
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__clang__)
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noipa))
#endif
#define STRING_MOST 64

enum colour { RED, GREEN = 5, BLUE = -3 };
enum how { PLAIN, BOLD = 1, WIDE = 2, TALL = 8 };

ALONE int price(int cents, const char *name) { return name > (const char *)4096 ? cents + *name : cents; }
ALONE long many(signed char a, short b, int c, long d, unsigned char e, unsigned short f, unsigned g, unsigned long h,
		bool i)
{
	return i ? a + b + c + d : (long)(e + f + g + h);
}
ALONE enum colour paint(enum colour colour, enum how how, void *at) { return at ? colour : how ? GREEN : BLUE; }
ALONE int area(double width, float height, int n) { return (int)width + (int)height + n; }
ALONE bool is_odd(unsigned n) { return n & 1; }
ALONE char letter(char c, const char *unused, ...) { return unused ? c : (char)(c + 1); }
ALONE void nothing(void) { __asm__ volatile("" ::: "memory"); }

static uint64_t state;
static FILE *account;

static uint64_t any(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 11;
}

static const char *colour_name(enum colour c)
{
	return c == RED ? "RED" : c == GREEN ? "GREEN" : "BLUE";
}

static void tell_string(const char *s)
{
	if (!s)
		fprintf(account, "0x0");
	else if (s < (const char *)4096)
		fprintf(account, "(fault)");
	else
		fprintf(account, "\"%.*s\"%s", STRING_MOST, s, strlen(s) > STRING_MOST ? "..." : "");
}

static const char *any_string(char *room)
{
	size_t n = any() % 80;

	if (any() % 8 == 0)
		return any() % 2 ? NULL : (const char *)8;
	for (size_t i = 0; i < n; i++)
		room[i] = (char)('a' + any() % 26);
	room[n] = '\0';
	return room;
}

static void do_price(void)
{
	char room[80];
	const char *name = any_string(room);
	int cents = (int)any(), sum = price(cents, name);

	fprintf(account, "price(cents=%d, name=", cents);
	tell_string(name);
	fprintf(account, ") = %d\n", sum);
}

static void do_many(void)
{
	signed char a = (signed char)any();
	short b = (short)any();
	int c = (int)any();
	long d = (long)any();
	unsigned char e = (unsigned char)any();
	unsigned short f = (unsigned short)any();
	unsigned g = (unsigned)any();
	unsigned long h = any();
	bool i = any() % 2;
	long sum = many(a, b, c, d, e, f, g, h, i);

	fprintf(account, "many(a=%d, b=%d, c=%d, d=%ld, e=0x%x, f=0x%x, g=0x%x, h=0x%lx, i=%s) = %ld\n", a, b, c, d, e, f, g,
		h, i ? "true" : "false", sum);
}

static void do_paint(void)
{
	static const enum colour colours[] = { RED, GREEN, BLUE };
	static const char *const hows[] = { "PLAIN", "BOLD", "WIDE", "BOLD|WIDE", "4", "5", "6", "7", "TALL",
					    "BOLD|TALL", "WIDE|TALL", "BOLD|WIDE|TALL" };
	enum colour colour = colours[any() % 3];
	enum how how = (enum how)(any() % 12);
	void *at = any() % 2 ? &state : NULL;

	if (how >= 4 && how < 8)
		how = PLAIN;
	fprintf(account, "paint(colour=%s, how=%s, at=0x%lx%s) = %s\n", colour_name(colour), hows[how], (long)at,
		at ? " <state>" : "", colour_name(paint(colour, how, at)));
}

static void do_area(void)
{
	double width = (double)(any() % 4000) / 4 - 500;
	float height = (float)(any() % 64) / 8;
	int n = (int)(any() % 100);

	fprintf(account, "area(width=%g, height=%g, n=%d) = %d\n", width, height, n, area(width, height, n));
}

static void do_small(void)
{
	unsigned n = (unsigned)any();
	char c = (char)('a' + any() % 26), back = letter(c, "fixed", 1, 2.0);

	fprintf(account, "letter(c='%c', unused=\"fixed\", ...) = '%c'\n", c, back);
	fprintf(account, "is_odd(n=0x%x) = %s\n", n, is_odd(n) ? "true" : "false");
	nothing();
	fprintf(account, "nothing()\n");
}

static _Atomic bool over;

static void *unmap(void *page)
{
	while (!over) {
		munmap(page, 4096);
		mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return NULL;
}

static int with_unmapping(long calls)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (page == MAP_FAILED || pthread_create(&thread, NULL, unmap, page))
		return 1;
	for (long i = 0; i < calls; i++)
		letter('a', page + i % 4096);
	over = true;
	return pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static void (*const all[])(void) = { do_price, do_many, do_paint, do_area, do_small };
	long calls = argc == 3 ? atol(argv[2]) : 0;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "unmap"))
		return with_unmapping(calls);
	state = strtoull(argv[1], NULL, 10);
	account = fopen(getenv("ACCOUNT"), "w");
	if (!account)
		return 2;
	for (long i = 0; i < calls; i++)
		all[i % 5]();
	return fclose(account) != 0;
}
