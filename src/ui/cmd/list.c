/* SPDX-License-Identifier: MIT */
/* brace list: the functions of a binary, and how each would be hooked or why it cannot be. Lists of
 * events (list_events.c) and of a session (list_session.c) have files of their own. main() calls
 * it, on brace's only thread. Fails on options that exclude each other, on a file that cannot be
 * read, and where nothing matches. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/doubles.h"
#include "hook/list.h"
#include "ui/binary.h"
#include "ui/commands.h"
#include "ui/globs.h"
#include "base/json.h"
#include "sym/signatures.h"
#include "ui/kernel_commands.h"
#include "ui/known_signature.h"
#include "ui/list_events.h"
#include "ui/list_session.h"
#include "ui/screen.h"
#include "ui/say.h"
#include "ui/summary.h"

/* A cold fragment belongs to a function, and is none itself. */
static bool is_fragment(const struct hook_list_row *r)
{
	return !strcmp(r->reason, hook_reason_words[REASON_COLD]);
}

/* "0xADDRESS KIND NAME [plt] (CALLERS) (VERDICT: REASON, SENTENCE)". A reason with a hook means
 * that the entry alone is recorded. */
static void print_why(struct out *o, const struct hook_list_row *r)
{
	const char *verdict = is_fragment(r) ? "not a function" :
			      r->hooked	     ? "entry only" :
					       "not hooked";

	out_printf(o, "0x%016" PRIx64 " %-12s %s%s", r->vaddr, r->kind, r->name,
		   r->plt ? " [plt]" : "");
	if (r->callers)
		out_printf(o, " (%" PRIu32 " caller%s%s)", r->callers, r->callers == 1 ? "" : "s",
			   r->unseen ? "; others are not seen" : "");
	if (*r->reason)
		out_printf(o, " (%s: %s, %s)", verdict, r->reason, r->reason_text);
	out_char(o, '\n');
}

/* Without --why the list has functions alone, one a line. */
static void print_row_name(struct out *o, const struct hook_list_row *r)
{
	if (is_fragment(r))
		return;
	out_str(o, r->name);
	out_char(o, '\n');
}

/* One object a line. The address is the file's own, not that of a process. */
static void print_json(struct out *o, const struct hook_list_row *r)
{
	out_str(o, "{\"name\":");
	json_string(o, r->name);
	out_printf(o,
		   ",\"address\":%" PRIu64 ",\"size\":%" PRIu32 ",\"plt\":%s,\"hooked\":%s,"
		   "\"entry_only\":%s,\"kind\":\"%s\",\"reason\":\"%s\",\"callers\":%" PRIu32 "}\n",
		   r->vaddr, r->size, r->plt ? "true" : "false", r->hooked ? "true" : "false",
		   r->entry_only ? "true" : "false", r->kind, r->reason, r->callers);
}

static void print_parameters(struct out *o, const struct sym_signature *s)
{
	out_char(o, '[');
	for (size_t i = 0; i < s->parameters.n; i++) {
		out_str(o, i ? ",{\"name\":" : "{\"name\":");
		json_string(o, s->parameters.at[i].name ? s->parameters.at[i].name : "");
		out_str(o, ",\"declared\":");
		json_string(o, s->parameters.at[i].declared);
		out_char(o, '}');
	}
	out_char(o, ']');
}

/* A function of which nothing is known is NAME(?), in JSON null. */
static void print_declared(struct out *o, const struct hook_list_row *r,
			    const struct sym_signature *s, bool json)
{
	if (json) {
		out_str(o, "{\"name\":");
		json_string(o, r->name);
		out_printf(o, ",\"address\":%" PRIu64 ",\"signature\":", r->vaddr);
		if (s) {
			json_string(o, s->declared);
			out_str(o, ",\"parameters\":");
			print_parameters(o, s);
		} else {
			out_str(o, "null");
		}
		out_str(o, "}\n");
	} else if (s) {
		out_str(o, s->declared);
		out_char(o, '\n');
	} else if (!is_fragment(r)) {
		out_printf(o, "%s(?)\n", r->name);
	}
}

/* Where signatures come from: the debug information, and the file's path. */
struct signatures { struct sym_signatures of; const char *path; };

