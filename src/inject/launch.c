/* SPDX-License-Identifier: MIT */
/* Called by the session's thread, as it starts. launch_resolve() only reads files; the kernel
 * checks again at execve. Between fork and exec the child only notes its name and sets two
 * variables of its environment. What stands in the way is -errno and a sentence. */
#include "inject/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/child_signal.h"
#include "base/file.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/path.h"
#include "tracee/tracee.h"

#define SCRIPT_LEVELS 5 /* the kernel's limit */

/* access() asks for the real user and would wait for a server: of a served file the mode alone is
 * judged, and execve says the rest. */
static bool can_execute(const char *path)
{
	struct stat st;

	return file_look(path, &st) && S_ISREG(st.st_mode) && st.st_mode & 0111 &&
	       (file_is_served(path) || access(path, X_OK) == 0);
}

/* The command's file in PATH, or NULL. The caller frees it. */
static char *search_path(const char *command)
{
	const char *path = getenv("PATH"), *next;

	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (; path; path = next) {
		size_t n = strcspn(path, ":");
		char *full = n ? mem_printf("%.*s/%s", (int)n, path, command) : mem_strdup(command);

		next = path[n] ? path + n + 1 : NULL;
		if (can_execute(full))
			return full;
		free(full);
	}
	return NULL;
}

/* Says why the file cannot be executed. */
static int explain_missing(const char *path, struct err *err)
{
	struct stat st;

	if (!file_look(path, &st))
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return err_set(err, EACCES, "%s is a directory, not a program", path);
	return err_set(err, EACCES, "%s is not executable: check its permissions (chmod +x)", path);
}

/* Fails for programs that get other rights at execve. */
static int check_privilege(const char *path, struct err *err)
{
	struct stat st;

	if (!file_look(path, &st))
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	/* The loader ignores LD_PRELOAD, and ptrace is refused, in a program that gets other
	 * rights. */
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_gid != getegid()))
		return err_set(err, EPERM,
			       "%s is set-uid: it drops our agent; only its own user (or root, for "
			       "root's programs) can trace it",
			       path);
	if (geteuid() != 0 && !file_is_served(path) &&
	    getxattr(path, "security.capability", NULL, 0) > 0)
		return err_set(err, EPERM,
			       "%s has file capabilities: it drops our agent; run brace as root "
			       "to trace it",
			       path);
	return 0;
}

/* Reads PT_INTERP. False: there is none. */
static bool read_interp(int fd, const Elf64_Ehdr *eh, char *out, size_t n)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(eh->e_phoff + i * sizeof(ph))) != sizeof(ph))
			return false;
		if (ph.p_type != PT_INTERP)
			continue;
		memset(out, 0, n);
		return pread(fd, out, ph.p_filesz < n ? ph.p_filesz : n - 1, (off_t)ph.p_offset) >
		       0;
	}
	return false;
}

/* ld-linux-x86-64.so.2; musl's loader is ld-musl-x86_64.so.1. */
static bool is_glibcs_loader(const char *path)
{
	return strncmp(path_file_name(path), "ld-linux", 8) == 0;
}

