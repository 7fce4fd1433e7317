/* Uses of descriptors that it has closed: descriptors COMMANDS ANSWERS. Each line of COMMANDS (a
 * FIFO) is done, and answered by the descriptor's number into ANSWERS:
 *
 *   clean   opens, writes, closes; opens again by the same number, by a pipe too; uses what never
 *           was open, and what is open for reading alone
 *   twice   closes a descriptor twice
 *   write   writes to a closed one; fsync: syncs a closed one
 *   thread  a thread closes it, another one writes to it */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
	FILE *commands = argc > 2 ? fopen(argv[1], "r") : NULL;
	FILE *answers = commands ? fopen(argv[2], "w") : NULL;
	char line[32];

	while (answers && fgets(line, sizeof(line), commands)) {
		line[strcspn(line, "\n")] = '\0';
		fprintf(answers, "%d\n",
			!strcmp(line, "clean") ? clean() : !strcmp(line, "twice") ? twice()
			: !strcmp(line, "thread") ? by_thread() : use_after(!strcmp(line, "fsync")));
		fflush(answers);
	}
	return !answers;
}
