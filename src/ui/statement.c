/* SPDX-License-Identifier: MIT */
/* Called by the commands sql and latency, on the only thread. Without a program or process the
 * events are those of a tree: of -t, else where the kernel's is, which in brace shell is brace's.
 * A write that a tree refuses ends the execution; those before it stay. */
#include "ui/statement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/catalogue.h"
#include "image/dynamic_probes.h"
#include "ui/answer.h"
#include "kernel/probes.h"
#include "kernel/tracefs.h"
#include "ui/field_hint.h"
#include "ui/function_event.h"
#include "ui/kernel_sql.h"
#include "ui/question.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/tree_run.h"

#define USUAL_TREE "/sys/kernel/tracing"
#define USUAL_NAME "Anonymous" /* sqlhist's */
/* Bytes of a format file; the rest of a longer one is not read. */
#define FORMAT_MOST 65536u

struct statement_run {
	struct invocation *inv;
	struct event_catalogue *catalogue;   /* of a program or process */
	VEC(struct event_format *) formats;  /* of a tree */
	VEC(char *) texts;                   /* which formats and `name` refer to */
	char *name;                          /* of the event that is made; NULL: as usual */
};

/* --- events ----------------------------------------------------------------------------------- */

/* The directory of the tree in which events are sought, and writes made. */
static const char *tree_of(const struct invocation *inv)
{
	return inv->of_sql.tree ? inv->of_sql.tree : USUAL_TREE;
}

/* The text of a file, for free(); NULL: it cannot be read. Files of tracefs have no size that
 * stat() tells, so they are read to their end. */
static char *file_text(const char *path, size_t *n)
{
	char *text;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*n = 0;
	if (fd < 0)
		return NULL;
	/* The byte more stays 0: the text is a string. */
	text = mem_zalloc(FORMAT_MOST + 1);
	while (*n < FORMAT_MOST && (got = read(fd, text + *n, FORMAT_MOST - *n)) > 0)
		*n += (size_t)got;
	close(fd);
	return text;
}

/* The format of an event that the tree has. */
static const struct event_format *read_format(struct statement_run *r, const char *system,
					      const char *event)
{
	char *path = mem_printf("%s/events/%s/%s/format", tree_of(r->inv), system, event);
	struct event_format *f = NULL;
	struct err ignored;
	char *kept;
	size_t n;
	char *text = file_text(path, &n);

	free(path);
	if (!text)
		return NULL;
	/* The format keeps the pointer; the text lives until free_run(). */
	kept = mem_strdup(system);
	f = event_format_parse(text, n, kept, &ignored);
	*vec_add(&r->texts) = kept;
	free(text);
	if (f)
		*vec_add(&r->formats) = f;
	return f;
}

/* The first system of the tree that has an event of the name. `ftrace` is left out: its events
 * cannot have triggers. */
static const struct event_format *search_format(struct statement_run *r, const char *event)
{
	char *path = mem_printf("%s/events", tree_of(r->inv));
	const struct event_format *f = NULL;
	DIR *dir = opendir(path);
	const struct dirent *d;

	free(path);
	while (dir && !f && (d = readdir(dir)))
		if (*d->d_name != '.' && strcmp(d->d_name, "ftrace") != 0)
			f = read_format(r, d->d_name, event);
	if (dir)
		closedir(dir);
	return f;
}

/* "SYSTEM.EVENT", "SYSTEM:EVENT" or "EVENT". A slash would leave the directory. NULL: there is
 * none, for which sql_translate() has the sentence with the column. */
static const struct event_format *find_in_tree(struct statement_run *r, const char *name, size_t n)
{
	char *word = mem_strndup(name, n), *dot = strpbrk(word, ".:");
	const struct event_format *f;

	if (dot)
		*dot = '\0';
	f = strchr(name, '/') && strchr(name, '/') < name + n ? NULL :
	    dot ? read_format(r, word, dot + 1) : search_format(r, word);
	free(word);
	return f;
}

