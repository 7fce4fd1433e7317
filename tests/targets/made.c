/* Makes two functions, which call each other and then the program, and tells profilers of them:
 *
 *     made map      by /tmp/perf-PID.map
 *     made dump     by jit-PID.dump, in the working directory, mapped as profilers want it
 *     made link     the map is a link to a file of another name
 *     made hardlink the map is another file's second name
 *     made all      the map has, too, a line that claims all of memory
 *     made fifo     the map is a FIFO
 *     made damaged  the map has lines that are none, and its names bytes that a terminal obeys
 *
 * asks_parent(), which they call, makes a getppid, again and again until the input ends. The output
 * is the pid, then "NAME ADDRESS" for each return address into what was made. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

typedef void (*callback)(void);
typedef void (*outer)(callback c);

#define INNER_BYTES 8
#define OUTER_BYTES 18

static uint8_t *code;

TRACED static void asks_parent(void)
{
	syscall(SYS_getppid);
	BARRIER();
}

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret. The other one calls this one. */
static void make_code(void)
{
	static const uint8_t inner[INNER_BYTES] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 }, end[] = { 0xff, 0xd0, 0x5d, 0xc3 };
	uint64_t address;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(code != MAP_FAILED, "memory");
	address = (uint64_t)(uintptr_t)code;
	memcpy(code, inner, INNER_BYTES);
	memcpy(code + 64, begin, sizeof(begin));
	memcpy(code + 64 + sizeof(begin), &address, 8);
	memcpy(code + 64 + sizeof(begin) + 8, end, sizeof(end));
	require(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0, "code");
}

static FILE *map_file(void)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	return fopen(name, "a");
}

static void tell_map(const char *inner, const char *outermost)
{
	FILE *f = map_file();

	require(f != NULL, "a map file");
	fprintf(f, "%" PRIxPTR " %x %s\n", (uintptr_t)code, INNER_BYTES, inner);
	fprintf(f, "%" PRIxPTR " %x %s\n", (uintptr_t)code + 64, OUTER_BYTES, outermost);
	fclose(f);
}

/* --- jitdump, by the specification in tools/perf/Documentation of the kernel --- */

struct dump_header { uint32_t magic, version, size, machine, pad, pid; uint64_t time, flags; };
struct dump_load { uint32_t kind, size; uint64_t time; uint32_t pid, tid; uint64_t vma, address, bytes, index; };

static void put_load(FILE *f, uint64_t index, const char *name, const uint8_t *at, size_t n)
{
	const struct dump_load l = { 0, (uint32_t)(sizeof(l) + strlen(name) + 1 + n), index, (uint32_t)getpid(), (uint32_t)getpid(),
				     (uintptr_t)at, (uintptr_t)at, n, index };

	fwrite(&l, sizeof(l), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(at, n, 1, f);
}

static void tell_dump(const char *inner, const char *outermost)
{
	const struct dump_header h = { 0x4a695444, 1, sizeof(h), 62, 0, (uint32_t)getpid(), 0, 0 };
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	f = fopen(name, "w+");
	require(f != NULL, "a dump file");
	fwrite(&h, sizeof(h), 1, f);
	put_load(f, 0, inner, code, INNER_BYTES);
	put_load(f, 1, outermost, code + 64, OUTER_BYTES);
	fflush(f);
	require(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) != MAP_FAILED, "its mapping");
}

/* --- others ----------------------------------------------------------------------------------- */

static void tell_by_link(bool hard)
{
	char name[64], other[64];

	tell_map("made_inner", "made outer");
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.map.other", (int)getpid());
	require(rename(name, other) == 0 && (hard ? link(other, name) : symlink(other, name)) == 0, "a link");
}

static void tell_all(void)
{
	FILE *f = map_file();

	require(f != NULL, "a map file");
	fputs("0 7fffffffffff everything\n", f);
	fclose(f);
	tell_map("made_inner", "made outer");
}

static void tell_by_fifo(void)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	require(mkfifo(name, 0600) == 0, "a FIFO");
}

static void tell_damaged(void)
{
	FILE *f = map_file();

	require(f != NULL, "a map file");
	fputs("\n\nno entry\nffffffffffffffffff 1 x\nfffffffffffffff0 20 wraps\n0 0 empty\n10 ", f);
	fputc(0, f);
	fputs(" 1\n", f);
	fclose(f);
	tell_map("made\033]52;c;ZXZpbA==\ainner", "made\033[2J\xc2\x9bouter");
}

TRACED static void call(void)
{
	outer o;

	memcpy(&o, &(uint8_t *){ code + 64 }, sizeof(o));
	o(asks_parent);
	BARRIER();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "map";

	make_code();
	if (!strcmp(how, "dump"))
		tell_dump("made_inner", "made outer");
	else if (!strcmp(how, "link") || !strcmp(how, "hardlink"))
		tell_by_link(!strcmp(how, "hardlink"));
	else if (!strcmp(how, "all"))
		tell_all();
	else if (!strcmp(how, "fifo"))
		tell_by_fifo();
	else if (!strcmp(how, "damaged"))
		tell_damaged();
	else
		tell_map("made_inner", "made outer");
	printf("pid %d\nmade_inner %016" PRIxPTR "\nmade_outer %016" PRIxPTR "\n", (int)getpid(), (uintptr_t)code + 6,
	       (uintptr_t)code + 64 + 16);
	fflush(stdout);
	/* Until the standard input ends, 1 ms apart: whoever looks has seen one of them. */
	do
		call();
	while (poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, 1) == 0);
	return 0;
}