/* Functions of the C library are known without debug information, too. */
static void print_signature(struct out *o, const struct hook_list_row *r,
			    const struct signatures *signatures, bool json)
{
	const struct sym_signature *s = sym_signature_at(&signatures->of, r->vaddr);
	struct sym_signature known;

	if (s || !known_signature(r->plt ? NULL : signatures->path, r->name, &known)) {
		print_declared(o, r, s, json);
		return;
	}
	print_declared(o, r, &known, json);
	sym_signature_free(&known);
}

/* doubles: names that several functions share, but for their parameters. signatures NULL: they are
 * not asked for. */
static void print_rows(const struct invocation *inv, const struct hook_list *l,
		       const struct doubles *doubles, const struct signatures *signatures,
		       struct screen *o)
{
	void (*print)(struct out *, const struct hook_list_row *) = inv->json ? print_json
								    : inv->of_list.why
									    ? print_why
									    : print_row_name;

	if (inv->json)
		out_str(&o->text, "{\"schema\":\"brace-list\",\"version\":1}\n");
	for (size_t i = 0; i < l->rows.n && !screen_is_done(o); i++) {
		/* A copy, with the name as it is shown; the list keeps the symbol. */
		struct hook_list_row row = l->rows.at[i];
		char name[4096];

		demangle_plain(row.name, name, sizeof(name));
		/* Short names leave parameters out; where that makes several functions look alike,
		 * these are shown whole. */
		if (demangle_chosen() != NAMES_SHORT)
			demangle(row.name, name, sizeof(name));
		else if (doubles_have(doubles, name))
			demangle_whole(row.name, name, sizeof(name));
		row.name = name;
		if (signatures)
			print_signature(&o->text, &row, signatures, inv->json);
		else
			print(&o->text, &row);
	}
}

/* The choice of functions, and the names that several functions share, but for their parameters. */
struct choice {
	const struct function_list *globs;
	bool all;
	bool *met; /* for each pattern: some function matches it */
	struct doubles doubles;
};

/* Compares the name with each pattern alone, so that those that no function matches can be told. */
static void meet_patterns(const struct choice *c, const char *name)
{
	for (size_t i = 0; i < c->globs->patterns.n; i++) {
		const struct function_list one = { { &c->globs->patterns.at[i], 1, 1 } };

		/* A pattern with `!` takes functions away, and need not meet one. */
		c->met[i] = c->met[i] || one.patterns.at->remove ||
			    function_list_has(&one, name, NULL);
	}
}

/* Compares the symbol, or the name as a programmer wrote it. Called for every function, so it
 * collects doubles too. */
static bool is_selected(const char *name, void *choice)
{
	struct choice *c = choice;
	char plain[1024];

	if (demangle_is_mangled(name)) {
		demangle_plain(name, plain, sizeof(plain));
		doubles_add(&c->doubles, plain);
	}
	meet_patterns(c, name);
	return c->all || function_list_has(c->globs, name, NULL);
}

/* The figures go to standard error, behind the list, so that a pipe gets the list alone. */
static int print_list(const struct invocation *inv, const struct hook_list *l,
		      const struct doubles *doubles, const struct signatures *signatures)
{
	struct screen o;
	int status;

	screen_open(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_list);
	print_rows(inv, l, doubles, signatures, &o);
	status = screen_close(&o, 0);
	if (inv->of_list.why && !inv->json && l->rows.n) {
		summary_hooks(l->by_kind, l->by_reason);
		summary_coverage(l->code_bytes, l->unknown_bytes);
	}
	return status;
}

/* The list with what the file's debug information says of each function. */
static int print_with_signatures(const struct invocation *inv, const char *path,
				 const struct hook_list *l, const struct doubles *doubles)
{
	struct signatures signatures = { .path = path };
	struct sym_module *m;
	struct err err;
	int status;

	if (sym_open(path, &m, &err))
		return say_error(&err);
	if (sym_signatures_read(m, &signatures.of, &err)) {
		status = say_error(&err);
	} else {
		if (signatures.of.left_out)
			say("brace: %s\n", signatures.of.left_out);
		else if (!signatures.of.has_dwarf)
			say("brace: %s has no debug information: compile it with -g, or install its -dbgsym package\n",
			    inv->binary);
		status = print_list(inv, l, doubles, &signatures);
		sym_signatures_free(&signatures.of);
	}
	sym_close(m);
	return status;
}

