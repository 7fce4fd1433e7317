/* SPDX-License-Identifier: MIT */
/* Writes what an expression of the source stands for (sym/source.h) as an argument of
 * uprobe_events: registers, offsets, loads, a type. source_probe.c calls it, on its thread. Faults
 * are sentences with the column in the word. */
#include "image/source_arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/probe_regs.h"
#include "arch/reg_names.h"
#include "base/mem.h"
#include "base/prototype.h"
#include "image/known_functions.h"
#include "shared/fetch.h"

#define VALUE "$retval"

/* A word's parts: [name=]expression[:type], n_* characters of each. */
struct source_word {
	const char *text, *name, *expression, *type;
	size_t n, n_name, n_expression, n_type;
};

/* [NAME=]EXPRESSION[:TYPE]. All pointers are into word, n bytes. */
static struct source_word take_apart(const char *word, size_t n)
{
	const char *equals = memchr(word, '=', n), *end = word + n, *colon = NULL;
	struct source_word w = { .text = word, .n = n, .name = word,
				 .n_name = equals ? (size_t)(equals - word) : 0,
				 .expression = equals ? equals + 1 : word };

	/* A type stands behind a colon; two of them are C++'s. */
	for (const char *at = w.expression; at < end; at++) {
		if (at + 1 < end && at[0] == ':' && at[1] == ':')
			at++;
		else if (*at == ':')
			colon = at;
	}
	w.n_expression = (size_t)((colon ? colon : end) - w.expression);
	w.type = colon ? colon + 1 : end;
	w.n_type = (size_t)(end - w.type);
	return w;
}

/* Names begin with a letter; *, & and parentheses may stand before them. $retval is the kernel's
 * own, but for what it leads to. */
bool source_argument_is(const char *word, size_t n)
{
	struct source_word w = take_apart(word, n);
	const char *at = w.expression, *end = at + w.n_expression;
	bool leads = false;

	for (; at < end && (*at == '*' || *at == '&' || *at == '('); at++)
		leads = true;
	if (at < end && (isalpha((unsigned char)*at) || *at == '_'))
		return true;
	if ((size_t)(end - at) < 7 || memcmp(at, "$retval", 7) != 0)
		return false;
	at += 7;
	return leads || (at < end && (*at == '.' || *at == '[' || *at == '-'));
}

/* perf probe's two words for many variables at once. */
bool source_argument_is_all(const char *word, size_t n)
{
	return (n == 5 && !memcmp(word, "$vars", 5)) || (n == 7 && !memcmp(word, "$params", 7));
}

/* --- chains as text --------------------------------------------------------------------------- */

/* NULL: a register that a probe does not keep. */
static char *base_text(const struct sym_chain *c)
{
	static const uint8_t numbers[] = PROBE_OF_DWARF;

	if (c->base == SYM_CHAIN_RESULT)
		return mem_strdup("$retval");
	return c->reg < sizeof(numbers) ? mem_printf("%%%s", reg_names_of(numbers[c->reg])) : NULL;
}

/* Returns the first load's text: an address is absolute, or counts in the probed file from where it
 * would have the instruction. (@ADDR and @+OFFSET of the kernel's uprobetracer.rst.) */
static char *first_load(const struct source_place_of_arguments *p, const struct sym_chain *c)
{
	int64_t at = c->offsets[0];
	char *base, *text;

	if (c->base == SYM_CHAIN_NUMBER)
		return mem_printf("@0x%llx", (unsigned long long)at);
	if (c->base == SYM_CHAIN_ADDRESS)
		return mem_printf("@+0x%llx", (unsigned long long)((uint64_t)at - p->vaddr +
								   p->offset));
	base = base_text(c);
	text = base ? mem_printf("%+lld(%s)", (long long)at, base) : NULL;
	free(base);
	return text;
}

/* A number without loads. */
static char *plain_text(const struct source_place_of_arguments *p, const struct sym_chain *c)
{
	char *text, *whole;

	if (c->base == SYM_CHAIN_NUMBER)
		return mem_printf("\\%lld", (long long)c->offsets[0]);
	if (!c->offsets[0] && c->base != SYM_CHAIN_ADDRESS)
		return base_text(c);
	text = first_load(p, c);
	whole = text ? mem_printf("&%s", text) : NULL;
	free(text);
	return whole;
}

/* memory: what is at the chain's address. NULL: it is in a register that a probe does not keep. */
static char *chain_text(const struct source_place_of_arguments *p, const struct sym_chain *c,
			bool memory)
{
	unsigned loads = c->loads + memory;
	char *text, *more;

	if (!loads)
		return plain_text(p, c);
	text = first_load(p, c);
	for (unsigned i = 1; text && i < loads; i++) {
		more = mem_printf("%+lld(%s)", (long long)c->offsets[i], text);
		free(text);
		text = more;
	}
	if (!text || memory || !c->offsets[c->loads])
		return text;
	more = mem_printf("&%+lld(%s)", (long long)c->offsets[c->loads], text);
	free(text);
	return more;
}

