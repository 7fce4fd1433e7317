/* SPDX-License-Identifier: MIT */
/* Structures behind system calls' pointers, as strace writes them: socket addresses, times. The
 * bytes are a program's, as the record has them: fewer than the structure has are no structure.
 * syscalls_lines.c calls it at the begin of a call. No state; nothing fails. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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
};

bool syscalls_print_struct(const char *call, const char *argument, const uint8_t *at, uint32_t n,
			   FILE *f)
{
	for (size_t i = 0; i < sizeof(structs) / sizeof(*structs); i++)
		if (!strcmp(structs[i].call, call) && !strcmp(structs[i].argument, argument))
			return structs[i].print(at, n, f);
	return false;
}
