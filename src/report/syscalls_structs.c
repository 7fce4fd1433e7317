/* SPDX-License-Identifier: MIT */
/* Structures behind system calls' pointers, as strace writes them: socket addresses, times. The
 * bytes are a program's, as the record has them: fewer than the structure has are no structure.
 * syscalls_lines.c calls it at the begin of a call, and at its end for what it gave. No state;
 * nothing fails. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "report/syscalls_internal.h"

/* The address as inet_ntop writes it, which cannot fail for these two families. */
static void print_inet(const struct sockaddr_in *a, FILE *f)
{
	char text[INET_ADDRSTRLEN];

	fprintf(f, "{sa_family=AF_INET, sin_port=htons(%u), sin_addr=inet_addr(\"%s\")}",
		ntohs(a->sin_port), inet_ntop(AF_INET, &a->sin_addr, text, sizeof(text)));
}

static void print_inet6(const struct sockaddr_in6 *a, FILE *f)
{
	char text[INET6_ADDRSTRLEN];

	fprintf(f, "{sa_family=AF_INET6, sin6_port=htons(%u), sin6_flowinfo=htonl(%" PRIu32
		"), inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%" PRIu32 "}",
		ntohs(a->sin6_port), ntohl(a->sin6_flowinfo),
		inet_ntop(AF_INET6, &a->sin6_addr, text, sizeof(text)), a->sin6_scope_id);
}

/* n: bytes of the name; one that begins with NUL is abstract, has no end but that of the address,
 * and is written with @. */
static void print_unix(const char *path, uint32_t n, FILE *f)
{
	bool is_abstract = n && !*path;
	uint32_t length = is_abstract ? n - 1 : (uint32_t)strnlen(path, n);

	fputs("{sa_family=AF_UNIX", f);
	if (n) {
		fprintf(f, ", sun_path=%s", is_abstract ? "@" : "");
		syscalls_print_quoted((const uint8_t *)path + is_abstract, length, f);
	}
	fputc('}', f);
}

static bool print_address(const uint8_t *at, uint32_t n, FILE *f)
{
	struct sockaddr_storage a = { 0 };

	if (n < sizeof(a.ss_family) || n > sizeof(a))
		return false;
	memcpy(&a, at, n);
	if (a.ss_family == AF_INET && n >= sizeof(struct sockaddr_in))
		print_inet((const struct sockaddr_in *)&a, f);
	else if (a.ss_family == AF_INET6 && n >= sizeof(struct sockaddr_in6))
		print_inet6((const struct sockaddr_in6 *)&a, f);
	else if (a.ss_family == AF_UNIX && n <= sizeof(struct sockaddr_un))
		print_unix(((const struct sockaddr_un *)&a)->sun_path,
			   n - (uint32_t)offsetof(struct sockaddr_un, sun_path), f);
	else
		return false;
	return true;
}

static bool print_time(const uint8_t *at, uint32_t n, FILE *f)
{
	struct timespec t;

	if (n < sizeof(t))
		return false;
	memcpy(&t, at, sizeof(t));
	fprintf(f, "{tv_sec=%" PRId64 ", tv_nsec=%" PRId64 "}", (int64_t)t.tv_sec,
		(int64_t)t.tv_nsec);
	return true;
}

static void print_stat(const struct stat *s, FILE *f)
{
	static const struct { mode_t mode; const char *name; } types[] = {
		{ S_IFREG, "S_IFREG" }, { S_IFDIR, "S_IFDIR" }, { S_IFCHR, "S_IFCHR" },
		{ S_IFBLK, "S_IFBLK" }, { S_IFIFO, "S_IFIFO" }, { S_IFSOCK, "S_IFSOCK" },
		{ S_IFLNK, "S_IFLNK" },
	};
	static const struct { mode_t bit; const char *name; } bits[] = {
		{ S_ISUID, "S_ISUID" }, { S_ISGID, "S_ISGID" }, { S_ISVTX, "S_ISVTX" },
	};

	fprintf(f, "{st_dev=makedev(%#x, %#x), st_ino=%" PRIu64 ", st_mode=", major(s->st_dev),
		minor(s->st_dev), (uint64_t)s->st_ino);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if ((s->st_mode & S_IFMT) == types[i].mode)
			fprintf(f, "%s|", types[i].name);
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (s->st_mode & bits[i].bit)
			fprintf(f, "%s|", bits[i].name);
	fprintf(f, "0%03o, st_nlink=%" PRIu64 ", st_uid=%u, st_gid=%u, st_blksize=%" PRId64
		", st_blocks=%" PRId64, s->st_mode & 0777, (uint64_t)s->st_nlink, s->st_uid,
		s->st_gid, (int64_t)s->st_blksize, (int64_t)s->st_blocks);
	if (S_ISCHR(s->st_mode) || S_ISBLK(s->st_mode))
		fprintf(f, ", st_rdev=makedev(%#x, %#x)", major(s->st_rdev), minor(s->st_rdev));
	else
		fprintf(f, ", st_size=%" PRId64, (int64_t)s->st_size);
	fprintf(f, ", st_atime=%" PRId64 ", st_atime_nsec=%" PRId64 ", st_mtime=%" PRId64
		", st_mtime_nsec=%" PRId64 ", st_ctime=%" PRId64 ", st_ctime_nsec=%" PRId64 "}",
		(int64_t)s->st_atim.tv_sec, (int64_t)s->st_atim.tv_nsec,
		(int64_t)s->st_mtim.tv_sec, (int64_t)s->st_mtim.tv_nsec,
		(int64_t)s->st_ctim.tv_sec, (int64_t)s->st_ctim.tv_nsec);
}

