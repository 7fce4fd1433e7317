/* SPDX-License-Identifier: MIT */
/* The lines of `notify` and `exec`. They are parsed on the thread that writes to a trigger file.
 * What is allowed is noted by the command line's thread before there are others, and constant from
 * then on. A line that is wrong or not allowed is refused with a sentence. */
#include "event/outside.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

#define TOKENS_FULL 10u       /* commands that may begin at once */
#define ARGUMENTS_MAX 64u

/* --- what is allowed -------------------------------------------------------------------------- */

static VEC(struct outside_allowed *) allowed;

/* Compared as it was allowed, word for word: no quoting can make another command of it. Not locked:
 * the list is complete before a second thread begins. */
static const struct outside_allowed *find_allowed(const char *text)
{
	for (size_t i = 0; i < allowed.n; i++)
		if (!strcmp(allowed.at[i]->text, text))
			return allowed.at[i];
	return NULL;
}

/* Why brace may not execute the file; NULL: it may. Nobody else shall choose what root executes. */
static const char *unfit(const char *path)
{
	struct stat s;

	if (stat(path, &s) || !S_ISREG(s.st_mode) || access(path, X_OK))
		return "no such program that you may execute";
	if (s.st_uid != 0 && s.st_uid != geteuid())
		return "the program's file belongs to another user, who could exchange it";
	if (s.st_mode & S_IWOTH)
		return "every user may change the program's file";
	return NULL;
}

/* Returns the program's absolute path, looked for as a shell does; NULL: there is none. The caller
 * frees it. */
static char *find_program(const char *name)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return realpath(name, NULL);
	for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		char *path = mem_printf("%.*s/%s", (int)strcspn(at, ":"), at, name), *found;

		found = *at == '/' && !access(path, X_OK) ? realpath(path, NULL) : NULL;
		free(path);
		if (found)
			return found;
	}
	return NULL;
}

/* The words between blanks, and NULL. */
static char **split(const char *command)
{
	VEC(char *) words = { 0 };

	for (;;) {
		size_t n;

		command += strspn(command, " \t");
		n = strcspn(command, " \t");
		if (!n || words.n == ARGUMENTS_MAX)
			break;
		*vec_add(&words) = mem_strndup(command, n);
		command += n;
	}
	*vec_add(&words) = NULL;
	return words.at;
}

static void free_words(char **words)
{
	for (char **w = words; *w; w++)
		free(*w);
	free(words);
}

/* Each in memory of its own, because triggers keep pointers to it. */
static void allow(struct outside_allowed a)
{
	struct outside_allowed *to = mem_zalloc(sizeof(*to));

	*to = a;
	*vec_add(&allowed) = to;
}

/* The program is looked up now, by the PATH and the rights of whoever began brace: what the
 * traced program changes of them later counts for nothing. */
int outside_allow_command(const char *command, struct err *err)
{
	char **argv, *path;
	const char *why;

	if (find_allowed(command))
		return 0;
	if (getuid() != geteuid())
		return err_set(err, EPERM, "brace executes no commands as another user than its own");
	argv = split(command);
	path = argv[0] ? find_program(argv[0]) : NULL;
	why = path ? unfit(path) : "no such program that you may execute";
	if (why) {
		free(path);
		free_words(argv);
		return err_at(err, EACCES, command, 0, "%s", why);
	}
	allow((struct outside_allowed){ mem_strdup(command), argv, path, -1 });
	return 0;
}

