/* SPDX-License-Identifier: MIT */
/* Tells whether a process could be stopped, and if not, which rule is in the way. brace asks before
 * an attach, hold.c after a failed one; nothing is stopped or changed (seccomp.c does hold the
 * process for a moment).
 *
 * The kernel is asked whether: opening /proc/PID/mem is checked as PTRACE_SEIZE is. The reason is
 * then found by looking at what the kernel looked at, in its order, so that the sentence names the
 * first rule in the way. */
#include "tracee/check.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/elf.h"
#include "tracee/seccomp.h"
#include "tracee/tracee.h"

#define YAMA "/proc/sys/kernel/yama/ptrace_scope"
#define CAN_PTRACE (UINT64_C(1) << 19) /* CAP_SYS_PTRACE */
#define KERNEL_THREAD 0x00200000u      /* PF_KTHREAD in the flags of /proc/PID/stat */

struct user_name {
	char text[40];
};

/* Returns the user's name, or number; by value, since sentences name two users. */
static struct user_name user_name(uint32_t uid)
{
	const struct passwd *p = getpwuid(uid);
	struct user_name name;

	if (p)
		snprintf(name.text, sizeof(name.text), "%s", p->pw_name);
	else
		snprintf(name.text, sizeof(name.text), "number %u", uid);
	return name;
}

/* --- processes that cannot be traced at all --- */

/* A main thread that has ended is a zombie while others run: such a process can still be traced. */
static bool has_live_thread(pid_t pid)
{
	char name[32];
	struct proc_stat stat;
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	d = opendir(name);
	while (d && !found && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		found = tid > 0 && proc_stat_read(pid, tid, &stat) == 0 && stat.state != 'Z' &&
			stat.state != 'X';
	}
	if (d)
		closedir(d);
	return found;
}

/* Refuses what is no process of a program: threads, brace itself, the kernel's threads, zombies. */
static int check_kind(pid_t pid, const struct proc_status *s, struct err *err)
{
	struct proc_stat stat;
	char parent[16];

	if (s->tgid != pid)
		return err_set(err, EINVAL, "%d is a thread of process %d (%s): attach to that",
			       (int)pid, (int)s->tgid, s->name);
	if (pid == getpid())
		return err_set(err, EINVAL, "process %d is brace itself", (int)pid);
	if (s->kthread || (proc_stat_read(pid, pid, &stat) == 0 && stat.flags & KERNEL_THREAD))
		return err_set(err, ENOTSUP,
			       "%d (%s) is a thread of the kernel: brace traces programs", (int)pid,
			       s->name);
	if ((s->state == 'Z' || s->state == 'X') && !has_live_thread(pid)) {
		proc_name(s->ppid, parent);
		return err_set(
			err, ESRCH,
			"process %d (%s) has ended: it is a zombie until its parent, %d (%s), waits for it",
			(int)pid, s->name, (int)s->ppid, parent);
	}
	return 0;
}

/* A thread has one tracer at most; a debugger or strace is in the way. */
static int check_tracers(pid_t pid, const struct proc_status *s, struct err *err)
{
	struct proc_status own;
	char name[16];

	if (s->tracer) {
		proc_name(s->tracer, name);
		return err_set(
			err, EBUSY,
			"process %d (%s) is traced already, by process %d (%s), and can have one tracer: "
			"end that one first",
			(int)pid, s->name, (int)s->tracer, name);
	}
	if (proc_status_read(getpid(), &own) == 0 && own.tracer == pid)
		return err_set(err, EINVAL,
			       "process %d (%s) traces brace itself: holding it would stop both",
			       (int)pid, s->name);
	return 0;
}

/* Refuses 32-bit programs, by the ELF header of the executable. */
static int check_class(pid_t pid, const struct proc_status *s, struct err *err)
{
	unsigned char ident[EI_NIDENT] = { 0 };

	if (proc_read(pid, "exe", ident, sizeof(ident)) == sizeof(ident) &&
	    ident[EI_CLASS] == ELFCLASS32)
		return err_set(
			err, ENOTSUP,
			"process %d (%s) is a 32-bit program: brace traces " ELF_MACHINE_NAME
			       " programs only",
			(int)pid, s->name);
	return 0;
}

/* --- permissions ---------------------------------------------------------------------------- */

/* The kernel wants real, effective and saved ids to be the tracer's. */
static bool all_are(const uint32_t ids[4], uint32_t id)
{
	return ids[0] == id && ids[1] == id && ids[2] == id;
}

/* True if there are users outside of the namespace that we are in: the initial one maps all of
 * them. */
static bool in_user_namespace(void)
{
	unsigned first, outside, count;
	char map[128];
	ssize_t n = proc_read(getpid(), "uid_map", map, sizeof(map) - 1);

	map[n > 0 ? n : 0] = '\0';
	return n >= 0 &&
	       (sscanf(map, "%u %u %u", &first, &outside, &count) != 3 || count != UINT32_MAX);
}

