/* A library for LD_PRELOAD: one call that brace makes of the system fails, once. Which one stands
 * in the file that FAIL_ONCE names (fail_once.h). Both variables leave the environment before
 * brace's main: what brace executes runs without this library; brace's own children (the daemon,
 * the server of a mount) keep it, and the file's mapping, over their fork.
 *
 * Only calls out of brace's executable count. What a libc function needs for itself is the failure
 * of that function. */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fail_once.h"

#define EXPORT __attribute__((visibility("default")))
#define STREAM_ERROR 0x20 /* glibc's _IO_ERR_SEEN: what ferror() looks at */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct fail_once *state;
static uintptr_t brace_begin, brace_end;
static __thread bool looking __attribute__((tls_model("initial-exec"))); /* our own calls do not count */

/* --- places
 * --------------------------------------------------------------------------------------- */

static bool is_braces(uintptr_t at)
{
	return at >= brace_begin && at < brace_end;
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

static void describe(const char *name, struct fail_once_place *out)
{
	void *frames[64];
	int n = backtrace(frames, 64);

	*out = (struct fail_once_place){ 0 };
	strncpy(out->name, name, sizeof(out->name) - 1);
	for (int i = 0; i < n && out->depth < FAIL_ONCE_DEPTH; i++)
		if (is_braces((uintptr_t)frames[i]))
			out->chain[out->depth++] = (uintptr_t)frames[i] - brace_begin;
	out->key = mix(mix(0xcbf29ce484222325u, out->name, sizeof(out->name)), out->chain, out->depth * sizeof(*out->chain));
	out->key += !out->key;
}

/* Any thread of any process may come here: a place is taken by its key, and filled in by who took
 * it. */
static void count(const struct fail_once_place *p)
{
	for (uint64_t i = 0; i < FAIL_ONCE_PLACES; i++) {
		struct fail_once_place *at = &state->places[(p->key + i) % FAIL_ONCE_PLACES];
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(&at->key, &there, p->key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			at->depth = p->depth;
			memcpy(at->name, p->name, sizeof(at->name));
			memcpy(at->chain, p->chain, sizeof(at->chain));
		}
		if (!there || there == p->key) {
			__atomic_add_fetch(&at->calls, 1, __ATOMIC_ACQ_REL);
			return;
		}
	}
	__atomic_add_fetch(&state->lost, 1, __ATOMIC_ACQ_REL);
}

static bool is_chosen(const struct fail_once_place *p)
{
	if (p->key != state->key || __atomic_add_fetch(&state->calls, 1, __ATOMIC_ACQ_REL) != state->nth)
		return false;
	state->failed = (int32_t)getpid();
	return true;
}

static bool fails(const char *name, const void *caller)
{
	int before = errno;
	struct fail_once_place p;
	bool chosen = false;

	if (!state || looking || !is_braces((uintptr_t)caller))
		return false;
	looking = true;
	describe(name, &p);
	if (state->key)
		chosen = is_chosen(&p);
	else
		count(&p);
	looking = false;
	errno = before;
	return chosen;
}

/* --- before brace's main
 * -------------------------------------------------------------------------------- */

static int find_brace(struct dl_phdr_info *info, size_t size, void *unused)
{
	brace_begin = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			brace_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1; /* the first is the program */
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAIL_ONCE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *frames[4], *at;

	unsetenv("LD_PRELOAD");
	unsetenv("FAIL_ONCE");
	if (fd < 0)
		return;
	at = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	dl_iterate_phdr(find_brace, NULL);
	backtrace(frames, 4); /* loads the unwinder now, not within a malloc */
	if (at != MAP_FAILED)
		state = at;
}

/* --- functions that fail
 * ----------------------------------------------------------------------------------- */

#define FAILS(name) __builtin_expect(fails(name, __builtin_return_address(0)), 0)

/* A function that says by errno why it failed. Its own name is the assembler's: headers declare
 * some otherwise. */
#define WRAP(type, name, parameters, arguments, failure, code)              \
	EXPORT type once_##name parameters __asm__(#name);                  \
	type once_##name parameters                                         \
	{                                                                   \
		static type(*real) parameters;                              \
		if (!real)                                                  \
			real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
		if (!FAILS(#name))                                          \
			return real arguments;                              \
		errno = code;                                               \
		return failure;                                             \
	}

/* Memory. dlsym itself needs some. */
#define MEMORY(name, real, parameters, arguments)  \
	EXPORT void *name parameters               \
	{                                          \
		if (!FAILS(#name))                 \
			return real arguments;     \
		errno = ENOMEM;                    \
		return NULL;                       \
	}
MEMORY(malloc, __libc_malloc, (size_t size), (size))
MEMORY(calloc, __libc_calloc, (size_t n, size_t size), (n, size))
MEMORY(realloc, __libc_realloc, (void *old, size_t size), (old, size))
MEMORY(aligned_alloc, __libc_memalign, (size_t alignment, size_t size), (alignment, size))
WRAP(char *, strdup, (const char *s), (s), NULL, ENOMEM)
WRAP(char *, strndup, (const char *s, size_t n), (s, n), NULL, ENOMEM)
WRAP(int, __vasprintf_chk, (char **out, int flag, const char *format, va_list ap), (out, flag, format, ap), -1, ENOMEM)
WRAP(FILE *, open_memstream, (char **at, size_t *n), (at, n), NULL, ENOMEM)
WRAP(void *, mmap64, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
     (at, n, prot, flags, fd, offset), MAP_FAILED, ENOMEM)
WRAP(int, mprotect, (void *at, size_t n, int prot), (at, n, prot), -1, ENOMEM)
WRAP(int, madvise, (void *at, size_t n, int advice), (at, n, advice), -1, ENOMEM)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
WRAP(int, inotify_init1, (int flags), (flags), -1, EMFILE)
WRAP(int, inotify_add_watch, (int fd, const char *path, uint32_t events), (fd, path, events), -1, ENOSPC)
WRAP(int, setenv, (const char *name, const char *value, int over), (name, value, over), -1, ENOMEM)

/* Files. open and openat have an argument that need not be there: passing on a stray one does no
 * harm. */
WRAP(int, open64, (const char *path, int flags, unsigned mode), (path, flags, mode), -1, EMFILE)
WRAP(int, openat64, (int dir, const char *path, int flags, unsigned mode), (dir, path, flags, mode), -1, EMFILE)
WRAP(int, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags), -1, EMFILE)
WRAP(FILE *, fopen64, (const char *path, const char *how), (path, how), NULL, EMFILE)
WRAP(DIR *, opendir, (const char *path), (path), NULL, EMFILE)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL, ENOMEM)
WRAP(struct dirent64 *, readdir64, (DIR *d), (d), NULL, EIO)
WRAP(ssize_t, read, (int fd, void *at, size_t n), (fd, at, n), -1, EIO)
WRAP(ssize_t, __read_chk, (int fd, void *at, size_t n, size_t room), (fd, at, n, room), -1, EIO)
WRAP(ssize_t, pread64, (int fd, void *at, size_t n, off_t offset), (fd, at, n, offset), -1, EIO)
WRAP(ssize_t, __pread64_chk, (int fd, void *at, size_t n, off_t offset, size_t room),
     (fd, at, n, offset, room), -1, EIO)
WRAP(ssize_t, write, (int fd, const void *at, size_t n), (fd, at, n), -1, ENOSPC)
WRAP(ssize_t, pwrite64, (int fd, const void *at, size_t n, off_t offset), (fd, at, n, offset), -1, ENOSPC)
WRAP(int, ftruncate64, (int fd, off_t n), (fd, n), -1, ENOSPC)
WRAP(int, fallocate64, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), -1, ENOSPC)
WRAP(int, fstatfs64, (int fd, struct statfs64 *st), (fd, st), -1, EIO)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EPERM)
WRAP(off_t, lseek64, (int fd, off_t offset, int whence), (fd, offset, whence), -1, EIO)
WRAP(int, fstat64, (int fd, struct stat64 *st), (fd, st), -1, EIO)
WRAP(int, stat64, (const char *path, struct stat64 *st), (path, st), -1, EACCES)
WRAP(int, lstat64, (const char *path, struct stat64 *st), (path, st), -1, EACCES)
WRAP(int, fstatat64, (int fd, const char *path, struct stat64 *st, int flags), (fd, path, st, flags), -1, EACCES)
WRAP(int, access, (const char *path, int how), (path, how), -1, EACCES)
WRAP(ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n), -1, EACCES)
WRAP(char *, realpath, (const char *path, char *to), (path, to), NULL, EACCES)
WRAP(char *, __realpath_chk, (const char *path, char *to, size_t n), (path, to, n), NULL, EACCES)
WRAP(char *, getcwd, (char *to, size_t n), (to, n), NULL, EACCES)
WRAP(int, chdir, (const char *path), (path), -1, EACCES)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
WRAP(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), -1, ENOSPC)
WRAP(int, renameat, (int dir, const char *from, int dir2, const char *to), (dir, from, dir2, to), -1, ENOSPC)
WRAP(int, flock, (int fd, int how), (fd, how), -1, ENOLCK)
WRAP(int, fcntl64, (int fd, int what, long arg), (fd, what, arg), -1, ENOMEM)
WRAP(int, dup, (int fd), (fd), -1, EMFILE)
WRAP(int, ioctl, (int fd, unsigned long what, long arg), (fd, what, arg), -1, EIO)

