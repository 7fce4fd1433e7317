/* SPDX-License-Identifier: MIT */
/* Parsers of /proc/PID/status and stat. Their bytes come from the kernel, but the name in them is
 * the program's choice: lengths are checked, and control characters replaced. Any thread; a process
 * that is gone is -ENOENT or -ESRCH. collect/ and this folder ask. */
#include "tracee/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/old_calls.h"

/* A status has about 1.5 KiB. A user in very many groups has a longer one: lines behind the cut
 * count as not there. */
#define STATUS_MAX 8192

/* A part of the text: n bytes from `at`, without a NUL. */
struct status_span {
	const char *at;
	size_t n;
};

/* Takes the line off *text; the newline belongs to neither. */
static struct status_span next_line(struct status_span *text)
{
	const char *nl = text->n ? memchr(text->at, '\n', text->n) : NULL;
	struct status_span line = { text->at, nl ? (size_t)(nl - text->at) : text->n };
	size_t used = line.n + (nl ? 1 : 0);

	text->at += used;
	text->n -= used;
	return line;
}

/* The kernel puts a tab behind the key, and blanks before aligned numbers. */
static void skip_blanks(struct status_span *s)
{
	while (s->n && (*s->at == ' ' || *s->at == '\t'))
		s->at++, s->n--;
}

/* Lower case only, as the kernel writes. -1: not a digit of that base. */
static int parse_digit(char c, unsigned base)
{
	int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;

	return d < (int)base ? d : -1;
}

/* Returns the next number; 0 if there is none or it does not fit. */
static uint64_t parse_number(struct status_span *s, unsigned base)
{
	uint64_t v = 0;
	bool over = false;

	skip_blanks(s);
	for (; s->n && parse_digit(*s->at, base) >= 0; s->at++, s->n--)
		over |= __builtin_mul_overflow(v, base, &v) ||
			__builtin_add_overflow(v, (uint64_t)parse_digit(*s->at, base), &v);
	return over ? 0 : v;
}

/* 0 for a number that is no pid. */
static pid_t pid_number(struct status_span *s)
{
	uint64_t v = parse_number(s, 10);

	return v <= INT_MAX ? (pid_t)v : 0;
}

/* KIND_THERE: the line's presence is the value. */
enum kind {
	KIND_NAME,
	KIND_STATE,
	KIND_PID,
	KIND_LAST_PID,
	KIND_IDS,
	KIND_HEX,
	KIND_COUNT,
	KIND_FLAG,
	KIND_THERE
};

/* Lines of /proc/PID/status that are read, with the member each goes to. A line that an older
 * kernel does not have (Seccomp_filters, Kthread) leaves 0. */
static const struct status_field {
	const char *key;
	enum kind kind;
	size_t at;
} fields[] = {
#define FIELD(key, kind, member) { key, kind, offsetof(struct proc_status, member) }
	FIELD("Name", KIND_NAME, name),
	FIELD("State", KIND_STATE, state),
	FIELD("Tgid", KIND_PID, tgid),
	FIELD("PPid", KIND_PID, ppid),
	FIELD("TracerPid", KIND_PID, tracer),
	FIELD("NSpid", KIND_LAST_PID, inner),
	FIELD("Uid", KIND_IDS, uid),
	FIELD("Gid", KIND_IDS, gid),
	FIELD("CapPrm", KIND_HEX, cap_permitted),
	FIELD("CapEff", KIND_HEX, cap_effective),
	FIELD("SigIgn", KIND_HEX, sig_ignored),
	FIELD("SigCgt", KIND_HEX, sig_caught),
	FIELD("Seccomp", KIND_COUNT, seccomp),
	FIELD("Seccomp_filters", KIND_COUNT, seccomp_filters),
	FIELD("Kthread", KIND_FLAG, kthread),
	FIELD("VmSize", KIND_THERE, has_memory),
#undef FIELD
};

/* A name of other characters must not reach a terminal. */
static void read_name(struct status_span *s, char name[16])
{
	size_t n = s->n < 15 ? s->n : 15;

	for (size_t i = 0; i < n; i++)
		name[i] = s->at[i] >= ' ' && s->at[i] < 127 ? s->at[i] : '?';
	name[n] = '\0';
}

/* Real, effective, saved, and file system's. */
static void read_ids(struct status_span *s, uint32_t ids[4])
{
	for (int i = 0; i < 4; i++)
		ids[i] = (uint32_t)parse_number(s, 10);
}

/* The pid in each namespace, from ours to its own. */
static pid_t last_pid(struct status_span *s)
{
	pid_t last = 0;

	for (; s->n && parse_digit(*s->at, 10) >= 0; skip_blanks(s))
		last = pid_number(s);
	return last;
}

static void read_field(const struct status_field *f, struct status_span *s, struct proc_status *out)
{
	void *to = (char *)out + f->at;

	skip_blanks(s);
	switch (f->kind) {
	case KIND_NAME:
		read_name(s, to);
		break;
	case KIND_STATE:
		*(char *)to = s->n ? *s->at : 0;
		break;
	case KIND_PID:
		*(pid_t *)to = pid_number(s);
		break;
	case KIND_LAST_PID:
		*(pid_t *)to = last_pid(s);
		break;
	case KIND_IDS:
		read_ids(s, to);
		break;
	case KIND_HEX:
		*(uint64_t *)to = parse_number(s, 16);
		break;
	case KIND_COUNT:
		*(unsigned *)to = (unsigned)parse_number(s, 10);
		break;
	case KIND_FLAG:
		*(bool *)to = parse_number(s, 10) != 0;
		break;
	case KIND_THERE:
		*(bool *)to = true;
		break;
	}
}

