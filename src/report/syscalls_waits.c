/* SPDX-License-Identifier: MIT */
/* Memory of calls that wait for descriptors, as strace writes it: poll, select, epoll.
 * syscalls_structs.c calls it. No state; nothing fails. Any thread. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "report/syscalls_structs.h"

static const struct syscall_name poll_events[] = {
	NAMED(POLLIN), NAMED(POLLPRI), NAMED(POLLOUT), NAMED(POLLERR), NAMED(POLLHUP),
	NAMED(POLLNVAL), NAMED(POLLRDNORM), NAMED(POLLRDBAND), NAMED(POLLWRNORM),
	NAMED(POLLWRBAND), NAMED(POLLRDHUP), NAMED_END };

/* The descriptors, each with the events that are waited for. A negative descriptor is one that the
 * kernel passes over (poll(2)): its events mean nothing. The second argument tells how many there
 * are; the copy may have fewer, which the dots tell. */
bool syscalls_print_polls(const struct syscalls_memory *m, FILE *f)
{
	const uint64_t all = m->call->args[1];
	struct pollfd p;

	fputc('[', f);
	for (uint32_t i = 0; i + sizeof(p) <= m->n; i += (uint32_t)sizeof(p)) {
		memcpy(&p, m->at + i, sizeof(p));
		fputs(i ? ", {fd=" : "{fd=", f);
		syscalls_print_descriptor(m, p.fd, f);
		if (p.fd >= 0) {
			fputs(", events=", f);
			syscalls_print_flags(poll_events, (uint16_t)p.events, f);
		}
		fputc('}', f);
	}
	fputs(m->n / sizeof(p) < all ? ", ...]" : "]", f);
	return true;
}

/* The descriptors of which an event has come, behind the result. This is the copy of the return, in
 * which revents are the kernel's. */
bool syscalls_print_polled(const struct syscalls_memory *m, FILE *f)
{
	const char *before = "";
	struct pollfd p;

	fputc('[', f);
	for (uint32_t i = 0; i + sizeof(p) <= m->n; i += (uint32_t)sizeof(p)) {
		memcpy(&p, m->at + i, sizeof(p));
		if (!p.revents)
			continue;
		fprintf(f, "%s{fd=%d, revents=", before, p.fd);
		syscalls_print_flags(poll_events, (uint16_t)p.revents, f);
		fputc('}', f);
		before = ", ";
	}
	fputs(m->n / sizeof(p) < m->call->args[1] ? ", ...]" : "]", f);
	return true;
}

/* Returns how many descriptors are in the set. named: each has its name, as before the call. The
 * set is an array of words of 64 bits, lowest bit first; on a little-endian machine that is an
 * array of bytes. nfds, the first argument, ends it before the copy does: bits behind it are not
 * the kernel's to look at. */
static unsigned print_set(const struct syscalls_memory *m, bool named, FILE *f)
{
	unsigned n = 0;

	fputc('[', f);
	for (uint32_t i = 0; i < 8 * m->n && i < m->call->args[0]; i++) {
		if (!(m->at[i / 8] >> i % 8 & 1))
			continue;
		fputs(n++ ? " " : "", f);
		if (named)
			syscalls_print_descriptor(m, (int32_t)i, f);
		else
			fprintf(f, "%" PRIu32, i);
	}
	fputc(']', f);
	return n;
}

bool syscalls_print_selects(const struct syscalls_memory *m, FILE *f)
{
	print_set(m, true, f);
	return true;
}

/* A set that came back empty is left out, as in strace; one that was given empty is shown. */
static bool is_empty(const struct syscalls_memory *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->at[i])
			return false;
	return true;
}

/* The argument is known by its place: sets of what can be read, be written, is exceptional. The
 * number is that of `inp`, `outp` and `exp` in select(2) and pselect6(2), from 1 on. */
bool syscalls_print_selected(const struct syscalls_memory *m, FILE *f)
{
	static const char *const names[] = { "in ", "out ", "except " };
	unsigned i = 0;

	if (is_empty(m))
		return false;
	while (i < 2 && m->argument != i + 1)
		i++;
	fputs(names[i], f);
	print_set(m, false, f);
	return true;
}

static const struct syscall_name epoll_events[] = {
	NAMED(EPOLLIN), NAMED(EPOLLPRI), NAMED(EPOLLOUT), NAMED(EPOLLRDNORM), NAMED(EPOLLRDBAND),
	NAMED(EPOLLWRNORM), NAMED(EPOLLWRBAND), NAMED(EPOLLMSG), NAMED(EPOLLERR), NAMED(EPOLLHUP),
	NAMED(EPOLLRDHUP), NAMED(EPOLLEXCLUSIVE), NAMED(EPOLLWAKEUP), NAMED(EPOLLONESHOT),
	NAMED(EPOLLET), NAMED_END };

/* The program's data is a union, and nobody knows which member it uses: strace shows two, and so
 * does this. */
static void print_epoll(const uint8_t *at, FILE *f)
{
	uint32_t events, low;
	uint64_t data;

	memcpy(&events, at, sizeof(events));
	memcpy(&data, at + sizeof(events), sizeof(data));
	low = (uint32_t)data;
	fputs("{events=", f);
	syscalls_print_flags(epoll_events, events, f);
	fprintf(f, ", data={u32=%" PRIu32 ", u64=%" PRIu64 "}}", low, data);
}

/* struct epoll_event is packed on x86-64 (linux/eventpoll.h), so that it is the same for 32 bits:
 * the data follows the events without padding. */
#define EPOLL_BYTES 12u

bool syscalls_print_epoll(const struct syscalls_memory *m, FILE *f)
{
	if (m->n < EPOLL_BYTES)
		return false;
	print_epoll(m->at, f);
	return true;
}

/* Prints the events that have come. The result counts them; the copy may have fewer. */
bool syscalls_print_epolls(const struct syscalls_memory *m, FILE *f)
{
	uint32_t n = m->n / EPOLL_BYTES;

	fputc('[', f);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", f);
		print_epoll(m->at + EPOLL_BYTES * i, f);
	}
	fputs(n < (uint64_t)m->result ? ", ...]" : "]", f);
	return true;
}