/* The target is another user's: says whose, and who may. */
static int other_user(const struct proc_status *s, const struct proc_status *own, struct err *err)
{
	struct user_name me = user_name(own->uid[1]), real = user_name(s->uid[0]),
			 effective = user_name(s->uid[1]);

	if (own->uid[1] == 0)
		return err_set(
			err, EPERM,
			"process %d (%s) belongs to user %s, and this root lacks CAP_SYS_PTRACE: give it to the "
			"container (docker run --cap-add SYS_PTRACE), or run brace outside of it",
			(int)s->tgid, s->name, real.text);
	if (!all_are(s->uid, s->uid[0]))
		return err_set(
			err, EPERM,
			"process %d (%s) is a set-uid program (user %s, running as %s): only root may trace it "
			"(sudo brace ...)",
			(int)s->tgid, s->name, real.text, effective.text);
	return err_set(err, EPERM,
		       "process %d (%s) belongs to user %s and you are %s: only %s%s may trace it "
		       "(sudo brace ...)",
		       (int)s->tgid, s->name, real.text, me.text, s->uid[0] ? real.text : "",
		       s->uid[0] ? " or root" : "root");
}

static int not_dumpable(const struct proc_status *s, struct err *err)
{
	return err_set(
		err, EPERM,
		"process %d (%s) is closed to tracing (its dumpable flag is off: a program its user may not read, "
		"one that changed its user, or prctl(PR_SET_DUMPABLE)): only root may trace it (sudo brace ...)",
		(int)s->tgid, s->name);
}

int check_explain_yama(int scope, const struct proc_status *s, struct err *err)
{
	static const char *const rules[] = {
		[1] = "lets a program be traced only by its ancestors (" YAMA " is 1): use sudo, start it under brace "
		      "(brace record PROGRAM), or write 0 there",
		[2] = "lets only root trace programs (" YAMA " is 2): use sudo, or write 0 or 1 there",
		[3] = "lets nobody trace programs until it boots again (" YAMA " is 3): start the program under brace "
		      "(brace record PROGRAM)",
	};

	return err_set(err, EPERM, "process %d (%s): the kernel %s", (int)s->tgid, s->name,
		       rules[scope < 1 ? 1 : scope > 3 ? 3 : scope]);
}

/* Returns Yama's ptrace_scope; 0, too, where there is no Yama. */
static int yama_scope(void)
{
	FILE *f = fopen(YAMA, "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

/* The kernel gives the files in /proc/PID of a process that is not dumpable to root. */
static bool is_dumpable(const struct proc_status *s)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)s->tgid);
	return stat(name, &st) < 0 || st.st_uid == s->uid[1] || s->uid[1] == 0;
}

/* Finds the first rule in the way, in the kernel's order: users, dumpable flag, capabilities, then
 * Yama. */
static int explain_status(const struct proc_status *s, struct err *err)
{
	struct proc_status own = { 0 };
	int scope = yama_scope();

	proc_status_read(getpid(), &own);
	if (!(own.cap_effective & CAN_PTRACE)) {
		if (!all_are(s->uid, own.uid[1]))
			return other_user(s, &own, err);
		if (!all_are(s->gid, own.gid[1]))
			return err_set(
				err, EPERM,
				"process %d (%s) runs as another group (%u, yours is %u): only root may trace it "
				"(sudo brace ...)",
				(int)s->tgid, s->name, s->gid[1], own.gid[1]);
		if (!is_dumpable(s))
			return not_dumpable(s, err);
		if (s->cap_permitted & ~own.cap_permitted)
			return err_set(
				err, EPERM,
				"process %d (%s) has capabilities that you lack: only root may trace it "
				"(sudo brace ...)",
				(int)s->tgid, s->name);
	}
	if (scope > 0)
		return check_explain_yama(scope, s, err);
	if (in_user_namespace())
		return err_set(
			err, EPERM,
			"process %d (%s) is outside of the user namespace (container) that brace is in: run brace "
			"outside too",
			(int)s->tgid, s->name);
	return err_set(
		err, EPERM,
		"the kernel forbids tracing process %d (%s): a security module, or a container without "
		"CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)",
		(int)s->tgid, s->name);
}

/* Asks the kernel by opening the memory for writing. Any other failure than a refusal is not a
 * rule's. */
static int check_permission(pid_t pid, const struct proc_status *s, struct err *err)
{
	char name[32];
	int fd, code;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	fd = open(name, O_RDWR | O_CLOEXEC);
	code = errno;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || (code != EACCES && code != EPERM))
		return 0;
	return explain_status(s, err);
}

int check_rules(pid_t pid, struct err *err)
{
	struct proc_status s;
	int r = pid > 0 ? proc_status_read(pid, &s) : -ENOENT;

	if (r < 0)
		return err_set(err, ESRCH, "there is no process %d", (int)pid);
	r = check_kind(pid, &s, err);
	if (r == 0)
		r = check_tracers(pid, &s, err);
	if (r == 0)
		r = check_permission(pid, &s, err);
	return r < 0 ? r : check_class(pid, &s, err);
}

int tracee_check(pid_t pid, struct err *err)
{
	int r = check_rules(pid, err);

	return r < 0 ? r : seccomp_check(pid, err);
}
