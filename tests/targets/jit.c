/* Makes code and calls through it: call sites that are rewritten, unmapped, and mapped again at the
 * same place as others, in memory of no file and in such as it writes to elsewhere; more of them,
 * in a file, than a tracer has room for; and code of its own text that it changes. As translators
 * do it looks its callers up by their return addresses, which it finds where the code that it made
 * says that its stack is: they must be in that code. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

#define SITE_BYTES 16
#define BEGIN_BYTES 17
#define FEW 1000
#define MANY 400000 /* more than 389,120 */

static uint8_t *code, *code_end; /* made; NULL: in a file */

static uint8_t **volatile made_sp; /* of the code that was made, around its calls */

static void look_up(void)
{
	const uint8_t *at = made_sp[-1];

	require(!code || (at >= code + 3 && at <= code_end && memcmp(at - 3, "\x41\xff\xd3", 3) == 0), "the caller's address");
}

TRACED static uint64_t callee_a(uint64_t n)
{
	look_up();
	return n * 3 + 1;
}

TRACED static uint64_t callee_b(uint64_t n)
{
	look_up();
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

static size_t bytes_for(size_t n)
{
	return n * SITE_BYTES + 64;
}

static void *room(void *where, size_t n)
{
	uint8_t *at = mmap(where, bytes_for(n), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	require(at != MAP_FAILED && (!where || at == where), "memory for code");
	code = at;
	code_end = at + bytes_for(n);
	return at;
}

static int file_of(size_t bytes)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	require(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "a file for code");
	return fd;
}

static unsigned long calls_a, calls_b;

/* push rax; mov rax, rdi; mov r11, imm64; mov [r11], rsp */
static uint8_t *put_begin(uint8_t *at)
{
	uint64_t address = (uint64_t)(uintptr_t)&made_sp;

	memcpy(at, "\x50\x48\x89\xf8\x49\xbb", 6);
	memcpy(at + 6, &address, 8);
	memcpy(at + 14, "\x49\x89\x23", 3);
	return at + BEGIN_BYTES;
}

/* The code begins a little behind the memory does. To be run once. */
static function make(uint8_t *at, unsigned behind, size_t n, function even, function odd)
{
	uint8_t *p = at + behind;

	calls_a += (even == callee_a ? (n + 1) / 2 : 0) + (odd == callee_a ? n / 2 : 0);
	calls_b += (even == callee_b ? (n + 1) / 2 : 0) + (odd == callee_b ? n / 2 : 0);

	p = put_begin(p);
	for (size_t i = 0; i < n; i++)
		p = put_site(p, i % 2 ? odd : even);
	memcpy(p, "\x5a\xc3", 2); /* pop rdx; ret */
	require(!mprotect(at, bytes_for(n), PROT_READ | PROT_EXEC), "code");
	return (function)(uintptr_t)(at + behind);
}

static uint64_t rewritten(void)
{
	uint8_t *at = room(NULL, FEW);
	uint64_t n = 1;

	for (int round = 0; round < 20; round++) {
		n = make(at, 0, FEW, round % 2 ? callee_a : callee_b, round % 3 ? callee_a : callee_b)(n);
		require(!mprotect(at, bytes_for(FEW), PROT_READ | PROT_WRITE), "code to be written again");
	}
	munmap(at, bytes_for(FEW));
	return n;
}

static uint64_t unmapped(void)
{
	uint8_t *where = NULL;
	uint64_t n = 1;

	for (int round = 0; round < 20; round++) {
		where = room(where, FEW);
		n = make(where, (unsigned)round % 16, FEW, callee_b, callee_a)(n);
		munmap(where, bytes_for(FEW));
	}
	return n;
}

/* Code that is executed where it is not written: two mappings of one memory. */
static uint64_t mapped_twice(void)
{
	int fd = file_of(bytes_for(FEW));
	uint8_t *at = mmap(NULL, bytes_for(FEW), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t n;

	require(at != MAP_FAILED, "code to be written");
	make(at, 0, FEW, callee_a, callee_b);
	code = mmap(NULL, bytes_for(FEW), PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	require(code != MAP_FAILED, "code to be executed");
	code_end = code + bytes_for(FEW);
	n = ((function)(uintptr_t)code)(1);
	munmap(at, bytes_for(FEW));
	munmap(code, bytes_for(FEW));
	close(fd);
	return n;
}

/* In a file's, as a loader maps it, and leaves it: how its callers look is nobody's business. */
static uint64_t in_file(size_t sites)
{
	int fd = file_of(bytes_for(sites));
	uint8_t *at = mmap(NULL, bytes_for(sites), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	uint64_t n;

	require(at != MAP_FAILED, "a file's code");
	code = NULL;
	n = make(at, 0, sites, callee_a, callee_b)(1);
	close(fd);
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

static volatile sig_atomic_t ended;

static void end(int sig)
{
	ended = sig;
}

/* The first round, the same code as in all others. */
static void go_on(void)
{
	uint64_t right = rewritten();

	puts("began");
	fflush(stdout);
	while (!ended)
		require(rewritten() == right, "the same every time");
	puts("right");
	exit(0);
}

int main(int argc, char **argv)
{
	signal(SIGTERM, end);
	if (argc > 1 && !strcmp(argv[1], "on"))
		go_on();
	if (argc > 1 && !strcmp(argv[1], "file"))
		printf("%llx\n", (unsigned long long)in_file(FEW));
	if (argc > 1 && !strcmp(argv[1], "many"))
		printf("%llx\n", (unsigned long long)in_file(MANY));
	printf("%llx\n", (unsigned long long)rewritten());
	printf("%llx\n", (unsigned long long)unmapped());
	printf("%llx\n", (unsigned long long)mapped_twice());
	if (argc > 1 && !strcmp(argv[1], "text"))
		printf("%x\n", (unsigned)change_text());
	truth("callee_a", calls_a);
	truth("callee_b", calls_b);
	return 0;
}
