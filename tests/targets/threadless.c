/* A program that says of itself what its agent would say of threads without a slot: that so many of
 * their records were lost.
 *   threadless N         at once
 *   threadless N wait    when there is a line to read */
#include <string.h>

#include "shared/memory.h"
#include "truth.h"

TRACED long step(long n) { BARRIER(); return n + 1; }

static struct memory_header *session_memory(void)
{
	char line[4096];
	unsigned long at = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && !at && fgets(line, sizeof(line), f))
		if (strstr(line, "/memfd:brace-session"))
			sscanf(line, "%lx", &at);
	if (f)
		fclose(f);
	return (struct memory_header *)at;
}

int main(int argc, char **argv)
{
	struct memory_header *header;
	long n = 0;

	if (argc > 2 && (puts("ready") < 0 || fflush(stdout) || getchar() == EOF))
		return 2;
	header = session_memory();
	for (int i = 0; i < 10; i++)
		n = step(n);
	if (header && argc > 1)
		__atomic_fetch_add(&header->lost_threadless, strtoul(argv[1], NULL, 0), __ATOMIC_RELAXED);
	truth("step", (unsigned long)n);
	return n != 10;
}
