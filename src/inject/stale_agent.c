/* SPDX-License-Identifier: MIT */
/* Called by attach.c, in a holder; stale_agent_clear() and stale_agent_close_sockets() with every
 * thread stopped. Nothing here fails: a remnant that cannot be removed stays. */
#include "inject/stale_agent.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inject/agent_layout.h"
#include "inject/remote.h"

#define FILE_NAME "/memfd:" AGENT_NAME " "

/* --- files ------------------------------------------------------------------------------------ */

/* Whether the descriptor is an agent's file. */
static bool is_agents(pid_t pid, int fd)
{
	char name[64], to[64];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(name, to, sizeof(to));
	/* The link is not terminated by a NUL; only its beginning counts. */
	return n >= (ssize_t)strlen(FILE_NAME) && strncmp(to, FILE_NAME, strlen(FILE_NAME)) == 0;
}

void stale_agent_find(pid_t pid, stale_agent_fds *out)
{
	char name[64];
	struct dirent *e;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/fd", (int)pid);
	d = opendir(name);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && is_agents(pid, (int)strtol(e->d_name, NULL, 10)))
			*vec_add(out) = (int)strtol(e->d_name, NULL, 10);
	if (d)
		closedir(d);
}

/* --- stretches -------------------------------------------------------------------------------- */

static bool is_reserved(const struct map *m)
{
	return m->offset >= LEFTOVERS_RESERVED &&
	       strncmp(m->path, FILE_NAME, strlen(FILE_NAME)) == 0;
}

static uint64_t base_of(const struct map *m)
{
	/* Several mappings of one stretch have the same base, by their offsets. */
	return m->start - (m->offset - LEFTOVERS_RESERVED);
}

/* Whether an agent's text stands at the base. */
static bool has_agent(const struct maps *maps, uint64_t base)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (maps->at.at[i].start == base)
			return !is_reserved(&maps->at.at[i]);
	return false;
}

/* The stretch's last page is always reserved, so the last mapping with this base ends it. */
static uint64_t end_of(const struct maps *maps, uint64_t base)
{
	uint64_t end = base;

	for (size_t i = 0; i < maps->at.n; i++)
		if (is_reserved(&maps->at.at[i]) && base_of(&maps->at.at[i]) == base)
			end = maps->at.at[i].end;
	return end;
}

/* Unmaps reserved stretches without an agent, each once. */
static void unmap_empty(struct tracee *t, const struct maps *maps)
{
	uint64_t last = 0;

	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (!is_reserved(m) || base_of(m) == last)
			continue;
		last = base_of(m);
		if (!has_agent(maps, last))
			remote_unmap(t, last, end_of(maps, last) - last);
	}
}

void stale_agent_clear(struct tracee *t, const stale_agent_fds *fds, const struct maps *maps)
{
	for (size_t i = 0; i < fds->n; i++)
		if (is_agents(tracee_pid(t), fds->at[i]))
			remote_close(t, fds->at[i]);
	unmap_empty(t, maps);
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* Whether the descriptor is an unnamed SOCK_SEQPACKET of the process: by now the program may have
 * another file under this number. */
static bool is_our_socket(struct tracee *t, int fd)
{
	struct sockaddr_un name;
	socklen_t n = sizeof(name), m = sizeof(int);
	int type = 0, own;
	struct err ignored;
	bool is;

	own = tracee_take_fd(t, fd, &ignored);
	if (own < 0)
		return false;
	is = getsockname(own, (struct sockaddr *)&name, &n) == 0 && name.sun_family == AF_UNIX &&
	     n == sizeof(name.sun_family) && getsockopt(own, SOL_SOCKET, SO_TYPE, &type, &m) == 0 &&
	     type == SOCK_SEQPACKET;
	close(own);
	return is;
}

void stale_agent_close_sockets(struct tracee *t, uint64_t at)
{
	static const int32_t none[2];
	int32_t fds[2];
	struct err ignored;

	/* Equal numbers: none was made (both 0). */
	if (tracee_read(t, at, fds, sizeof(fds), &ignored) < 0 || fds[0] == fds[1])
		return;
	for (int i = 0; i < 2; i++)
		if (is_our_socket(t, fds[i]))
			remote_close(t, fds[i]);
	tracee_write(t, at, none, sizeof(none), &ignored);
}
