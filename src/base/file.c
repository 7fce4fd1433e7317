/* SPDX-License-Identifier: MIT */
/* Opening of files that others named. The first open is O_PATH, which has no effect on a device or
 * FIFO; after statx() said that it is a regular file, the same inode is opened again by
 * /proc/self/fd, so nobody can exchange it in between. Every reader of the traced program's files
 * calls this, on any thread.
 *
 * No thread of brace waits for a process that serves a file system. A path is followed as far as
 * the kernel knows it without asking (RESOLVE_CACHED). A served file is copied by an aside
 * (base/aside.h), and brace holds no descriptor of it: to close one, or to end with one, waits for
 * the server, too. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/aside.h"
#include "base/memory_file.h"
#include "base/mounts.h"

#define COPY_MOST (UINT64_C(512) << 20) /* bytes of a served file */
#define COPIES 64     /* copies that file_stat knows; the oldest is forgotten */
#define LOW 0x200000  /* below every program; above what vm.mmap_min_addr forbids */
#define SILENT_MOST 8 /* waits in vain; after so many no served file is tried */

/* Both parts: two writes in one second differ in the nanoseconds only. */
static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

/* --- in an aside: what a process serves ------------------------------------------------------- */

/* A mapped file by device and inode, as /proc/PID/maps has them; inode 0: not known. */
struct mapped { dev_t device; ino_t inode; };

/* One visit, in memory that brace and the aside share for its time (aside_run copies it both ways).
 * Descriptors have the same numbers there, because the aside is a fork. */
struct path_visit {
	char path[PATH_MAX]; /* followed, if there is no place yet */
	int place, to;       /* O_PATH, or -1; where the copy goes, or -1: none is made */
	int error;
	uint64_t mount;      /* the number of the mount that the place is on */
	struct stat is;
	struct mapped mapped;
};

/* A raw call: libc's close_range() came with glibc 2.34. Kernels before 5.9 refuse it, and the
 * descriptors stay open until the aside ends. */
static void close_between(unsigned from, unsigned to)
{
	if (from <= to)
		syscall(SYS_close_range, from, to, 0);
}

/* Ends of pipes and sockets stay open as long as this waits: others wait for their end. */
static void keep_only(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;
	unsigned from = 0;

	if (low >= 0) {
		if (low > 0)
			close_between(0, (unsigned)low - 1);
		from = (unsigned)low + 1;
	}
	if (high >= 0) {
		if (high > 0)
			close_between(from, (unsigned)high - 1);
		from = (unsigned)high + 1;
	}
	close_between(from, ~0u);
}

/* Writes all n bytes: a full file system takes a part first and tells the error the next time. 0 or
 * an errno. */
static int write_bytes(int to, const char *bytes, ssize_t n)
{
	for (ssize_t done = 0, part; done < n; done += part) {
		part = (ssize_t)syscall(SYS_write, to, bytes + done, n - done);
		if (part <= 0)
			return part < 0 ? errno : EIO;
	}
	return 0;
}

/* 0 or an errno. The buffer is static, which is safe in a process of one thread, and keeps the
 * stack small. */
static int copy_bytes(int from, int to)
{
	static char bytes[1 << 16];
	uint64_t done = 0;
	ssize_t n;
	int e;

	while ((n = (ssize_t)syscall(SYS_read, from, bytes, sizeof(bytes))) > 0) {
		done += (uint64_t)n;
		if (done > COPY_MOST)
			return EFBIG;
		e = write_bytes(to, bytes, n);
		if (e)
			return e;
	}
	return n < 0 ? errno : 0;
}

/* "START-END PROT OFFSET MAJOR:MINOR INODE": false if the line is of another mapping. */
static bool parse_mapped(const char *line, const void *at, struct mapped *out)
{
	unsigned long major, minor;
	char *end;

	if (strtoul(line, &end, 16) != (uintptr_t)at)
		return false;
	for (unsigned blanks = 0; *end && blanks < 3; end++)
		blanks += *end == ' ';
	major = strtoul(end, &end, 16);
	minor = *end == ':' ? strtoul(end + 1, &end, 16) : 0;
	*out = (struct mapped){ makedev(major, minor), strtoul(end, NULL, 10) };
	return true;
}

