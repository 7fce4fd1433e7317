/* SPDX-License-Identifier: MIT */
/* brace rv: whether a trace, or a program while it runs, does what a model allows. main() calls it;
 * table_command.h has the ways to the records. A failure is said, and is EXIT_BRACE. The main
 * thread runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "report/verify.h"
#include "ui/commands.h"
#include "ui/function_event.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/table_command.h"

#define MODEL_MOST (1u << 20) /* bytes */

struct rv_choice { struct automaton *a; struct automaton_bindings b; };

/* --- the model ------------------------------------------------------------------------------- */

/* The whole file; the caller frees *text. */
static int read_text(const char *path, char **text, size_t *n, struct err *err)
{
	int fd = file_open(path, err);
	ssize_t got = 1;

	*text = NULL;
	if (fd < 0)
		return fd;
	/* One byte more than a model may have: it is the NUL, or shows that the file is too
	 * long. */
	*text = mem_zalloc(MODEL_MOST + 1);
	for (*n = 0; got > 0 && *n <= MODEL_MOST; *n += got > 0 ? (size_t)got : 0)
		got = read(fd, *text + *n, MODEL_MOST + 1 - *n);
	close(fd);
	if (got < 0)
		return err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	return *n > MODEL_MOST ? err_set(err, EFBIG, "%s is no model: it has more than a megabyte", path)
			       : 0;
}

/* The kernel names a monitor by its file, and each model in it "state_automaton". */
static void name_by_file(struct automaton *a, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const size_t n = strlen(base);

	free(a->name);
	a->name = mem_strndup(base, n > 4 && !strcmp(base + n - 4, ".dot") ? n - 4 : n);
}

/* On failure nothing of c is lost: cmd_rv() frees what is half made. */
static int read_model(const char *path, struct rv_choice *c, struct err *err)
{
	char *text;
	size_t n;
	int e = read_text(path, &text, &n, err);

	if (!e) {
		e = automaton_read(text, n, &c->a, err);
		e = e ? err_prefix(err, "%s", path) : 0;
	}
	free(text);
	if (e)
		return e;
	name_by_file(c->a, path);
	return automaton_bindings_read(c->a, &c->b, err);
}

/* --- printing -------------------------------------------------------------------------------- */

/* A function that was not recorded has done nothing, as it seems: faults may be missing, or be
 * none. */
static void warn(struct verify *v, const struct source *source)
{
	const char *unrecorded = verify_unrecorded(v);

	if (unrecorded)
		say_warning("%s is in the model, and was not recorded, or not always: the verdict holds without it",
			    unrecorded);
	if (source->info->thresh_ns)
		say_warning("only calls over a threshold were recorded: a model needs all");
}

/* 1: there are faults. */
static int print_verdict(struct invocation *inv, struct verify *v)
{
	struct screen o;

	if (screen_open_output(&o, inv, SCREEN_PAGED, NULL))
		return EXIT_BRACE;
	(inv->json ? verify_print_json : verify_print_text)(v, inv->limit, &o.text);
	return screen_close(&o, verify_faults(v) > 0);
}

/* table_command.print */
static int print_faults(struct invocation *inv, const void *choice, struct source *source,
			bool live)
{
	const struct rv_choice *c = choice;
	/* Whether the records reach to the program's end: only then a model that is not in a final
	 * state is at fault. An attached process goes on. */
	const bool whole = live ? !inv->pids.n : source->info->run.ended;
	struct verify *v = verify_new(source->info, c->a, &c->b, whole);
	struct event e;
	struct err err;
	int r;

	while ((r = source->ops->next(source, &e, &err)) > 0)
		verify_event(v, &e);
	if (r < 0) {
		verify_free(v);
		return say_error(&err);
	}
	/* The end may be a fault itself: what should have followed never came. */
	verify_end(v);
	warn(v, source);
	r = print_verdict(inv, v);
	verify_free(v);
	return r;
}

/* --- a program ------------------------------------------------------------------------------- */

/* A pattern that is not all: so the registers are recorded where there is no debug information. */
#define ANY_FUNCTION "?*"

static const struct option filter = { 'l', "filter", .file = "set_ftrace_filter", .append = true };

/* The function, and the library that has it. */
static int name_function(struct invocation *inv, const struct binding *b, struct err *err)
{
	static const struct option
		modules = { 'L', "library", .file = "set_ftrace_module", .append = true };
	const char *prototype, *slash;
	char *library = function_event_library(inv, b->function, &prototype);
	int e = set_setting(inv, &filter, b->function, err);

	if (library && !e) {
		/* -L compares file names: the path that the linker found here may be another one in
		 * the process. */
		slash = strrchr(library, '/');
		*vec_add(&inv->made_texts) = mem_strdup(slash ? slash + 1 : library);
		e = set_setting(inv, &modules, inv->made_texts.at[inv->made_texts.n - 1], err);
	}
	free(library);
	return e;
}

/* The setting keeps the pointer: the invocation owns the text. */
static int name_event(struct invocation *inv, const struct binding *b, struct err *err)
{
	static const struct option events = { 'e', "event", .file = "set_event", .append = true };
	char *name = mem_printf("%s:%s", b->system, b->name);

	*vec_add(&inv->made_texts) = name;
	return set_setting(inv, &events, name, err);
}

/* table_command.name_events: no more than the model needs; handlers of signals may be any of the
 * program's functions. */
static int name_model(struct invocation *inv, const void *choice, struct err *err)
{
	static const struct option args = { 0, "args", .append = true },
				   values = { 0, "retval", .append = true };
	const struct rv_choice *c = choice;
	bool calls = false;
	int e = 0;

	for (size_t i = 0; i < c->b.at.n && !e; i++) {
		const struct binding *b = &c->b.at.at[i];

		calls |= b->function || b->handler;
		e = b->handler    ? set_setting(inv, &filter, "*", err)
		    : b->function ? name_function(inv, b, err)
				  : name_event(inv, b, err);
	}
	/* A model of events alone: with the tracer nop no function is patched, so that calls cost
	 * nothing. */
	if (!e && !calls)
		e = settings_write(&inv->settings, "current_tracer", "nop", false, err);
	/* A keyed model has an automaton for each value (a pointer, a descriptor): arguments and
	 * results tell which. */
	if (!e && calls && c->b.keyed)
		e = set_args(inv, &args, ANY_FUNCTION, err);
	if (!e && calls && c->b.keyed)
		e = set_retval(inv, &values, ANY_FUNCTION, err);
	return e;
}

int cmd_rv(struct invocation *inv)
{
	/* true: in the order of time over all threads, since a model sees one sequence of
	 * events. */
	static const struct table_command command = { name_model, print_faults, true };
	struct rv_choice choice = { 0 };
	struct err err;
	int status;

	if (!inv->model) {
		say("brace: which model? --model FILE.dot names it (docs/monitors.md)\n");
		return EXIT_BRACE;
	}
	status = read_model(inv->model, &choice, &err) ? say_error(&err)
						       : table_command_run(inv, &command, &choice);
	automaton_bindings_free(&choice.b);
	automaton_free(choice.a);
	return status;
}
