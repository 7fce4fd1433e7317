/* Changes the world it lives in, in the way its argument says, and computes before and after: its
 * root, its user, its namespaces, its descriptors, its limits, its memory. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

#define STEPS 20000

TRACED static unsigned step(unsigned n)
{
	BARRIER();
	return n * 1103515245u + 12345u;
}

static unsigned work(void)
{
	unsigned n = 1;

	for (int i = 0; i < STEPS; i++)
		n = step(n);
	return n;
}

static int allocates(size_t bytes)
{
	char *p = malloc(bytes);

	if (!p)
		return 0;
	memset(p, 1, bytes);
	free(p);
	return 1;
}

static void root(void)
{
	char directory[] = "/tmp/world.XXXXXX";

	require(mkdtemp(directory) && !chroot(directory) && !chdir("/"), "chroot");
	printf("%d\n", access("/bin", F_OK));
	require(!rmdir("/../") || errno, "rmdir");
}

static void user(void)
{
	require(!setgid(65534) && !setuid(65534), "setuid");
	printf("%d %d\n", (int)getuid(), prctl(PR_GET_DUMPABLE));
}

static void dumpable(void)
{
	require(!prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
}

static void in_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		printf("child %d %u\n", (int)getpid(), work());
		truth("step", STEPS);
		fflush(stdout);
		_exit(3);
	}
	require(waitpid(pid, &status, 0) == pid, "a child");
	printf("%d\n", WEXITSTATUS(status));
}

static void namespaces(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS))
		exit(77);
	fflush(stdout);
	in_child(); /* process 1 of its own namespace */
}

static void descriptors(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	require(!close_range(3, ~0u, 0), "close_range");
	for (int fd = 3; fd < 64; fd++)
		require(dup2(0, fd) == fd, "dup2");
	closefrom(3);
}

/* Twice forked, in a session of its own, all descriptors closed. The parent knows by the pipe. */
static void daemon_way(void)
{
	char c;
	int pipes[2];

	require(!pipe(pipes), "pipe");
	fflush(stdout);
	if (fork()) {
		close(pipes[1]);
		require(read(pipes[0], &c, 1) == 0, "the daemon's end");
		return;
	}
	require(setsid() > 0, "setsid");
	if (fork())
		_exit(0);
	close_range(pipes[1] + 1, ~0u, 0);
	require(chdir("/") == 0 && work() != 0, "the daemon");
	truth("step", STEPS);
	_exit(0);
}

static void limit(int resource, rlim_t to)
{
	struct rlimit l = { to, to }, now;

	require(!setrlimit(resource, &l), "setrlimit");
	require(!getrlimit(resource, &now) && now.rlim_cur == to, "getrlimit");
}

static void limits(void)
{
	limit(RLIMIT_NOFILE, 3);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 1 << 20);
	limit(RLIMIT_STACK, 256 << 10);
	limit(RLIMIT_DATA, 64 << 20);
	limit(RLIMIT_NPROC, 1);
	printf("%d %d\n", allocates(16 << 20), allocates(128 << 20));
}

static void address_space(void)
{
	limit(RLIMIT_AS, 256 << 20);
	printf("%d %d\n", allocates(100 << 20), allocates(600 << 20));
}

static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long pages = 0;

	require(f && fscanf(f, "%*d %ld", &pages) == 1, "/proc/self/statm");
	fclose(f);
	return pages * 4096;
}

static void locked(void)
{
	printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	printf("%d\n", resident() < 128 << 20);
	printf("%d\n", allocates(16 << 20));
}

static const struct { const char *name; void (*change)(void); } ways[] = {
	{ "root", root }, { "user", user }, { "dumpable", dumpable }, { "namespaces", namespaces },
	{ "descriptors", descriptors }, { "daemon", daemon_way }, { "limits", limits },
	{ "address-space", address_space }, { "locked", locked },
};

int main(int argc, char **argv)
{
	unsigned i = 0, before;

	truth("step", 2 * STEPS); /* now: later there may be no file */
	before = work();
	while (i < sizeof(ways) / sizeof(*ways) && strcmp(ways[i].name, argc > 1 ? argv[1] : ""))
		i++;
	require(i < sizeof(ways) / sizeof(*ways), "the argument");
	ways[i].change();
	printf("%s %d\n", ways[i].name, before == work());
	return 0;
}