/* True: no loader of glibc's would load the agent, so that brace has to put it in. */
bool launch_by_hand(const char *image)
{
	int fd = file_open(image, NULL);
	char interp[256];
	Elf64_Ehdr eh;
	bool is;

	if (fd < 0 || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		is = false; /* execve will say why */
	else if (read_interp(fd, &eh, interp, sizeof(interp)))
		is = !is_glibcs_loader(interp);
	else
		/* A loader that is executed itself loads the agent all the same. */
		is = !is_glibcs_loader(image);
	if (fd >= 0)
		close(fd);
	return is;
}

/* A 32-bit header is shorter: the class is looked at before any other field. */
static int check_elf(int fd, const char *path, const Elf64_Ehdr *eh, struct err *err)
{
	if (eh->e_ident[EI_CLASS] == ELFCLASS32)
		return err_set(err, ENOTSUP,
			       "%s is a 32-bit program: brace traces " ELF_MACHINE_NAME
			       " programs only", path);
	if (eh->e_machine != ELF_MACHINE)
		return err_set(err, ENOTSUP,
			       "%s is a program for another machine (ELF machine %u): brace traces "
			       ELF_MACHINE_NAME " programs only",
			       path, eh->e_machine);
	if (eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    (eh->e_type != ET_EXEC && eh->e_type != ET_DYN))
		return err_set(err, ENOEXEC, "%s is a malformed ELF file, or not a program", path);
	return 0;
}

/* The interpreter of "#! /path arg"; NULL if there is none. The caller frees it. */
static char *read_interpreter(const char *head, size_t n)
{
	const char *at = head + 2, *end = head + n;
	size_t len = 0;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (at + len < end && !strchr(" \t\n", at[len]))
		len++;
	return len ? mem_strndup(at, len) : NULL;
}

/* Checks the file. Replaces a script's *path by its interpreter, level by level. */
static int check_file(char **path, int level, struct err *err)
{
	union { Elf64_Ehdr eh; char bytes[256]; } head = { 0 };
	int fd = file_open(*path, err), r;
	char *next;
	ssize_t n;

	if (fd == -ETIMEDOUT || fd == -ENOEXEC)
		return fd;
	if (fd < 0)
		return err_set(err, -fd,
			       "cannot read %s: %s (brace must read a program to trace it)", *path,
			       strerror(-fd));
	/* The file may be shorter: the rest of the union is zeros. */
	n = pread(fd, head.bytes, sizeof(head.bytes) - 1, 0);
	r = check_privilege(*path, err);
	if (r == 0 && n >= (ssize_t)sizeof(Elf64_Ehdr) &&
	    memcmp(head.bytes, ELFMAG, SELFMAG) == 0) {
		r = check_elf(fd, *path, &head.eh, err);
	} else if (r == 0 && n > 2 && memcmp(head.bytes, "#!", 2) == 0 && level < SCRIPT_LEVELS) {
		next = read_interpreter(head.bytes, (size_t)n);
		if (next) {
			free(*path);
			*path = next;
			r = check_file(path, level + 1, err);
		}
	} else if (r == 0) {
		r = err_set(err, ENOEXEC,
			    "%s is not a program: neither an ELF file nor a script with #!", *path);
	}
	close(fd);
	return r;
}

/* *path is for execv(), *image is the ELF file that will run: of a script its interpreter. Both are
 * the caller's after 0. */
int launch_resolve(const char *command, char **path, char **image, struct err *err)
{
	int r;

	*path = *image = NULL;
	if (!*command)
		return err_set(err, ENOENT, "the program's name is empty");
	*path = strchr(command, '/') ? mem_strdup(command) : search_path(command);
	if (!*path)
		return access(command, F_OK)
			       ? err_set(err, ENOENT, "%s: no such program in PATH", command)
			       : err_set(err, ENOENT,
					 "%s: no such program in PATH; the file here is ./%s",
					 command, command);
	if (!can_execute(*path)) {
		r = explain_missing(*path, err);
	} else {
		*image = mem_strdup(*path);
		r = check_file(image, 0, err);
	}
	if (r < 0) {
		free(*path);
		free(*image);
		*path = *image = NULL;
	}
	return r;
}

/* Does what an agent does before it executes a program (agent/tasks.c). */
static void write_exec_note(struct task_exec_note *execs)
{
	struct task_exec_note *n = &execs[(uint32_t)getpid() % TASK_EXECS];

	n->tid = (uint32_t)getpid();
	prctl(PR_GET_NAME, n->comm);
	/* Pairs with the acquire in take_note() of agent/tasks.c. */
	__atomic_store_n(&n->pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
}

/* LD_PRELOAD for the program: the agent first. The caller frees it. */
static char *preload_of(const char *agent)
{
	const char *old = getenv("LD_PRELOAD");

	return old && *old ? mem_printf("%s:%s", agent, old) : mem_strdup(agent);
}

/* The parent says why exec fails: it reads errno from the pipe `report`, which exec closes. An end
 * of `go` without a byte means that it has given up. */
static void run_child(const char *path, char *const *argv, const char *preload,
		      const struct launch_how *how, int go, int report)
{
	char byte;
	int code;

	if (read(go, &byte, 1) != 1)
		_exit(126);
	write_exec_note(how->execs);
	child_signal_give_back();
	if (!setenv("LD_PRELOAD", preload, 1) && !setenv("BRACE_AGENT", how->socket, 1))
		execv(path, argv);
	code = errno;
	if (write(report, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

int launch_check_given_up(struct err *err)
{
	return flag_is_set(tracee_given_up())
		       ? err_set(err, ECANCELED, "interrupted before the program ran")
		       : 0;
}

#define STEP_MS 50 /* how soon an interrupt is heard */

/* The exec closes the child's end of the pipe: 0. An exec that fails writes its errno there first.
 * The file may be of a file system that does not answer, so the wait can be given up. */
static int await_exec(int report, const char *path, struct err *err)
{
	struct pollfd said = { .fd = report, .events = POLLIN };
	int code = 0;

	while (poll(&said, 1, STEP_MS) <= 0)
		if (flag_is_set(tracee_given_up()))
			return launch_check_given_up(err);
	if (read(report, &code, sizeof(code)) == sizeof(code))
		return err_set(err, code, "cannot execute %s: %s", path, strerror(code));
	return 0;
}

/* Lets the child go on to its exec, when whoever wants to know it does. */
static int let_go(pid_t pid, int go, const struct launch_birth *birth, struct err *err)
{
	int r = birth ? birth->born(birth->context, pid, err) : 0;

	if (r == 0 && write(go, "x", 1) != 1)
		r = err_set(err, EPIPE, "cannot start process %d", (int)pid);
	return r;
}

int launch_spawn(const char *path, char *const *argv, const struct launch_how *how, pid_t *pid,
		 struct err *err)
{
	int go[2], report[2], r;
	char *preload;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(report, O_CLOEXEC) < 0) {
		r = err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
		close(go[0]);
		close(go[1]);
		return r;
	}
	preload = preload_of(how->agent);
	*pid = fork();
	if (*pid == 0) {
		close(go[1]);
		run_child(path, argv, preload, how, go[0], report[1]);
	}
	r = *pid < 0 ? err_set(err, errno, "cannot fork: %s", strerror(errno)) : 0;
	free(preload);
	close(go[0]);
	close(report[1]);
	if (r == 0)
		r = let_go(*pid, go[1], how->birth, err);
	close(go[1]);
	if (r == 0)
		r = await_exec(report[0], path, err);
	close(report[0]);
	return r;
}
