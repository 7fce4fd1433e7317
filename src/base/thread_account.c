/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/task/TID/{schedstat,status,stat} and /proc/stat. The bytes are the kernel's, but
 * the thread's name in them is the program's: numbers are looked for behind the name's end. Any
 * thread; a thread that is gone is -ENOENT or -ESRCH. view/noise.c and instance/measure.c ask. A
 * line without the numbers fails with -EINVAL. */
#include "base/thread_account.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MOST 8192
/* Fields of stat by their numbers in proc(5); the first one behind the name is 3. */
#define STAT_FIRST 3
#define STAT_MINOR 10
#define STAT_MAJOR 12
#define STAT_START 22

/* A part of the text: from `at` to `end`, without a NUL. */
struct account_text { const char *at, *end; };

/* Takes the next number of the line; false: there is none, or it does not fit. */
static bool take_number(struct account_text *t, uint64_t *out)
{
	bool over = false;

	*out = 0;
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
	if (t->at == t->end || !isdigit((unsigned char)*t->at))
		return false;
	for (; t->at < t->end && isdigit((unsigned char)*t->at); t->at++)
		over |= __builtin_mul_overflow(*out, 10u, out) ||
			__builtin_add_overflow(*out, (uint64_t)(*t->at - '0'), out);
	return !over;
}

/* The text behind the key of the first line that begins with it; false: no line does. The kernel
 * escapes newlines in the name that /proc/PID/status has first, so that a program cannot make a
 * line. */
static bool find_line(const char *bytes, size_t n, const char *key, struct account_text *out)
{
	const char *end = bytes + n;
	size_t length = strlen(key);

	for (const char *at = bytes; (size_t)(end - at) >= length;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (memcmp(at, key, length) == 0) {
			*out = (struct account_text){ at + length, newline ? newline : end };
			return true;
		}
		if (!newline)
			return false;
		at = newline + 1;
	}
	return false;
}

int thread_account_schedstat(const char *bytes, size_t n, struct thread_account *out)
{
	struct account_text t = { bytes, bytes + n };

	out->has_delay = take_number(&t, &out->on_cpu_ns) && take_number(&t, &out->delay_ns);
	return out->has_delay ? 0 : -EINVAL;
}

int thread_account_status(const char *bytes, size_t n, struct thread_account *out)
{
	struct account_text voluntary, involuntary;

	if (!find_line(bytes, n, "voluntary_ctxt_switches:", &voluntary) ||
	    !find_line(bytes, n, "nonvoluntary_ctxt_switches:", &involuntary))
		return -EINVAL;
	return take_number(&voluntary, &out->voluntary) &&
			       take_number(&involuntary, &out->involuntary)
		       ? 0
		       : -EINVAL;
}

/* A name may have parentheses and blanks: it ends at the last one. Fields are told apart by single
 * blanks. Those that are not wanted need not be numbers (3 is a letter, and some are negative). */
int thread_account_stat(const char *bytes, size_t n, struct thread_account *out)
{
	const char *name = n ? memrchr(bytes, ')', n) : NULL;
	struct account_text t = { name ? name + 1 : bytes, bytes + n };
	uint64_t *const wanted[STAT_START + 1] = { [STAT_MINOR] = &out->minor,
						   [STAT_MAJOR] = &out->major,
						   [STAT_START] = &out->start_time };

	if (!name)
		return -EINVAL;
	for (unsigned field = STAT_FIRST; field <= STAT_START; field++) {
		uint64_t *to = wanted[field];

		if (to && !take_number(&t, to))
			return -EINVAL;
		while (t.at < t.end && *t.at == ' ')
			t.at++;
		while (!to && t.at < t.end && *t.at != ' ')
			t.at++;
	}
	return 0;
}

/* Reads as much as fits. The number of bytes, or -errno. */
static ssize_t read_file(const char *path, char *bytes, size_t size)
{
	size_t n = 0;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC), e;

	if (fd < 0)
		return -errno;
	while (n < size && (got = read(fd, bytes + n, size - n)) > 0)
		n += (size_t)got;
	e = got < 0 ? -errno : 0;
	close(fd);
	return e ? e : (ssize_t)n;
}

/* -ESRCH or -ENOENT: the thread has ended. A kernel that does not count delays leaves has_delay
 * false. */
int thread_account_read(pid_t pid, pid_t tid, struct thread_account *out)
{
	static const struct {
		const char *file;
		int (*parse)(const char *bytes, size_t n, struct thread_account *out);
		bool may_lack;         /* a kernel without CONFIG_SCHED_INFO */
	} parts[] = { { "schedstat", thread_account_schedstat, true },
		      { "status", thread_account_status, false },
		      { "stat", thread_account_stat, false } };
	char name[64], bytes[FILE_MOST];

	*out = (struct thread_account){ 0 };
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		ssize_t n;
		int e;

		snprintf(name, sizeof(name), "/proc/%d/task/%d/%s", (int)pid, (int)tid,
			 parts[i].file);
		n = read_file(name, bytes, sizeof(bytes));
		e = n < 0 ? (int)n : parts[i].parse(bytes, (size_t)n, out);
		if (e && !parts[i].may_lack)
			return e;
	}
	return 0;
}

/* The eighth number of the line `cpu` is the steal. */
static bool find_steal(const char *bytes, size_t n, uint64_t *out)
{
	struct account_text cpu;

	if (!find_line(bytes, n, "cpu ", &cpu))
		return false;
	for (unsigned i = 0; i < 8; i++)
		if (!take_number(&cpu, out))
			return false;
	return true;
}

int thread_account_parse_machine(const char *bytes, size_t n, struct machine_account *out)
{
	struct account_text intr, softirq;

	*out = (struct machine_account){ 0 };
	if (!find_line(bytes, n, "intr ", &intr) || !find_line(bytes, n, "softirq ", &softirq) ||
	    !take_number(&intr, &out->interrupts) || !take_number(&softirq, &out->softirqs) ||
	    !find_steal(bytes, n, &out->stolen_ticks))
		return -EINVAL;
	return 0;
}

/* The line `intr` has a number for each interrupt, and `softirq` comes behind it. */
int thread_account_machine(struct machine_account *out)
{
	char bytes[65536];
	ssize_t n = read_file("/proc/stat", bytes, sizeof(bytes));

	return n < 0 ? (int)n : thread_account_parse_machine(bytes, (size_t)n, out);
}
