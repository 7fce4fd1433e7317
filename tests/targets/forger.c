/* A hostile program: beside its agent it speaks to its tracer itself, as an agent would, and writes
 * into what it is given: into the answers, which say what became of each patch in this process.
 * Then a child that it forks asks for more, which has the tracer look whose patches the child has.
 *
 * forger WAY [SEED]: three calls of step, three of the child's, and three of a program that it
 * executes; the status is 3.
 *   statuses:  answers that agents give, in no order
 *   anything:  any bytes
 *   code:      tries to write to the code memory and to the lists of patches in it: by a mapping,
 *              by write(), by opening it anew, by a hole in it. Status 15: it could
 * forger stranger: asks for more of the session's first program, which is another user's. Status 3:
 * it got nothing.
 * forger namesake DIR: the same, and maps files of DIR (a tmpfs), one of which has the number of
 * that program's session memory. forger homeless: says of its threads that they are of a program
 * that does not exist.
 * forger renamed: says that its thread gave itself billions of names.
 * forger blames PID: threads that say they are that process's, and then close descriptors twice.
 * forger WAY SEED waits: says "ready", does it when it is traced, without another program; says
 * "done", and waits to be ended. forger step: what is executed. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_socket.h"
#include "shared/memory.h"

static uint64_t seed = 1;

__attribute__((noinline)) static unsigned long step(unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* --- what is forged -------------------------------------------------------------------------- */

/* The descriptors of a setup reply. */
enum { SESSION, IMAGE, CODE, ANSWERS, FDS };

static void forge_answers(const char *way, const struct protocol_setup *w, int answers)
{
	const int may_be = strcmp(way, "statuses") == 0;
	uint8_t *at = mmap(NULL, w->answers_size, PROT_READ | PROT_WRITE, MAP_SHARED, answers, 0);

	if (at == MAP_FAILED)
		exit(4);
	for (uint32_t i = 0; i < w->n_regions + w->n_patches; i++)
		at[i] = (uint8_t)(next() % (!may_be ? 256 : i < w->n_regions ? 2 : PATCH_CHANGED + 1));
	if (!may_be)
		at[0] = 255;
	munmap(at, w->answers_size);
}

static int writes(int fd, size_t size)
{
	const int prot = PROT_READ | PROT_WRITE;

	return mmap(NULL, size, prot, MAP_SHARED, fd, 0) != MAP_FAILED || pwrite(fd, "", 1, 0) == 1 || ftruncate(fd, 0) == 0 ||
	       fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
}

/* A mapping that may be read must not become one that may be written. */
static int writes_later(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	return at == MAP_FAILED || mprotect(at, size, PROT_READ | PROT_WRITE) == 0 || munmap(at, size) < 0;
}

static void write_code(const struct protocol_setup *w, int fd)
{
	char path[32];
	int anew;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	anew = open(path, O_RDWR);
	if (writes(fd, w->code_size) || writes_later(fd, w->code_size) || (anew >= 0 && writes(anew, w->code_size)))
		exit(15);
	close(anew);
}

static void forge(const char *way, const struct protocol_setup *w, const int fds[FDS])
{
	if (strcmp(way, "code") == 0)
		write_code(w, fds[CODE]);
	else
		forge_answers(way, w, fds[ANSWERS]);
}

/* --- speaking -------------------------------------------------------------------------------- */

static struct agent_socket tracer;

/* The image, by the tracer's number. It is not done before the tracer has heard all of it: that
 * hangs up. */
static uint32_t speak(const char *way, uint32_t request, uint32_t image)
{
	struct protocol_hello hello = {
		.request = request, .version = PROTOCOL_VERSION, .image = image, .tls = -64, .table = 0x10000000,
		.arena = 0x20000000, .slow_record = 0x10000, .slow_entry = 0x10000,
	};
	const struct protocol_done done = { .request = PROTOCOL_DONE };
	struct protocol_setup w = { 0 };
	char control[CMSG_SPACE(FDS * sizeof(int))];
	struct iovec iov = { &w, sizeof(w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int fd = agent_socket_come(&tracer), fds[FDS];

	memcpy(hello.token, tracer.token, sizeof(hello.token));
	if (fd < 0 || send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello) ||
	    recvmsg(fd, &m, 0) != sizeof(w) || !CMSG_FIRSTHDR(&m))
		exit(5);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
	forge(way, &w, fds);
	for (int i = 0; i < FDS; i++)
		close(fds[i]);
	if (send(fd, &done, sizeof(done), MSG_NOSIGNAL) != sizeof(done) || recv(fd, &w, sizeof(w), 0) != 0)
		exit(6);
	close(fd);
	return w.image;
}

/* The tracer hangs up without a word. */
static int gets_nothing(uint32_t image)
{
	struct protocol_hello hello = { .request = PROTOCOL_DLOPEN, .version = PROTOCOL_VERSION, .image = image, .tls = -64 };
	struct protocol_setup w;
	int fd = agent_socket_come(&tracer);

	memcpy(hello.token, tracer.token, sizeof(hello.token));
	return fd >= 0 && send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello) && recv(fd, &w, sizeof(w), 0) == 0;
}

