/* SPDX-License-Identifier: MIT */
/* Owns the guard of the mapped rings: a SIGBUS at one of their pages, because somebody shortened
 * the file or punched a hole, gets a page of zeros in its place, and is remembered. The tracer goes
 * on. The program ends by the signal, as with any file that it maps. shared_memory.c makes rings
 * with the lock of the memories held; the handler runs on any thread. `brace recover` opens what is
 * left, on its only thread. */
#include "collect/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "arch/page.h"
#include "base/flag.h"
#include "collect/slots.h"
#include "collect/snapshot.h"

#define RING_MAGIC 0x676e69722d637262ull
#define RING_VERSION 1u
#define BOOT_ID 37
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* At the file's end. */
struct label {
	uint64_t magic;
	uint32_t version, pad;
	char id[RING_ID];
	char boot[BOOT_ID];       /* the kernel's boot_id; "": it told none */
};

/* --- the guard -------------------------------------------------------------------------------- */

/* Written before n is raised; the handler reads it on any thread. */
static struct { uintptr_t at, end; } guarded[MEMORIES_MAX];
static uint32_t n_guarded;
static atomic_bool was_cut;

/* The page gets zeros of its own. A fault elsewhere comes again, and ends brace as it would have
 * without a handler. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr / ARCH_PAGE * ARCH_PAGE;

	(void)context;
	/* Pairs with the release in guard(). */
	for (uint32_t i = 0, n = __atomic_load_n(&n_guarded, __ATOMIC_ACQUIRE); i < n; i++)
		if (at >= guarded[i].at && at < guarded[i].end &&
		    mmap((void *)at, ARCH_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
			flag_set(&was_cut);
			return;
		}
	signal(number, SIG_DFL);
}

static void guard(void *mapped, uint64_t size)
{
	const struct sigaction act = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	uint32_t n = n_guarded;

	if (n == MEMORIES_MAX)
		return;
	guarded[n].at = (uintptr_t)mapped;
	guarded[n].end = (uintptr_t)mapped + size;
	/* Pairs with the acquire in on_bus_error(). */
	__atomic_store_n(&n_guarded, n + 1, __ATOMIC_RELEASE);
	sigaction(SIGBUS, &act, NULL);
}

bool ring_file_was_cut(void)
{
	return flag_is_set(&was_cut);
}

/* --- holes ------------------------------------------------------------------------------------ */

#define EXTENTS 128u /* asked for at once */

/* A tmpfs has no list of extents, and its count of blocks is exact. Others without a list may
 * compress (a squashfs, ZFS) or count as they like: they do not tell. */
static uint64_t holes_by_count(int fd, const struct stat *st)
{
	const uint64_t size = (uint64_t)st->st_size, has = (uint64_t)st->st_blocks * 512;
	struct statfs s;

	return !fstatfs(fd, &s) && s.f_type == TMPFS_MAGIC && has < size ? size - has : 0;
}

/* Blocks that were taken and never written are extents, too; so SEEK_HOLE, which calls them holes,
 * would not do. */
uint64_t ring_file_holes(int fd)
{
	_Alignas(struct fiemap) char
		room[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)] = { 0 };
	struct fiemap *map = (void *)room;
	uint64_t at = 0, holes = 0, size;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return 0;
	size = (uint64_t)st.st_size;
	while (at < size) {
		*map = (struct fiemap){ .fm_start = at, .fm_length = size - at,
					.fm_extent_count = EXTENTS };
		if (ioctl(fd, FS_IOC_FIEMAP, map) < 0)
			return holes_by_count(fd, &st);
		for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &map->fm_extents[i];

			holes += e->fe_logical > at ? e->fe_logical - at : 0;
			at = e->fe_logical + e->fe_length > at ? e->fe_logical + e->fe_length : at;
		}
		if (map->fm_mapped_extents < EXTENTS)
			break;
	}
	return holes + (at < size ? size - at : 0);
}

void ring_file_look(int fd)
{
	if (ring_file_holes(fd))
		flag_set(&was_cut);
}

/* --- making one ------------------------------------------------------------------------------- */

/* "" where the kernel does not tell it. */
static void read_boot(char boot[BOOT_ID])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(boot, BOOT_ID, f))
		boot[0] = '\0';
	if (f)
		fclose(f);
}