/* text is the trigger's word, "fd=3", by which a line finds it. */
int outside_allow_descriptor(const char *number, struct err *err)
{
	char *end, *text = mem_printf("fd=%s", number);
	long n = strtol(number, &end, 10);
	int own = -1;

	if (find_allowed(text)) {
		free(text);
		return 0;
	}
	/* A copy: what brace does with the number later does not matter. */
	if (isdigit((unsigned char)*number) && !*end && n <= INT_MAX)
		own = fcntl((int)n, F_DUPFD_CLOEXEC, 3);
	if (own < 0) {
		free(text);
		return err_at(err, EBADF, number, 0, "brace was not given such a descriptor");
	}
	allow((struct outside_allowed){ text, NULL, NULL, own });
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct outside_line {
	const char *to;
	size_t n;                    /* bytes of it */
	const char *rest, *end;      /* the `if`; NULL: none; and what ends it */
};

/* Returns the end without " [5 sent, 0 dropped]", which a shown line has behind it. Users copy
 * shown lines to write them again; the counts are no part of the trigger. */
static const char *cut_counts(const char *at, const char *end)
{
	static const char dropped[] = " dropped]";
	const char *p = end;

	if ((size_t)(end - at) < sizeof(dropped) ||
	    memcmp(end - (sizeof(dropped) - 1), dropped, sizeof(dropped) - 1) != 0)
		return end;
	while (p > at && *p != '[')
		p--;
	return p > at && p[-1] == ' ' ? p - 1 : end;
}

/* Returns the end without all that a shown line has behind it, and without blanks. Nothing is left
 * there that a second look would cut: a line that was shown and is written again means the same. */
static const char *cut_end(const char *at, const char *end)
{
	for (;;) {
		const char *before = end;

		while (end > at && isspace((unsigned char)end[-1]))
			end--;
		end = cut_counts(at, end);
		if (end == before)
			return end;
	}
}

/* Where the `if` between blanks begins; `end`: there is none. n is not 0. It stands behind at least
 * one character, so that p[-1] is there. */
static const char *find_if(const char *at, const char *end)
{
	for (const char *p = at + 1; p + 3 <= end; p++)
		if (p[0] == 'i' && p[1] == 'f' && isblank((unsigned char)p[-1]) &&
		    (p + 2 == end || isblank((unsigned char)p[2])))
			return p;
	return end;
}

/* Splits "TO[:COUNT][ if FILTER]"; *count is left alone if there is none. */
static struct outside_line split_line(const char *at, size_t n, unsigned long *count)
{
	const char *end = cut_end(at, at + n), *rest = find_if(at, end), *last = rest, *digits;

	while (last > at && isblank((unsigned char)last[-1]))
		last--;
	for (digits = last; digits > at && isdigit((unsigned char)digits[-1]);)
		digits--;
	if (digits < last && digits > at && digits[-1] == ':' && last - digits < 10) {
		*count = strtoul(digits, NULL, 10);
		last = digits - 1;
	}
	return (struct outside_line){ at, (size_t)(last - at), rest == end ? NULL : rest, end };
}

/* Notes the fault, with the caret at `at`. Returns -code. */
static int refuse(const struct trigger_line *line, struct filter_fault *fault, const char *kind,
		  const char *at, int code, const char *sentence)
{
	*fault = (struct filter_fault){ .code = code,
					.position = at ? (size_t)(at - line->whole) : line->whole_n,
					.text = line->whole,
					.length = line->whole_n,
					.kind = kind,
					.sentence = sentence };
	return -code;
}

/* The trigger is its first user. */
static struct outside *outside_new(const char *to, size_t n)
{
	struct outside *o = mem_zalloc(sizeof(*o));

	atomic_init(&o->users, 1);
	o->to = mem_strndup(to, n);
	o->tokens = TOKENS_FULL;
	o->socket = -1;
	return o;
}

/* trigger_parse_filter() wants the words from the `if` on. */
static int parse_if(struct event_trigger *t, const struct trigger_line *line,
		    const struct outside_line *l, struct filter_fault *fault)
{
	if (!l->rest || line->remove)
		return 0;
	return trigger_parse_filter(t, line, l->rest, (size_t)(l->end - l->rest), fault);
}

/* Finds what TO of a `notify` is: a path or a descriptor. */
static int find_receiver(struct outside *o, const struct trigger_line *line, const char *at,
			 struct filter_fault *fault)
{
	const char *to = o->to;

	if (!strncmp(to, "json:", 5)) {
		o->json = true;
		to += 5;
	}
	at += to - o->to;
	if (!strncmp(to, "unix=", 5)) {
		o->path = to + 5;
		if (!*o->path || strlen(o->path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
			return refuse(line, fault, "notify", at + 5, EINVAL,
				      "The path of a socket has 1 to 107 bytes");
		return 0;
	}
	if (strncmp(to, "fd=", 3) != 0)
		return refuse(line, fault, "notify", at, EINVAL,
			      "A receiver is unix=PATH or fd=NUMBER, json: before it for JSON");
	o->allowed = find_allowed(to);
	if (o->allowed || line->remove)
		return 0;
	return refuse(line, fault, "notify", at, EPERM,
		      "The descriptor was not allowed where brace began: --allow-fd NUMBER");
}

/* trigger_ops.parse */
static int parse_notify(struct event_trigger *t, const struct trigger_line *line,
			struct filter_fault *fault)
{
	unsigned long count = TRIGGER_UNLIMITED;
	struct outside_line l;
	int r;

	if (!line->rest)
		return refuse(line, fault, "notify", NULL, EINVAL,
			      "A receiver is missing: notify:unix=PATH or notify:fd=NUMBER");
	l = split_line(line->rest, line->n, &count);
	atomic_init(&t->count, count);
	t->own = outside_new(l.to, l.n);
	r = find_receiver(t->own, line, l.to, fault);
	return r < 0 ? r : parse_if(t, line, &l, fault);
}

/* The removal of a trigger asks for no allowance: its line has to be the same, and nothing is
 * run. */
static int parse_exec(struct event_trigger *t, const struct trigger_line *line,
		      struct filter_fault *fault)
{
	unsigned long count = TRIGGER_UNLIMITED;
	struct outside_line l;
	struct outside *o;

	if (!line->rest)
		return refuse(line, fault, "exec", NULL, EINVAL, "A command is missing: exec:COMMAND");
	l = split_line(line->rest, line->n, &count);
	atomic_init(&t->count, count);
	t->own = o = outside_new(l.to, l.n);
	o->allowed = find_allowed(o->to);
	/* "fd=3" is allowed as something else. */
	if ((!o->allowed || !o->allowed->argv) && !line->remove)
		return refuse(line, fault, "exec", l.to, EPERM,
			      "The command was not allowed where brace began: --allow-exec COMMAND");
	return parse_if(t, line, &l, fault);
}

/* In the form of the kernel's triggers, with the counts behind: a file that is read tells whether
 * messages were lost. */
static void show_outside(const struct event_trigger *t, FILE *to)
{
	const struct outside *o = t->own;
	/* Relaxed: numbers that the pump counts, and nothing is read by them. */
	const unsigned long count = atomic_load_explicit(&t->count, memory_order_relaxed);
	const uint64_t sent = atomic_load_explicit(&o->sent, memory_order_relaxed),
		       dropped = atomic_load_explicit(&o->dropped, memory_order_relaxed);

	fprintf(to, "%s:%s:", t->kind->name, o->to);
	if (count == TRIGGER_UNLIMITED)
		fputs("unlimited", to);
	else
		fprintf(to, "count=%ld", (long)count);
	if (t->filter)
		fprintf(to, " if %s", t->filter);
	fprintf(to, " [%llu %s, %llu dropped]", (unsigned long long)sent,
		o->allowed && o->allowed->argv ? "run" : "sent", (unsigned long long)dropped);
}

/* An event has one trigger for each receiver and command. */
static bool is_same_outside(const struct event_trigger *a, const struct event_trigger *b)
{
	return !strcmp(((const struct outside *)a->own)->to, ((const struct outside *)b->own)->to);
}

/* For a message that waits; outside_put() gives it back. */
struct outside *outside_get(struct outside *o)
{
	/* Relaxed: the caller's trigger has a use. */
	atomic_fetch_add_explicit(&o->users, 1, memory_order_relaxed);
	return o;
}

/* Release and acquire: each pairs with the other outside_put() calls, so that the last user sees
 * what all others did. */
void outside_put(struct outside *o)
{
	if (atomic_fetch_sub_explicit(&o->users, 1, memory_order_acq_rel) != 1)
		return;
	if (o->socket >= 0)
		close(o->socket);
	free(o->to);
	free(o);
}

/* trigger_ops.free */
static void free_outside(void *own)
{
	outside_put(own);
}

const struct trigger_ops outside_notify = { .parse = parse_notify,
					    .show = show_outside,
					    .same = is_same_outside,
					    .free = free_outside };
const struct trigger_ops outside_exec = { .parse = parse_exec,
					  .show = show_outside,
					  .same = is_same_outside,
					  .free = free_outside };

/* Faults of the line itself are told when it is written. */
int outside_allow_line(const char *line, struct err *err)
{
	unsigned long count;
	struct outside_line l;
	char *to;
	int r = 0;

	if (!strncmp(line, "exec:", 5)) {
		l = split_line(line + 5, strlen(line + 5), &count);
		to = mem_strndup(l.to, l.n);
		r = outside_allow_command(to, err);
	} else if (!strncmp(line, "notify:", 7)) {
		l = split_line(line + 7, strlen(line + 7), &count);
		to = mem_strndup(l.to, l.n);
		if (!strncmp(to, "fd=", 3) || !strncmp(to, "json:fd=", 8))
			r = outside_allow_descriptor(strchr(to, '=') + 1, err);
	} else {
		return 0;
	}
	free(to);
	return r;
}