/* Each pattern that no function of the binary matches gets its sentence, behind the list. 0, or
 * EXIT_BRACE if there was one. */
static int say_missing(const struct invocation *inv, const struct choice *c)
{
	int status = 0;

	for (size_t i = 0; i < c->globs->patterns.n; i++) {
		if (c->met[i])
			continue;
		say("brace: %s has no function that matches %s\n", inv->binary,
		    c->globs->patterns.at[i].text);
		status = EXIT_BRACE;
	}
	return status;
}

/* The names are selected while the file is read: rows that do not match are never made. */
static int list_functions(struct invocation *inv, const char *binary)
{
	struct function_list globs = { 0 };
	struct hook_list list = { 0 };
	struct choice choice = { .globs = &globs, .all = !inv->n_operands };
	struct err err;
	int status = globs_read(&globs, inv->operands, inv->n_operands, 0);

	if (status)
		return status;
	/* One more than there are patterns: none is allowed. */
	choice.met = mem_zalloc((globs.patterns.n + 1) * sizeof(*choice.met));
	if (hook_list_load(binary, is_selected, &choice, &list, &err)) {
		status = say_error(&err);
	} else if (!list.rows.n) {
		say("brace: %s has no function%s\n", inv->binary,
		    inv->n_operands ? " that matches" : "");
		status = EXIT_BRACE;
	} else {
		doubles_keep(&choice.doubles);
		status = inv->of_list.signatures
				 ? print_with_signatures(inv, binary, &list, &choice.doubles)
				 : print_list(inv, &list, &choice.doubles, NULL);
		status = status ? status : say_missing(inv, &choice);
	}
	free(choice.met);
	hook_list_free(&list);
	doubles_free(&choice.doubles);
	function_list_free(&globs);
	return status;
}

/* The sentence for options that exclude each other; NULL: they agree. The first conflict counts.
 * The text is a constant. */
static const char *conflicting_options(const struct invocation *inv)
{
	bool details = inv->of_list.format || inv->of_list.full || inv->of_list.filters ||
		       inv->of_list.triggers;
	bool of_session = details || inv->of_list.systems || inv->of_list.tracers ||
			  inv->of_list.options || inv->of_list.buffers || inv->of_list.clocks ||
			  inv->session_named;

	if ((inv->binary || inv->pid) && of_session)
		return "-f and -p list functions and events of a file or a process; what -F, -l, -R, -s, -t, -o, -B and -C list is a session's: leave -f and -p out";
	if (inv->binary && inv->pid)
		return "-f lists a file's, -p a process's: one of them";
	if (inv->pid && !inv->list_events)
		return "-p goes with -e: it lists events of a process";
	if (details && !inv->list_events)
		return "-F, --full, -l and -R go with -e: they are about events";
	if (inv->kernel &&
	    (inv->binary || inv->pid || of_session || inv->list_events || inv->of_list.signatures))
		return "-k lists the kernel's functions: of the other options, only --why and --json go with it";
	if (inv->of_list.why && !inv->kernel && (!inv->binary || inv->list_events))
		return "--why goes with -f BINARY or -k: how the functions of a file would be hooked";
	if (inv->of_list.signatures && (!inv->binary || inv->list_events))
		return "--signatures goes with -f BINARY: what the functions of a file take and return";
	if (inv->of_list.signatures && inv->of_list.why)
		return "--why or --signatures: one of them at a time";
	return details && inv->json ? "--json has names only: not -F, --full, -l or -R" : NULL;
}

/* Lists a file, a process, the kernel, or a session: the options say which. */
int cmd_list(struct invocation *inv)
{
	const char *wrong = conflicting_options(inv);
	char *binary;
	int status;

	if (wrong) {
		say("brace: %s\n", wrong);
		return EXIT_BRACE;
	}
	if (inv->kernel)
		return kernel_list(inv);
	/* Neither a file nor a process: the lists of a session. */
	if (!inv->binary && !inv->pid)
		return list_session(inv);
	binary = inv->binary ? binary_path(inv->binary) : NULL;
	status = inv->list_events ? list_events(inv, binary) : list_functions(inv, binary);
	free(binary);
	return status;
}
