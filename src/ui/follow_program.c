/* SPDX-License-Identifier: MIT */
/* Finds the structure in the debug information of the program and of its libraries, before it is
 * run or attached to; then a session records the calls that take one, and the main thread chooses
 * those that belong to an object (follow/program.h) as they come. */
#include "ui/follow_program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "follow/program.h"
#include "follow/program_types.h"
#include "ui/binary.h"
#include "ui/commands.h"
#include "ui/follow_border.h"
#include "ui/follow_output.h"
#include "ui/libraries.h"
#include "ui/say.h"
#include "ui/stream_run.h"
#include "ui/summary.h"

struct program_following {
	struct invocation *inv;
	struct follow_expression expression;
	struct follow_shown shown;
	struct follow_plan plan;
	struct follow_program_spec spec;
	struct follow_program *program;
	struct follow_output output;
	struct run_monitor *monitor;
	struct follow_border *border; /* NULL: without --into */
	uint64_t max_depth;
	bool later;               /* the type is of a file that -L names */
	char *type, *heading;     /* as functions have it; "struct client" */
	struct sym_bases bases;   /* of the type */
};

/* --- the structure ---------------------------------------------------------------------------- */

/* Looks into one file. 0: found; -ENOENT: not there, or it has no debug information; -EINVAL: the
 * fields are wrong. *err of the first file stays. */
static int look_into(struct program_following *f, const struct sym_module *m, struct err *err)
{
	struct sym_source_info *source;
	struct sym_structure *st;
	struct err here;
	int e = sym_source_open(m, &source, &here);

	/* No debug information is worth no failure yet: another file may have the type. The first
	 * file's sentence stays, because it is about the program itself. */
	if (e) {
		*err = err->code ? *err : here;
		return -ENOENT;
	}
	e = sym_structure_find(source, f->expression.type, &st, &here);
	if (!e) {
		const char *name = sym_structure_name(st);

		/* The name in the debug information: the functions' parameters are compared with
		 * it, not with the user's, which may be a typedef's. */
		f->type = mem_strdup(name ? name : f->expression.type);
		sym_structure_bases(st, &f->bases);
		e = follow_program_plan(st, &f->expression, &f->shown, &f->plan, err);
		sym_structure_free(st);
	} else {
		*err = err->code ? *err : here;
		e = -ENOENT;
	}
	sym_source_close(source);
	return e;
}

/* The first library that has the structure; those that cannot be read are passed over. -EINVAL ends
 * the search: the type was found, and the user's fields are not in it. */
static int look_into_libraries(struct program_following *f, const struct libraries *all,
			       struct err *err)
{
	int e = -ENOENT;

	for (size_t i = 0; i < all->at.n && e == -ENOENT; i++) {
		struct sym_module *m;

		if (sym_open(all->at.at[i].path, &m, NULL))
			continue;
		e = look_into(f, m, err);
		sym_close(m);
	}
	return e;
}

/* Libraries that the program loads later are known if -L names their files. */
static int look_into_named(struct program_following *f, struct err *err)
{
	const struct invocation *inv = f->inv;
	int e = -ENOENT;

	for (size_t i = 0; i < inv->writes.n && e == -ENOENT; i++) {
		const struct setting_write *w = &inv->writes.at[i];
		const bool named = w->file && !strcmp(w->file, "set_ftrace_module");
		struct sym_module *m;

		/* A glob of -L names no file that could be opened; only a path does. */
		if (!named || !strchr(w->text, '/') || sym_open(w->text, &m, NULL))
			continue;
		e = look_into(f, m, err);
		f->later = e == 0;
		sym_close(m);
	}
	return e;
}

/* libraries: filled only if the program itself does not have it. */
static int look_into_program(struct program_following *f, const char *path,
			     struct libraries *libraries, struct err *err)
{
	struct sym_module *m;
	int e = sym_open(path, &m, err);

	if (e)
		return e;
	e = look_into(f, m, err);
	if (e == -ENOENT)
		libraries_linked(m, libraries);
	sym_close(m);
	return e;
}

/* Goes on with the sentence that there is no debug information. */
static int without_types(struct err *err)
{
	struct err why = *err;

	return err_set(err, ENODATA, "%.300s; without it, an object is followed by its address: '$any==0x...'",
		       why.text);
}

/* No file that is known now has the type. */
static int may_come_later(struct err *err)
{
	struct err why = *err;

	return err_set(err, ENOENT, "%.300s; if the program loads its library later, name the file: -L ./plugin.so",
		       why.text);
}

