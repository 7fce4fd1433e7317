/* SPDX-License-Identifier: MIT */
/* Reads and writes words of programs that run, for tree/user_events.c, on the tree's threads. The
 * programs may be hostile: whatever touches a page of theirs has a thread of its own
 * (base/apart.h), or a process where the page is a served one (served.h). Descriptors are
 * duplicated for such a thread, because it may be left behind. */
#include "tracee/user_word.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/mem.h"
#include "tracee/proc_maps.h"
#include "tracee/proc_status.h"
#include "tracee/running_memory.h"
#include "tracee/served.h"

#define AUXV_MOST 64u
/* An address that no program can map: reading there fails in a memory that is there, and finds the
 * end in one that is not. */
#define NOWHERE (INT64_C(1) << 62)

/* --- which memory it is ----------------------------------------------------------------------- */

static uint64_t address_of_mark(pid_t pid)
{
	Elf64_auxv_t at[AUXV_MOST];
	const ssize_t n = proc_read(pid, "auxv", at, sizeof(at));

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(at[0]); i++)
		if (at[i].a_type == AT_RANDOM)
			return at[i].a_un.a_val;
	return 0;
}

static int open_memory(pid_t pid, struct user_word_memory *out)
{
	struct proc_stat s;
	int r = proc_stat_read(pid, pid, &s);

	if (r < 0)
		return r;
	*out = (struct user_word_memory){ .pid = pid, .start = s.start_time };
	out->fd = apart_open(pid, "mem", O_RDWR);
	if (out->fd < 0)
		return out->fd;
	/* Behind the open: a mark of the next program's would be another one's. */
	out->mark_at = address_of_mark(pid);
	if (out->mark_at && running_memory_read(pid, out->mark_at, out->mark,
						sizeof(out->mark)) == sizeof(out->mark))
		return 0;
	close(out->fd);
	return -ESRCH;
}

int user_word_open(pid_t thread, struct user_word_memory *out, struct err *err)
{
	struct proc_status s = { 0 };
	int r = proc_status_read(thread, &s);

	if (r == 0)
		r = open_memory(s.tgid, out);
	if (r == -EACCES || r == -EPERM)
		return err_set(err, EPERM,
			       "brace may not reach the memory of process %d, where its events are enabled: start it under brace (brace shell), or as the user of brace",
			       (int)s.tgid);
	return r < 0 ? err_set(err, -r, "the memory of process %d cannot be opened: %s",
			       (int)thread, strerror(-r))
		     : 0;
}

void user_word_close(struct user_word_memory *m)
{
	close(m->fd);
	m->fd = -1;
}

bool user_word_is_kin(const struct user_word_memory *a, const struct user_word_memory *b)
{
	return a->mark_at == b->mark_at && !memcmp(a->mark, b->mark, sizeof(a->mark));
}

bool user_word_is_same(const struct user_word_memory *a, const struct user_word_memory *b)
{
	return a->pid == b->pid && a->start == b->start && a->mark_at == b->mark_at;
}

/* --- words ------------------------------------------------------------------------------------ */

/* The work of a thread of its own: it changes a byte, or writes four. */
struct user_word_work {
	int fd;
	pid_t checked;            /* the process must be able to write there itself; 0: whoever */
	uint64_t address;
	uint8_t mask;             /* of a byte; 0: all of `bytes` is written */
	bool on;
	uint32_t n;
	uint8_t bytes[4];
};

static uint8_t changed(const struct user_word_work *w, uint8_t byte)
{
	return w->on ? byte | w->mask : byte & (uint8_t)~w->mask;
}

/* 0, or what the kernel says: it reads nothing from a memory that is not there any more. */
static int result_of(ssize_t n, uint32_t wanted)
{
	return n < 0 ? (errno == EIO ? -EFAULT : -errno) : n == 0 ? -ESRCH
		       : (uint32_t)n < wanted			  ? -EFAULT
								  : 0;
}

/* How the process maps the address now. False: not at all. */
static bool find_mapping(pid_t pid, uint64_t address, struct proc_map *out)
{
	FILE *f = proc_maps_open(pid);
	bool found = false;

	while (f && !found && proc_maps_next(f, out))
		found = out->start <= address && address < out->end;
	if (f)
		fclose(f);
	return found;
}

bool user_word_is_code(const struct user_word_memory *m, uint64_t address)
{
	struct proc_map map;

	return find_mapping(m->pid, address, &map) && map.exec;
}

/* A write by the descriptor reaches read-only pages, too. The descriptor stays nevertheless: by pid
 * the write could reach the program that an exec brings meanwhile. */
static bool may_write(const struct user_word_memory *m, uint64_t address, bool code)
{
	struct proc_map map;

	return find_mapping(m->pid, address, &map) && map.write && (code || !map.exec);
}

