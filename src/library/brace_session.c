/* SPDX-License-Identifier: MIT */
/* Sessions: a program that is traced in the background, by a process of its own that `brace start`
 * makes (library_spawn.c). The library is a client of it over its socket (daemon/ask.h), as the
 * commands are: the host has no tracer inside, no signal handler, no thread. Programs call it, one
 * thread at a time for a session. A session that is not there, or refuses, is an error of the
 * library (brace_error.c). */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "daemon/ask.h"
#include "daemon/run_dir.h"
#include "library/library.h"

struct brace_session {
	char *name;
	char *text; /* of the last read; NULL: none */
};

/* --- start and connect --------------------------------------------------------------- */

struct session_opening {
	const struct brace_session_options *how; /* NULL: connect to `name` */
	const char *name;
	struct brace_session *made;
};

/* No other session of this user's has it: a process number, and a count in it. */
static char *free_name(void)
{
	static atomic_uint count;

	/* Relaxed: only a name. */
	return mem_printf("lib-%d-%u", (int)getpid(),
			  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed));
}

/* The words of `brace start`. at[0], the command, and at[2], --logger-fd, are library_spawn()'s. */
static int make_words(const struct brace_session_options *how, const char *name, library_words *out)
{
	*vec_add(out) = NULL;
	*vec_add(out) = mem_strdup("start");
	*vec_add(out) = NULL;
	for (size_t i = 0; how->options && how->options[i]; i++) {
		if (!*how->options[i] || *how->options[i] == '-')
			return err_at(library_error(), EINVAL, how->options[i], 0,
				      "an option is NAME or NAME=VALUE, without hyphens before it");
		*vec_add(out) = mem_printf("--%s", how->options[i]);
	}
	*vec_add(out) = mem_printf("--session=%s", name);
	for (size_t i = 0; i < how->n_pids; i++)
		*vec_add(out) = mem_printf("--pid=%d", (int)how->pids[i]);
	*vec_add(out) = mem_strdup("--");
	for (size_t i = 0; how->argv && how->argv[i]; i++)
		*vec_add(out) = mem_strdup(how->argv[i]);
	*vec_add(out) = NULL;
	return 0;
}

/* Words 0 and 2 are library_spawn()'s own, on its stack or freed by it. */
static void free_words(library_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (i != 0 && i != 2)
			free(w->at[i]);
	vec_free(w);
}

/* Exactly one of the two has to be given, which tells what brace_session_wait() waits for. */
static int start_traced(const struct brace_session_options *how, const char *name)
{
	library_words words = { 0 };
	int e;

	if (!(how->argv && how->argv[0]) == !how->n_pids)
		return err_set(library_error(), EINVAL,
			       "a session needs a program (argv) or processes (pids), not both");
	e = make_words(how, name, &words);
	if (!e)
		e = library_spawn(how->brace, &words);
	free_words(&words);
	return e;
}

/* Whether it runs is asked in both cases: where the host took the command's status away, it is what
 * tells. */
static int open_session(void *arg)
{
	struct session_opening *o = arg;
	char *name = o->name ? mem_strdup(o->name) : free_name(), *text;
	int e = o->how ? start_traced(o->how, name) : 0;

	if (!e)
		e = ask_cat(name, "current_tracer", &text, library_error());
	if (e) {
		free(name);
		return e;
	}
	free(text);
	o->made = mem_zalloc(sizeof(*o->made));
	o->made->name = name;
	return 0;
}

/* Returns when the program is being traced: `brace start` ends only then. */
int brace_session_start(const struct brace_session_options *how, struct brace_session **out)
{
	struct brace_session_options known;
	struct session_opening o = { .how = &known };
	int r = library_options(&known, sizeof(known), how);

	o.name = known.name;
	if (!r)
		r = library_try(open_session, &o, NULL);
	*out = r ? NULL : o.made;
	return r;
}

/* The session may be anybody's of this user, also one that a shell began. */
int brace_session_connect(const char *name, struct brace_session **out)
{
	struct session_opening o = { .name = name };
	int r = library_try(open_session, &o, NULL);

	*out = r ? NULL : o.made;
	return r;
}

const char *brace_session_name(const struct brace_session *s)
{
	return s->name;
}