/* Finds the type, and where its fields are. 0, or -errno and *err. */
static int find_type(struct program_following *f, struct err *err)
{
	struct invocation *inv = f->inv;
	struct libraries libraries = { 0 };
	int e = -ENOENT;

	*err = (struct err){ 0 };
	if (inv->pids.n) {
		libraries_mapped(inv->pids.at[0], &libraries);
	} else {
		char *path = binary_path(inv->operands[0]);

		e = look_into_program(f, path, &libraries, err);
		free(path);
	}
	if (e == -ENOENT)
		e = look_into_libraries(f, &libraries, err);
	libraries_free(&libraries);
	if (e == -ENOENT)
		e = look_into_named(f, err);
	if (e == -ENOENT && !err->code)
		return err_set(err, ENOENT, "process %d has no file with functions",
			       (int)inv->pids.at[0]);
	if (e == -ENOENT && err->code == ENODATA)
		return without_types(err);
	return e == -ENOENT ? may_come_later(err) : e;
}

/* --- the command line ------------------------------------------------------------------------- */

/* The depth that is printed is not one of what is recorded. For recording it would leave out calls
 * in which the object is met: the write is taken out of the settings, and heeded by the printer
 * alone. */
static int take_max_depth(struct program_following *f, struct err *err)
{
	struct invocation *inv = f->inv;
	size_t kept = 0;
	int e = 0;

	for (size_t i = 0; i < inv->writes.n && !e; i++) {
		struct setting_write w = inv->writes.at[i];

		if (!w.file || strcmp(w.file, "max_graph_depth"))
			inv->writes.at[kept++] = w;
		else
			e = settings_write(&inv->settings, w.file, w.text, false, err);
	}
	inv->writes.n = kept;
	f->max_depth = inv->settings.max_graph_depth;
	inv->settings.max_graph_depth = 0;
	return e;
}

/* All of the program's files, unless the user names some, and what functions return. Without a type
 * every function of a file is watched, so that only the program's own are. What functions return is
 * needed in any case: an object may be made by a call that is given none. */
static int write_settings(struct invocation *inv, bool by_value, struct err *err)
{
	static const struct option modules = { 'L', "library", .file = "set_ftrace_module" },
				   retval = { 0, "retval", .append = true };
	bool named = false;
	int e = set_retval(inv, &retval, NULL, err);

	for (size_t i = 0; i < inv->writes.n; i++)
		named |= inv->writes.at[i].file &&
			 !strcmp(inv->writes.at[i].file, "set_ftrace_module");
	return e || named || by_value ? e : set_setting(inv, &modules, "*", err);
}

/* Checks the command line as it stands, before any file is read. */
static int check_options(const struct invocation *inv, struct err *err)
{
	const char *text = inv->questions[0];

	if (!inv->n_operands && !inv->pids.n)
		return err_set(err, EINVAL, "follow takes a program behind --, a process (-p), or -k for objects of the kernel");
	if ((inv->of_follow.attach || inv->limit) && !inv->of_follow.into)
		return err_set(err, EINVAL, "%s is for objects of the kernel (-k)",
			       inv->of_follow.attach ? "--attach" : "--limit");
	if (!strcmp(text, "packet") || strchr(text, ':'))
		if (!strstr(text, "::"))
			return err_set(err, EINVAL, "%s is an object of the kernel: add -k", text);
	return 0;
}

/* From the cheapest check to the dearest one: debug information comes last. */
static int read_command_line(struct program_following *f, struct err *err)
{
	struct invocation *inv = f->inv;
	int e = check_options(inv, err);

	if (!e)
		e = take_max_depth(f, err);
	if (!e)
		e = follow_expression_parse(inv->questions[0], &f->expression, err);
	if (!e && inv->of_follow.show && f->expression.by_value)
		e = err_set(err, EINVAL, "--show: an object without a type has no fields");
	if (!e && inv->of_follow.show)
		e = follow_shown_parse(inv->of_follow.show, &f->shown, err);
	if (!e)
		e = follow_output_by(inv, &f->spec.by_identity, err);
	if (!e)
		e = write_settings(inv, f->expression.by_value, err);
	/* The list goes to follow_program_spec as an array that NULL ends. */
	*vec_add(&inv->of_follow.ends) = NULL;
	if (!e && !f->expression.by_value)
		e = find_type(f, err);
	return e;
}

/* --- following -------------------------------------------------------------------------------- */