/* Refuses a file that stands under the ring's name: a session's ring is not to be lost. */
static int refuse_existing(const char *path, struct err *err)
{
	struct ring_file old;
	int r = ring_file_open(path, &old, NULL);

	if (r == 0)
		close(old.fd);
	if (r == -EBUSY)
		return err_set(err, EBUSY, "%s is the ring of a session that runs: name another file",
			       path);
	if (r < 0)
		return err_set(err, EEXIST, "%s exists already, and is no ring: name another file",
			       path);
	return err_set(err, EEXIST,
		       "%s is the ring of a session that died: `brace recover --ring %s TRACE` "
		       "recovers its records; then remove it, or name another file",
		       path, path);
}

/* File systems on which blocks that were taken stay taken, and which this machine has itself.
 * Others may need room anew at each store (btrfs), or lose their server: SIGBUS for the program.
 * On overlayfs stat() tells another device than a process's maps, by which processes_maps() finds
 * who has the memory. */
static int check_system(int fd, const char *path, struct err *err)
{
	static const long good[] = { TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
				     F2FS_SUPER_MAGIC };
	struct statfs s;

	if (fstatfs(fd, &s) < 0)
		return err_set(err, errno, "cannot tell the file system of %s: %s", path,
			       strerror(errno));
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if ((long)s.f_type == good[i])
			return 0;
	return err_set(err, ENOTSUP,
		       "%s is on a file system that cannot hold a ring safely (it may lack room when "
		       "the program stores, which would end it): name a file on tmpfs (/dev/shm), "
		       "ext4, xfs or f2fs",
		       path);
}

/* Takes the blocks, writes the label, maps. */
static int fill(int fd, const char *path, uint64_t size, const char *id, void **mapped,
		struct err *err)
{
	struct label l = { .magic = RING_MAGIC, .version = RING_VERSION };
	int r = check_system(fd, path, err);

	if (r)
		return r;
	snprintf(l.id, sizeof(l.id), "%s", id);
	read_boot(l.boot);
	if (fallocate(fd, 0, 0, (off_t)(size + ARCH_PAGE)) < 0)
		return err_set(err, errno,
			       "cannot take %llu MiB for %s: %s; a smaller one takes less (--ring-size)",
			       (unsigned long long)(size >> 20) + 1, path, strerror(errno));
	if (pwrite(fd, &l, sizeof(l), (off_t)size) != (ssize_t)sizeof(l) || fchmod(fd, 0400) < 0)
		return err_set(err, errno, "cannot write %s: %s", path, strerror(errno));
	*mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (*mapped == MAP_FAILED)
		return err_set(err, errno, "cannot map %s: %s", path, strerror(errno));
	guard(*mapped, size);
	return 0;
}

int ring_file_create(const char *path, uint64_t size, const char *id, void **mapped,
		     struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0 && errno == EEXIST)
		return refuse_existing(path, err);
	if (fd < 0)
		return err_set(err, errno, "cannot make the ring %s: %s", path, strerror(errno));
	r = fill(fd, path, size, id, mapped, err);
	if (r == 0)
		return fd;
	close(fd);
	unlink(path);
	return r;
}

/* --- reading one ------------------------------------------------------------------------------ */

bool ring_file_read(int fd, struct ring_file *out)
{
	char boot[BOOT_ID];
	struct stat st;
	struct label l;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)ARCH_PAGE ||
	    (uint64_t)st.st_size % ARCH_PAGE)
		return false;
	out->fd = fd;
	out->size = (uint64_t)st.st_size - ARCH_PAGE;
	if (pread(fd, &l, sizeof(l), (off_t)out->size) != (ssize_t)sizeof(l) ||
	    l.magic != RING_MAGIC || l.version != RING_VERSION ||
	    !memchr(l.id, '\0', sizeof(l.id)) || !memchr(l.boot, '\0', sizeof(l.boot)))
		return false;
	memcpy(out->id, l.id, sizeof(l.id));
	read_boot(boot);
	out->this_boot = strcmp(boot, l.boot) == 0;
	out->holes = ring_file_holes(fd);
	return true;
}

/* O_NONBLOCK: a FIFO would wait. */
int ring_file_open(const char *path, struct ring_file *out, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;

	if (fd < 0)
		return err_set(err, errno, "cannot open the ring %s: %s", path, strerror(errno));
	if (!ring_file_read(fd, out))
		r = err_set(err, EPROTO,
			    "%s is no ring of this version of brace (record --ring), or was cut",
			    path);
	/* A tracer that lives writes the same records. */
	else if (snapshot_is_attended(fd, 0))
		r = err_set(err, EBUSY,
			    "%s is the ring of a session that runs: there is nothing to recover",
			    path);
	if (r)
		close(fd);
	return r;
}
