/* SPDX-License-Identifier: MIT */
/* cmd/record.c calls it, on the session's thread, which also calls put_file() at each turn of
 * --rotate, and record_push_look() on its monitor's. A file gets a second name in the spool, and a
 * process is started, unless one runs, that empties it. That process is in no group of the
 * terminal's, so that Ctrl-C is the program's. Fails on options; later, what cannot be pushed stays
 * in the spool, or, if it is full, where it is. */
#include "ui/record_push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/fleet_option.h"
#include "ui/interrupt.h"
#include "ui/pushing.h"
#include "ui/say.h"

#define RETRY_NS UINT64_C(5000000000)
/* of the process beside the recording: the next file starts another one */
#define CHILD_RETRY "1s"
#define LOOK_NS 100000000

extern char **environ;

/* --- while the program runs ----------------------------------------------------- */

/* Whether the process that pushes runs still. */
static bool child_runs(struct record_push *p)
{
	/* -1 counts as ended, too: somebody else has reaped it, and its number may be another
	 * process's by now. */
	if (p->child > 0 && waitpid(p->child, NULL, WNOHANG) != 0)
		p->child = 0;
	return p->child > 0;
}

/* 0, or an errno. It runs beside the traced program. A group of its own keeps Ctrl-C of the
 * terminal from it, and /dev/null keeps its words out of the program's output. It has no signal
 * blocked: with the mask of the thread that starts it, SIGTERM of wait_for_child() might never
 * arrive. */
