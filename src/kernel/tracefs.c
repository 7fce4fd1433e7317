/* SPDX-License-Identifier: MIT */
/* Plain files of a pseudo file system: no sizes, whole texts, each write an action. Called on
 * brace's thread. A file that is not there or may not be written is -errno and a sentence with its
 * name. */
#include "kernel/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/read_all.h"
#include "collect/perf_rings.h"

#define DEBUGFS_DIR "/sys/kernel/debug/tracing"
#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"

/* Whether a file is there tells a kernel's features better than its version: distributions carry
 * patches back, and options leave files out. */
bool kernel_tracefs_has(const char *dir, const char *file)
{
	char *path = mem_printf("%s/%s", dir, file);
	bool has = access(path, F_OK) == 0;

	free(path);
	return has;
}

char *kernel_tracefs_bytes(const char *dir, const char *file, size_t *n)
{
	char *path = mem_printf("%s/%s", dir, file), *text = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), ignored;

	if (fd >= 0) {
		text = read_all(fd, n, &ignored);
		close(fd);
	}
	free(path);
	return text;
}

char *kernel_tracefs_read(const char *dir, const char *file)
{
	size_t ignored;

	return kernel_tracefs_bytes(dir, file, &ignored);
}

/* The errno is the kernel's verdict on the text; which words were at fault stands in error_log
 * (kernel_tracefs_error()). */
int kernel_tracefs_write(const char *dir, const char *file, const char *text, bool append)
{
	/* Without the newline the kernel takes the last word of a list at close(), which tells no
	 * error. */
	char *path = mem_printf("%s/%s", dir, file), *line = mem_printf("%s\n", text);
	int fd = open(path, O_WRONLY | O_CLOEXEC | (append ? O_APPEND : O_TRUNC));
	int e = fd < 0 ? -errno : 0;

	/* An empty text is taken by the truncation alone. */
	if (fd >= 0 && *text && write(fd, line, strlen(line)) < 0)
		e = -errno;
	if (fd >= 0 && close(fd) < 0 && !e)
		e = -errno;
	free(line);
	free(path);
	return e;
}

/* The text is read as a whole before the first line is given, so that a callback may write files
 * whose change would alter it. */
void kernel_tracefs_lines(const char *dir, const char *file,
			  bool (*each)(void *context, const char *line), void *context)
{
	char *text = kernel_tracefs_read(dir, file), *line, *rest = text;

	while (text && (line = strsep(&rest, "\n")))
		if (*line && !each(context, line))
			break;
	free(text);
}

static const char command_mark[] = "\n  Command: ";

/* Where the entry's caret stands in its command; SIZE_MAX: it has none. */
static size_t caret_column(const char *entry)
{
	const char *caret = strchr(entry, '^');
	const size_t from = strlen(command_mark) - 1;
	size_t at = 0;

	if (!caret || !strstr(entry, command_mark))
		return SIZE_MAX;
	while (caret > entry && caret[-1] != '\n')
		caret--, at++;
	return at >= from ? at - from : 0;
}

/* Where the entry's command begins in the text: the kernel shows of a trigger's filter the filter
 * alone. 0: it is not in there. */
static size_t command_place(const char *entry, const char *text)
{
	const char *at = strstr(entry, command_mark), *found;
	char *command;

	if (!at)
		return 0;
	at += strlen(command_mark);
	command = mem_strndup(at, strcspn(at, "\n"));
	found = strstr(text, command);
	free(command);
	return found ? (size_t)(found - text) : 0;
}

/* The newest entry is the last in the file. Two braces that write at once may see each other's:
 * the sentence is the kernel's then, but of another line. For free(). */
char *kernel_tracefs_error_in(const char *dir, const char *text, size_t *column)
{
	static const char error[] = "error: ";
	char *log = kernel_tracefs_read(dir, "error_log"), *last = NULL, *sentence;

	*column = SIZE_MAX;
	/* "event filter parse error: error: Field not found" */
	for (char *at = log; at && (at = strstr(at, error)); at++)
		last = at + strlen(error);
	if (!last) {
		free(log);
		return NULL;
	}
	sentence = mem_strndup(last, strcspn(last, "\n"));
	*column = caret_column(last);
	if (*column != SIZE_MAX)
		*column += command_place(last, text);
	free(log);
	return sentence;
}

char *kernel_tracefs_error(const char *dir, size_t *column)
{
	return kernel_tracefs_error_in(dir, "", column);
}

/* Lockdown forbids tracefs to root, too: "none integrity [confidentiality]". */
static bool is_locked_down(void)
{
	char *text = kernel_tracefs_read("/", &LOCKDOWN_FILE[1]);
	bool is = text && strstr(text, "[confidentiality]");

	free(text);
	return is;
}

/* The error of a user who is not root names what is left: perf's events of the user's own
 * processes, if the kernel's rule allows them. */
static int no_root(struct err *err)
{
	struct err why;

	if (perf_rings_allowed(PERF_SWITCHES, &why))
		return err_set(err, EACCES,
			       "only root may trace the kernel: run brace by sudo, without -k and -K it needs no root; switches and page faults of its own programs are not this user's either: %s",
			       why.text);
	return err_set(err, EACCES,
		       "only root may trace the kernel: run brace by sudo, without -k and -K it needs no root; -e sched:sched_switch and -e exceptions:page_fault_user are this user's, too, and the kernel's events alone as far as perf's rules go (-k -e k:..., kernel.perf_event_paranoid is 2 or less)");
}

/* The errno alone does not tell which of the reasons it is, and what helps differs: another
 * kernel's boot line, sudo, or nothing. */
static int cannot_open(int error, struct err *err)
{
	if (is_locked_down())
		return err_set(err, EPERM,
			       "the kernel is locked down (confidentiality, see %s) and lets nobody trace it",
			       LOCKDOWN_FILE);
	if (geteuid() != 0)
		return no_root(err);
	return err_set(err, error, "cannot read %s: %s", KERNEL_TRACEFS_DIR, strerror(error));
}

/* The directory instances is asked for, not the mount: a kernel before 3.10 has tracefs's files
 * without instances, and brace takes nothing that is another tracer's. For free(). */
int kernel_tracefs_find(char **out, struct err *err)
{
	static const char *const dirs[] = { KERNEL_TRACEFS_DIR, DEBUGFS_DIR };
	int error = ENOENT;

	for (size_t i = 0; i < 2; i++) {
		char *path = mem_printf("%s/instances", dirs[i]);
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		error = fd < 0 && errno != ENOENT ? errno : error;
		free(path);
		if (fd < 0)
			continue;
		close(fd);
		*out = mem_strdup(dirs[i]);
		return 0;
	}
	/* Under lockdown tracefs may not be there at all. */
	if (error != ENOENT || geteuid() != 0 || is_locked_down())
		return cannot_open(error == ENOENT ? EACCES : error, err);
	return err_set(err, ENOENT,
		       "tracefs is not mounted, or the kernel has no tracing: mount -t tracefs nodev %s",
		       KERNEL_TRACEFS_DIR);
}