/* Maps a page below everything else, so that it is the first line of maps. A machine where no page
 * can be mapped there leaves *out as it was. */
static void find_mapped(int from, struct mapped *out)
{
	const long page = 4096;
	void *low = (void *)(uintptr_t)LOW;
	char line[512];
	ssize_t n;
	int maps;

	if ((void *)syscall(SYS_mmap, low, page, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, from,
			    0L) != low)
		return;
	maps = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY);
	n = maps < 0 ? 0 : (ssize_t)syscall(SYS_read, maps, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = '\0';
	parse_mapped(line, low, out);
}

/* 0 or an errno. ESTALE: somebody wrote to the file while it was copied, so that the copy may mix
 * two versions. */
static int copy_file(struct path_visit *v)
{
	struct stat after;
	char name[64];
	int from, e;

	if (fstat(v->place, &v->is))
		return errno;
	if (!S_ISREG(v->is.st_mode))
		return S_ISDIR(v->is.st_mode) ? EISDIR : ENOEXEC;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", v->place);
	from = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (from < 0)
		return errno;
	find_mapped(from, &v->mapped);
	e = copy_bytes(from, v->to);
	return e ? e : fstat(from, &after) || !file_is_same(&v->is, &after) ? ESTALE : 0;
}

/* Runs in the aside. Everything that can wait for a server is here: following the path, stat, open,
 * read. v->mount is the server's, so that a later file of the same mount need not wait again. */
static void visit_place(void *work)
{
	struct path_visit *v = work;
	struct statx x;

	keep_only(v->place, v->to);
	if (v->place < 0)
		v->place = (int)syscall(SYS_openat, AT_FDCWD, v->path, O_PATH);
	if (v->place < 0 || (v->to < 0 && fstat(v->place, &v->is)))
		v->error = errno;
	else
		v->error = v->to >= 0 ? copy_file(v) : 0;
	if (!v->error &&
	    statx(v->place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0)
		v->mount = x.stx_mnt_id;
}

/* --- mounts that did not answer, and copies --------------------------------------------------- */

#define UNKNOWN UINT64_MAX /* a mount that is not reached */

/* `lock` protects these. `silent` has mounts that did not answer in time, by their ids, and never
 * shrinks. `copies` is a ring: a copy is known by its descriptor, device and inode together, since
 * a closed descriptor's number comes again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t silent[SILENT_MOST];
static unsigned n_silent, n_copies;
static struct copy {
	int fd;
	dev_t device;
	ino_t inode;
	struct stat is;
	struct mapped mapped;
} copies[COPIES];

/* When the list is full every mount counts as silent: an attacker with many mounts costs
 * SILENT_MOST waits, not one for each. UNKNOWN stands for many mounts and is never found by
 * itself. */
static bool is_silent(uint64_t mount)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = n_silent == SILENT_MOST;
	for (unsigned i = 0; i < n_silent && !is; i++)
		is = silent[i] == mount && mount != UNKNOWN;
	pthread_mutex_unlock(&lock);
	return is;
}

/* A mount for which there is no place is waited for again each time; nothing else is lost. */
static void add_silent(uint64_t mount)
{
	pthread_mutex_lock(&lock);
	if (n_silent < SILENT_MOST)
		silent[n_silent++] = mount;
	pthread_mutex_unlock(&lock);
}

/* If the copy itself cannot be looked at it stays unknown: file_stat() then tells the memfd's own
 * times. */
static void add_copy(int fd, const struct path_visit *v)
{
	struct stat own;

	if (fstat(fd, &own))
		return;
	pthread_mutex_lock(&lock);
	copies[n_copies] = (struct copy){ fd, own.st_dev, own.st_ino, v->is, v->mapped };
	n_copies = (n_copies + 1) % COPIES;
	pthread_mutex_unlock(&lock);
}

/* An inode of 0 marks an entry that was never used: memfds have none with that number. */
static bool find_copy(int fd, const struct stat *own, struct copy *out)
{
	bool is = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < COPIES && !is; i++) {
		is = copies[i].inode && copies[i].fd == fd && copies[i].device == own->st_dev &&
		     copies[i].inode == own->st_ino;
		if (is)
			*out = copies[i];
	}
	pthread_mutex_unlock(&lock);
	return is;
}