/* Lines that the table lacks are passed over: newer kernels have more. */
static void read_line(struct status_span line, struct proc_status *out)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		size_t n = strlen(fields[i].key);

		if (line.n > n && line.at[n] == ':' && memcmp(line.at, fields[i].key, n) == 0) {
			struct status_span value = { line.at + n + 1, line.n - n - 1 };

			read_field(&fields[i], &value, out);
			return;
		}
	}
}

/* -EINVAL: the text has no state or no process, so that it is no status at all. */
int proc_status_parse(const char *bytes, size_t n, struct proc_status *out)
{
	struct status_span text = { bytes, n };

	memset(out, 0, sizeof(*out));
	while (text.n)
		read_line(next_line(&text), out);
	return out->state && out->tgid > 0 ? 0 : -EINVAL;
}

/* Fields of stat are parted by single blanks. */
static void skip_fields(struct status_span *s, int n)
{
	for (; n > 0; n--) {
		skip_blanks(s);
		while (s->n && *s->at != ' ')
			s->at++, s->n--;
	}
}

/* Priorities of real-time threads are negative in /proc/PID/stat. */
static int signed_number(struct status_span *s)
{
	bool negative;

	skip_blanks(s);
	negative = s->n && *s->at == '-';
	if (negative)
		s->at++, s->n--;
	return negative ? -(int)(parse_number(s, 10) & INT_MAX)
			: (int)(parse_number(s, 10) & INT_MAX);
}

int proc_stat_parse(const char *bytes, size_t n, struct proc_stat *out)
{
	/* The last one: the name before it may hold any character. */
	const char *paren = n ? memrchr(bytes, ')', n) : NULL;
	struct status_span s;

	memset(out, 0, sizeof(*out));
	if (!paren)
		return -EINVAL;
	s = (struct status_span){ paren + 1, n - (size_t)(paren + 1 - bytes) };
	skip_blanks(&s);
	if (!s.n)
		return -EINVAL;
	out->state = *s.at++;
	s.n--;
	out->ppid = pid_number(&s);
	/* proc(5): ppid is the 4th field, flags the 9th, priority the 18th, num_threads the 20th,
	 * starttime the 22nd, the CPU the 39th. */
	skip_fields(&s, 4);
	out->flags = (uint32_t)parse_number(&s, 10);
	skip_fields(&s, 8);
	out->priority = signed_number(&s);
	skip_fields(&s, 1);
	out->threads = (uint32_t)parse_number(&s, 10);
	skip_fields(&s, 1);
	out->start_time = parse_number(&s, 10);
	skip_fields(&s, 16);
	out->cpu = signed_number(&s);
	return 0;
}

/* Reads until n bytes or the end: one read() may give less. */
ssize_t proc_read(pid_t pid, const char *file, void *bytes, size_t n)
{
	char name[64];
	size_t done = 0;
	ssize_t r = 0;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (done < n && (r = read(fd, (char *)bytes + done, n - done)) > 0)
		done += (size_t)r;
	if (r < 0)
		r = -errno;
	close(fd);
	return r < 0 ? r : (ssize_t)done;
}

/* pid may be a thread's: /proc has a directory for each, though listings leave them out. */
int proc_status_read(pid_t pid, struct proc_status *out)
{
	char bytes[STATUS_MAX];
	ssize_t n = proc_read(pid, "status", bytes, sizeof(bytes));

	return n < 0 ? (int)n : proc_status_parse(bytes, (size_t)n, out);
}

int proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *out)
{
	char bytes[1024], file[32];
	ssize_t n;

	snprintf(file, sizeof(file), "task/%d/stat", (int)tid);
	n = proc_read(pid, file, bytes, sizeof(bytes));
	return n < 0 ? (int)n : proc_stat_parse(bytes, (size_t)n, out);
}

void proc_name(pid_t pid, char name[16])
{
	struct proc_status status;

	strcpy(name, "?");
	if (proc_status_read(pid, &status) == 0 && status.name[0])
		memcpy(name, status.name, 16);
}

/* Returns the number of the system call that a thread is in, or -1. */
static long call_of(pid_t tid)
{
	char bytes[128];
	ssize_t n = proc_read(tid, "syscall", bytes, sizeof(bytes));
	struct status_span s = { bytes, n > 0 ? (size_t)n : 0 };

	return s.n && parse_digit(bytes[0], 10) >= 0 ? (long)parse_number(&s, 10) : -1;
}

int proc_explain_wait(pid_t pid, pid_t tid, struct err *err)
{
	long call = call_of(tid);
	char where[64];
	ssize_t n;

	if (old_calls_is_vfork(call) || call == SYS_clone || call == SYS_clone3)
		return err_set(
			err, EBUSY,
			"thread %d of process %d waits in vfork for a child that has not executed a "
			"program yet: try again when it has",
			(int)tid, (int)pid);
	n = proc_read(tid, "wchan", where, sizeof(where) - 1);
	where[n > 0 ? n : 0] = '\0';
	return err_set(
		err, EBUSY,
		"thread %d of process %d does not stop: it waits in the kernel where nothing may interrupt "
		"it (system call %ld%s%s), usually for a disk or a network file system",
		(int)tid, (int)pid, call, n > 1 ? ", in " : "", n > 1 ? where : "");
}
