/* SPDX-License-Identifier: MIT */
/* Definitions of events at functions by their symbols, as kprobe_events has them. probe_command.c
 * calls, on the thread that writes; the symbols' owner is asked for places. The order in which
 * parts are looked at, sentences and columns are the kernel's (__trace_kprobe_create). A fault is
 * -errno and such a sentence. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/probe_line.h"

#define ACTIVE_MAX 4096u /* MAXACTIVE of the kernel's */

/* The place, as its word is read. */
struct symbol_place {
	const struct probe_symbols *symbols;
	struct symbol_match place;
	char *symbol;              /* without module, offset and suffix */
	uint64_t more;             /* its offset */
	uint64_t address;          /* named in place of a symbol; 0: it is not */
	bool no_offset;            /* only functions are meant */
	bool returns;              /* it is the function's return */
};

/* Reads MAXACTIVE behind the letter. The colon comes back into the copy, since the name behind it
 * is still to be read. */
static int parse_active(const struct line_words *w, struct probe_command *c)
{
	char *digits = w->at[0] + 1, *colon = strchr(digits, ':');
	uint64_t n = 0;
	bool good;

	if (!isdigit((unsigned char)*digits))
		return *digits && *digits != ':'
			       ? probe_line_fault(w, digits, "behind the letter stands :[GRP/]EVENT")
			       : 0;
	if (!c->definition->returns && !c->definition->fprobe)
		return probe_line_fault(w, digits, "Maxactive is only for function exit");
	if (colon)
		*colon = '\0';
	good = probe_line_number(digits, &n);
	if (colon)
		*colon = ':';
	if (!good || !n)
		return probe_line_fault(w, digits, "Invalid maxactive number");
	if (n > ACTIVE_MAX)
		return probe_line_fault(w, digits, "Maxactive is too big");
	c->definition->active = (unsigned)n;
	return 0;
}

/* Finds the place that a number names. As in the kernel, what is a number is no symbol. */
static int find_address(const struct line_words *w, struct symbol_place *p)
{
	p->symbol = mem_printf("0x%" PRIx64, p->address);
	p->more = 0;
	return p->symbols->at && p->symbols->at(p->symbols->arg, p->address, &p->place)
		       ? 0
		       : probe_line_fault(w, w->at[1], "Failed to register probe event");
}

/* Cuts [MODULE:]SYMBOL[+OFFSET] and finds it. */
static int find_symbol(const struct line_words *w, struct symbol_place *p)
{
	const char *bad = p->no_offset ? "Failed to register probe event"
				       : "Invalid probed address or symbol";
	char *word = mem_strdup(w->at[1]), *colon = strchr(word, ':');
	char *symbol = colon ? colon + 1 : word, *plus = strchr(symbol, '+');
	unsigned n = 0;

	p->more = 0;
	if (plus)
		*plus = '\0';
	if (colon)
		*colon = '\0';
	p->symbol = mem_strdup(symbol);
	if (*p->symbol && !(plus && p->no_offset) &&
	    (!plus || (probe_line_number(plus + 1, &p->more) && p->more <= UINT32_MAX)))
		n = p->symbols->find(p->symbols->arg, colon ? word : NULL, p->symbol, p->more,
				     &p->place);
	free(word);
	if (n == 1)
		return 0;
	return n ? err_at(w->err, EADDRNOTAVAIL, w->line, (size_t)(w->at[1] - w->copy),
			  "The symbol is not unique")
		 : probe_line_fault(w, w->at[1], bad);
}

/* Reads the place and the suffix that makes it a return. */
static int parse_symbol(const struct line_words *w, struct symbol_place *p, struct probe_command *c)
{
	struct probe_definition *d = c->definition;
	char *suffix = strchr(w->at[1], '%'), *colon;
	uint64_t number;
	int r;

	if (suffix && strcmp(suffix, "%return") != 0)
		return probe_line_fault(w, suffix, "Invalid probed address suffix");
	if (suffix) {
		*suffix = '\0';
		d->returns = true;
	}
	/* A symbol may begin with digits, too. */
	if (p->no_offset || !probe_line_number(w->at[1], &p->address))
		p->address = 0;
	r = p->address ? find_address(w, p) : find_symbol(w, p);
	if (r < 0)
		return r;
	if (d->returns && !p->place.entry)
		return probe_line_fault(w, w->at[1], "Retprobe address must be an function entry");
	d->path = mem_strdup(p->place.path);
	d->offset = p->place.offset;
	/* SYM+0 is listed as SYM, but where that reads as an address. A module's name may have a +
	 * too: libstdc++.so.6. */
	colon = strchr(w->at[1], ':');
	if (p->address)
		d->symbol = mem_strdup(p->symbol);
	else if (p->more || (!colon && probe_line_number(p->symbol, &number)))
		d->symbol = mem_strdup(w->at[1]);
	else
		d->symbol = mem_printf("%.*s%s", colon ? (int)(colon + 1 - w->at[1]) : 0, w->at[1],
				       p->symbol);
	c->path_column = c->offset_column = (size_t)(w->at[1] - w->copy);
	return 0;
}

/* p_SYMBOL_OFFSET, p_0xADDRESS, SYMBOL__entry; whatever a name cannot have becomes an underline.
 * The symbol is cut so that the rest has room in PROBE_NAME_MAX: a `_` and "__entry" take 8, and an
 * offset in decimal 20. */