/* --- values as text --------------------------------------------------------------------------- */

/* Whether the user's type is `string`, perhaps an array of them. Seven characters are `ustring`,
 * the kernel's word for a string in the program's memory. */
static bool is_string(const struct source_word *w)
{
	size_t n = w->n_type >= 7 && *w->type == 'u' ? 7 : 6;

	return w->n_type >= n && !memcmp(w->type + (n - 6), "string", 6);
}

/* The value, or for a string the memory that it is in. uprobe_events' `string` wants the place of
 * the characters, not the pointer to them: a load stands around the pointer. */
static char *value_text(const struct source_place_of_arguments *p, const struct sym_fetched *f,
			const struct source_word *w)
{
	char *text = chain_text(p, &f->chain, f->memory), *string;
	bool pointer = f->type == SYM_FETCHED_STRING_AT || f->type == SYM_FETCHED_POINTER;

	if (!text || f->count || !pointer ||
	    !(w->n_type ? is_string(w) && !memchr(w->type, '[', w->n_type)
			: f->type == SYM_FETCHED_STRING_AT))
		return text;
	string = mem_printf("+0(%s)", text);
	free(text);
	return string;
}

/* Returns the type in the words of a fetch argument, for free(). b<bits>@<shift>/<container> is the
 * kernel's bit field. */
static char *type_text(const struct sym_fetched *f)
{
	char count[24] = "";

	if (f->count)
		snprintf(count, sizeof(count), "[%u]", (unsigned)f->count);
	if (f->bits)
		return mem_printf("b%u@%u/%u", f->bits, f->shift, f->size * 8u);
	switch (f->type) {
	case SYM_FETCHED_SIGNED: return mem_printf("s%u%s", f->size * 8u, count);
	case SYM_FETCHED_UNSIGNED: return mem_printf("u%u%s", f->size * 8u, count);
	case SYM_FETCHED_CHAR: return mem_printf("char%s", count);
	case SYM_FETCHED_POINTER: return mem_printf("x64%s", count);
	default: return mem_printf("string%s", count);
	}
}

/* --- numbers of arguments --------------------------------------------------------------------- */

#define CALLED_WITH 6u /* arguments in registers */

/* Number of the argument in the register, n characters; 0: it holds none. */
static unsigned argument_in(const char *name, size_t n)
{
	for (unsigned i = 1; i <= CALLED_WITH; i++)
		if (strlen(reg_names_argument(i)) == n &&
		    !memcmp(reg_names_argument(i), name, n))
			return i;
	return 0;
}

/* Registers become $argN, which the agent keeps from the entry to the return. NULL: one is none
 * that carries an argument. For free(). The stack pointer is of use where the function begins
 * alone: at the return it is another one. */
