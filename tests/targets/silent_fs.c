/* A file system that stops answering: silent_fs DIR FILE OPENS, by root. DIR has a copy of FILE. So
 * many times it is opened; from then on whoever opens it waits, until we are ended; OPENS -1: it
 * can be opened, and whoever reads it waits. Says "ready" when it is mounted, and "silent" when the
 * first one waits. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_NODE = 2, MOST = 1 << 17 };

static int device;
static const char *name;
static char *content;
static struct stat is;
static long opens;
static int reads_wait;
static _Alignas(8) char request[MOST + 4096];

static void answer(const struct fuse_in_header *in, int error, const void *what, size_t n)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + n), .error = -error, .unique = in->unique };
	struct iovec parts[] = { { &out, sizeof(out) }, { (void *)what, n } };

	if (writev(device, parts, 2) < 0)
		perror("silent_fs");
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){ .ino = node, .size = node == FILE_NODE ? (uint64_t)is.st_size : 0,
				   .mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755, .nlink = 1, .mtime = 1, .ctime = 1 };
}

static void look_up(const struct fuse_in_header *in, const char *what)
{
	const struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };

	if (strcmp(what, name) == 0)
		answer(in, 0, &entry, sizeof(entry));
	else
		answer(in, ENOENT, NULL, 0);
}

static void be_silent(void)
{
	puts("silent");
	fflush(stdout);
}

static void open_file(const struct fuse_in_header *in)
{
	const struct fuse_open_out out = { .fh = 1 };

	if (reads_wait || opens-- > 0)
		answer(in, 0, &out, sizeof(out));
	else
		be_silent();
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	uint64_t left = what->offset < (uint64_t)is.st_size ? (uint64_t)is.st_size - what->offset : 0;

	if (reads_wait)
		be_silent();
	else
		answer(in, 0, content + what->offset, what->size < left ? what->size : left);
}

static void serve(const struct fuse_in_header *in)
{
	const void *body = in + 1;
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096, .max_readahead = 65536 };
	const struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(in, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return look_up(in, body);
	case FUSE_GETATTR:
		return answer(in, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return open_file(in);
	case FUSE_READ:
		return read_file(in, body);
	case FUSE_RELEASE:
		return answer(in, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: /* no answer is meant */
		return;
	default:
		return answer(in, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	char options[64];
	int fd;

	if (argc != 4)
		return 2;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	name = strrchr(argv[2], '/') + 1;
	opens = atol(argv[3]);
	reads_wait = opens < 0;
	if (fd < 0 || fstat(fd, &is) < 0)
		return 3;
	content = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if (device < 0 || content == MAP_FAILED || mount("silent", argv[1], "fuse.silent", MS_NOSUID | MS_NODEV, options) < 0)
		return 4;
	puts("ready");
	fflush(stdout);
	while (read(device, request, sizeof(request)) > 0)
		serve((const struct fuse_in_header *)request);
	return 0;
}