/* Writes as the process itself would have to: read-only pages are refused. */
static int write_as(pid_t pid, uint64_t address, void *bytes, size_t n)
{
	const struct iovec from = { bytes, n }, to = { (void *)(uintptr_t)address, n };

	return process_vm_writev(pid, &from, 1, &to, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

static int put_bytes(struct user_word_work *w)
{
	if (w->checked)
		return write_as(w->checked, w->address, w->bytes, w->n);
	return result_of(pwrite(w->fd, w->bytes, w->n, (off_t)w->address), w->n);
}

/* apart_call(): the descriptor is the work's own. */
static int do_work(void *arg)
{
	struct user_word_work *w = arg;
	int r = w->mask ? result_of(pread(w->fd, w->bytes, 1, (off_t)w->address), 1) : 0;

	if (w->mask)
		w->bytes[0] = changed(w, w->bytes[0]);
	if (r == 0)
		r = put_bytes(w);
	close(w->fd);
	return r;
}

/* A page that another process serves is touched by a process of brace's own, which may be lost. */
static int work_on_served(struct served *s, struct user_word_work *w, int fd)
{
	uint8_t byte;

	if (w->mask) {
		if (served_read(s, fd, w->address, &byte, 1) != 1)
			return -EFAULT;
		w->bytes[0] = changed(w, byte);
	}
	return served_write(s, fd, w->address, w->bytes, w->n) == w->n ? 0 : -EFAULT;
}

static int work_on(const struct user_word_memory *m, struct user_word_work *w)
{
	struct served s = { 0 };
	int r;

	if (w->address > INT64_MAX - sizeof(w->bytes))
		return -EFAULT;
	if (!user_word_is_there(m))
		return -ESRCH;
	served_look(&s, m->pid);
	if (served_has(&s, w->address, w->n)) {
		r = work_on_served(&s, w, m->fd);
	} else {
		w->fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
		r = w->fd < 0 ? -errno : apart_call(m->pid, do_work, w, sizeof(*w));
	}
	served_free(&s);
	return r;
}

static int set_bit(const struct user_word_memory *m, uint64_t address, unsigned bit, bool on,
		   pid_t checked)
{
	/* Bits count from the least of a number, whose first byte is the least here. */
	struct user_word_work w = { .checked = checked, .address = address + bit / 8,
				    .mask = (uint8_t)(1u << bit % 8), .on = on, .n = 1 };

	return work_on(m, &w);
}

int user_word_set(const struct user_word_memory *m, uint64_t address, unsigned bit, bool on,
		  bool code)
{
	if (!may_write(m, address + bit / 8, code))
		return -EFAULT;
	return set_bit(m, address, bit, on, 0);
}

int user_word_set_checked(const struct user_word_memory *m, uint64_t address, unsigned bit, bool on)
{
	return set_bit(m, address, bit, on, m->pid);
}

int user_word_write(const struct user_word_memory *m, uint64_t address, uint32_t number)
{
	struct user_word_work w = { .checked = m->pid, .address = address, .n = sizeof(number) };

	memcpy(w.bytes, &number, sizeof(number));
	return work_on(m, &w);
}

/* Touches no page, and waits for nobody. */
bool user_word_is_there(const struct user_word_memory *m)
{
	uint8_t byte;

	return pread(m->fd, &byte, 1, NOWHERE) != 0;
}

/* --- kin -------------------------------------------------------------------------------------- */

static bool is_wanted(pid_t pid, uint64_t since)
{
	struct proc_stat s;

	return proc_stat_read(pid, pid, &s) == 0 && s.state != 'Z' && s.state != 'X' &&
	       s.start_time >= since;
}

static void add_kin(const struct user_word_memory *const *of, size_t n, pid_t pid, uint64_t since,
		    user_word_memories *out)
{
	const uint64_t mark_at = address_of_mark(pid);
	struct user_word_memory m;
	bool kin = false;

	/* Most processes are none, and all are asked: where the mark is costs the least (the kernel
	 * takes three times as long to tell a start), and to open a memory takes a thread. */
	for (size_t i = 0; i < n && !kin; i++)
		kin = of[i]->mark_at == mark_at;
	if (!kin || !is_wanted(pid, since) || open_memory(pid, &m) < 0)
		return;
	kin = false;
	for (size_t i = 0; i < n && !kin; i++)
		kin = user_word_is_kin(of[i], &m);
	if (kin)
		*vec_add(out) = m;
	else
		user_word_close(&m);
}

void user_word_find_kin(const struct user_word_memory *const *of, size_t n, uint64_t since,
			user_word_memories *out)
{
	DIR *all = n ? opendir("/proc") : NULL;
	struct dirent *e;

	while (all && (e = readdir(all))) {
		const pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0)
			add_kin(of, n, pid, since, out);
	}
	if (all)
		closedir(all);
}

int user_word_open_parent(const struct user_word_memory *m, struct user_word_memory *out)
{
	struct proc_stat s;

	if (proc_stat_read(m->pid, m->pid, &s) < 0 || s.ppid <= 0 || open_memory(s.ppid, out) < 0)
		return -ESRCH;
	if (user_word_is_kin(m, out))
		return 0;
	user_word_close(out);
	return -ESRCH;
}

uint64_t user_word_now(void)
{
	struct timespec t;
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * hz + (uint64_t)t.tv_nsec * hz / 1000000000u;
}
