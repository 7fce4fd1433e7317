/* SPDX-License-Identifier: MIT */
/* From a function's name to a definition of an event (probe_option.h), on the only thread, before
 * anything runs. Reads the program's file, its libraries' symbols and their debug information; a
 * library that cannot be read has no function. */
#include "ui/function_event.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/function_name.h"
#include "base/nearest.h"
#include "base/path.h"
#include "arch/reg_names.h"
#include "inject/launch.h"
#include "sym/arguments.h"
#include "sym/inlined.h"
#include "sym/module.h"
#include "sym/named.h"
#include "image/known_functions.h"
#include "image/providers.h"
#include "ui/libraries.h"
#include "ui/probe_option.h"
#include "ui/question.h"

/* The function, as its file has it. */
struct function_target {
	struct sym_module *module;
	const char *name;   /* as the user writes it */
	const char *symbol; /* in the module */
	uint64_t vaddr;
	char *parameters;   /* "a, b"; NULL: not known */
};

/* --- the file --------------------------------------------------------------------------------- */

/* The program's file; NULL: it is not known. For free(). Of several processes it is the first
 * one's. */
static char *program_path(const struct invocation *inv)
{
	char *path, *image, link[64], at[PATH_MAX];
	ssize_t n;

	if (inv->pids.n) {
		snprintf(link, sizeof(link), "/proc/%d/exe", (int)inv->pids.at[0]);
		n = readlink(link, at, sizeof(at) - 1);
		return n > 0 ? mem_strndup(at, (size_t)n) : NULL;
	}
	if (!inv->n_operands || launch_resolve(inv->operands[0], &path, &image, NULL))
		return NULL;
	free(path);
	return image;
}

/* Whether a file is the module that the user named: libc.so.6, or libc; NULL: any. The file's name
 * may have a version: behind the module's name stands its end, ".so.6" or "-2.31.so", or it is
 * another library (libc, and not libcrypto). */
static bool is_wanted(const char *path, const char *module)
{
	const char *name = path_file_name(path);
	size_t n = module ? strlen(module) : 0;

	return !module || (!strncmp(name, module, n) &&
			   (!name[n] || name[n] == '.' || name[n] == '-'));
}

/* 1: the file has the function, and the module stays open; 0: it has not; -errno and *err: the file
 * cannot be read. */
static int take_file(const char *path, struct function_target *p, struct err *err)
{
	const struct sym_function *f = NULL;
	struct sym_named named;
	struct sym_module *m;
	int e = sym_open(path, &m, err);

	if (e)
		return e;
	e = sym_named_find(m, p->name, &named, err);
	if (e > 0)
		f = sym_at(m, named.vaddr);
	/* An entry of the PLT leads to the library's function, which is looked for next. */
	if (f && !f->plt) {
		p->module = m;
		p->symbol = named.symbol;
		p->vaddr = named.vaddr;
		return 1;
	}
	sym_close(m);
	return e < 0 ? e : 0;
}

/* Looks into the libraries in the order in which they are linked or mapped. 1; 0: none that can be
 * read has the function; -ENOTUNIQ and *err. */
static int find_in_libraries(const struct libraries *l, const char *module,
			     struct function_target *p, struct err *err)
{
	struct err why;
	int found = 0;

	for (size_t i = 0; i < l->at.n && !found; i++) {
		if (is_wanted(l->at.at[i].path, module))
			found = take_file(l->at.at[i].path, p, &why);
		if (found == -ENOTUNIQ)
			*err = why;
		else if (found < 0)
			found = 0;
	}
	return found;
}

/* The libraries that the process has mapped, or the program is linked with. */
static void find_libraries(const struct invocation *inv, const char *program, struct libraries *l)
{
	struct sym_module *m;

	if (inv->pids.n) {
		libraries_mapped(inv->pids.at[0], l);
	} else if (sym_open(program, &m, NULL) == 0) {
		libraries_linked(m, l);
		sym_close(m);
	}
}

/* The program first, then its libraries. 1, 0, or -errno and *err: a program that is there and
 * cannot be read may have the function, and a library's of that name would be another; -ENOTUNIQ:
 * several functions have the name. */
static int find_target(const struct invocation *inv, const char *program, const char *module,
		       struct function_target *p, struct err *err)
{
	struct libraries l = { 0 };
	int found = is_wanted(program, module) ? take_file(program, p, err) : 0;

	if (found == -ENOENT)
		found = 0;
	if (found)
		return found;
	find_libraries(inv, program, &l);
	found = find_in_libraries(&l, module, p, err);
	libraries_free(&l);
	return found;
}