/* Streams: brace looks at ferror(). Standard error is where the sentence goes. */
#define WRAP_STREAM(type, name, parameters, arguments, failure)                 \
	EXPORT type once_##name parameters __asm__(#name);                      \
	type once_##name parameters                                             \
	{                                                                       \
		static type(*real) parameters;                                  \
		if (!real)                                                      \
			real = (type(*) parameters)dlsym(RTLD_NEXT, #name);     \
		if (file == stderr || !FAILS(#name))                            \
			return real arguments;                                  \
		file->_flags |= STREAM_ERROR;                                   \
		errno = EIO;                                                    \
		return failure;                                                 \
	}
WRAP_STREAM(char *, fgets, (char *at, int n, FILE *file), (at, n, file), NULL)
WRAP_STREAM(size_t, fread, (void *at, size_t size, size_t n, FILE *file), (at, size, n, file), 0)
WRAP_STREAM(ssize_t, __getdelim, (char **at, size_t *n, int end, FILE *file), (at, n, end, file), -1)
WRAP_STREAM(ssize_t, getdelim, (char **at, size_t *n, int end, FILE *file), (at, n, end, file), -1)
WRAP_STREAM(size_t, fwrite, (const void *at, size_t size, size_t n, FILE *file), (at, size, n, file), 0)
WRAP_STREAM(int, fputs, (const char *s, FILE *file), (s, file), EOF)
WRAP_STREAM(int, fflush, (FILE *file), (file), EOF)

/* Sockets, and waiting. */
WRAP(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
WRAP(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds), -1, EMFILE)
WRAP(int, bind, (int fd, const struct sockaddr *at, socklen_t n), (fd, at, n), -1, ENOMEM)
WRAP(int, listen, (int fd, int n), (fd, n), -1, ENOMEM)
WRAP(int, connect, (int fd, const struct sockaddr *at, socklen_t n), (fd, at, n), -1, ECONNREFUSED)
WRAP(int, accept4, (int fd, struct sockaddr *at, socklen_t *n, int flags), (fd, at, n, flags), -1, EMFILE)
WRAP(int, getsockname, (int fd, struct sockaddr *at, socklen_t *n), (fd, at, n), -1, ENOBUFS)
WRAP(int, getsockopt, (int fd, int level, int name, void *at, socklen_t *n), (fd, level, name, at, n), -1, ENOMEM)
WRAP(int, setsockopt, (int fd, int level, int name, const void *at, socklen_t n), (fd, level, name, at, n), -1, ENOMEM)
WRAP(ssize_t, recv, (int fd, void *at, size_t n, int flags), (fd, at, n, flags), -1, ENOMEM)
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1, ENOMEM)
WRAP(ssize_t, send, (int fd, const void *at, size_t n, int flags), (fd, at, n, flags), -1, ENOBUFS)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1, ENOBUFS)
WRAP(int, poll, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms), -1, ENOMEM)
WRAP(int, epoll_create1, (int flags), (flags), -1, EMFILE)
WRAP(int, epoll_ctl, (int fd, int how, int of, struct epoll_event *e), (fd, how, of, e), -1, ENOMEM)
WRAP(int, eventfd, (unsigned n, int flags), (n, flags), -1, EMFILE)
WRAP(int, pipe2, (int *fds, int flags), (fds, flags), -1, EMFILE)