/* follow_output's: a function by its number in events. */
static const struct follow_function *function_of(void *context, uint32_t n)
{
	struct program_following *f = context;

	return n & FOLLOW_BORDER_FUNCTION ? follow_border_function(f->border, n)
					  : follow_program_function(f->program, n);
}

/* stream_use.begin */
static void begin_following(void *arg, struct source *source, struct run_monitor *m)
{
	struct program_following *f = arg;
	struct follow_print print = {
		.plan = &f->plan, .shown = &f->shown, .type = f->heading,
		.max_depth = f->max_depth, .function = function_of, .context = f,
	};

	f->monitor = m;
	follow_output_open(&f->output, f->inv, &print);
	/* The program's events go through the border where there is one, which merges the kernel's
	 * into them by time. */
	if (f->border)
		follow_border_begin(f->border, source, follow_output_event, &f->output);
	f->program = f->border ? follow_program_new(source->info, &f->spec, follow_border_event,
						    f->border)
			       : follow_program_new(source->info, &f->spec, follow_output_event,
						    &f->output);
}

/* While no event comes the user sees all that has been. */
static void flush_output(void *arg)
{
	struct program_following *f = arg;

	if (f->border)
		follow_border_idle(f->border);
	out_flush(&f->output.screen.text);
}

/* stream_use.take */
static int take_calls(void *arg, struct source *source, struct err *err)
{
	struct program_following *f = arg;
	struct err border;
	struct event e;
	int r;

	source->idle = flush_output;
	source->idle_context = f;
	/* Behind each event the border may read the kernel's ring: it is bounded, and has to be
	 * emptied while the program keeps this loop busy. */
	while ((r = source->ops->next(source, &e, err)) > 0) {
		follow_program_take(f->program, &e);
		if (f->border && follow_border_reach(f->border, e.tsc, err))
			return -err->code;
	}
	/* Called in any case, so that the kernel's functions are let go; its failure counts if
	 * there is no earlier one. */
	if (f->border && follow_border_end(f->border, &border) && !r) {
		*err = border;
		r = -err->code;
	}
	follow_output_end(&f->output);
	return r;
}

/* Says how many functions are watched, and why others are not. An object that is not seen may have
 * been in a function that is not watched: the reasons are told, those of 0 are not. */
static void say_functions(const struct program_following *f, const struct object_count *c)
{
	const char *before = "; not watched: ";
	char watched[32], takes[32];

	if (f->expression.by_value) {
		say("brace: %s functions watched, by the registers of their arguments\n",
		    summary_grouped(c->watched, watched));
		return;
	}
	say("brace: %s of %s functions that take a %s watched",
	    summary_grouped(c->watched, watched), summary_grouped(c->takes, takes), f->heading);
	follow_output_say_count(c->unhooked, "that cannot be hooked", &before);
	follow_output_say_count(c->unchosen, "not chosen", &before);
	follow_output_say_count(c->unlocated, "where the compiler left the object out", &before);
	before = "; not seen: inlined copies of ";
	follow_output_say_count(c->inlined, c->inlined == 1 ? "function" : "functions", &before);
	before = "; ";
	follow_output_say_count(c->modules, c->modules == 1 ? "file has no debug information"
							    : "files have no debug information",
				&before);
	say("\n");
}

/* Losses are told also if there are none: 0 is an answer. */
static void say_losses(const struct follow_program_losses *l, uint64_t lost, uint64_t recorded)
{
	const char *before = "; also ";
	char text[32], calls[32], blind[32];

	say("brace: %s calls recorded; lost: %s records, %s calls without their arguments",
	    summary_grouped(recorded, calls), summary_grouped(lost, text),
	    summary_grouped(l->blind, blind));
	follow_output_say_count(l->crowded, "objects (too many at once)", &before);
	say("\n");
}

/* The summary as lines of --json, also with -q: who reads them has to know what is missing. */
static void print_summary(struct program_following *f, const struct object_count *c,
			  const struct follow_program_losses *l, uint64_t lost, uint64_t recorded)
{
	struct out *to = &f->output.screen.text;

	follow_output_print_totals(&f->output);
	if (!f->output.json)
		return;
	out_str(to, "{\"summary\":\"program\",\"type\":");
	json_string(to, f->heading);
	if (!f->expression.by_value)
		out_printf(to, ",\"takes\":%u", c->takes);
	out_printf(to, ",\"watched\":%u,\"not_hookable\":%u,\"not_chosen\":%u,\"left_out\":%u,\"inlined\":%u"
		       ",\"files_without_types\":%u",
		   c->watched, c->unhooked, c->unchosen, c->unlocated, c->inlined, c->modules);
	out_printf(to, ",\"recorded\":%" PRIu64 ",\"lost_records\":%" PRIu64
		       ",\"without_arguments\":%" PRIu64 ",\"lost_objects\":%" PRIu64 "}\n",
		   recorded, lost, l->blind, l->crowded);
	if (f->border)
		follow_border_print_json(f->border, to);
}