/* The kernel's structure is the C library's on x86-64. */
static bool print_stat_bytes(const uint8_t *at, uint32_t n, FILE *f)
{
	struct stat s;

	if (n < sizeof(s))
		return false;
	memcpy(&s, at, sizeof(s));
	print_stat(&s, f);
	return true;
}

static bool print_two(const uint8_t *at, uint32_t n, FILE *f)
{
	int32_t two[2];

	if (n < sizeof(two))
		return false;
	memcpy(two, at, sizeof(two));
	fprintf(f, "[%" PRId32 ", %" PRId32 "]", two[0], two[1]);
	return true;
}

static bool print_status(const uint8_t *at, uint32_t n, FILE *f)
{
	const char *signal;
	int status;

	if (n < sizeof(status))
		return false;
	memcpy(&status, at, sizeof(status));
	if (WIFEXITED(status)) {
		fprintf(f, "[{WIFEXITED(s) && WEXITSTATUS(s) == %d}]", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		signal = sigabbrev_np(WTERMSIG(status));
		fprintf(f, "[{WIFSIGNALED(s) && WTERMSIG(s) == SIG%s%s}]", signal ? signal : "?",
			WCOREDUMP(status) ? " && WCOREDUMP(s)" : "");
	} else if (WIFSTOPPED(status)) {
		signal = sigabbrev_np(WSTOPSIG(status));
		fprintf(f, "[{WIFSTOPPED(s) && WSTOPSIG(s) == SIG%s}]", signal ? signal : "?");
	} else {
		fprintf(f, "[%#x]", (unsigned)status);
	}
	return true;
}

static bool print_length(const uint8_t *at, uint32_t n, FILE *f)
{
	int32_t length;

	if (n < sizeof(length))
		return false;
	memcpy(&length, at, sizeof(length));
	fprintf(f, "[%" PRId32 "]", length);
	return true;
}

void syscalls_print_vector(const uint8_t *at, uint32_t n, uint64_t all, const uint8_t *data,
			   uint32_t bytes, FILE *f)
{
	uint64_t piece[2];

	fputc('[', f);
	for (uint32_t i = 0; i + sizeof(piece) <= n; i += sizeof(piece)) {
		uint32_t known;

		memcpy(piece, at + i, sizeof(piece));
		known = piece[1] < bytes ? (uint32_t)piece[1] : bytes;
		fputs(i ? ", {iov_base=" : "{iov_base=", f);
		if (data && (known || !piece[1])) {
			syscalls_print_quoted(data, known, f);
			fputs(known < piece[1] ? "..." : "", f);
			data += known;
			bytes -= known;
		} else {
			fprintf(f, "0x%" PRIx64, piece[0]);
		}
		fprintf(f, ", iov_len=%" PRIu64 "}", piece[1]);
	}
	fputs(n / sizeof(piece) < all ? ", ...]" : "]", f);
}

/* By the kernel's names of calls and their arguments (event/syscall_copies.c has the copies). */
static const struct {
	const char *call, *argument;
	bool (*print)(const uint8_t *at, uint32_t n, FILE *f);
} structs[] = {
	{ "connect", "uservaddr", print_address },
	{ "bind", "umyaddr", print_address },
	{ "sendto", "addr", print_address },
	{ "nanosleep", "rqtp", print_time },
	{ "clock_nanosleep", "rqtp", print_time },
	{ "clock_settime", "tp", print_time },
	{ "futex", "utime", print_time },
	{ "ppoll", "tsp", print_time },
	{ "pselect6", "tsp", print_time },
	{ "clock_gettime", "tp", print_time },
	{ "newstat", "statbuf", print_stat_bytes },
	{ "newlstat", "statbuf", print_stat_bytes },
	{ "newfstat", "statbuf", print_stat_bytes },
	{ "newfstatat", "statbuf", print_stat_bytes },
	{ "pipe", "fildes", print_two },
	{ "pipe2", "fildes", print_two },
	{ "socketpair", "usockvec", print_two },
	{ "wait4", "stat_addr", print_status },
	{ "accept", "upeer_sockaddr", print_address },
	{ "accept4", "upeer_sockaddr", print_address },
	{ "getsockname", "usockaddr", print_address },
	{ "getpeername", "usockaddr", print_address },
	{ "accept", "upeer_addrlen", print_length },
	{ "accept4", "upeer_addrlen", print_length },
	{ "getsockname", "usockaddr_len", print_length },
	{ "getpeername", "usockaddr_len", print_length },
};

bool syscalls_print_struct(const char *call, const char *argument, const uint8_t *at, uint32_t n,
			   FILE *f)
{
	for (size_t i = 0; i < sizeof(structs) / sizeof(*structs); i++)
		if (!strcmp(structs[i].call, call) && !strcmp(structs[i].argument, argument))
			return structs[i].print(at, n, f);
	return false;
}
