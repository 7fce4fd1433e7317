/* SPDX-License-Identifier: MIT */
/* In the guest: a process writes numbered markers on two CPUs in turn while this one reads the
 * kernel's buffers by one of its ways.
 *
 *   ring_ways test WAY MARKERS KIB    each marker comes once, in order, or is counted as lost
 *   ring_ways bench WAY MARKERS ROUNDS  nanoseconds of reading a record; WAY raw: only read()
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

static void pass(struct reading *r, bool last)
{
	struct err err;
	bool fresh;

	if (last)
		kernel_source_stop(r->source);
	if (kernel_source_pass(r->source, last ? UINT64_MAX : clock_tsc(), take, r, &fresh, &err))
		give_up(&err);
}

static void begin(struct reading *r, unsigned way, const char *kib)
{
	struct err err;

	*r = (struct reading){ .info = trace_info_new() };
	if (kernel_source_open(false, &r->source, &err))
		give_up(&err);
	kernel_source_read_by(r->source, way);
	if (kernel_instance_write(kernel_source_instance(r->source), "buffer_size_kb", kib, false,
				  &err) ||
	    kernel_source_begin(r->source, r->info, true, 0, &err) ||
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

	begin(&r, way, kib);
	writer = fork();
	if (writer == 0)
		write_markers(directory(&r), n);
	while (waitpid(writer, &status, WNOHANG) == 0)
		pass(&r, false);
	pass(&r, true);
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

/* The cost of the kernel's own copying, without a look at the records. */
static void read_raw(const struct reading *r)
{
	static char page[65536];

	kernel_source_stop(r->source);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		char *path = mem_printf("%s/per_cpu/cpu%u/trace_pipe_raw", directory(r), cpu);
		int fd = open(path, O_RDONLY | O_NONBLOCK);

		while (read(fd, page, sizeof(page)) > 0)
			;
		close(fd);
		free(path);
	}
}

static int bench(unsigned way, bool raw, unsigned n, unsigned rounds)
{
	uint64_t ns = 0, records = 0, begun;
	struct reading r;

	for (unsigned i = 0; i < rounds; i++) {
		pid_t writer;

		begin(&r, way, "32768");
		writer = fork();
		if (writer == 0)
			write_markers(directory(&r), n);
		waitpid(writer, NULL, 0);
		begun = now_ns();
		if (raw)
			read_raw(&r);
		else
			pass(&r, true);
		ns += now_ns() - begun;
		records += raw ? n : r.seen;
		end(&r);
	}
	printf("%s %llu records %.1f ns\n", raw ? "raw" : ways[way], (unsigned long long)records,
	       (double)ns / (double)(records ? records : 1));
	return records != (uint64_t)n * rounds;
}

int main(int argc, char **argv)
{
	bool raw = argc > 2 && !strcmp(argv[2], "raw");
	unsigned way = raw ? KERNEL_RING_READ : 0;

	while (!raw && argc > 2 && way < 3 && strcmp(argv[2], ways[way]))
		way++;
	if (argc != 5 || way > 2)
		return 2;
	if (!strcmp(argv[1], "test"))
		return test(way, (unsigned)atoi(argv[3]), argv[4]);
	return bench(way, raw, (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
}