/* stream_use.end */
static int end_following(void *arg, const struct err *failed)
{
	struct program_following *f = arg;
	struct follow_program_losses losses;
	struct session_result result = { 0 };
	uint64_t recorded;

	session_result(f->monitor->session, &result);
	follow_program_count(f->program, &recorded, &losses);
	print_summary(f, &result.arguments.objects, &losses, result.lost, recorded);
	if (!f->inv->quiet) {
		follow_output_say_totals(&f->output);
		say_functions(f, &result.arguments.objects);
		say_losses(&losses, result.lost, recorded);
		if (f->border)
			follow_border_say(f->border);
	}
	return follow_output_close(&f->output, failed ? say_error(failed) : 0);
}

/* The session records the calls; the settings point to the spec, which outlives it. by_identity: an
 * object is its address, and a function with a base class's pointer may have it; by field, only
 * functions whose parameter has the fields can tell. */
static int run_following(struct program_following *f)
{
	struct stream_use use = { begin_following, take_calls, NULL, end_following };
	struct invocation *inv = f->inv;

	if (f->border)
		use.beside = follow_border_beside(f->border);

	f->heading = f->expression.by_value ? mem_strdup("object")
					    : mem_printf("struct %s", f->expression.type);
	f->spec.recording = (struct follow_recording){
		.type = f->type, .plan = &f->plan, .later = f->later,
		.by_field = !f->spec.by_identity, .bases = f->bases.at.at,
		/* a call with a base tells nothing of the object's fields */
		.n_bases = f->spec.by_identity ? (uint32_t)f->bases.at.n : 0,
		.nth = f->expression.nth, .value = f->expression.value,
	};
	f->spec.ends = inv->of_follow.ends.at;
	inv->settings.follows = &f->spec.recording;
	return stream_run(inv, &use, f);
}

/* The object's descriptor or buffer, if --into names the field that the condition has for it (or
 * `fd` or `buffer` of what has no fields). NULL: --into is an object of the kernel. The caller
 * frees it. */
static char *object_named(const struct program_following *f)
{
	const struct follow_expression *x = &f->expression;
	const char *into = f->inv->of_follow.into;

	/* Without a type, the value that is followed is itself the descriptor, or the buffer's
	 * address; the rest of `buffer+N` goes on to the kernel's side. */
	if (x->by_value && !strcmp(into, "fd"))
		return mem_printf("fd:%llu", (unsigned long long)x->value);
	if (x->by_value && !strncmp(into, "buffer", 6) && (!into[6] || into[6] == '+'))
		return mem_printf("buffer:%#llx%s", (unsigned long long)x->value, into + 6);
	for (uint32_t i = 0; i < x->n; i++) {
		const struct follow_condition *c = &x->conditions[i];

		/* Only a condition that gives the field one exact value tells which descriptor it
		 * is. */
		if (c->compare == FOLLOW_EQUAL && c->mask == UINT64_MAX &&
		    !strcmp(c->path.names[c->path.n - 1].text, into))
			return mem_printf("fd:%llu", (unsigned long long)c->value);
	}
	return NULL;
}

static int open_border(struct program_following *f, struct err *err)
{
	const char *into = f->inv->of_follow.into;
	char *named = into ? object_named(f) : NULL;
	int e = into ? follow_border_open(f->inv, named ? named : into, &f->border, err) : 0;

	free(named);
	return e;
}

/* Returns when the program has ended, or the user has ended the following. The sentence of a
 * failure has been said. */
int follow_program_run(struct invocation *inv)
{
	struct program_following f = { .inv = inv };
	struct err err;
	/* The kernel's side is opened last: attaching to its functions takes longest, and may need
	 * to be root. */
	int status = read_command_line(&f, &err) || open_border(&f, &err) ? say_error(&err)
									  : run_following(&f);

	follow_program_free(f.program);
	follow_border_free(f.border);
	follow_shown_free(&f.shown);
	for (size_t i = 0; i < f.bases.at.n; i++)
		free(f.bases.at.at[i].name);
	vec_free(&f.bases.at);
	free(f.type);
	free(f.heading);
	return status;
}