char *source_argument_numbered(const char *text, bool at_return)
{
	char *made = mem_strdup(""), *more;

	while (*text) {
		size_t plain = strcspn(text, "%"), n = 0;
		unsigned number = 0;

		while (text[plain] && isalnum((unsigned char)text[plain + 1 + n]))
			n++;
		if (text[plain])
			number = argument_in(text + plain + 1, n);
		if (text[plain] && !number &&
		    (at_return || n != 2 || memcmp(text + plain + 1, "sp", 2))) {
			free(made);
			return NULL;
		}
		if (number)
			more = mem_printf("%s%.*s$arg%u", made, (int)plain, text, number);
		else
			more = mem_printf("%s%.*s%s", made, (int)plain, text,
					  text[plain] ? "$stack" : "");
		free(made);
		made = more;
		text += plain + (text[plain] ? 1 + n : 0);
	}
	return made;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Once for a place; source_arguments_end() closes it. */
static int open_scope(struct source_place_of_arguments *p, struct err *err)
{
	int r = p->source ? 0 : sym_source_open(p->m, &p->source, err);

	if (r == 0 && !p->scope)
		r = sym_scope_at(p->source, p->vaddr, &p->scope, err);
	return r;
}

/* Writes [NAME=]FETCHARG:TYPE. Without the user's type the whole array is meant, and an event has
 * room for FETCH_COUNT_MAX elements: fewer, without a word, would be a wrong answer. */
static char *argument_text(struct source_place_of_arguments *p, const struct source_word *w,
			   const struct sym_fetched *f, struct err *err)
{
	char *value, *type, *whole;
	size_t at = (size_t)(w->expression - w->text);

	if (f->count > FETCH_COUNT_MAX && !w->n_type) {
		err_at(err, EINVAL, w->text, at,
		       "%s has %llu elements, of which an event has at most %u: write a type, as in :x32[8], or name one",
		       f->name, (unsigned long long)f->count, FETCH_COUNT_MAX);
		return NULL;
	}
	value = value_text(p, f, w);
	if (!value) {
		err_at(err, EINVAL, w->text, at,
		       "%s is in a vector register here, which a probe does not fetch", f->name);
		return NULL;
	}
	type = w->n_type ? mem_strndup(w->type, w->n_type) : type_text(f);
	whole = w->n_name ? mem_printf("%.*s=%s:%s", (int)w->n_name, w->name, value, type)
			  : mem_printf("%s=%s:%s", f->name, value, type);
	free(value);
	free(type);
	return whole;
}

/* Whether the expression begins at $retval: the rest of it leads from there. Anything before it are
 * operators: *, & and parentheses. */
static bool is_value(const struct source_word *w)
{
	const char *at = memchr(w->expression, '$', w->n_expression);

	return at && w->n_expression - (size_t)(at - w->expression) >= 7 && !memcmp(at, "$retval", 7);
}

/* The argument in uprobe_events' words, for free(); NULL and *err, whose column is in word. */
char *source_argument(struct source_place_of_arguments *p, const char *word, size_t n,
		      struct err *err)
{
	struct source_word w = take_apart(word, n);
	size_t at = (size_t)(w.expression - word);
	struct sym_fetched f;
	struct err why;
	char *text, *numbered;
	bool kept;
	int r = open_scope(p, err);

	if (r < 0) {
		why = *err;
		err_at(err, -r, word, at, "%s", why.text);
		return NULL;
	}
	kept = p->at_return && !is_value(&w);
	r = sym_scope_fetch(p->scope, w.expression, w.n_expression, p->at_return && !kept,
			    w.n_type, &f, &why);
	/* A variable that is not there at the begin is refused as one of the return. */
	if (r < 0 && kept)
		r = sym_scope_fetch(p->scope, w.expression, w.n_expression, true, w.n_type, &f,
				    &why);
	if (r < 0) {
		err_at(err, -r, word, at + why.column, "%s", why.text);
		return NULL;
	}
	text = argument_text(p, &w, &f, err);
	if (!kept || !text)
		return text;
	numbered = source_argument_numbered(text, true);
	free(text);
	if (!numbered)
		err_at(err, EINVAL, word, at,
		       "%s is in no register when the function begins: of its variables only the arguments are kept for the return",
		       f.name);
	return numbered;
}

/* Names the variables that can be fetched: one that is optimized away is left out silently, as by
 * perf probe. */
char *source_arguments_all(struct source_place_of_arguments *p, bool parameters, struct err *err)
{
	char *all, *one, *more;
	sym_variables variables;
	struct err ignored;

	if (open_scope(p, err) < 0)
		return NULL;
	all = mem_strdup("");
	sym_scope_variables(p->scope, &variables);
	for (size_t i = 0; i < variables.n; i++) {
		const struct sym_variable *v = &variables.at[i];

		if (v->why || (parameters && !v->parameter))
			continue;
		one = source_argument(p, v->name, strlen(v->name), &ignored);
		more = mem_printf("%s%s%s", all, one ? " " : "", one ? one : "");
		free(all);
		free(one);
		all = more;
	}
	sym_variables_free(&variables);
	return all;
}

static bool is_whole(const struct sym_fetched *f)
{
	return (f->type == SYM_FETCHED_SIGNED || f->type == SYM_FETCHED_UNSIGNED) && !f->bits &&
	       !f->count && !f->memory;
}

/* source_argument_returned(), by a line of base/prototype.h. */
static int manual_type(const char *prototype, char **type)
{
	struct prototype p;
	const struct prototype_value *v = &p.returns;

	if (!prototype_parse(prototype, &p))
		return 0;
	if (v->type == PROTOTYPE_SIGNED || v->type == PROTOTYPE_UNSIGNED)
		*type = mem_printf("%c%u", v->type == PROTOTYPE_SIGNED ? 's' : 'u', v->size * 8u);
	return v->type == PROTOTYPE_VOID ? -ENODATA : 0;
}

int source_argument_returned(struct source_place_of_arguments *p, const char *symbol, char **type)
{
	const char *manual = symbol ? known_functions_prototype(p->m->path, symbol) : NULL;
	struct sym_fetched f;
	struct err ignored;
	int r;

	*type = NULL;
	if (manual)
		return manual_type(manual, type);
	sym_scope_free(p->scope);
	p->scope = NULL;
	if (open_scope(p, &ignored) < 0)
		return 0;
	r = sym_scope_fetch(p->scope, VALUE, strlen(VALUE), true, false, &f, &ignored);
	if (r == 0 && is_whole(&f))
		*type = type_text(&f);
	return r == -ENODATA ? r : 0;
}

bool source_argument_is_value(const char *word, size_t n)
{
	struct source_word w = take_apart(word, n);

	return w.n_expression == strlen(VALUE) && w.expression + w.n_expression == word + n &&
	       !memcmp(w.expression, VALUE, strlen(VALUE));
}

void source_arguments_end(struct source_place_of_arguments *p)
{
	sym_scope_free(p->scope);
	sym_source_close(p->source);
	p->scope = NULL;
	p->source = NULL;
}
