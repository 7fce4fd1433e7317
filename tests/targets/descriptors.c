/* Uses of descriptors that it has closed: descriptors COMMANDS ANSWERS. Each line of COMMANDS (a
 * FIFO) is done, and answered by the descriptor's number into ANSWERS:
 *
 *   clean   opens, writes, closes; opens again by the same number, by a pipe too; uses what never
 *           was open, and what is open for reading alone
 *   twice   closes a descriptor twice
 *   write   writes to a closed one; fsync: syncs a closed one
 *   thread  a thread closes it, another one writes to it
 *   flood   three processes close a descriptor twice, FLOOD times each
 *
 * These give the closed number anew by other ways than a call's result, for reading alone, and
 * write to it, which is refused as if it were closed (fanotify: -1 where it is not allowed):
 *
 *   terminal  by an ioctl;  fanotify: by reading;  shared: by a child with the same table
 *   spawn     spawns a program */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLOOD 600000

static int number;

static int make(void)
{
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		exit(1);
	return fd;
}

static ssize_t put(int fd)
{
	return write(fd, "x", 1);
}

__attribute__((noinline)) static int clean(void)
{
	int fd = make(), ends[2], again;

	put(fd);
	close(fd);
	again = make(); /* the same number */
	put(again);
	close(again);
	if (pipe(ends))
		exit(1);
	put(ends[1]);
	put(ends[0]);   /* EBADF, though it is open */
	close(ends[0]);
	close(ends[1]);
	put(-1);
	put(999);
	close(998);
	return fd;
}

__attribute__((noinline)) static int twice(void)
{
	int fd = make();

	close(fd);
	close(fd);
	return fd;
}

__attribute__((noinline)) static int use_after(int sync)
{
	int fd = make();

	close(fd);
	if (sync)
		fsync(fd);
	else
		put(fd);
	return fd;
}

static void *closes(void *arg)
{
	close(number);
	return arg;
}

__attribute__((noinline)) static int by_thread(void)
{
	pthread_t t;

	number = make();
	if (pthread_create(&t, NULL, closes, NULL) || pthread_join(t, NULL))
		exit(1);
	put(number);
	return number;
}

static void close_often(void)
{
	const int open = make();

	for (int n = 0; n < FLOOD; n++) {
		const int fd = dup(open);

		close(fd);
		close(fd);
	}
	_exit(0);
}

static int flood(void)
{
	int status, bad = 0;

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			close_often();
	while (wait(&status) > 0)
		bad |= status;
	return bad;
}

static int terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), fd;

	if (master < 0 || unlockpt(master))
		exit(1);
	close(make());
	fd = ioctl(master, TIOCGPTPEER, O_RDONLY | O_NOCTTY);
	put(fd);
	close(master);
	return fd;
}

static int notified(const char *path)
{
	int group = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY), fd;
	struct fanotify_event_metadata event = { .fd = -1 };

	if (group < 0 || fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, path))
		return -1;
	fd = open(path, O_RDONLY);
	close(make());
	if (fd < 0 || read(group, &event, sizeof(event)) < 0)
		exit(1);
	put(event.fd);
	close(group);
	return event.fd;
}

static int opens(void *path)
{
	return open(path, O_RDONLY) < 0;
}

static int shared(char *path)
{
	static char stack[65536] __attribute__((aligned(16)));
	int fd = make(), status;
	pid_t child;

	close(fd);
	child = clone(opens, stack + sizeof(stack), CLONE_FILES | SIGCHLD, path);
	if (waitpid(child, &status, 0) < 0 || status)
		exit(1);
	put(fd);
	return fd;
}

static int spawn(void)
{
	char *argv[] = { "/bin/true", NULL };
	pid_t child;

	if (posix_spawn(&child, argv[0], NULL, NULL, argv, NULL) || waitpid(child, NULL, 0) != child)
		exit(1);
	return 0;
}

/* The commands with a file that there is. */
static int by_other_ways(const char *line, char *path)
{
	return !strcmp(line, "terminal") ? terminal() : !strcmp(line, "fanotify") ? notified(path)
	       : !strcmp(line, "shared") ? shared(path) : !strcmp(line, "spawn") ? spawn()
	       : !strcmp(line, "flood") ? flood() : use_after(!strcmp(line, "fsync"));
}

int main(int argc, char **argv)
{
	FILE *commands = argc > 2 ? fopen(argv[1], "r") : NULL;
	FILE *answers = commands ? fopen(argv[2], "w") : NULL;
	char line[32];

	while (answers && fgets(line, sizeof(line), commands)) {
		line[strcspn(line, "\n")] = '\0';
		fprintf(answers, "%d\n",
			!strcmp(line, "clean") ? clean() : !strcmp(line, "twice") ? twice()
			: !strcmp(line, "thread") ? by_thread() : by_other_ways(line, argv[0]));
		fflush(answers);
	}
	return !answers;
}
