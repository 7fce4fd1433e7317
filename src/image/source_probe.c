/* SPDX-License-Identifier: MIT */
/* Makes lines of uprobe_events from definitions in the source's words. The command line
 * (ui/probe_option.c) and the tree (tree/dynamic_define.c) call it, on the thread that has the
 * text; nothing is kept. A fault is one sentence, at its column of the text. */
#include "image/source_probe.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/reg_names.h"
#include "base/file.h"
#include "base/mem.h"
#include "image/source_arguments.h"
#include "sym/inlined.h"
#include "sym/named.h"

#define PLACES_MOST 64u       /* of one definition */

/* --- places ----------------------------------------------------------------------------------- */

/* PLACE's parts; each NULL or 0 if it is not there. */
struct place_words { char *function, *file; uint64_t offset; uint32_t line; bool has_line; };

static bool is_decimal(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Cuts +OFFSET off. */
static int take_offset(char *place, struct place_words *w, struct err *err)
{
	char *plus = strrchr(place, '+'), *rest;

	/* C++'s operators have a plus in their names. */
	if (!plus || (!isdigit((unsigned char)plus[1]) && strstr(place, "operator")))
		return 0;
	errno = 0;
	w->offset = strtoull(plus + 1, &rest, 0);
	if (!isdigit((unsigned char)plus[1]) || *rest || errno)
		return err_at(err, EINVAL, place, (size_t)(plus - place),
			      "behind + stands a number of bytes: %s", place);
	*plus = '\0';
	return 0;
}

/* place is cut up, and what *w points to lies in it. A line of at most nine digits fits in 32 bits,
 * also with a function's own line added. */
static int take_place_apart(char *place, struct place_words *w, struct err *err)
{
	char *colon = strrchr(place, ':'), *at;
	int r = 0;

	*w = (struct place_words){ 0 };
	if (colon && is_decimal(colon + 1)) {
		if (strlen(colon + 1) > 9)
			return err_at(err, EINVAL, place, (size_t)(colon + 1 - place),
				      "there is no such line");
		w->line = (uint32_t)strtoul(colon + 1, NULL, 10);
		w->has_line = true;
		*colon = '\0';
	} else {
		r = take_offset(place, w, err);
	}
	at = strchr(place, '@');
	/* A file's name has a dot, or a folder before it; a function's has neither. */
	if (!at && w->has_line && strpbrk(place, "./")) {
		w->file = place;
		return r;
	}
	if (at)
		*at = '\0';
	w->file = at ? at + 1 : NULL;
	w->function = place;
	return r;
}

/* Characters that no event's name has become underlines. 55 bytes of the name and "_L" with a
 * line's ten digits fit in p->name. */
static void name_place(struct source_place *p, const char *name, uint32_t line, bool has_line)
{
	int n = snprintf(p->name, 56, "%.*s", (int)strcspn(name, "+@."), name);

	if (has_line)
		snprintf(p->name + (n < 55 ? n : 55), 24, "_L%u", line);
	for (char *c = p->name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	if (isdigit((unsigned char)*p->name))
		*p->name = '_';
}

/* Adds a place once: a line may have several entries with one address. Beyond PLACES_MOST none is
 * added, since each is an event's place that costs. */
static void add_source_place(source_places *out, uint64_t vaddr, const char *name, uint32_t line,
			     bool has_line)
{
	struct source_place *p;

	for (size_t i = 0; i < out->n; i++)
		if (out->at[i].vaddr == vaddr)
			return;
	if (out->n == PLACES_MOST)
		return;
	p = vec_add(out);
	*p = (struct source_place){ .vaddr = vaddr };
	name_place(p, name, line, has_line);
}

/* Finds what needs the debug information: a line, or a function of a file. Behind a function a line
 * counts from the function's own, as in perf probe; behind a file, where f.line is 0, it is the
 * file's. */
static int find_in_source(struct sym_source_info *s, const struct place_words *w,
			  source_places *out, struct err *err)
{
	struct sym_source_function f = { 0 };
	sym_source_places places;
	int r = w->function ? sym_source_function(s, w->function, w->file, &f, err) : 0;

	if (r == 0 && w->has_line) {
		r = sym_source_line(s, w->function ? f.path : w->file, f.line + w->line,
				    w->function, &places, err);
		for (size_t i = 0; r == 0 && i < places.n; i++)
			add_source_place(out, places.at[i].vaddr,
					 w->function		? w->function
					 : *places.at[i].function ? places.at[i].function
								: w->file,
					 w->line, true);
		if (r == 0)
			vec_free(&places);
	} else if (r == 0 && f.vaddr) {
		add_source_place(out, f.vaddr + w->offset, w->function, 0, false);
	} else if (r == 0) {
		r = err_set(err, ENOENT, "%s has no code of its own", w->function);
	}
	free(f.path);
	return r;
}

/* Finds the inlined copies of a function without code of its own. */
static void find_copies(const struct sym_module *m, const char *name, source_places *out)
{
	struct sym_inlined in;
	struct err ignored;

	if (sym_inlined_find(m, name, &in, &ignored))
		return;
	for (size_t i = 0; i < in.copies.n; i++)
		if (in.copies.at[i].vaddr)
			add_source_place(out, in.copies.at[i].vaddr, name, 0, false);
	sym_inlined_free(&in);
}

/* Sets the error of a name that is not there, with the one that is most like it. */
static int no_function(const struct sym_module *m, const char *name, struct err *err)
{
	const char *near;

	if (sym_nearest(m, name, &near, 1))
		return err_set(err, EINVAL, "%s has no function %s; did you mean %s?", m->path,
			       name, near);
	return err_set(err, EINVAL, "%s has no function %s", m->path, name);
}

/* Finds SYMBOL[+OFFSET]: in the symbols, or else in the debug information. Symbols go first: they
 * are read in no time, and a stripped program has them of what it exports. */
static int find_symbol(const struct sym_module *m, const struct place_words *w, source_places *out,
		       struct err *err)
{
	struct sym_source_info *s;
	struct sym_named named;
	struct err ignored;
	int found = sym_named_find(m, w->function, &named, err);

	if (found < 0)
		return found;
	if (found) {
		add_source_place(out, named.vaddr + w->offset, w->function, 0, false);
		return 0;
	}
	if (sym_source_open(m, &s, &ignored) == 0) {
		find_in_source(s, w, out, &ignored);
		sym_source_close(s);
	}
	if (!out->n && !w->offset)
		find_copies(m, w->function, out);
	return out->n ? 0 : no_function(m, w->function, err);
}

/* By address, so that numbers behind the names (_1, _2) are the same each time. */
static int place_order(const void *a, const void *b)
{
	const struct source_place *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* On failure *out is empty. A number alone is an offset in the file, as in uprobe_events. */
int source_probe_find(const struct sym_module *m, const char *place, source_places *out,
		      struct err *err)
{
	char *words = mem_strdup(place), *rest;
	uint64_t offset = strtoull(place, &rest, 0), vaddr;
	struct sym_source_info *s;
	struct place_words w;
	int r;

	*out = (source_places){ 0 };
	if (isdigit((unsigned char)*place) && !*rest) {
		free(words);
		if (!sym_code_vaddr(m, offset, &vaddr))
			return err_at(err, EINVAL, place, 0, "there is no code at this offset");
		add_source_place(out, vaddr, "", 0, false);
		return 0;
	}
	r = take_place_apart(words, &w, err);
	if (r == 0 && (w.has_line || w.file)) {
		r = sym_source_open(m, &s, err);
		if (r == 0) {
			r = find_in_source(s, &w, out, err);
			sym_source_close(s);
		}
	} else if (r == 0) {
		r = find_symbol(m, &w, out, err);
	}
	free(words);
	if (r < 0)
		vec_free(out);
	else
		qsort(out->at, out->n, sizeof(out->at[0]), place_order);
	return r;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A line under way. */
struct line_making { struct source_line out; FILE *to; size_t n_bytes; };

/* Adds n characters that come from a column of the text. A memory stream sets n_bytes only when it
 * is flushed. */
static void put_span(struct line_making *l, size_t from, const char *text, size_t n, bool same)
{
	fflush(l->to);
	*vec_add(&l->out.spans) = (struct source_span){ l->n_bytes, from, same };
	fwrite(text, 1, n, l->to);
}

/* A span that is brace's own: a fault in it is shown at `from`, whatever its column. */
static void put_text(struct line_making *l, size_t from, const char *text)
{
	put_span(l, from, text, strlen(text), false);
}

/* From a column of the made line to one of the user's text: the kernel-like parser sees the line,
 * and the user wrote the text. */
size_t source_line_column(const struct source_line *l, size_t column)
{
	size_t i = vec_bisect(&l->spans, span, span->made <= column);
	const struct source_span *p = i ? &l->spans.at[i - 1] : NULL;

	return !p ? column : p->same ? p->from + (column - p->made) : p->from;
}

#define NUMBERED "$arg"
#define NUMBERED_BYTES (sizeof("$argN") - 1)

/* Returns the register that has the argument which `at` begins with, $arg1 to $arg6; else NULL. A
 * second digit behind it is another argument, $arg12, not $arg1 and a 2. */
static const char *numbered_register(const char *at, const char *end)
{
	const size_t n = strlen(NUMBERED);

	if ((size_t)(end - at) <= n || memcmp(at, NUMBERED, n) != 0 ||
	    !isdigit((unsigned char)at[n]) ||
	    (at + n + 1 < end && isdigit((unsigned char)at[n + 1])))
		return NULL;
	return reg_names_argument((unsigned)(at[n] - '0'));
}

/* Copies a word, $arg1 to $arg6 as the registers that have them when the function begins. Others
 * stay, and are refused as in uprobe_events. */
static void put_kernel_word(struct line_making *l, const char *text, size_t from, size_t n,
			    bool numbered)
{
	const char *at = text + from, *end = at + n, *begin = at;

	while (at < end) {
		const char *reg = numbered ? numbered_register(at, end) : NULL;

		if (!reg) {
			at++;
			continue;
		}
		put_span(l, (size_t)(begin - text), begin, (size_t)(at - begin), true);
		put_span(l, (size_t)(at - text), "%", 1, false);
		fputs(reg, l->to);
		at += NUMBERED_BYTES;
		begin = at;
	}
	put_span(l, (size_t)(begin - text), begin, (size_t)(at - begin), true);
}

/* Adds one argument of the text, n characters from a column on. */
static int put_argument(struct line_making *l, const struct source_definition *d,
			struct source_place_of_arguments *p, size_t from, size_t n, struct err *err)
{
	const char *word = d->text + from;
	bool all = source_argument_is_all(word, n);
	struct err why = { 0 };
	char *made;

	if (!all && !source_argument_is(word, n)) {
		put_span(l, from, " ", 1, false);
		put_kernel_word(l, d->text, from, n, p->numbered);
		if (d->value_type && source_argument_is_value(word, n)) {
			put_text(l, from, ":");
			put_text(l, from, d->value_type);
		}
		return 0;
	}
	made = all ? source_arguments_all(p, word[1] == 'p', &why)
		   : source_argument(p, word, n, &why);
	if (!made)
		return err_at(err, why.code, d->text, from + (all ? 0 : why.column), "%s", why.text);
	if (!all)
		put_span(l, from, " ", 1, false);
	put_text(l, from, made);
	free(made);
	return 0;
}

/* Blanks part arguments, as in uprobe_events; those of a type's name are not possible. */
static int put_arguments(struct line_making *l, const struct source_definition *d,
			 struct source_place_of_arguments *p, struct err *err)
{
	int r = 0;

	for (size_t at = d->arguments; r == 0;) {
		size_t n;

		at += strspn(d->text + at, " \t");
		n = strcspn(d->text + at, " \t");
		if (!n)
			break;
		r = put_argument(l, d, p, at, n, err);
		at += n;
	}
	return r;
}

/* "p:NAME"; the place names an event that has no name, as perf does. A head of one character is
 * "p", of two "p:"; a longer one has a name of the user's. Only names of the first place are
 * without a number. */
static void put_head(struct line_making *l, const struct source_definition *d,
		     const struct source_place *place, size_t i)
{
	char *more = i ? mem_printf("_%zu", i) : mem_strdup("");

	put_span(l, 0, d->text, d->head, true);
	if (d->head < 3 && *place->name) {
		put_text(l, 0, d->head == 1 ? ":" : "");
		put_text(l, d->place_column, place->name);
	}
	if (d->head >= 3 || *place->name)
		put_text(l, 0, more);
	free(more);
}

/* Makes the line of the i-th place. Numbers of arguments hold where a function begins alone: later
 * the registers have other values. */
static int make_line(const struct source_definition *d, const struct sym_module *m,
		     const struct source_place *place, size_t i, bool returns,
		     struct source_line *out, struct err *err)
{
	struct source_place_of_arguments p = { .m = m, .vaddr = place->vaddr,
					       .at_return = returns || *d->text == 'r' };
	struct line_making l = { 0 };
	const struct sym_function *f = sym_at(m, place->vaddr);
	char *text;
	int r;

	p.numbered = !p.at_return && f != NULL;
	if (!sym_code_offset(m, place->vaddr, &p.offset))
		return err_at(err, EINVAL, d->text, d->place_column, "there is no code at this place");
	l.to = mem_stream(&l.out.line, &l.n_bytes);
	put_head(&l, d, place, i);
	text = mem_printf(" %s:0x%llx%s", d->path, (unsigned long long)p.offset,
			  returns ? "%return" : "");
	put_text(&l, d->place_column, text);
	free(text);
	r = put_arguments(&l, d, &p, err);
	mem_stream_close(l.to, &l.out.line);
	source_arguments_end(&p);
	*out = l.out;
	return r;
}

/* Cuts %return off. False: another suffix. */
static bool take_suffix(char *place, bool *returns)
{
	char *suffix = strchr(place, '%');

	*returns = suffix && !strcmp(suffix, "%return");
	if (*returns)
		*suffix = '\0';
	return !suffix || *returns;
}

/* Each place of the definition becomes a line, since an inlined function is in many. A line that
 * failed is added, too, so that source_lines_free() has its texts. */
static int make_lines(const struct source_definition *d, const struct sym_module *m,
		      const char *place, bool returns, source_lines *out, struct err *err)
{
	source_places places;
	struct err why = { 0 };
	int r = source_probe_find(m, place, &places, &why);

	if (r < 0)
		return err_at(err, -r, d->text, d->place_column + why.column, "%s", why.text);
	for (size_t i = 0; i < places.n && r == 0; i++) {
		struct source_line line = { 0 };

		r = make_line(d, m, &places.at[i], i, returns, &line, err);
		*vec_add(out) = line;
	}
	vec_free(&places);
	return r;
}

/* 0, or -errno and *err with an empty *out. */
int source_probe_lines(const struct source_definition *d, source_lines *out, struct err *err)
{
	char *place = mem_strdup(d->place);
	struct sym_module *m = NULL;
	struct err why;
	bool returns;
	int r = 0;

	*out = (source_lines){ 0 };
	if (!take_suffix(place, &returns))
		r = err_at(err, EINVAL, d->text, d->place_column + strcspn(place, "%"),
			   "Invalid probed address suffix");
	else if (sym_open(d->path, &m, &why) < 0)
		r = err_at(err, EINVAL, d->text, d->place_column, "%s", why.text);
	else
		r = make_lines(d, m, place, returns, out, err);
	if (m)
		sym_close(m);
	free(place);
	if (r < 0)
		source_lines_free(out);
	return r;
}

void source_lines_free(source_lines *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->at[i].line);
		vec_free(&l->at[i].spans);
	}
	vec_free(l);
}

/* --- lines of the tree ------------------------------------------------------------------------ */

/* The end of PATH in PATH:PLACE: the first colon before which there is a regular file; 0: none. A
 * path may have colons, and so has a C++ function: only the file system knows which one parts
 * them. */
static size_t path_length(const char *word)
{
	struct stat is;

	for (const char *colon = strchr(word, ':'); colon; colon = strchr(colon + 1, ':')) {
		char *path = mem_strndup(word, (size_t)(colon - word));
		bool there = strchr(path, '/') && file_look(path, &is) && S_ISREG(is.st_mode);

		free(path);
		if (there)
			return (size_t)(colon - word);
	}
	return 0;
}

/* Whether the place or an argument is in the source's words. A number, with %return or a counter
 * behind it, is uprobe_events' own place. */
static bool is_of_source(const char *place, const char *arguments)
{
	char *rest;

	strtoull(place, &rest, 0);
	if (!isdigit((unsigned char)*place) || (*rest && *rest != '%' && *rest != '('))
		return isalpha((unsigned char)*place) || *place == '_' || strpbrk(place, ":/@");
	for (const char *at = arguments; *at;) {
		size_t n;

		at += strspn(at, " \t");
		n = strcspn(at, " \t");
		if (n && (source_argument_is(at, n) || source_argument_is_all(at, n)))
			return true;
		at += n;
	}
	return false;
}

/* Returns the number of lines that the text became; 0: it has no words of the source and stays as
 * it is. */
int source_probe_line(const char *line, source_lines *out, struct err *err)
{
	size_t head = strcspn(line, " \t"), at = head + strspn(line + head, " \t"),
	       n = strcspn(line + at, " \t"), path;
	struct source_definition d = { .text = line, .head = head, .arguments = at + n };
	char *word;
	int r = 0;

	*out = (source_lines){ 0 };
	if ((*line != 'p' && *line != 'r') || (line[1] != ':' && head != 1))
		return 0;
	word = mem_strndup(line + at, n);
	path = path_length(word);
	if (path && is_of_source(word + path + 1, line + d.arguments)) {
		word[path] = '\0';
		d.path = word;
		d.place = word + path + 1;
		d.place_column = at + path + 1;
		r = source_probe_lines(&d, out, err);
	}
	free(word);
	return r < 0 ? r : (int)out->n;
}