char *function_event_library(const struct invocation *inv, const char *name, const char **prototype)
{
	struct function_target p = { .name = name };
	char *program = program_path(inv), *path = NULL;
	struct err why;

	*prototype = NULL;
	if (program && find_target(inv, program, NULL, &p, &why) > 0) {
		if (strcmp(p.module->path, program) != 0)
			path = mem_strdup(p.module->path);
		*prototype = path ? known_functions_prototype(path, p.symbol) : NULL;
		sym_close(p.module);
	}
	free(program);
	return path;
}

/* --- parameters ------------------------------------------------------------------------------- */

/* Words within quotes are texts, and words behind a dot are fields: neither is a parameter. */
bool function_event_uses(const char *text, const char *word, size_t n)
{
	char quote = '\0', before = ' ';

	for (const char *c = text; *c; before = *c++) {
		bool begins = !isalnum((unsigned char)before) && before != '_' && before != '.';

		if (quote || *c == '"' || *c == '\'')
			quote = quote == *c ? '\0' : quote ? quote : *c;
		else if (begins && !strncmp(c, word, n) && !isalnum((unsigned char)c[n]) &&
			 c[n] != '_')
			return true;
	}
	return false;
}

/* A parameter that no text uses is not fetched: each costs time at every call. q->uses ends with
 * NULL. */
static bool is_used(const struct function_question *q, const char *word, size_t n)
{
	bool used = false;

	for (const char *const *u = q->uses; *u; u++)
		used |= function_event_uses(*u, word, n);
	return used;
}

/* A fetch-arg's type. A pointer is x64, so that it is printed as an address. A size is in bytes, a
 * fetch-arg's type in bits. */
static void write_type(FILE *to, const struct prototype_value *v)
{
	if (v->type == PROTOTYPE_STRING_AT)
		fputs(":string", to);
	else if (v->type == PROTOTYPE_POINTER)
		fputs(":x64", to);
	else
		fprintf(to, ":%c%u",
			v->type == PROTOTYPE_SIGNED || v->type == PROTOTYPE_ENUM ? 's' : 'u',
			v->size * 8u);
}

/* Writes " NAME=%REG:TYPE", or " NAME=$argN:TYPE". False: the parameter is in no register that can
 * be named. */
static bool write_parameter(FILE *to, const struct prototype_value *v, unsigned number,
			    bool returns)
{
	/* Floating-point numbers are in vector registers, which fetch-args cannot name; a view (a
	 * pointer and a length) or a block takes several places. */
	bool none = v->type == PROTOTYPE_FLOAT || v->form != PROTOTYPE_PLAIN || !v->size ||
		    (v->block && v->type != PROTOTYPE_STRUCT);
	const char *reg = none ? NULL : reg_names_argument(number);
	bool string = v->type == PROTOTYPE_STRING_AT;

	if (!reg)
		return false;
	fprintf(to, " %.*s=%s", (int)v->name_bytes, v->name, string ? "+0(" : "");
	/* At the return the registers hold other values: $argN has the one that was kept at the
	 * entry. */
	if (returns)
		fprintf(to, "$arg%u", number);
	else
		fprintf(to, "%%%s", reg);
	if (string)
		fputc(')', to);
	write_type(to, v);
	return true;
}

/* More than any calling convention has: no later parameter gets a number that reg_names_argument()
 * knows. */
#define MOST_REGISTERS 64u

/* The number of registers of numbers that a parameter takes. Of some that is not told: what comes
 * behind them has none then. */
static unsigned registers_of(const struct prototype_value *v)
{
	bool number = v->type == PROTOTYPE_WIDE_SIGNED || v->type == PROTOTYPE_WIDE_UNSIGNED;

	if ((v->type == PROTOTYPE_STRUCT && !v->by_address) || v->form == PROTOTYPE_VIEW || number)
		return MOST_REGISTERS;
	return v->type != PROTOTYPE_FLOAT && (!v->block || v->type == PROTOTYPE_STRUCT);
}

/* The names of the parameters, as a sentence has them; NULL: there are none. For free(). */
static char *parameter_names(const struct prototype *p)
{
	char *names = NULL, *more;

	for (uint32_t i = 0; i < p->n; i += 1 + p->parameters[i].members) {
		const struct prototype_value *v = &p->parameters[i];

		if (!v->name)
			continue;
		more = mem_printf("%s%s%.*s", names ? names : "", names ? ", " : "",
				  (int)v->name_bytes, v->name);
		free(names);
		names = more;
	}
	return names;
}

/* The parameters that the texts use, by the calling convention. A place that the debug information
 * gives otherwise is no place at the first instruction of which the convention would be wrong:
 * compilers keep it for functions that others may call. */