static char *name_itself(const struct probe_definition *d, const struct symbol_place *p)
{
	char *name;

	if (d->fprobe)
		name = mem_printf("%s%.*s__%s", isdigit((unsigned char)*p->symbol) ? "_" : "",
				  (int)PROBE_NAME_MAX - 8, p->symbol,
				  d->returns ? "exit" : "entry");
	else if (p->address)
		name = mem_printf("%c_%s", d->returns ? 'r' : 'p', p->symbol);
	else
		name = mem_printf("%c_%.*s_%llu", d->returns ? 'r' : 'p', (int)PROBE_NAME_MAX / 2,
				  p->symbol, (unsigned long long)p->more);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return name;
}

/* fetch_build.symbol */
static bool find_object(void *arg, const char *name, size_t n, int64_t *distance)
{
	const struct symbol_place *p = arg;
	uint64_t vaddr;

	if (!p->symbols->object(p->symbols->arg, &p->place, name, n, &vaddr))
		return false;
	*distance = (int64_t)(vaddr - p->place.vaddr);
	return true;
}

/* line_words.translate: names are a function's, known from its begin to its return. */
static int translate_argument(void *arg, const char *word, char **out, struct err *err)
{
	const struct symbol_place *p = arg;

	*out = NULL;
	/* $retval is refused at a function's begin, whatever its type. */
	if (!p->returns && strstr(word, "$retval"))
		return 0;
	return p->place.entry && p->symbols->argument
		       ? p->symbols->argument(p->symbols->arg, &p->place, word, out, err)
		       : 0;
}

/* line_words.all */
static char *expand_all(void *arg, struct err *err)
{
	const struct symbol_place *p = arg;

	if (p->place.entry && p->symbols->parameters)
		return p->symbols->parameters(p->symbols->arg, &p->place, err);
	err_set(err, EINVAL, "$arg* can be used only on function entry or exit");
	return NULL;
}

/* The arguments' part of a definition: translate and all are asked for names that the debug
 * information knows. */
static int compile(const struct line_words *words, struct symbol_place *p,
		   struct probe_command *c)
{
	struct line_words named = *words, *w = &named;
	struct fetch_build b;
	int r;

	named.translate = translate_argument;
	named.all = expand_all;
	named.arg = p;
	p->returns = p->place.returns = c->definition->returns;
	p->place.symbol = p->address ? NULL : p->symbol;

	if (c->definition->returns)
		fetch_begin_return(&b);
	else
		fetch_begin(&b);
	b.by_symbol = true;
	b.at_entry = p->place.entry && !c->definition->returns;
	b.no_registers = c->definition->fprobe;
	b.symbol = find_object;
	b.symbol_arg = p;
	r = probe_line_arguments(w, c, &b);
	if (r == 0)
		c->format = fetch_format(&b, c->event);
	fetch_free(&b);
	return r;
}

/* Whether an argument is, or has in it, $retval: the place is a return then. */
static bool wants_value(const struct line_words *w)
{
	for (size_t i = 2; i < w->n; i++) {
		const char *at = strstr(w->at[i], "$retval");

		if (at && !isalnum((unsigned char)at[7]) && at[7] != '_')
			return true;
	}
	return false;
}

/* Reads the parts of a line with f, in the kernel's order (__trace_fprobe_create). All but the
 * memory of *p. */
static int parse_fprobe(const struct line_words *w, struct symbol_place *p, struct probe_command *c)
{
	struct probe_definition *d = c->definition;
	char *name = strchr(w->at[0], ':'), *suffix = strchr(w->at[1], '%');
	int r = parse_active(w, c);

	p->no_offset = true;
	if (r < 0)
		return r;
	d->returns = suffix ? !strcmp(suffix, "%return") : wants_value(w);
	if (suffix && !d->returns)
		return probe_line_fault(w, suffix, "Invalid probed address suffix");
	if (d->active && !d->returns)
		return probe_line_fault(w, w->at[0] + 1, "Maxactive is only for function exit");
	r = name ? probe_line_name(w, name + 1, &c->group, &c->event) : 0;
	if (r == 0)
		r = parse_symbol(w, p, c);
	if (r < 0)
		return r;
	if (!c->group)
		c->group = mem_strdup("fprobes");
	if (!c->event)
		c->event = name_itself(d, p);
	return compile(w, p, c);
}

/* All but the memory of *p. */
static int parse_parts(const struct line_words *w, struct symbol_place *p, struct probe_command *c)
{
	char *name = strchr(w->at[0], ':');
	int r = parse_active(w, c);

	if (r == 0)
		r = parse_symbol(w, p, c);
	if (r == 0 && name)
		r = probe_line_name(w, name + 1, &c->group, &c->event);
	if (r < 0)
		return r;
	if (!c->group)
		c->group = mem_strdup("kprobes");
	if (!c->event)
		c->event = name_itself(c->definition, p);
	return compile(w, p, c);
}

/* c->definition is freed by probe_command_free(), also after a failure. */
int kprobe_command_definition(const struct line_words *w, const struct probe_symbols *symbols,
			      struct probe_command *c)
{
	struct symbol_place p = { .symbols = symbols };
	int r;

	if (w->n < 2)
		return probe_line_fault(w, w->at[0], "a probe's place is missing: p:NAME FUNCTION");
	c->definition = mem_zalloc(sizeof(*c->definition));
	c->definition->returns = *w->at[0] == 'r';
	c->definition->fprobe = *w->at[0] == 'f';
	r = (c->definition->fprobe ? parse_fprobe : parse_parts)(w, &p, c);
	free(p.symbol);
	free(p.place.path);
	return r;
}
