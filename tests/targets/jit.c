/* Makes code and calls through it: call sites that are rewritten, unmapped, and mapped again at the same
 * place as others; more of them than a tracer has room for; and code of its own text that it changes. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

#define SITE_BYTES 16
#define FEW 1000
#define MANY 300000 /* more than 245,760 */

TRACED static uint64_t callee_a(uint64_t n)
{
	BARRIER();
	return n * 3 + 1;
}

TRACED static uint64_t callee_b(uint64_t n)
{
	BARRIER();
	return n ^ 0x5555;
}

typedef uint64_t (*function)(uint64_t);

/* mov rdi, rax; mov r11, imm64; call r11 */
static uint8_t *put_site(uint8_t *at, function f)
{
	static const uint8_t move[] = { 0x48, 0x89, 0xc7, 0x49, 0xbb };
	uint64_t address = (uint64_t)(uintptr_t)f;

	memcpy(at, move, sizeof(move));
	memcpy(at + 5, &address, 8);
	memcpy(at + 13, "\x41\xff\xd3", 3); /* call r11 */
	return at + SITE_BYTES;
}

static void *room(void *where, size_t n)
{
	void *at = mmap(where, n * SITE_BYTES + 64, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	require(at != MAP_FAILED && (!where || at == where), "memory for code");
	return at;
}

static unsigned long calls_a, calls_b;

/* The code begins a little behind the memory does. To be run once. */
static function make(uint8_t *at, unsigned behind, size_t n, function even, function odd)
{
	uint8_t *p = at + behind;

	calls_a += (even == callee_a ? (n + 1) / 2 : 0) + (odd == callee_a ? n / 2 : 0);
	calls_b += (even == callee_b ? (n + 1) / 2 : 0) + (odd == callee_b ? n / 2 : 0);

	memcpy(p, "\x50\x48\x89\xf8", 4); /* push rax; mov rax, rdi */
	p += 4;
	for (size_t i = 0; i < n; i++)
		p = put_site(p, i % 2 ? odd : even);
	memcpy(p, "\x5a\xc3", 2); /* pop rdx; ret */
	require(!mprotect(at, n * SITE_BYTES + 64, PROT_READ | PROT_EXEC), "code");
	return (function)(uintptr_t)(at + behind);
}

static uint64_t rewritten(void)
{
	uint8_t *at = room(NULL, FEW);
	uint64_t n = 1;

	for (int round = 0; round < 20; round++) {
		n = make(at, 0, FEW, round % 2 ? callee_a : callee_b, round % 3 ? callee_a : callee_b)(n);
		require(!mprotect(at, FEW * SITE_BYTES + 64, PROT_READ | PROT_WRITE), "code to be written again");
	}
	munmap(at, FEW * SITE_BYTES + 64);
	return n;
}

static uint64_t unmapped(void)
{
	uint8_t *where = NULL;
	uint64_t n = 1;

	for (int round = 0; round < 20; round++) {
		where = room(where, FEW);
		n = make(where, (unsigned)round % 16, FEW, callee_b, callee_a)(n);
		munmap(where, FEW * SITE_BYTES + 64);
	}
	return n;
}

static uint64_t many(void)
{
	uint8_t *at = room(NULL, MANY);
	function f = make(at, 0, MANY, callee_a, callee_b);
	uint64_t n = f(1);

	munmap(at, MANY * SITE_BYTES + 64);
	return n;
}

/* Its own text: the number it returns. */
TRACED static int constant(int n)
{
	int m;

	/* Not where a hook's jump stands: whoever looks there finds the jump. */
	__asm__ volatile(".nops 16\n\tmov $0x12345678, %0" : "=r"(m));
	__asm__ volatile("" : "+r"(m), "+r"(n));
	return m + n;
}

static int change_text(void)
{
	uintptr_t page = (uintptr_t)constant & ~4095ul;
	uint8_t *at = (uint8_t *)(uintptr_t)constant;
	int before = constant(1), value = 0x11111111;

	require(!mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), "text to be written");
	for (int i = 0; i < 64; i++)
		if (!memcmp(at + i, "\x78\x56\x34\x12", 4)) {
			memcpy(at + i, &value, 4);
			break;
		}
	require(!mprotect((void *)page, 8192, PROT_READ | PROT_EXEC), "text");
	return before == 0x12345679 ? constant(1) : -1;
}

int main(int argc, char **argv)
{
	printf("%llx\n", (unsigned long long)rewritten());
	printf("%llx\n", (unsigned long long)unmapped());
	if (argc > 1 && !strcmp(argv[1], "many"))
		printf("%llx\n", (unsigned long long)many());
	if (argc > 1 && !strcmp(argv[1], "text"))
		printf("%x\n", (unsigned)change_text());
	truth("callee_a", calls_a);
	truth("callee_b", calls_b);
	return 0;
}
