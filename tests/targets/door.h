/* The way to the tracer of this process, for programs that speak to it themselves. */
#pragma once
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct door { struct sockaddr_un at; socklen_t n; };

/* The socket whose name has the tracer's pid: everybody may read it. */
static inline int door_find(int tracer, struct door *out)
{
	char line[512], want[64], *at;
	FILE *f = fopen("/proc/net/unix", "r");

	*out = (struct door){ .at.sun_family = AF_UNIX };
	snprintf(want, sizeof(want), "@brace-%d-", tracer);
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, want);
		if (!at)
			continue;
		at[strcspn(at, "\n")] = '\0';
		memcpy(out->at.sun_path + 1, at + 1, strlen(at) - 1);
		out->n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(at));
	}
	if (f)
		fclose(f);
	return out->n ? 0 : -1;
}

/* A connection, or -1. */
static inline int door_come(const struct door *door)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)&door->at, door->n) == 0 ? fd : -1;
}
