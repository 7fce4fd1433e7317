/* SPDX-License-Identifier: MIT */
/* Sorted lists of ids. instance/ asks pid_lists_allow for each chunk and changes lists as threads
 * fork and end; tree writes replace them. The owner of a list locks it. A word that is no number is
 * -EINVAL and a sentence with its column. */
#include "model/pid_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PID_END (1ul << 30) /* size of the kernel's own lists */

/* Index of the first number that is not smaller: where `pid` is, or belongs. */
static size_t first_not_below(const struct pid_list *l, pid_t pid)
{
	return vec_bisect(&l->pids, p, *p < pid);
}

bool pid_list_has(const struct pid_list *l, pid_t pid)
{
	size_t i = first_not_below(l, pid);

	return i < l->pids.n && l->pids.at[i] == pid;
}

/* Kept in order, for first_not_below(). */
void pid_list_add(struct pid_list *l, pid_t pid)
{
	size_t i = first_not_below(l, pid);

	if (pid_list_has(l, pid))
		return;
	(void)vec_add(&l->pids);
	memmove(&l->pids.at[i + 1], &l->pids.at[i], (l->pids.n - 1 - i) * sizeof(pid_t));
	l->pids.at[i] = pid;
}

/* An empty list of wanted threads allows all, unless it had threads and all have ended. */
bool pid_lists_allow(const struct pid_list *these, const struct pid_list *not_these, pid_t pid)
{
	return ((!these->pids.n && !these->all_ended) || pid_list_has(these, pid)) &&
	       !pid_list_has(not_these, pid);
}

void pid_list_remove(struct pid_list *l, pid_t pid)
{
	size_t i = first_not_below(l, pid);

	if (!pid_list_has(l, pid))
		return;
	l->pids.n--;
	memmove(&l->pids.at[i], &l->pids.at[i + 1], (l->pids.n - i) * sizeof(pid_t));
	/* An empty list would allow everybody, which nobody asked for. */
	l->all_ended = !l->pids.n;
}

/* Adds the number at *at, and moves *at behind it. */
static int add_number(struct pid_list *l, const char *text, const char **at, struct err *err)
{
	char *end;
	unsigned long pid;

	errno = 0;
	/* Base 0, as the kernel's kstrtoul: 0x10 and 010 are numbers too. */
	pid = strtoul(*at, &end, 0);
	if (!isdigit((unsigned char)**at) || errno || pid >= PID_END ||
	    (*end && !isspace((unsigned char)*end)))
		return err_at(err, EINVAL, text, (size_t)(*at - text),
			      "a process is chosen by its number");
	pid_list_add(l, (pid_t)pid);
	*at = end;
	return 0;
}

/* All or nothing: a number that cannot be one leaves the list as it was. */
int pid_list_write(struct pid_list *l, const char *text, bool append, struct err *err)
{
	struct pid_list next = { 0 };
	const char *at = text + strspn(text, " \t\r\n\v\f");
	int e = 0;

	if (append)
		pid_list_copy(&next, l);
	for (; *at && !e; at += strspn(at, " \t\r\n\v\f"))
		e = add_number(&next, text, &at, err);
	/* A write names threads that may still come. */
	next.all_ended = false;
	pid_list_free(e ? &next : l);
	if (!e)
		*l = next;
	return e;
}

/* `empty` is the text where nobody is listed; where all that were have ended there is none. */
char *pid_list_read(const struct pid_list *l, const char *empty)
{
	/* A number below PID_END has at most 10 digits; with its newline and the last NUL 12 bytes
	 * suffice. */
	char *text = mem_realloc(NULL, l->pids.n + 1, 12), *to = text;

	if (!l->pids.n) {
		free(text);
		return mem_strdup(l->all_ended ? "" : empty);
	}
	for (size_t i = 0; i < l->pids.n; i++)
		to += sprintf(to, "%d\n", l->pids.at[i]);
	return text;
}

void pid_list_copy(struct pid_list *to, const struct pid_list *from)
{
	*to = (struct pid_list){ .all_ended = from->all_ended };
	vec_reserve(&to->pids, from->pids.n);
	/* An empty list has no memory, and memcpy(3) takes no NULL. */
	if (from->pids.n)
		memcpy(to->pids.at, from->pids.at, from->pids.n * sizeof(pid_t));
	to->pids.n = from->pids.n;
}

void pid_list_free(struct pid_list *l)
{
	vec_free(&l->pids);
}
