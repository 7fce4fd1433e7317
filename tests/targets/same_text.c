/* same_text PID: is the executable memory of a process, byte for byte, what its files hold? Prints
 * each difference; exits 1 if there is one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int differences;

static void compare(int mem, unsigned long start, unsigned long end, unsigned long offset, const char *path)
{
	int file = open(path, O_RDONLY);
	unsigned char a[4096], b[4096];

	for (unsigned long at = start; file >= 0 && at < end; at += sizeof(a)) {
		ssize_t n = pread(file, b, sizeof(b), (off_t)(offset + (at - start)));

		if (n <= 0 || pread(mem, a, (size_t)n, (off_t)at) != n || !memcmp(a, b, (size_t)n))
			continue;
		for (ssize_t i = 0; i < n; i++)
			if (a[i] != b[i] && differences++ < 10)
				printf("%s+0x%lx: %02x, the file has %02x\n", path, offset + (at - start) + (unsigned long)i, a[i], b[i]);
	}
	close(file);
}

int main(int argc, char **argv)
{
	char name[64], line[4096], perms[8], path[4096];
	unsigned long start, end, offset;
	FILE *maps;
	int mem;

	snprintf(name, sizeof(name), "/proc/%s/maps", argc > 1 ? argv[1] : "self");
	maps = fopen(name, "r");
	snprintf(name, sizeof(name), "/proc/%s/mem", argc > 1 ? argv[1] : "self");
	mem = open(name, O_RDONLY);
	if (!maps || mem < 0) {
		printf("%s: %s\n", name, strerror(errno));
		return 2;
	}
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, perms, &offset, path) == 5 &&
		    perms[2] == 'x' && path[0] == '/' && strncmp(path, "/memfd:", 7))
			compare(mem, start, end, offset, path);
	printf("%d bytes differ\n", differences);
	return differences != 0;
}
