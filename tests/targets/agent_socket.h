/* The way to the tracer of this process, for programs that speak to it themselves. */
#pragma once
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/memory.h"

struct agent_socket { struct sockaddr_un at; socklen_t n; char token[PROTOCOL_TOKEN]; };

/* Its own agent keeps it behind the address. 1: here it is. */
static inline int agent_socket_token_in(int memory, const char *address, unsigned long from, unsigned long to, char *token)
{
	const size_t n = strlen(address), bytes = to - from;
	char *copy = malloc(bytes), *at = copy;
	ssize_t have = copy ? pread(memory, copy, bytes, (off_t)from) : 0;
	int found = 0;

	while (!found && have > 0 && (at = memmem(at, (size_t)(copy + have - at), address, n))) {
		at += n;
		found = copy + have - at > PROTOCOL_TOKEN && *at == PROTOCOL_TOKEN_MARK;
		if (found)
			memcpy(token, at + 1, PROTOCOL_TOKEN);
	}
	free(copy);
	return found;
}

/* A traced program can read all of its own memory. 0: found. */
static inline int agent_socket_find_token(const char *address, char *token)
{
	unsigned long from, to;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), found = 0;

	while (!found && maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx rw-p", &from, &to) == 2 && strstr(line, " rw-p ") && to - from < 1ul << 27)
			found = agent_socket_token_in(memory, address, from, to, token);
	if (maps)
		fclose(maps);
	close(memory);
	return found ? 0 : -1;
}

/* The socket whose name has the tracer's pid: everybody may read it. 0: out has that, and the
 * token. */
static inline int agent_socket_find(int tracer, struct agent_socket *out)
{
	char line[512], want[64], address[512] = "", *at;
	FILE *f = fopen("/proc/net/unix", "r");

	*out = (struct agent_socket){ .at.sun_family = AF_UNIX };
	snprintf(want, sizeof(want), "@brace-%d-", tracer);
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, want);
		if (!at)
			continue;
		at[strcspn(at, "\n")] = '\0';
		memcpy(out->at.sun_path + 1, at + 1, strlen(at) - 1);
		out->n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(at));
		snprintf(address, sizeof(address), "%s", at);
	}
	if (f)
		fclose(f);
	return out->n ? agent_socket_find_token(address, out->token) : -1;
}

/* A connection, or -1. */
static inline int agent_socket_come(const struct agent_socket *agent_socket)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)&agent_socket->at, agent_socket->n) == 0 ? fd : -1;
}
