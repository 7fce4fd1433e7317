/* A hostile program: it comes to its tracer's socket as often as it likes, and does not speak as an
 * agent does. Meanwhile it executes programs of the session and counts how many run to their end
 * while its own connections are still open: nobody had to wait for those.
 *
 * caller WAY TIMES: prints "EXECS OPEN", OPEN: connections that were still open after the execs,
 * all together.
 *   silent: one connection before each exec, which says nothing
 *   hello:  the same, which says hello and never that it is done
 *   many:   900 connections that say nothing
 *   crowd:  60 children with 8 such connections each
 *   handlers: as hello, and six children say on 8 connections each that they set handlers of
 *     signals
 * caller step: what is executed; three calls of step.
 * caller stranger PID: by who is not traced: says hello to that tracer without its token. Status 0:
 * it was sent away. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_socket.h"
#include "shared/memory.h"

enum { MANY = 900, CHILDREN = 60, SETTERS = 6, OF_ONE = 8 };

static struct agent_socket tracer;
static int fds[MANY];
static unsigned n_fds;

__attribute__((noinline)) unsigned step(unsigned n)
{
	volatile unsigned at = n; /* long enough to be hooked */

	at = at + 1;
	return at;
}

static void come(uint32_t says)
{
	struct protocol_hello hello = { .request = says, .version = PROTOCOL_VERSION, .image = MEMORY_NONE };
	int fd = agent_socket_come(&tracer);

	memcpy(hello.token, tracer.token, sizeof(hello.token));
	if (fd < 0)
		exit(2);
	if (says)
		send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	fds[n_fds++] = fd;
}

/* Nobody has hung up. What has come is left unread. */
static int is_open(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 0;
}

static unsigned count_open(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_fds; i++)
		n += (unsigned)is_open(fds[i]);
	return n;
}

static int execute(const char *self)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execl(self, self, "step", NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 1 : 0;
}

/* Children that hold connections until we end. */
static void crowd(int children, uint32_t says)
{
	int ready[2];
	char byte = 0;

	if (pipe(ready) < 0)
		exit(2);
	for (int i = 0; i < children; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int k = 0; k < OF_ONE; k++)
			come(says);
		if (write(ready[1], &byte, 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	for (int i = 0; i < children; i++)
		if (read(ready[0], &byte, 1) != 1)
			exit(2);
}

/* The address is found, as everybody finds it. */
static int is_sent_away(int pid)
{
	struct protocol_setup answer;

	if (agent_socket_find(pid, &tracer) == 0 || !tracer.n)
		return 4;
	come(PROTOCOL_HELLO);
	return recv(fds[0], &answer, sizeof(answer), 0) != 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 0, execs = 0, open = 0;

	if (strcmp(way, "step") == 0)
		return step(step(step(0))) != 3;
	if (strcmp(way, "stranger") == 0)
		return is_sent_away((int)times);
	if (agent_socket_find((int)getppid(), &tracer) < 0)
		return 3;
	for (int i = 0; strcmp(way, "many") == 0 && i < MANY; i++)
		come(0);
	if (strcmp(way, "crowd") == 0)
		crowd(CHILDREN, 0);
	if (strcmp(way, "handlers") == 0) {
		come(PROTOCOL_HELLO);
		crowd(SETTERS, PROTOCOL_HANDLER);
	}
	for (unsigned i = 0; i < times; i++) {
		if (strcmp(way, "silent") == 0 || strcmp(way, "hello") == 0) {
			n_fds = 0;
			come(strcmp(way, "hello") == 0 ? PROTOCOL_HELLO : 0);
		}
		execs += (unsigned)execute(argv[0]);
		open += count_open();
	}
	printf("%u %u\n", execs, open);
	return 0;
}