/* Defines the event in the catalogue too, so that its fields are known. */
static const struct event_format *know_function(struct statement_run *r, const char *name,
						struct err *err)
{
	/* function_event_define() has just added it, as the last one. */
	const struct probe_definition_line *d = &r->inv->definitions.at[r->inv->definitions.n - 1];
	const struct event_entry *e = NULL;
	struct probe_command c;

	if (probe_command_parse(d->line, &c, err) < 0)
		return NULL;
	if (dynamic_probes_define(r->catalogue, &c, d->line, NULL, err) == 0)
		e = question_event(r->catalogue, name, strlen(name));
	probe_command_free(&c);
	return e ? e->format : NULL;
}

#define RETURN "%return"
#define CALLS "calls." /* a function, whatever events are called */

/* An event of the program, else a function of it, or its return. uses: the statement, by which only
 * the parameters that it names are fetched (function_event_uses()). */
static const struct event_format *find_in_program(struct statement_run *r, const char *name,
						  size_t n, const char *uses, struct err *err)
{
	const struct event_entry *e = NULL;
	const char *const texts[] = { uses, NULL };
	const size_t k = strlen(RETURN);
	bool returns = n > k && !strncmp(name + n - k, RETURN, k),
	     calls = n > strlen(CALLS) && !strncmp(name, CALLS, strlen(CALLS));
	char *word;
	const char *made;
	int failed;

	if (calls) {
		name += strlen(CALLS);
		n -= strlen(CALLS);
	} else {
		/* An event comes before a function of its name, as in brace hist; `calls.` is the
		 * way to the function. */
		e = question_event(r->catalogue, name, n);
	}
	if (e)
		return e->format;
	word = mem_strndup(name, returns ? n - k : n);
	failed = function_event_define(r->inv,
				       &(struct function_question){ .text = word, .n = strlen(word),
								    .uses = texts,
								    .returns = returns },
				       &made, err);
	free(word);
	return failed ? NULL : know_function(r, made, err);
}

/* sql_options.find */
static const struct event_format *find_event(void *arg, const char *name, size_t n,
					     const char *uses, struct err *err)
{
	struct statement_run *r = arg;

	return r->catalogue ? find_in_program(r, name, n, uses, err) : find_in_tree(r, name, n);
}

/* --- what is done ----------------------------------------------------------------------------- */

/* Triggers are the instance's of -B; events are defined for all. */
static char *file_of(const struct invocation *inv, const struct sql_write *w)
{
	if (!inv->of_sql.instance || strncmp(w->file, "events/", 7) != 0)
		return mem_printf("%s/%s", tree_of(inv), w->file);
	return mem_printf("%s/instances/%s/%s", tree_of(inv), inv->of_sql.instance, w->file);
}

/* The SELECT that makes the answer of the rows, as a comment of the shell: a tree has no SELECT. */
static void show_select(const struct sql_writes *w, struct out *out)
{
	out_str(out, "# its rows are the table answer: keys k0, k1, ...; hitcount n; values v0, v1, ...\n# ");
	out_str(out, w->select);
	if (w->every_ns)
		out_printf(out, ", every %g s", (double)w->every_ns / 1e9);
	out_char(out, '\n');
}

/* --explain, and what is done without -e: the lines of a shell that would do it. */
static int show_writes(struct invocation *inv, const struct sql_writes *w)
{
	struct screen o;

	if (screen_open_output(&o, inv, SCREEN_PLAIN, NULL))
		return EXIT_BRACE;
	for (size_t i = 0; i < inv->definitions.n; i++)
		out_printf(&o.text, "echo '%s' >> %s/dynamic_events\n",
			   inv->definitions.at[i].line, tree_of(inv));
	for (size_t i = 0; i < w->at.n; i++) {
		char *file = file_of(inv, &w->at.at[i]);

		out_printf(&o.text, "echo '%s' %s %s\n", w->at.at[i].text,
			   w->at.at[i].append ? ">>" : ">", file);
		free(file);
	}
	if (w->select)
		show_select(w, &o.text);
	else if (w->limited)
		out_printf(&o.text, "# the first %" PRIu64 " of its records\n", w->limit);
	return screen_close(&o, 0);
}

