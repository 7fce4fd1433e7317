#include "points.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	close(fd);
	return at;
}

unsigned points_read(const char *path, struct point **out)
{
	const char *file = map_file(path), *at = NULL, *end = NULL;
	const Elf64_Ehdr *eh = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + eh->e_shoff);
	const char *names = file + sections[eh->e_shstrndx].sh_offset;
	struct point *points = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < eh->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".brace_points")) {
			at = file + sections[i].sh_offset;
			end = at + sections[i].sh_size;
		}
	while (at && end - at > 8) {
		points = realloc(points, (n + 1) * sizeof(*points));
		memcpy(&points[n].address, at, 8);
		points[n++].name = at + 8;
		at += 8 + strlen(at + 8) + 1;
	}
	if (!n) {
		fprintf(stderr, "%s has no test points\n", path);
		exit(2);
	}
	*out = points;
	return n;
}
