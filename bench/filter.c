/* SPDX-License-Identifier: MIT */
/* The cost of a filter where it runs: the traced program's copy of the evaluator (compiled with the
 * agent's flags, see bench/run), over records of sched_switch's shape, one after the other so that
 * they are in the cache. Prints a line a filter: `FILTER<tab>ns each<tab>passed`, and the bare
 * rdtsc that ratios refer to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/stamp.h"
#include "event/filter_compile.h"

#define RECORDS 1024u
#define BYTES 64u

static const struct event_field fields[] = {
	{ "char[16]", "prev_comm", 8, 16, false }, { "pid_t", "prev_pid", 24, 4, true }, { "int", "prev_prio", 28, 4, true },
	{ "long", "prev_state", 32, 8, true },     { "char[16]", "next_comm", 40, 16, false },
	{ "pid_t", "next_pid", 56, 4, true },
	{ "int", "next_prio", 60, 4, true },
};
static const struct event_format event = { "sched", "sched_switch", 1, fields, 7, "" };

static const char *const filters[] = {
	"prev_pid == 1",                                     /* rejects by one number */
	"prev_pid > 1",                                      /* passes by one number */
	"prev_prio < 100 && comm ~ \"py*\"",                 /* the first term rejects most */
	"prev_prio >= 100 && comm ~ \"py*\"",                /* both are looked at */
	"prev_comm == \"sh\" && (next_pid > 1 || prev_prio != 120)",
	"prev_comm ~ \"*sh*\"",
	"prev_comm ~ \"p[xy]*n?.1*\"",
	"(prev_pid > 100 || next_pid > 100) && prev_prio != 5 && prev_state & 0xff && next_prio <= 139",
};

static uint8_t records[RECORDS][BYTES];

static void fill(void)
{
	static const char *const comms[] = { "python3.11", "sh", "swapper/0", "kworker/1:3" };

	srandom(1);
	for (unsigned i = 0; i < RECORDS; i++) {
		int32_t pid = 100 + (int32_t)(random() % 100), prio = random() % 16 ? 120 : 98;

		strcpy((char *)records[i] + 8, comms[random() % 4]);
		memcpy(records[i] + 24, &pid, 4);
		memcpy(records[i] + 28, &prio, 4);
		records[i][32] = (uint8_t)random();
		strcpy((char *)records[i] + 40, comms[random() % 4]);
		memcpy(records[i] + 56, &pid, 4);
		memcpy(records[i] + 60, &prio, 4);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const char *text, unsigned rounds)
{
	static const struct filter_context context = { .cpus = 2 };
	static const char comm[FILTER_COMM_BYTES] = "python3.11";
	struct filter_program *p;
	struct filter_fault fault;
	unsigned long passed = 0;
	double begin;

	if (filter_compile(&event, text, strlen(text), &context, &p, &fault) < 0)
		exit(1);
	begin = now();
	for (unsigned k = 0; k < rounds; k++) {
		for (unsigned i = 0; i < RECORDS; i++) {
			struct filter_record r = { .bytes = records[i], .size = BYTES, .comm = comm };

			passed += filter_run(p, p->bytes, &r);
		}
	}
	printf("%s\t%.2f\t%.3f\n", text, (now() - begin) / rounds / RECORDS, (double)passed / rounds / RECORDS);
	free(p);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 4000;
	unsigned long sum = 0;
	double begin;

	fill();
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		measure(filters[i], rounds);
	begin = now();
	for (unsigned i = 0; i < rounds * RECORDS; i++)
		sum += stamp_read();
	printf("rdtsc\t%.2f\t%d\n", (now() - begin) / rounds / RECORDS, sum != 0);
	return 0;
}