bool file_is_copy(int fd)
{
	struct copy copy;
	struct stat own;

	return fd >= 0 && fstat(fd, &own) == 0 && find_copy(fd, &own, &copy);
}

bool file_copy_maps_as(int fd, dev_t device, ino_t inode)
{
	struct copy copy;
	struct stat own;

	return fstat(fd, &own) == 0 && find_copy(fd, &own, &copy) && copy.mapped.inode &&
	       copy.mapped.device == device && copy.mapped.inode == inode;
}

int file_stat(int fd, struct stat *out)
{
	struct copy copy;
	struct stat own;
	int r = fstat(fd, &own);

	if (r == 0)
		*out = find_copy(fd, &own, &copy) ? copy.is : own;
	return r;
}

/* 0 or -errno. */
static int make_visit(struct path_visit *v, uint64_t mount)
{
	int r = is_silent(mount) ? -ETIMEDOUT : aside_run(visit_place, v, sizeof(*v), ASIDE_MS);

	if (r == -ETIMEDOUT && !is_silent(mount))
		add_silent(mount);
	return r ? r : -v->error;
}

/* --- a path, as far as the kernel knows it by itself ------------------------------------------ */

/* The result of following a path. fd is to be closed if it is not negative. */
struct followed_path {
	/* O_PATH; or -errno; -EAGAIN: it is there, but the kernel asks each time */
	int fd;
	bool served;      /* its file system, by a process */
	uint64_t mount;
	struct stat is;   /* as the kernel last heard */
};

/* The root of another process, which is a link the kernel follows without asking anybody. Behind it
 * the path goes on. */
static const char *behind_root(const char *path)
{
	const char *root = strncmp(path, "/proc/", 6) == 0 ? strstr(path, "/root/") : NULL;

	return root && strspn(path + 6, "0123456789") == (size_t)(root - path) - 6 ? root + 6
										   : NULL;
}

/* A descriptor or -errno. RESOLVE_CACHED (Linux 5.12) fails with EAGAIN where a name is not in the
 * kernel's cache and a file system would have to be asked. */
static int open_known(int directory, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));

	/* an old kernel, a filter */
	if (fd < 0 && errno != EAGAIN && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
		fd = openat(directory, path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Only the kernel's own link by a mapping: it waits while somebody changes the mappings. */
static bool is_mapping(const char *path)
{
	const char *file = strstr(path, "/map_files/");

	return file && strncmp(path, "/proc/", 6) == 0 &&
	       strspn(path + 6, "0123456789") == (size_t)(file - path) - 6;
}

/* -EAGAIN: it may have to wait. Other links of /proc are followed without that. */
static int reach_file(const char *path)
{
	const char *below = behind_root(path);
	char root[PATH_MAX];
	int directory, fd;

	if (is_mapping(path))
		return apart_open((pid_t)strtol(path + 6, NULL, 10), strstr(path, "/map_files/") + 1,
				  O_PATH);
	if (!below && strncmp(path, "/proc/", 6) == 0)
		return (fd = open(path, O_PATH | O_CLOEXEC)) < 0 ? -errno : fd;
	if (!below)
		return open_known(AT_FDCWD, path);
	snprintf(root, sizeof(root), "%.*s", (int)(below - path), path);
	directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	fd = open_known(directory, below);
	close(directory);
	return fd;
}

/* 0 or -errno. AT_STATX_DONT_SYNC takes the attributes that the kernel has: a served file system is
 * not asked. Without STATX_MNT_ID (before Linux 5.8) no mount counts as served. */
static int examine_place(struct followed_path *p)
{
	struct statx x;

	if (statx(p->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID,
		  &x))
		return -errno;
	p->mount = x.stx_mnt_id;
	p->served = x.stx_mask & STATX_MNT_ID && mounts_is_served(x.stx_mnt_id);
	p->is = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor), .st_ino = x.stx_ino,
		.st_mode = x.stx_mode, .st_uid = x.stx_uid,
		.st_gid = x.stx_gid, .st_size = (off_t)x.stx_size, .st_nlink = x.stx_nlink,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_mtim = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec },
		.st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}

/* Follows the path. Where that may wait (-EAGAIN), an aside goes first: then the kernel has the
 * path in its cache, unless a process serves it (FUSE). */
