/* SPDX-License-Identifier: MIT */
/* In the guest: a process writes numbered markers on two CPUs in turn while this one reads the
 * kernel's buffers by one of its ways.
 *
 *   ring_ways test WAY MARKERS KIB    each marker comes once, in order, or is counted as lost
 *   ring_ways bench WAY CALLS ROUNDS    nanoseconds of reading a record of function_graph, in the
 *                                       quickest round; each system call makes 6. WAY raw: only
 *                                       read(); WAY text: the kernel's own text of them, by
 *                                       trace_pipe
 *
 * WAY is mmap, splice or read. Prints one line. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/clock.h"
#include "kernel/source.h"
#include "kernel/tracefs.h"

#define CPUS 2u
/* Markers that one CPU gets before the next. */
#define STRETCH 500u

struct reading {
	struct kernel_source *source;
	struct trace_info *info;
	uint64_t seen, wrong, told;
	unsigned next;          /* the least number that may come */
};

static const char *const ways[] = { "mmap", "splice", "read" };

static void give_up(const struct err *err)
{
	fprintf(stderr, "ring_ways: %s\n", err->text);
	exit(2);
}

/* The kernel's print event: an address, and the text. */
static int take(void *context, const struct event *e, struct err *err)
{
	struct reading *r = context;
	unsigned number;

	if (e->kind == EVENT_LOST)
		r->told += e->count;
	if (e->kind != EVENT_TRACE)
		return 0;
	r->wrong += sscanf((const char *)e->payload + 8, "m %u", &number) != 1 || number < r->next;
	r->next = number + 1;
	r->seen++;
	return 0;
}

static void run_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void write_markers(const char *instance, unsigned n)
{
	char *path = mem_printf("%s/trace_marker", instance), text[32];
	int fd = open(path, O_WRONLY);

	for (unsigned i = 0; i < n; i++) {
		if (i % STRETCH == 0)
			run_on(i / STRETCH % CPUS);
		if (write(fd, text, (size_t)sprintf(text, "m %u\n", i)) < 0)
			exit(3);
	}
	exit(0);
}

static void pass(struct reading *r, bool last, kernel_rings_sink *sink)
{
	struct err err;
	bool fresh;

	if (last)
		kernel_source_stop(r->source);
	if (kernel_source_pass(r->source, last ? UINT64_MAX : clock_tsc(), sink, r, &fresh, &err))
		give_up(&err);
}

/* Functions of a read() of /dev/zero: 6 records of function_graph. */
static const char *const read_functions[] = { "ksys_read", "vfs_read", "rw_verify_area" };
#define READ_FUNCTIONS (sizeof(read_functions) / sizeof(*read_functions))
#define READ_RECORDS (2 * READ_FUNCTIONS)

/* Appended, because the kernel takes one word of a list from each write. */
static void set(const struct reading *r, const char *file, const char *text)
{
	struct err err;

	if (kernel_instance_write(kernel_source_instance(r->source), file, text, true, &err))
		give_up(&err);
}

static void begin(struct reading *r, unsigned way, const char *kib, bool calls)
{
	struct err err;

	*r = (struct reading){ .info = trace_info_new() };
	if (kernel_source_open(false, &r->source, &err))
		give_up(&err);
	kernel_source_read_by(r->source, way);
	set(r, "buffer_size_kb", kib);
	for (size_t i = 0; calls && i < READ_FUNCTIONS; i++)
		set(r, "set_ftrace_filter", read_functions[i]);
	if (calls)
		set(r, "current_tracer", "function_graph");
	if (kernel_source_begin(r->source, r->info, true, 0, &err) ||
	    kernel_source_start(r->source, &err))
		give_up(&err);
	if (strcmp(kernel_source_way(r->source), ways[way])) {
		printf("%s: this kernel gives %s\n", ways[way], kernel_source_way(r->source));
		kernel_source_close(r->source, NULL);
		exit(77);
	}
}

static const char *directory(const struct reading *r)
{
	return kernel_instance_dir(kernel_source_instance(r->source));
}

/* The kernel's own counts of each CPU, in a line: what to say where the sum is wrong. */
static char *stats(const struct reading *r)
{
	char *all = mem_strdup("");

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		char *name = mem_printf("per_cpu/cpu%u/stats", cpu), *more;
		char *text = kernel_tracefs_read(directory(r), name);

		for (char *c = text; c && *c; c++)
			if (*c == '\n')
				*c = ';';
		more = mem_printf("%s cpu%u: %s", all, cpu, text ? text : "");
		free(all);
		free(text);
		free(name);
		all = more;
	}
	return all;
}

