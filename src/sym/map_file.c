/* See map_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/map_file.h"

static int map_fd(int fd, const char *path, uint8_t **bytes, size_t *n, struct err *err)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st))
		return err_set(err, errno, "cannot examine %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, S_ISDIR(st.st_mode) ? EISDIR : ENOEXEC,
			       "%s is %s, not a program", path,
			       S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
	*n = (size_t)st.st_size;
	if (!*n)
		return 0;
	at = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return err_set(err, errno, "cannot map %s: %s", path, strerror(errno));
	*bytes = at;
	return 0;
}

int map_file(const char *path, uint8_t **bytes, size_t *n, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	*bytes = NULL;
	*n = 0;
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	r = map_fd(fd, path, bytes, n, err);
	close(fd);
	return r;
}

void unmap_file(uint8_t *bytes, size_t n)
{
	if (bytes)
		munmap(bytes, n);
}
