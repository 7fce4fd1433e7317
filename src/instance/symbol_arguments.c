/* SPDX-License-Identifier: MIT */
/* Arguments of kprobe_events and of f: by the names of the source: parameters, members, what they
 * lead to. They become $argN and loads from there, which are there at a function's begin and, kept
 * by the agent, at its return. The tree calls, on the thread that writes a definition. A file
 * without debug information has no names. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/reg_names.h"
#include "base/mem.h"
#include "image/source_arguments.h"
#include "event/probe_line.h"
#include "instance/symbols.h"

#define VALUE "$retval"

/* The function's source, opened. False: its file cannot be read. */
struct function_source {
	struct sym_module *module;
	struct source_place_of_arguments place;
};

static bool open_source(const struct symbol_match *place, struct function_source *out)
{
	struct err ignored;

	*out = (struct function_source){ 0 };
	if (sym_open(place->path, &out->module, &ignored) < 0)
		return false;
	out->place = (struct source_place_of_arguments){ .m = out->module, .vaddr = place->vaddr,
							 .offset = place->offset };
	return true;
}

static void close_source(struct function_source *s)
{
	source_arguments_end(&s->place);
	sym_close(s->module);
}

/* The kernel's sentence about a file that has no debug information. */
static int refuse_names(const char *word, struct err *err)
{
	return err_at(err, EINVAL, word, 0, "BTF is not available or not supported");
}

/* Says in the kernel's words that the function has no such name; another fault stays. */
static int refuse_name(const char *word, struct err *err)
{
	struct err why = *err;

	if (why.code == ENODATA)
		return refuse_names(word, err);
	return err_at(err, EINVAL, word, why.column, "%s",
		      why.code == ENOENT ? "This variable is not found at this probe point"
					 : why.text);
}

/* The function's parameter number N, from 1 on, or NULL: its name, which the caller frees. *known:
 * its parameters are told. */
static char *name_of(struct function_source *s, unsigned long number, bool *known)
{
	struct err ignored;
	sym_variables v;
	char *name = NULL;
	unsigned long n = 0;

	*known = sym_source_open(s->module, &s->place.source, &ignored) == 0 &&
		 sym_scope_at(s->place.source, s->place.vaddr, &s->place.scope, &ignored) == 0;
	if (!*known)
		return NULL;
	sym_scope_variables(s->place.scope, &v);
	for (size_t i = 0; i < v.n; i++)
		if (v.at[i].parameter && ++n == number)
			name = mem_strdup(v.at[i].name);
	sym_variables_free(&v);
	/* A function that is declared without parameters may have some. */
	*known = n;
	return name;
}

/* Checks $argN: a parameter that a known function lacks is refused; $argN alone gets the
 * parameter's name and type. */
static int check_number(const struct symbol_match *place, const char *word, char **out,
			struct err *err)
{
	const char *at = strstr(word, "$arg") + strlen("$arg");
	struct function_source s;
	struct err ignored;
	char *name, *text = NULL;
	bool known;

	if (!isdigit((unsigned char)*at) || !open_source(place, &s))
		return 0;
	name = name_of(&s, strtoul(at, NULL, 10), &known);
	if (name && probe_line_is_number(word))
		text = source_argument(&s.place, name, strlen(name), &ignored);
	*out = text ? source_argument_numbered(text, place->returns) : NULL;
	close_source(&s);
	free(text);
	free(name);
	return name || !known ? 0
			      : err_at(err, EINVAL, word, (size_t)(at - strlen("$arg") - word),
				       "This variable is not found at this probe point");
}

/* Refuses $retval, without a type, of a function that is known to return nothing; alone it gets the
 * type that is known. */
static int check_value(const struct symbol_match *place, const char *word, char **out,
		       struct err *err)
{
	struct function_source s;
	char *type;
	int r;

	if (strchr(word, ':') || !open_source(place, &s))
		return 0;
	r = source_argument_returned(&s.place, place->symbol, &type);
	if (type && source_argument_is_value(word, strlen(word)))
		*out = mem_printf("%s:%s", word, type);
	free(type);
	close_source(&s);
	return r < 0 ? err_at(err, EINVAL, word, (size_t)(strstr(word, VALUE) - word),
			      "This function returns 'void' type")
		     : 0;
}

int symbols_argument(void *arg, const struct symbol_match *place, const char *word, char **out,
		     struct err *err)
{
	struct function_source s;
	char *text;

	*out = NULL;
	if (!source_argument_is(word, strlen(word)))
		return strstr(word, "$arg") ? check_number(place, word, out, err)
		       : strstr(word, VALUE) ? check_value(place, word, out, err)
					     : 0;
	if (!open_source(place, &s))
		return refuse_names(word, err);
	s.place.at_return = strstr(word, VALUE);
	text = source_argument(&s.place, word, strlen(word), err);
	*out = text ? source_argument_numbered(text, place->returns) : NULL;
	close_source(&s);
	if (!text)
		return refuse_name(word, err);
	free(text);
	return *out ? 0
		    : err_at(err, EINVAL, word, 0,
			     "this is no argument of the function, nor reached from one");
}

char *symbols_parameters(void *arg, const struct symbol_match *place, struct err *err)
{
	struct function_source s;
	char *text = NULL, *made;

	if (!open_source(place, &s)) {
		refuse_names("$arg*", err);
		return NULL;
	}
	text = source_arguments_all(&s.place, true, err);
	close_source(&s);
	made = text ? source_argument_numbered(text + strspn(text, " "), place->returns) : NULL;
	free(text);
	if (!made)
		refuse_names("$arg*", err);
	return made;
}