static pid_t make_child(const char *way, uint32_t image)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	step(step(step(0)));
	speak(way, PROTOCOL_DLOPEN, image);
	_exit(0);
}

static pid_t execute(const char *self)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execl(self, self, "step", NULL);
	_exit(127);
}

static int ends_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* --- being traced ---------------------------------------------------------------------------- */

static int tracer_pid(void)
{
	const struct memory_header *h = NULL;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !h && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:brace-session") && strstr(line, " 00000000 "))
			h = (void *)strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	return h ? (int)h->tracer_pid : 0;
}

static char *session_memory(void)
{
	char line[512], *at = NULL;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !at && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:brace-session"))
			at = (char *)strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	if (!at)
		exit(14);
	return at;
}

/* Every thread there is. */
static void leave_home(char *at)
{
	const struct memory_header *h = (const struct memory_header *)at;

	for (uint32_t i = 0; i < h->threads_used; i++)
		((struct memory_thread *)(at + h->layout.threads_at))[i].image = 0xffffffff;
}

static void rename_often(char *at)
{
	const struct memory_header *h = (const struct memory_header *)at;

	for (uint32_t i = 0; i < h->threads_used; i++)
		((struct memory_thread *)(at + h->layout.threads_at))[i].renames = 0xfffffff0;
}

/* --- blame ----------------------------------------------------------------------------------- */

/* The tracer looks at a new thread's slot some milliseconds after its first record: of so many
 * threads most are earlier. */
#define BLAMING 50

static struct { char *memory; uint32_t pid; } blame;

/* Its slot was made at a system call of the thread's start. */
static void *blames(void *arg)
{
	const struct memory_header *h = (const struct memory_header *)blame.memory;
	struct memory_thread *t = (struct memory_thread *)(blame.memory + h->layout.threads_at);
	const uint32_t self = (uint32_t)gettid();
	int fd;

	for (uint32_t i = 0; i < h->threads_used; i++)
		if (t[i].tid == self)
			t[i].pid = t[i].tid = blame.pid;
	fd = open("/dev/null", O_RDONLY);
	close(fd);
	close(fd);
	return arg;
}

static int blame_process(uint32_t pid)
{
	blame.memory = session_memory();
	blame.pid = pid;
	for (int i = 0; i < BLAMING; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, blames, NULL) || pthread_join(t, NULL))
			exit(16);
	}
	return 3;
}

/* The number of our session memory; 0: none is mapped. */
static ino_t memory_inode(void)
{
	char line[512];
	unsigned long inode = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !inode && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:brace-session"))
			sscanf(line, "%*s %*s %*s %*s %lu", &inode);
	if (maps)
		fclose(maps);
	return inode;
}

/* Each number takes a file, some 10 us. A kernel that runs for long has given more of them. */
#define NUMBERS_MAX 2000000

/* A tmpfs numbers its files as it makes them. The other user's memory was made before ours. */
static void map_namesakes(const char *dir)
{
	const ino_t own = memory_inode();
	struct stat st = { 0 };

	if (own > NUMBERS_MAX)
		exit(77);
	if (!own || chdir(dir) < 0)
		exit(11);
	for (; st.st_ino + 1 < own; close(3)) {
		if (open("namesake", O_RDWR | O_CREAT | O_EXCL, 0600) != 3 || fstat(3, &st) < 0 || unlink("namesake") < 0 ||
		    ftruncate(3, 4096) < 0)
			exit(12);
		if (own - st.st_ino > 4096)
			continue;
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) == MAP_FAILED)
			exit(13);
	}
}

static void wait_to_be_traced(void)
{
	const struct timespec moment = { 0, 1000000 };

	puts("ready");
	fflush(stdout);
	while (!tracer_pid())
		nanosleep(&moment, NULL); /* brace comes by ptrace: nothing tells us */
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int waits = argc > 3;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	if (waits)
		wait_to_be_traced();
	if (strcmp(way, "homeless") == 0) {
		char *at = session_memory();

		/* At once: the tracer must not have seen the thread before. */
		step(0);
		leave_home(at);
		return 3;
	}
	step(step(step(0)));
	if (strcmp(way, "renamed") == 0) {
		rename_often(session_memory());
		return 3;
	}
	if (strcmp(way, "step") == 0)
		return 0;
	if (strcmp(way, "blames") == 0)
		return blame_process((uint32_t)seed);
	if (agent_socket_find(tracer_pid(), &tracer) < 0)
		return 7;
	if (strcmp(way, "namesake") == 0)
		map_namesakes(argv[2]);
	if (strcmp(way, "stranger") == 0 || strcmp(way, "namesake") == 0)
		return gets_nothing(0) ? 3 : 10;
	if (!ends_well(make_child(way, speak(way, PROTOCOL_HELLO, MEMORY_NONE))))
		return 8;
	if (!waits)
		return ends_well(execute(argv[0])) ? 3 : 9;
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
