/* A program that spoils the session memory it is recorded into. `scribbles WHAT SEED SECONDS/10`: a
 * child finds the mapping in /proc/self/maps, records, and scribbles over WHAT of it meanwhile
 * (below); it may well die of that. Only step is to be hooked: the parent, which records nothing
 * after the fork, waits for it and ends with status 3.
 * With `apart` behind it all, the child gives up root and records nothing; the parent and a thread
 * of its work until the child has ended, and it says whether its result is right. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "shared/memory.h"
#include "shared/record.h"
#include "truth.h"

#define SLOTS 8   /* that are spoiled: of threads, and of sub-buffers */

static char *memory, *image;
static struct memory_thread *slots;
static struct memory_desc *descs;
static uint64_t *words, seed;
static volatile int over;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Values that break programs: ends of ranges, small numbers, anything. */
static uint64_t value(void)
{
	static const uint64_t edges[] = { 0, 1, 2, 3, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
					  0x100000000, INT64_MAX, 1ull << 63, UINT64_MAX };

	return next() % 3 ? edges[next() % (sizeof(edges) / sizeof(edges[0]))] : next() % 2 ? next() % 64 : next();
}

static void spoil(void *at, size_t bytes)
{
	if (next() % 2)
		((volatile uint32_t *)at)[next() % (bytes / 4)] = (uint32_t)value();
	else
		((volatile uint64_t *)at)[next() % (bytes / 8)] = value();
}

/* --- what is scribbled over -------------------------------------------------------------- */

static void header(void) { spoil(memory, sizeof(struct memory_header)); }
/* Only what counts and links: the rest of the header makes a program stop recording at once. */
static void counters(void) { spoil(memory + offsetof(struct memory_header, free_head), 192); }
static void messages(void) { spoil(memory + offsetof(struct memory_header, messages), sizeof(struct memory_messages)); }
static void threads(void) { spoil(&slots[next() % SLOTS], sizeof(slots[0])); }
/* But not its window: what stands first. */
static void fields(void) { spoil(&slots[next() % SLOTS], offsetof(struct memory_thread, discard)); }
static void descriptors(void) { spoil(&descs[next() % SLOTS], sizeof(descs[0])); }

static void states(void)
{
	volatile struct memory_desc *d = &descs[next() % SLOTS];

	d->state = (uint32_t)next() % 4;
	d->thread = (uint32_t)next() % 3;
	if (next() % 2)
		d->seq = (uint32_t)next() % SLOTS;
	else
		d->used = (uint32_t)value();
}

static void buffers(void) { spoil(words, SLOTS * MEMORY_BUFFER_BYTES); }

/* Records of every kind, with every length. */
static void records(void)
{
	volatile uint64_t *at = &words[next() % (SLOTS * MEMORY_BUFFER_WORDS)];
	uint32_t id = next() % 2 ? (uint32_t)value() : record_event_id((unsigned)value() & 0xff, next() % 32);

	*at = record_word(next() % 2 ? next() : *at >> 24, id, next() % 4);
}

static void sites(void) { spoil(image, 4096 + 4096); }
static void all(void);

/* One that has no more than a page already gets no shorter. */
static int is_shorter(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && ftruncate(fd, 4096) == 0 && st.st_size > 4096;
}

/* Its file made shorter under the tracer's hands. */
static void shorten(void)
{
	char name[300], target[300];
	const struct dirent *e;
	DIR *fds;

	snprintf(name, sizeof(name), "/proc/%u/fd", ((struct memory_header *)memory)->tracer_pid);
	fds = opendir(name);
	while (fds && (e = readdir(fds))) {
		ssize_t n = readlinkat(dirfd(fds), e->d_name, target, sizeof(target) - 1);
		int fd;

		target[n > 0 ? n : 0] = '\0';
		if (!strstr(target, "memfd:brace-"))
			continue;
		fd = openat(dirfd(fds), e->d_name, O_RDWR);
		printf("%.20s: %s\n", target, fd < 0 ? "cannot be opened" : is_shorter(fd) ? "is shorter" : "is sealed");
		close(fd);
	}
	fflush(stdout);
	over = 1;
}