static int write_parameters(FILE *to, const struct function_question *q,
			    struct function_target *target, const char *prototype, unsigned hidden,
			    bool returns, struct err *err)
{
	struct prototype p;
	/* Numbers count registers from 1 on, not parameters; hidden: the address of a returned
	 * structure comes before the first written one. */
	unsigned number = 1 + hidden;

	if (!prototype_parse(prototype, &p))
		return 0;
	target->parameters = parameter_names(&p);
	for (uint32_t i = 0; i < p.n; i += 1 + p.parameters[i].members) {
		const struct prototype_value *v = &p.parameters[i];

		if (v->name && is_used(q, v->name, v->name_bytes) &&
		    !write_parameter(to, v, number, returns))
			return err_at(err, EINVAL, q->text, q->at,
				      "the parameter %.*s is in no register here: count by others, "
				      "or by $arg1 to $arg6", (int)v->name_bytes, v->name);
		number += registers_of(v);
	}
	return 0;
}

bool function_event_parameter(FILE *to, const char *prototype, const char *name, size_t n,
			      bool returns)
{
	struct prototype p;

	if (!prototype_parse(prototype, &p))
		return false;
	for (uint32_t i = 0; i < p.n; i++)
		if (p.parameters[i].name && p.parameters[i].name_bytes == n &&
		    !strncmp(p.parameters[i].name, name, n))
			return write_parameter(to, &p.parameters[i], i + 1, returns);
	return false;
}

/* sym_wanted */
static bool is_target(void *context, uint64_t vaddr)
{
	return vaddr == ((const struct function_target *)context)->vaddr;
}

/* By the list, whose names are those of manuals, else by the debug information. */
static int write_typed(FILE *to, const struct function_question *q, struct function_target *p,
		       bool returns, struct err *err)
{
	struct sym_arguments_list list = { 0 };
	const struct sym_arguments *a;
	const char *known = known_functions_prototype(p->module->path, p->symbol);
	char *prototype;
	int e = 0;

	if (known)
		return write_parameters(to, q, p, known, 0, returns, err);
	/* Without debug information no parameter is known by name; arg1 to arg6 and retval are
	 * there all the same. */
	if (sym_arguments_read(p->module, is_target, p, 0, &list, NULL))
		list = (struct sym_arguments_list){ 0 };
	a = sym_arguments_at(&list, p->vaddr);
	if (a) {
		prototype = mem_printf("%s(%s)", a->returns, a->takes);
		e = write_parameters(to, q, p, prototype, a->hidden, returns, err);
		free(prototype);
	}
	sym_arguments_free(&list);
	return e;
}

/* --- the definition --------------------------------------------------------------------------- */

#define FRAME "__frame" /* where a call's arguments begin on the stack: it is the call's own */
#define NAME_MOST 40u /* characters of the function in the event's name */

/* The event's name: the function's, with a number if an event has it. The caller frees it. */
static char *event_name(const struct invocation *inv, const char *symbol, bool returns)
{
	char name[NAME_MOST], *event;
	size_t n = 0;

	for (const char *c = symbol; *c && n < sizeof(name) - 1; c++)
		name[n++] = isalnum((unsigned char)*c) ? *c : '_';
	name[n] = '\0';
	event = mem_printf("%s%s", name, returns ? "__return" : "");
	/* Each name is "GROUP:EVENT" (probe_option.c). */
	for (size_t i = 0; i < inv->definitions.n; i++) {
		const char *colon = strchr(inv->definitions.at[i].name, ':');

		if (strcmp(colon + 1, event) != 0)
			continue;
		free(event);
		event = mem_printf("%s%s_%zu", name, returns ? "__return" : "",
				   inv->definitions.n + 1);
	}
	return event;
}

/* "p:EVENT PATH:FUNCTION ARGUMENTS" */
static int write_definition(FILE *to, const struct invocation *inv,
			    const struct function_question *q, struct function_target *p,
			    struct err *err)
{
	bool returns = q->returns || is_used(q, "retval", strlen("retval"));
	char *name = event_name(inv, p->name, returns);

	fprintf(to, "%c:%s %s:%s", returns ? 'r' : 'p', name, p->module->path, p->symbol);
	free(name);
	if (returns) {
		fputs(" retval=$retval:s64", to);
		/* At a return instruction the stack pointer counts as in the caller. */
		if (is_used(q, FRAME, strlen(FRAME)))
			fputs(" " FRAME "=$stack:u64", to);
	} else if (is_used(q, FRAME, strlen(FRAME))) {
		/* At the first instruction the return address lies on the stack: the caller's stack
		 * pointer is a word above it. */
		fputs(" " FRAME "=&+8($stack):u64", to);
	}
	for (unsigned i = 1; i <= 6; i++) {
		char numbered[] = { 'a', 'r', 'g', (char)('0' + i), '\0' };

		if (is_used(q, numbered, strlen(numbered)))
			fprintf(to, " %s=$%s:u64", numbered, numbered);
	}
	return write_typed(to, q, p, returns, err);
}