static uint64_t end(struct reading *r)
{
	const uint64_t lost = kernel_source_lost(r->source);

	kernel_source_close(r->source, NULL);
	trace_info_free(r->info);
	return lost;
}

static int test(unsigned way, unsigned n, const char *kib)
{
	struct reading r;
	char *kernel;
	uint64_t lost;
	pid_t writer;
	int status;

	begin(&r, way, kib, false);
	writer = fork();
	if (writer == 0)
		write_markers(directory(&r), n);
	while (waitpid(writer, &status, WNOHANG) == 0)
		pass(&r, false, take);
	pass(&r, true, take);
	kernel = stats(&r);
	lost = end(&r);
	r.wrong += status != 0 || r.seen + lost != n;
	printf("%s: %s, %s, %s\n", ways[way], r.wrong ? "wrong" : "right",
	       r.seen ? "some seen" : "none seen", lost ? "some lost" : "none lost");
	if (r.wrong)
		printf("%llu seen, %llu lost, %llu told, %llu wrong, status %d;%s\n",
		       (unsigned long long)r.seen, (unsigned long long)lost,
		       (unsigned long long)r.told, (unsigned long long)r.wrong, status, kernel);
	free(kernel);
	return r.wrong != 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Reads a file of the instance to its end, and looks at nothing. */
static void drain(const struct reading *r, const char *file)
{
	static char page[65536];
	char *path = mem_printf("%s/%s", directory(r), file);
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	while (read(fd, page, sizeof(page)) > 0)
		;
	close(fd);
	free(path);
}

/* The cost of the kernel's own copying, without a look at the records. */
static void read_raw(const struct reading *r)
{
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		char *file = mem_printf("per_cpu/cpu%u/trace_pipe_raw", cpu);

		drain(r, file);
		free(file);
	}
}

static int count(void *context, const struct event *e, struct err *err)
{
	struct reading *r = context;

	r->seen += e->kind == EVENT_ENTRY || e->kind == EVENT_EXIT;
	return 0;
}

/* Alone in the buffers: the kernel is told whom to record before the calls begin. */
static void make_calls(const struct reading *r, unsigned n)
{
	const int fd = open("/dev/zero", O_RDONLY);
	char pid[16], byte;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	set(r, "set_ftrace_pid", pid);
	for (unsigned i = 0; i < n; i++) {
		if (i % STRETCH == 0)
			run_on(i / STRETCH % CPUS);
		if (read(fd, &byte, 1) != 1)
			exit(3);
	}
	exit(0);
}

struct round { uint64_t ns, records, lost; };

/* A buffer holds all records of a round. other: NULL, or a way that is not brace's. */
static struct round bench_once(unsigned way, const char *other, unsigned calls)
{
	struct reading r;
	struct round done = { 0 };
	uint64_t begun;
	pid_t caller;

	begin(&r, way, "65536", true);
	caller = fork();
	if (caller == 0)
		make_calls(&r, calls);
	waitpid(caller, NULL, 0);
	begun = now_ns();
	if (other)
		kernel_source_stop(r.source);
	if (!other)
		pass(&r, true, count);
	else if (!strcmp(other, "raw"))
		read_raw(&r);
	else
		drain(&r, "trace_pipe");
	done.ns = now_ns() - begun;
	done.records = other ? (uint64_t)READ_RECORDS * calls : r.seen;
	done.lost = end(&r);
	return done;
}

/* In an emulated machine that others share, only the least of many rounds is steady. */
static int bench(unsigned way, const char *other, unsigned calls, unsigned rounds)
{
	uint64_t records = 0, lost = 0;
	double least = 0;

	for (unsigned i = 0; i < rounds; i++) {
		const struct round done = bench_once(way, other, calls);
		const double ns = (double)done.ns / (double)(done.records ? done.records : 1);

		least = !i || ns < least ? ns : least;
		records += done.records;
		lost += done.lost;
	}
	printf("%s %llu records %.1f ns\n", other ? other : ways[way], (unsigned long long)records,
	       least);
	return lost || records < (uint64_t)READ_RECORDS * calls * rounds;
}

int main(int argc, char **argv)
{
	bool is_other = argc > 2 && (!strcmp(argv[2], "raw") || !strcmp(argv[2], "text"));
	unsigned way = is_other ? KERNEL_RING_READ : 0;

	while (!is_other && argc > 2 && way < 3 && strcmp(argv[2], ways[way]))
		way++;
	if (argc != 5 || way > 2)
		return 2;
	if (!strcmp(argv[1], "test"))
		return test(way, (unsigned)atoi(argv[3]), argv[4]);
	return bench(way, is_other ? argv[2] : NULL, (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
}