static const struct { const char *name; void (*once)(void); } kinds[] = {
	{ "header", header }, { "counters", counters }, { "notes", messages }, { "threads", threads },
	{ "fields", fields }, { "descriptors", descriptors }, { "states", states }, { "buffers", buffers },
	{ "records", records }, { "sites", sites }, { "all", all }, { "shorten", shorten },
};

static void all(void) { kinds[next() % 10].once(); }

/* --- finding it ---------------------------------------------------------------------------- */

static char *mapping(const char *name)
{
	char line[512];
	unsigned long at = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !at && fgets(line, sizeof(line), maps))
		if (strstr(line, name) && strstr(line, " 00000000 "))
			at = strtoul(line, NULL, 16);
	fclose(maps);
	return (char *)at;
}

static int find(void)
{
	const struct memory_header *h = (void *)(memory = mapping("/memfd:brace-session"));

	image = mapping("/memfd:brace-image");
	if (!memory || !image)
		return 0;
	slots = (void *)(memory + h->layout.threads_at);
	descs = (void *)(memory + h->layout.descs_at);
	words = (void *)(memory + h->layout.buffers_at);
	return 1;
}

/* --- recording meanwhile --------------------------------------------------------------------- */

TRACED static unsigned long step(unsigned long n)
{
	BARRIER();
	return n * 3 + 1;
}

static void *work(void *unused)
{
	unsigned long n = 0;

	while (!over)
		n = step(n);
	return unused;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The waiting test sees a file: the program's output is the tracer's business, too. */
static void tell(void)
{
	const char *name = getenv("SCRIBBLED");

	if (name)
		close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* In bursts, with pauses in which the threads fill sub-buffers. */
static void scribble(void (*once)(void), double seconds)
{
	double end = now() + seconds;
	int bursts = 0;

	while (!over && now() < end) {
		for (uint64_t n = next() % 200; n && !over; n--)
			once();
		if (++bursts == 20)
			tell();
		usleep((useconds_t)(next() % 3000));
	}
	over = 1;
}

static void child(void (*once)(void), double seconds)
{
	pthread_t threads_[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads_[i], NULL, work, NULL);
	usleep(20000);
	scribble(once, seconds);
	_exit(0); /* the threads may wait for ever for what was spoiled */
}

/* --- a parent and a child apart --------------------------------------------------------------- */

/* By no function of libc's, which the agent leads: an attacker's child keeps what it maps. */
static long give_up_root(long user)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_setresuid), "D"(user), "S"(user), "d"(user) : "rcx", "r11", "memory");
	return result;
}

static void attacker(void (*once)(void), double seconds)
{
	if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || give_up_root(65534)))
		_exit(4);
	scribble(once, seconds);
	_exit(3);
}

/* Its parent works meanwhile. 0: as if there were no child. */
static int victim(pid_t pid)
{
	pthread_t thread;
	unsigned long n = 0, expected = 0;
	int status = 0;

	if (pthread_create(&thread, NULL, work, NULL))
		return 5;
	for (int i = 0; i < 100000 || waitpid(pid, &status, WNOHANG) == 0; i++) {
		n = step(n);
		expected = expected * 3 + 1;
	}
	over = 1;
	pthread_join(thread, NULL);
	puts(n == expected ? "right" : "wrong");
	return n == expected ? 0 : 6;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;
	bool apart = argc == 5 && strcmp(argv[4], "apart") == 0;

	if (argc < 4)
		return 2;
	seed = strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15 | 1;
	for (int i = 0; i < 100; i++)
		step((unsigned long)i);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (strcmp(argv[1], kinds[k].name) != 0)
			continue;
		if (!find())
			return 4;
		pid = fork();
		if (pid == 0)
			(apart ? attacker : child)(kinds[k].once, atof(argv[3]) / 10);
		if (apart)
			return victim(pid);
		while (waitpid(pid, &status, 0) < 0)
			;
		_exit(3);
	}
	return 2;
}
