/* Programs of several users: each says what it did, and which memories of brace's it maps, a line
 * each:
 *     WHO uid NUMBER memory INODE image INODE
 * Calls of as_root() and of as_other() are made by the one and the other, so that they can be
 * counted apart. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OTHER 65534
#define MANY 100000 /* calls: more than one sub-buffer has room for */

__attribute__((noinline)) unsigned long as_root(unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

__attribute__((noinline)) unsigned long as_other(unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 5 + 1;
}

static void work(unsigned long (*f)(unsigned long), int times)
{
	unsigned long n = 0;

	for (int i = 0; i < times; i++)
		n = f(n);
}

/* The inode of the mapping whose name begins so; 0: there is none. */
static unsigned long mapped(const char *name)
{
	char line[512];
	unsigned long inode = 0, found = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		if (strstr(line, name) && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1)
			found = inode;
	if (f)
		fclose(f);
	return found;
}

static void tell(const char *who)
{
	printf("%s uid %d memory %lu image %lu\n", who, (int)geteuid(), mapped("/memfd:brace-session"), mapped("/memfd:brace-image"));
	fflush(stdout);
}

static void traced(void)
{
	const struct timespec moment = { 0, 1000000 };

	while (!mapped("/memfd:brace-session"))
		nanosleep(&moment, NULL); /* brace comes by ptrace: nothing tells us */
}

static void *idle(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/* With a second thread there, or after it has ended. */
static int with_thread(int ended)
{
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t t;

	if (!ended)
		pthread_mutex_lock(&gate);
	if (pthread_create(&t, NULL, idle, &gate))
		return -1;
	if (ended)
		pthread_join(t, NULL);
	return setresuid(OTHER, OTHER, OTHER);
}

static int there_and_back(void)
{
	if (seteuid(OTHER))
		return -1;
	work(as_root, 10);
	tell("meanwhile");
	return seteuid(0);
}

static int change(const char *how)
{
	if (strcmp(how, "setuid") == 0)
		return setuid(OTHER);
	if (strcmp(how, "setreuid") == 0)
		return setreuid(OTHER, OTHER);
	if (strcmp(how, "setresuid") == 0)
		return setresuid(OTHER, OTHER, OTHER);
	if (strcmp(how, "seteuid") == 0)
		return setresuid(OTHER, 0, OTHER) || seteuid(OTHER);
	if (strcmp(how, "back") == 0)
		return there_and_back();
	if (strcmp(how, "thread") == 0)
		return with_thread(0);
	if (strcmp(how, "ended") == 0)
		return with_thread(1);
	if (strcmp(how, "unreached") == 0)
		return unshare(CLONE_NEWNET) || setresuid(OTHER, OTHER, OTHER);
	if (strcmp(how, "raw") == 0)
		return (int)syscall(SYS_setresuid, OTHER, OTHER, OTHER);
	errno = EINVAL;
	return -1;
}

static int child(const char *how)
{
	work(as_root, MANY);
	if (change(how)) {
		perror(how);
		return 1;
	}
	work(strcmp(how, "back") == 0 ? as_root : as_other, MANY);
	tell("child");
	return 0;
}

static int server(const char *how)
{
	pid_t pid;
	int status = 1;

	work(as_root, MANY);
	pid = fork();
	if (!pid)
		_exit(child(how));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	work(as_root, MANY);
	tell("parent");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* As root, then another program as another user. */
static int then(char **argv)
{
	pid_t pid;
	int status = 1;

	work(as_root, MANY);
	tell("first");
	pid = fork();
	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "then") == 0)
		return then(argv + 2);
	if (argc == 3 && strcmp(argv[1], "server") == 0)
		return server(argv[2]);
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "attached") == 0) {
		puts("ready");
		fflush(stdout);
		traced();
	}
	if (argc == 3)
		return server(argv[2]);
	work(geteuid() ? as_other : as_root, MANY);
	tell(argv[1]);
	return 0;
}
