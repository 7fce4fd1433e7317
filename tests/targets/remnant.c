/* remnant: once it is traced, leaves in its red zone what looks like a signal frame that goes on in
 * the tracer's code, and computes without touching it until SIGTERM. Kernel's frames leave such
 * remnants where a function that uses no red zone runs for long. Prints "running" at first, then
 * "planted", at the end "right". */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MARK 0x2b000000000033ul /* cs and ss of a 64-bit thread, in one word of the frame */

static volatile sig_atomic_t ending;

static void end(int signal) { ending = 1; }

__attribute__((noinline)) static unsigned long tracers_code(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0, found = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, " r-x") && strstr(line, "brace-code") && sscanf(line, "%lx-", &start) == 1)
			found = start + 16;
	if (maps)
		fclose(maps);
	return found;
}

int main(void)
{
	unsigned long code;

	signal(SIGTERM, end);
	puts("running");
	fflush(stdout);
	while (!(code = tracers_code()))
		if (ending)
			return 1;
	puts("planted");
	fflush(stdout);
	__asm__ volatile("mov %0, -64(%%rsp)\n\t"
			 "mov %1, -48(%%rsp)\n"
			 "1: cmpl $0, %2\n\t"
			 "je 1b"
			 : : "r"(code), "r"(MARK), "m"(ending) : "memory", "cc");
	puts("right");
	return 0;
}