/* The session goes on: it belongs to the background process. brace_session_end() ends it. */
void brace_session_close(struct brace_session *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->text);
	free(s);
}

/* --- its files ----------------------------------------------------------------------- */

/* One request to the session, as library_try() takes it. */
struct session_question {
	struct brace_session *s;
	const char *file, *text;
	bool append;
	int (*more)(void *arg, const char *bytes, size_t n);
	void *arg;
};

static int read_file(void *arg)
{
	struct session_question *q = arg;
	char *text;
	int e = ask_cat(q->s->name, q->file, &text, library_error());

	if (e)
		return e;
	free(q->s->text);
	q->s->text = text;
	return 0;
}

/* *text is valid until the next read of this session, or its close. A file that never ends
 * (trace_pipe) is for brace_session_stream(). */
int brace_session_read(struct brace_session *s, const char *file, const char **text)
{
	struct session_question q = { .s = s, .file = file };
	int r = library_try(read_file, &q, NULL);

	*text = r ? NULL : s->text;
	return r;
}

static int write_file(void *arg)
{
	const struct session_question *q = arg;

	return ask_echo(q->s->name, q->file, q->text, q->append, library_error());
}

/* As `echo text > file`: what was in the file goes, where the file is one that keeps lines. */
int brace_session_write(struct brace_session *s, const char *file, const char *text)
{
	struct session_question q = { .s = s, .file = file, .text = text };

	return library_try(write_file, &q, NULL);
}

int brace_session_append(struct brace_session *s, const char *file, const char *text)
{
	struct session_question q = { .s = s, .file = file, .text = text, .append = true };

	return library_try(write_file, &q, NULL);
}

/* Callback of ask_stream(). */
static bool give_bytes(void *arg, const char *bytes, size_t n)
{
	const struct session_question *q = arg;

	return q->more(q->arg, bytes, n) == 0;
}

/* more() runs within library_try(): it must not leave by an exception or longjmp(), which would
 * pass over the wall. */
static int stream_file(void *arg)
{
	struct session_question *q = arg;

	return ask_stream(q->s->name, q->file, give_bytes, q, library_error());
}

int brace_session_stream(struct brace_session *s, const char *file,
			 int (*more)(void *arg, const char *bytes, size_t n), void *arg)
{
	struct session_question q = { .s = s, .file = file, .more = more, .arg = arg };

	return library_try(stream_file, &q, NULL);
}

/* --- its end ------------------------------------------------------------------------- */

/* Waits for the traced program's end, not for the session's: that stays until it is ended. */
static int wait_for_end(void *arg)
{
	return ask_wait(((struct session_question *)arg)->s->name, library_error());
}

int brace_session_wait(struct brace_session *s)
{
	return library_try(wait_for_end, &(struct session_question){ .s = s }, NULL);
}

/* The path is made absolute here, because the background process has another working directory. */
static int extract_session(void *arg)
{
	const struct session_question *q = arg;
	char *path = path_absolute(q->file);
	int e = ask_extract(q->s->name, path, library_error());

	free(path);
	return e;
}

int brace_session_extract(struct brace_session *s, const char *path)
{
	struct session_question q = { .s = s, .file = path };

	return library_try(extract_session, &q, NULL);
}

static int end_session(void *arg)
{
	return ask_end(((struct session_question *)arg)->s->name, library_error());
}

int brace_session_end(struct brace_session *s)
{
	return library_try(end_session, &(struct session_question){ .s = s }, NULL);
}

/* --- all of them --------------------------------------------------------------------- */

struct session_names {
	int (*each)(void *arg, const char *name);
	void *arg;
};

/* Each name is freed as it has been given; the rest after the host has enough. */
static int give_names(void *arg)
{
	const struct session_names *g = arg;
	name_list names = { 0 };
	int e = run_dir_list(&names, library_error()), enough = 0;

	for (size_t i = 0; !e && i < names.n; i++) {
		if (!enough)
			enough = g->each(g->arg, names.at[i]);
		free(names.at[i]);
	}
	vec_free(&names);
	return e;
}

int brace_session_names(int (*each)(void *arg, const char *name), void *arg)
{
	return library_try(give_names, &(struct session_names){ each, arg }, NULL);
}