static int spawn(pid_t *pid, char *const *argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int e;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	/* /proc/self/exe is this very brace, even if an update has replaced or removed its path
	 * meanwhile. */
	e = posix_spawn(pid, "/proc/self/exe", &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return e;
}

/* Its words are said again at the end, by the push of what it has left. Under the lock. The secret
 * of --auth stays in its file: only the file's name stands in the arguments, which all users can
 * read. */
static void start_child(struct record_push *p)
{
	const struct push_options *o = &p->inv->of_push;
	/* Ten words that are always there, five of the options, and the NULL. */
	const char *argv[] = { "brace", "push", "--spooled", "-q", "--spool", p->path, "--to", o->to,
			       "--retry", CHILD_RETRY, NULL, NULL, NULL, NULL, NULL, NULL };
	size_t n = 10;

	if (o->auth) {
		argv[n++] = "--auth";
		argv[n++] = o->auth;
	}
	if (o->ca) {
		argv[n++] = "--ca";
		argv[n++] = o->ca;
	}
	if (o->insecure)
		argv[n++] = "--insecure";
	/* A failure is not told: the file is in the spool, and the next one, or record_push_end(),
	 * tries again. */
	if (spawn(&p->child, (char *const *)argv))
		p->child = 0;
}

/* Only the session's thread calls it while the program runs, and the main thread afterwards: names,
 * refused and why need no lock. Of several refusals the first one is kept, which is the cause of
 * the others as a rule (a full spool). */
static void put(struct record_push *p, const char *file, bool copies)
{
	struct err err = { 0 };
	char *name;

	if (!spool_add(p->spool, file, &p->note, p->most, copies, &name, &err))
		*vec_add(&p->names) = name;
	else if (!p->refused++)
		p->why = err;
}

/* The `ended` of struct session_rotation. */
static void put_file(void *arg, const char *file)
{
	struct record_push *p = arg;

	put(p, file, false);
	pthread_mutex_lock(&p->lock);
	/* A process that runs may have listed the spool before this file was there, and end without
	 * it. record_push_look() starts another one then. */
	p->missed = child_runs(p);
	if (!p->missed)
		start_child(p);
	pthread_mutex_unlock(&p->lock);
}

void record_push_look(void *arg)
{
	struct record_push *p = arg;

	pthread_mutex_lock(&p->lock);
	if (p->missed && !child_runs(p)) {
		p->missed = false;
		start_child(p);
	}
	pthread_mutex_unlock(&p->lock);
}

/* --- the beginning ----------------------------------------------------- */

/* An option that has no meaning without --push. */
static int refuse_options(const struct push_options *o)
{
	const struct { bool is; const char *name; } given[] = {
		{ o->calls, "push-calls" }, { o->spool != NULL, "spool" },
		{ o->spool_most != 0, "spool-max" }, { o->retries, "retry" },
		{ o->labels.n != 0, "label" }, { o->no_command, "no-command" },
		{ o->auth != NULL, "auth" }, { o->ca != NULL, "ca" }, { o->insecure, "insecure" },
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		if (given[i].is) {
			say("brace: --%s is for a trace that is pushed: --push URL names the server\n",
			    given[i].name);
			return EXIT_BRACE;
		}
	return 0;
}

/* A part of --rotate is put into the spool while the program runs: there is no time to copy it. */
static int check_place(const struct record_push *p)
{
	char *file = mem_strdup(p->inv->output ? p->inv->output : "trace.brace");
	/* A folder that cannot be opened is the session's to tell, with a better sentence. */
	const int folder = open(dirname(file), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool near = folder < 0 || spool_is_near(p->spool, folder);

	free(file);
	if (folder >= 0)
		close(folder);
	if (near || !(p->inv->rotate_bytes || p->inv->rotate_ns))
		return 0;
	say("brace: with --rotate and --push the spool is on the file system of the trace, and %s is on another: --spool DIR names one there\n",
	    p->path);
	return EXIT_BRACE;
}

/* 0, or EXIT_BRACE (said). Before the program runs: a spool that cannot be used is found out while
 * nothing is lost yet. */
static int open_spool(struct record_push *p)
{
	struct err err;

	p->path = pushing_spool_path(p->inv);
	if (!p->path)
		return EXIT_BRACE;
	p->spool = spool_open(p->path, &err);
	if (p->spool < 0)
		return say_error(&err);
	return check_place(p);
}

int record_push_begin(struct record_push *p, struct invocation *inv)
{
	struct push_options *o = &inv->of_push;
	int status;

	*p = (struct record_push){ .inv = inv, .on = o->to != NULL, .spool = -1,
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .most = o->spool_most ? o->spool_most : PUSHING_SPOOL_MOST };
	if (!p->on)
		return refuse_options(o);
	status = fleet_option_servers(inv, "record", &p->servers);
	if (!status)
		status = open_spool(p);
	if (status)
		return status;
	p->note = (struct spool_note){ .to = mem_strdup(o->to), .labels = pushing_labels(inv),
				       .calls = o->calls, .no_command = o->no_command };
	/* run_start() hands it to the session, as the `ended` of its rotation. */
	o->ended = put_file;
	o->ended_arg = p;
	return 0;
}

/* --- the end ----------------------------------------------------- */

/* The user's signal ends the process, too: what it has not sent is still there. Without it
 * pushing_spool() would wait in spool_take() for the entry that the process has. SIGTERM is sent
 * once; the process ends between two batches. */
static void wait_for_child(struct record_push *p, const struct stop *stop)
{
	bool told = false;

	while (child_runs(p)) {
		if (stop_asked(stop) && !told)
			kill(p->child, SIGTERM);
		told = stop_asked(stop);
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
	}
}

/* A refused file is where the user told record to write it: nothing is lost but the push. */
static void say_refused(const struct record_push *p)
{
	struct err why = p->why;

	if (!p->refused)
		return;
	err_prefix(&why, "%zu trace file%s %s not pushed; brace push FILE sends what is there", p->refused,
		   p->refused == 1 ? "" : "s", p->refused == 1 ? "is" : "are");
	say_error(&why);
}

/* Traces that are left are told of even with -q: something is to be done. */
static void say_result(const struct record_push *p, const struct pushing_spool *s)
{
	size_t left = 0;
	uint64_t bytes;

	for (size_t i = 0; i < p->names.n; i++)
		left += spool_has(p->spool, p->names.at[i], &bytes);
	if (!p->inv->quiet && (p->names.n > 1 || left))
		say("brace: %zu of %zu trace files of this recording are pushed\n", p->names.n - left,
		    p->names.n);
	say_refused(p);
	if (s->left)
		say("brace: %zu trace file%s (%" PRIu64 " bytes) wait%s in %s; brace push --spooled --to %s sends what waits there\n",
		    s->left, s->left == 1 ? "" : "s", s->bytes_left, s->left == 1 ? "s" : "", p->path,
		    p->inv->of_push.to);
}

/* Traces that an interrupted pass did not come to are left as well. */
static void count_left(struct record_push *p, struct pushing_spool *s)
{
	uint64_t bytes;

	s->left = 0;
	s->bytes_left = 0;
	for (size_t i = 0; i < p->names.n; i++)
		if (spool_has(p->spool, p->names.at[i], &bytes)) {
			s->left++;
			s->bytes_left += bytes;
		}
}

void record_push_end(struct record_push *p, const char *file)
{
	const struct push_options *o = &p->inv->of_push;
	struct pushing_spool s = { .fd = p->spool, .path = p->path, .to = o->to,
				   .quiet = p->inv->quiet };
	struct fleet_push push = { .servers = &p->servers,
				   .retry_ns = o->retries ? o->retry_ns : RETRY_NS };
	struct err err = { 0 };
	int r;

	if (!p->on)
		return;
	/* The session's handlers are over: from here on an interrupt ends the push alone, and the
	 * trace is whole already. */
	push.stop = interrupt_take_over();
	for (size_t i = 0; i < p->servers.at.n; i++)
		p->servers.at.at[i].stop = push.stop;
	/* The last file may be copied into the spool: nothing runs any more that could be
	 * delayed. */
	if (file)
		put(p, file, true);
	wait_for_child(p, push.stop);
	r = pushing_spool(p->inv, &s, &push, &err);
	if (r == -EINTR) {
		say("brace: the push is interrupted\n");
		count_left(p, &s);
	} else if (r) {
		say_error(&err);
	}
	say_result(p, &s);
}

void record_push_free(struct record_push *p)
{
	if (p->spool >= 0)
		close(p->spool);
	fleet_servers_free(&p->servers);
	spool_note_free(&p->note);
	spool_names_free(&p->names);
	free(p->path);
}