/* Processes and threads. */
WRAP(pid_t, fork, (void), (), -1, EAGAIN)
WRAP(int, pthread_create, (pthread_t *out, const pthread_attr_t *attr, void *(*body)(void *), void *arg),
     (out, attr, body, arg), EAGAIN, EAGAIN)
WRAP(int, execv, (const char *path, char *const *argv), (path, argv), -1, ENOMEM)
WRAP(int, execvp, (const char *path, char *const *argv), (path, argv), -1, ENOMEM)
WRAP(int, posix_spawnp, (pid_t *out, const char *file, const void *actions, const void *attr, char *const *argv, char *const *env),
     (out, file, actions, attr, argv, env), EAGAIN, EAGAIN)
WRAP(int, posix_spawn, (pid_t *out, const char *file, const void *actions, const void *attr, char *const *argv, char *const *env),
     (out, file, actions, attr, argv, env), EAGAIN, EAGAIN)
WRAP(int, unshare, (int what), (what), -1, ENOSPC)
WRAP(int, mount, (const char *from, const char *to, const char *type, unsigned long flags, const void *data),
     (from, to, type, flags, data), -1, ENOMEM)
WRAP(ssize_t, process_vm_readv, (pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m, unsigned long flags),
     (pid, to, n, from, m, flags), -1, EPERM)