/* On failure nothing is defined, and err has the user's text with the function's column. */
static int define_at(struct invocation *inv, const struct function_question *q,
		     struct function_target *p, const char **name, struct err *err)
{
	struct err why;
	char *text;
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);
	int e = write_definition(to, inv, q, p, err);

	mem_stream_close(to, &text);
	if (!e) {
		e = probe_option_line(inv, text, name, &why);
		/* The fault is at the function: the rest of the text is brace's own. */
		if (e)
			err_at(err, why.code, q->text, q->at, "%s", why.text);
	}
	if (e)
		free(p->parameters);
	else
		/* probe_option_line() has just added it. The names go there for field_hint.c. */
		inv->definitions.at[inv->definitions.n - 1].parameters = p->parameters;
	p->parameters = NULL;
	free(text);
	return e;
}

/* Cuts %return off: the function's return is meant. */
static void take_suffix(char *word, struct function_question *q)
{
	char *suffix = strchr(word, '%');

	if (!suffix || strcmp(suffix, "%return") != 0)
		return;
	*suffix = '\0';
	q->returns = true;
}

/* A fault of the file, or of the name in it, is told at the name. */
static int at_name(const struct function_question *q, struct err *err)
{
	const struct err why = *err;

	return err_at(err, why.code, q->text, q->at, "%s", why.text);
}

/* Offers the function of the file that is most like the name, and keeps it in *best, which is
 * freed, if none before was as near. */
static void offer_file(struct nearest *near, const char *path, char **best)
{
	const char *like, *before = near->best;
	struct sym_module *m;

	if (sym_open(path, &m, NULL))
		return;
	if (sym_nearest(m, near->word, &like, 1))
		nearest_offer(near, like);
	if (near->best != before) {
		free(*best);
		*best = mem_strdup(like);
	}
	/* The symbol's text goes with the module: near keeps the copy. */
	near->best = *best;
	sym_close(m);
}

/* The name of an event, or of a function of the program or its libraries, that is most like the
 * name; NULL: none is near. The caller frees it. */
static char *nearest_name(const struct invocation *inv, const char *program, const char *name)
{
	struct nearest near = { name, NULL, 0 };
	struct event_catalogue *c = question_events(inv);
	struct libraries l = { 0 };
	char *best = providers_nearest(c, name);

	events_free(c);
	if (best)
		nearest_offer(&near, best);
	offer_file(&near, program, &best);
	find_libraries(inv, program, &l);
	for (size_t i = 0; i < l.at.n; i++)
		offer_file(&near, l.at.at[i].path, &best);
	libraries_free(&l);
	return best;
}

/* Sets the error of a name that is neither an event nor a function. */
static int refuse_name(const struct invocation *inv, const char *program,
		       const struct function_question *q, const char *name, struct err *err)
{
	char *near = nearest_name(inv, program, name);
	int e = err_at(err, EINVAL, q->text, q->at,
		       "neither an event nor a function of %s or its libraries%s%s%s; brace list and "
		       "brace list -e show them", program, near ? " (did you mean " : "",
		       near ? near : "", near ? "?)" : "");

	free(near);
	return e;
}

/* *name is the event's, valid as long as the invocation. The program is looked at as it is now:
 * one that is replaced before the launch has other places, which the session refuses. */
int function_event_define(struct invocation *inv, const struct function_question *asked,
			  const char **name, struct err *err)
{
	struct function_question question = *asked, *q = &question;
	char *word = mem_strndup(q->text + q->at, q->n), *colon = function_name_colon(word),
	     *program = program_path(inv);
	struct function_target p = { .name = colon ? colon + 1 : word };
	int e;

	take_suffix(word, q);
	if (colon)
		*colon = '\0';
	if (!program)
		e = err_at(err, EINVAL, q->text, q->at,
			   "whose function this is is not known: name a program behind --, or a "
			   "process with -p");
	else if ((e = find_target(inv, program, colon ? word : NULL, &p, err)) == 0)
		e = refuse_name(inv, program, q, p.name, err);
	else if (e > 0)
		e = define_at(inv, q, &p, name, err);
	else
		e = at_name(q, err);
	if (p.module)
		sym_close(p.module);
	free(program);
	free(word);
	return e;
}

int function_event_arm(struct invocation *inv, const char *const *functions,
		       const struct option *events, struct err *err)
{
	static const char *const uses[] = { "arg1", NULL };
	int e = 0;

	for (; *functions && !e; functions++) {
		const size_t n = strlen(*functions);
		const struct function_question q = { *functions, 0, n, uses, false };
		const char *name;
		/* A C library without one of the functions, musl for example, is no fault: its
		 * event is not armed. */
		struct err absent;

		if (!function_event_define(inv, &q, &name, &absent))
			e = set_setting(inv, events, name, err);
	}
	return e;
}