/* One write, as the shell's echo makes it: with a newline. */
static int execute_write(const struct invocation *inv, const struct sql_write *w)
{
	char *file = file_of(inv, w), *line = mem_printf("%s\n", w->text);
	int fd = open(file, O_WRONLY | O_CLOEXEC | (w->append ? O_APPEND : O_TRUNC)), status = 0;

	if (inv->verbose)
		say("brace: echo '%s' %s %s\n", w->text, w->append ? ">>" : ">", file);
	if (fd < 0 || write(fd, line, strlen(line)) < 0) {
		say("brace: cannot write to %s: %s; %s/error_log may say why\n  %s\n", file,
		    strerror(errno), tree_of(inv), w->text);
		status = EXIT_BRACE;
	}
	if (fd >= 0)
		close(fd);
	free(line);
	free(file);
	return status;
}

/* Up to the first that fails. */
static int execute_writes(const struct invocation *inv, const struct sql_writes *w)
{
	int status = 0;

	for (size_t i = 0; i < w->at.n && !status; i++)
		status = execute_write(inv, &w->at.at[i]);
	/* A tree has no rows to choose from. */
	if (!status && (w->select || w->limited))
		say("brace: %s of %s has the answer, all of it: HAVING, ORDER BY, LIMIT and EVERY are only for "
		    "programs behind --, or processes with -p\n",
		    w->joins ? "trace" : "the file hist", w->result);
	return status;
}

/* A session of its own: the writes become its tree's lines. Records are the answer of a join, a
 * histogram that of a single event: the printers differ, the session does not. */