WRAP(int, timer_create, (clockid_t clock, struct sigevent *event, timer_t *out), (clock, event, out), -1, EAGAIN)
WRAP(int, timer_settime, (timer_t timer, int flags, const struct itimerspec *at, struct itimerspec *old),
     (timer, flags, at, old), -1, EINVAL)
WRAP(ssize_t, getrandom, (void *at, size_t n, unsigned flags), (at, n, flags), -1, EAGAIN)
WRAP(int, getrlimit64, (int what, struct rlimit64 *out), (what, out), -1, EPERM)
WRAP(int, setrlimit64, (int what, const struct rlimit64 *limit), (what, limit), -1, EPERM)
WRAP(struct passwd *, getpwuid, (uid_t uid), (uid), NULL, EIO)

/* The first step only: a thread that is held can be told to go on for as long as it lives. */
EXPORT long ptrace(enum __ptrace_request request, ...)
{
	static long (*real)(enum __ptrace_request, pid_t, void *, void *);
	va_list ap;
	pid_t pid;
	void *at, *data;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	at = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		real = (long (*)(enum __ptrace_request, pid_t, void *, void *))dlsym(RTLD_NEXT, "ptrace");
	if ((request != PTRACE_SEIZE && request != PTRACE_ATTACH) || !FAILS("ptrace"))
		return real(request, pid, at, data);
	errno = EPERM;
	return -1;
}

/* Futexes and signals do not run out. */
EXPORT long syscall(long number, ...)
{
	static long (*real)(long, long, long, long, long, long, long);
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		real = (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_futex || number == SYS_futex_waitv || number == SYS_tgkill || !FAILS("syscall"))
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	errno = EMFILE;
	return -1;
}

/* Libraries that brace reads and writes with. */
#define MEMORY_ERROR ((size_t)-64) /* ZSTD_error_memory_allocation */
WRAP(void *, elf_memory, (char *at, size_t n), (at, n), NULL, ENOMEM)
WRAP(void *, elf_begin, (int fd, int how, void *of), (fd, how, of), NULL, ENOMEM)
WRAP(void *, dwarf_begin_elf, (void *elf, int how, void *group), (elf, how, group), NULL, ENOMEM)
WRAP(void *, ZSTD_createCCtx, (void), (), NULL, ENOMEM)
WRAP(void *, ZSTD_createDCtx, (void), (), NULL, ENOMEM)
WRAP(size_t, ZSTD_compress2, (void *c, void *to, size_t room, const void *from, size_t n),
     (c, to, room, from, n), MEMORY_ERROR, ENOMEM)
WRAP(size_t, ZSTD_compress, (void *to, size_t room, const void *from, size_t n, int level),
     (to, room, from, n, level), MEMORY_ERROR, ENOMEM)
WRAP(size_t, ZSTD_decompress, (void *to, size_t room, const void *from, size_t n),
     (to, room, from, n), MEMORY_ERROR, ENOMEM)
WRAP(size_t, ZSTD_decompressDCtx, (void *d, void *to, size_t room, const void *from, size_t n),
     (d, to, room, from, n), MEMORY_ERROR, ENOMEM)
WRAP(void *, fuse_session_new, (void *args, const void *op, size_t n, void *data), (args, op, n, data), NULL, ENOMEM)
WRAP(int, fuse_session_mount, (void *se, const char *at), (se, at), -1, EMFILE)
WRAP(void *, tep_alloc, (void), (), NULL, ENOMEM)