static void find_place(const char *path, struct followed_path *p)
{
	struct path_visit v = { .place = -1, .to = -1, .mount = UNKNOWN };
	int r;

	*p = (struct followed_path){ .fd = reach_file(path), .served = true, .mount = UNKNOWN };
	if (p->fd == -EAGAIN && snprintf(v.path, sizeof(v.path), "%s", path) >= PATH_MAX)
		p->fd = -ENAMETOOLONG;
	if (p->fd == -EAGAIN) {
		r = make_visit(&v, UNKNOWN);
		p->fd = r ? r : reach_file(path);
		p->mount = v.mount;
		p->is = v.is;
	}
	r = p->fd < 0 ? 0 : examine_place(p);
	if (r) {
		close(p->fd);
		p->fd = r;
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

/* ENOEXEC is file_open's code for everything that is neither a regular file nor a directory. */
static int refuse_kind(const char *path, mode_t mode, struct err *err)
{
	return S_ISDIR(mode) ? err_set(err, EISDIR, "%s is a directory, not a file", path)
			     : err_set(err, ENOEXEC, "%s is not a regular file", path);
}

static int cannot_open(const char *path, int code, struct err *err)
{
	if (code == ETIMEDOUT)
		return err_set(
			err, code,
			"%s does not answer: a process serves its file system, and brace waited %d s",
			path, ASIDE_MS / 1000);
	return err_set(err, code, "cannot open %s: %s", path, strerror(code));
}

/* O_NONBLOCK: who holds a lease on the file is not waited for. */
static int open_again(int place, const char *path, struct err *err)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? cannot_open(path, errno, err) : fd;
}

/* Returns the memfd, which the caller closes, or -errno and *err. The path is given too: where the
 * place could not be opened the aside follows it once more. */
static int copy(const struct followed_path *p, const char *path, struct err *err)
{
	struct path_visit v = { .place = p->fd, .to = memory_file_new("brace-copy") };
	int r;

	if (v.to < 0)
		return err_set(err, -v.to, "cannot make a memfd: %s", strerror(-v.to));
	snprintf(v.path, sizeof(v.path), "%s", path);
	r = make_visit(&v, p->mount);
	if (r == 0)
		r = memory_file_seal(v.to);
	if (r == 0) {
		add_copy(v.to, &v);
		return v.to;
	}
	close(v.to);
	return cannot_open(path, -r, err);
}

/* With fd -EAGAIN the place is served: it was reached by an aside only, which left its mode in
 * p.is. */
int file_open(const char *path, struct err *err)
{
	struct followed_path p;
	int r;

	find_place(path, &p);
	if (p.fd < 0 && p.fd != -EAGAIN)
		return cannot_open(path, -p.fd, err);
	if (!S_ISREG(p.is.st_mode))
		r = refuse_kind(path, p.is.st_mode, err);
	else
		r = p.served ? copy(&p, path, err) : open_again(p.fd, path, err);
	if (p.fd >= 0)
		close(p.fd);
	return r;
}

/* A served file that only an aside could reach counts as found: p.is has what the aside saw. */
bool file_look(const char *path, struct stat *out)
{
	struct followed_path p;

	find_place(path, &p);
	if (p.fd >= 0)
		close(p.fd);
	else
		errno = -p.fd;
	*out = p.is;
	return p.fd >= 0 || p.fd == -EAGAIN;
}

bool file_is_served(const char *path)
{
	struct followed_path p;

	find_place(path, &p);
	if (p.fd >= 0)
		close(p.fd);
	return p.served;
}

/* Forks no aside: where the kernel cannot answer without waiting, the file counts as there. */
bool file_is_missing(const char *path)
{
	int fd = reach_file(path);

	if (fd >= 0)
		close(fd);
	return fd == -ENOENT;
}

bool file_real_path(const char *path, char out[PATH_MAX])
{
	struct followed_path p;
	char name[64];
	ssize_t n;

	find_place(path, &p);
	if (p.fd < 0)
		return false;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", p.fd);
	n = readlink(name, out, PATH_MAX - 1);
	close(p.fd);
	out[n > 0 ? n : 0] = 0;
	return n > 0 && *out == '/';
}