static int ask_session(struct invocation *inv, const struct statement_request *r,
	       const struct sql_writes *w)
{
	struct answer a = { .records = w->joins && !r->hist,
			    .limit = w->limited ? w->limit : TREE_RUN_ALL,
			    .select = { w->select, w->n_keys, w->n_values },
			    .every_ns = w->every_ns };
	int status;

	/* Refused here, before the program runs: nothing of it could be shown. */
	if (inv->json && a.records) {
		say("brace: records have no JSON here; brace record and brace query --json do\n");
		return EXIT_BRACE;
	}
	for (size_t i = 0; i < w->at.n; i++)
		invocation_add_line(inv, mem_strdup(w->at.at[i].file),
				    mem_strdup(w->at.at[i].text));
	/* A synthetic event records nothing until it is enabled; a histogram of a single event
	 * counts by its trigger alone. */
	if (a.records)
		invocation_add_line(inv, mem_printf("events/synthetic/%s/enable",
						    strchr(w->result, ':') + 1), mem_strdup("1"));
	else
		answer_add_hist(&a, mem_strdup(w->result));
	status = answer_run(inv, &a);
	answer_free(&a);
	return status;
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Adds the command's own writes, which the statement has not: latency's. */
static void add_more(const struct statement_request *r, struct sql_writes *w)
{
	for (size_t i = 0; i < r->n_more; i++)
		*vec_add(&w->at) = (struct sql_write){ mem_strdup(r->more[i].file),
						       mem_strdup(r->more[i].text),
						       r->more[i].append };
}

/* 0, or -errno and *err. Parsing first: the events of a faulty statement are not asked for. */
static int translate_statement(struct statement_run *run, const struct statement_request *r,
			       struct sql_writes *w, struct err *err)
{
	const struct invocation *inv = run->inv;
	const struct sql_options o = {
		.name = run->name	   ? run->name
			: inv->of_sql.name ? inv->of_sql.name
					   : USUAL_NAME,
		.max = inv->of_sql.max,
		.change = inv->of_sql.change,
		.save = inv->of_sql.save,
		.trace = inv->of_sql.trace,
		.snapshot = inv->of_sql.snapshot,
		.find = find_event,
		.arg = run,
	};
	struct sql_statement s;
	int e = sql_parse(r->text, &s, err);

	if (e)
		return e;
	e = sql_translate(&s, &o, w, err);
	if (!e)
		add_more(r, w);
	/* The writes have copies of all names. */
	sql_free(&s);
	return e;
}

/* Also what is half made. */
static void free_run(struct statement_run *run)
{
	if (run->catalogue)
		events_free(run->catalogue);
	for (size_t i = 0; i < run->formats.n; i++)
		event_format_free(run->formats.at[i]);
	for (size_t i = 0; i < run->texts.n; i++)
		free(run->texts.at[i]);
	vec_free(&run->formats);
	vec_free(&run->texts);
}

/* The kernel's tree takes the tree's place. The event that is made is named after the process, so
 * that it can be told whose it is. run->texts owns the directory and the name: inv->of_sql.tree
 * points to freed memory after free_run(), and nobody reads it then. */
static int ask_the_kernel(struct statement_run *run, struct err *err)
{
	struct invocation *inv = run->inv;
	char *top;
	int e;

	if (inv->pids.n || inv->of_sql.tree || inv->of_sql.instance || inv->of_sql.execute ||
	    inv->json)
		return err_set(err, EINVAL,
			       "the kernel answers by itself, in an instance of brace's, about all tasks: not with -p, -t, -B, -e and --json");
	e = kernel_tracefs_find(&top, err);
	if (e)
		return e;
	inv->of_sql.tree = top;
	*vec_add(&run->texts) = top;
	run->name = kernel_probes_synthetic(inv->of_sql.name ? inv->of_sql.name : USUAL_NAME);
	*vec_add(&run->texts) = run->name;
	return 0;
}

/* A statement that the kernel's histograms cannot carry out is brace's, on a program's records. */
static int in_kernel(struct statement_run *run, const struct statement_request *r,
		     const struct sql_writes *w)
{
	if (!w->select && !w->limited)
		return kernel_sql(run->inv, r->text, w);
	say("brace: GROUP BY, HAVING, ORDER BY, LIMIT, EVERY and functions are for programs' events; of the kernel's take brace record -K, and brace query\n");
	return EXIT_BRACE;
}

/* A fault in the statement, of which a long one is quoted in part, is put into the user's words. */
static void place_fault(const struct invocation *inv, const struct statement_request *r,
			struct err *err)
{
	const char *part = strstr(r->text, err->input);

	/* err->input has the whole statement, or, of a long one, a part that fills a third of its
	 * room or more. A shorter text is not the statement, even if it stands in it, too. */
	if (r->place && part &&
	    (!strcmp(err->input, r->text) || strlen(err->input) > sizeof(err->input) / 3))
		r->place(inv, r->text, (size_t)(part - r->text) + err->column, err);
}

/* Either a catalogue of what a program has, or formats that were read from a tree. */
int statement_run(struct invocation *inv, const struct statement_request *r)
{
	struct statement_run run = { .inv = inv };
	bool session = !inv->kernel_alone && (inv->n_operands || inv->pids.n);
	struct sql_writes w;
	struct err err;
	int status;

	if (inv->kernel_alone && ask_the_kernel(&run, &err))
		return say_error(&err);
	if (session && (inv->of_sql.tree || inv->of_sql.execute || inv->of_sql.instance)) {
		say("brace: -e, -t and -B are for a tree that is there; a program gets one of its own\n");
		return EXIT_BRACE;
	}
	if (session)
		run.catalogue = question_events(inv);
	if (translate_statement(&run, r, &w, &err)) {
		free_run(&run);
		/* The definitions are still there: they are the invocation's, not the run's. */
		field_hint_of_statement(inv, &err);
		place_fault(inv, r, &err);
		return say_error(&err);
	}
	/* --explain wins over all: it only shows. */
	status = inv->kernel_alone && !inv->explain	? in_kernel(&run, r, &w)
		 : session && !inv->explain		? ask_session(inv, r, &w)
		 : inv->of_sql.execute && !inv->explain ? execute_writes(inv, &w)
							: show_writes(inv, &w);
	sql_writes_free(&w);
	free_run(&run);
	return status;
}
