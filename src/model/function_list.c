/* SPDX-License-Identifier: MIT */
/* Parses and matches function patterns; the header describes the language. settings.c, the
 * planner's selection (image/) and instance/ use it. A list belongs to its settings; matching does
 * not change it, so that several threads may match in one list. A word that does not parse is
 * -EINVAL, with its column. */
#include "model/function_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/function_name.h"
#include "base/glob.h"
#include "base/path.h"
#include "model/function_condition.h"

static void pattern_free(struct function_pattern *p)
{
	free(p->text);
	free(p->glob);
	free(p->module);
	free(p->condition);
	free(p->returned);
}

/* l may be used again, as an empty list. */
void function_list_free(struct function_list *l)
{
	for (size_t i = 0; i < l->patterns.n; i++)
		pattern_free(&l->patterns.at[i]);
	vec_free(&l->patterns);
}

/* With texts of its own; pattern_free frees them. */
static struct function_pattern pattern_copy(const struct function_pattern *p)
{
	struct function_pattern c = *p;

	c.text = mem_strdup(p->text);
	c.glob = mem_strdup(p->glob);
	c.module = p->module ? mem_strdup(p->module) : NULL;
	c.condition = p->condition ? mem_strdup(p->condition) : NULL;
	c.returned = p->returned ? mem_strdup(p->returned) : NULL;
	return c;
}

/* --- parsing ------------------------------------------------------------------------ */

/* ftrace's commands on functions. settings.c takes them out of the text where they are supported
 * (function_command.h). A word with one that arrives here must not be taken for a name with colons
 * in it, which Go and Rust have. */
static const char *const commands[] = {
	"traceon", "traceoff", "snapshot", "stacktrace", "dump", "cpudump",
	"enable_event", "disable_event", "enable_hist", "disable_hist", "hist",
};

/* The kernel's function commands (traceoff, stacktrace, ...), which stand behind a colon in
 * set_ftrace_filter. */
static bool is_command(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strlen(commands[i]) == n && !memcmp(word, commands[i], n))
			return true;
	return false;
}

/* Where `:COMMAND` begins in the word, or NULL. `::` is part of names. */
static const char *find_command(const char *word)
{
	for (const char *p = strchr(word, ':'); p; p = strchr(p, ':')) {
		size_t colons = strspn(p, ":");

		p += colons;
		if (colons == 1 && is_command(p, strcspn(p, ":")))
			return p - 1;
	}
	return NULL;
}

/* A word of the text, with its column for errors. */
struct word {
	const char *text; /* the whole text written */
	size_t column;    /* where the word begins in it */
	char *s;          /* the word */
	bool is_module;   /* a pattern of module names, not functions */
};

#define word_error(w, at, ...) \
	err_at(err, EINVAL, (w)->text, (w)->column + (size_t)((at) - (w)->s), __VA_ARGS__)

/* Where the part that narrows to a module begins, and the module behind it; NULL: there is none.
 * The last `:mod:` counts, since names may contain the text. */
static char *find_module(char *word, char **module)
{
	char *at = NULL;

	for (char *p = word; (p = strstr(p, ":mod:")); p++)
		at = p;
	*module = at ? at + strlen(":mod:") : NULL;
	if (at)
		return at;
	at = strrchr(word, '@');
	*module = at ? at + 1 : NULL;
	return at;
}

/* Reports tell functions that share a name by the address: "init@0x1139". */
static bool parse_address(const char *text, uint64_t *address)
{
	char *end;

	if (strncmp(text, "0x", 2) || !isxdigit((unsigned char)text[2]))
		return false;
	*address = strtoull(text, &end, 16);
	return !*end && *address;
}

/* `module` points into the word, behind ":mod:" or "@". */
static int parse_module(const struct word *w, char *module, struct function_pattern *p,
			struct err *err)
{
	p->other_modules = *module == '!';
	module += p->other_modules;
	if (module[-1] == '@' && parse_address(module, &p->address))
		return 0;
	if (!*module)
		return word_error(w, module, "a module name is missing behind `%c`",
				  module[-1]);
	p->module = mem_strdup(module);
	return 0;
}

/* Parses a function's name, perhaps narrowed to a module; it begins at `name` in the word. */
static int parse_function(const struct word *w, char *name, struct function_pattern *p,
			  struct err *err)
{
	const char *command = find_command(name);
	char *module, *end;

	if (command)
		return word_error(w, command + 1,
				  "function commands such as `%s` are not supported, "
				  "only `mod` is",
				  command + 1);
	/* The kernel takes numbers of available_filter_functions' lines. The tree translates them
	 * before it calls us (tree/function_files.c). */
	if (isdigit((unsigned char)*name))
		return word_error(w, name, "a function cannot be chosen by its number, "
				  "write its name");
	end = find_module(name, &module);
	p->glob = end == name ? mem_strdup("*") :
		  end ? mem_strndup(name, (size_t)(end - name)) : mem_strdup(name);
	return end ? parse_module(w, module, p, err) : 0;
}

/* Cuts the condition off the word, and checks it as far as it can be without the function. */
static int parse_condition(const struct word *w, struct function_pattern *p, struct err *err)
{
	size_t at = function_condition_at(w->s), fault;
	const char *sentence;

	if (!at)
		return 0;
	if (*w->s == '!')
		return word_error(w, w->s + at, "what is taken out has no condition: leave out `if`");
	p->condition = mem_strdup(w->s + at);
	sentence = function_condition_split(p->condition, &p->returned, &fault);
	if (!sentence && p->returned)
		sentence = function_condition_check(p->returned, &fault);
	if (!sentence && p->returned && !*p->condition) {
		free(p->condition);
		p->condition = NULL;
	}
	if (!sentence && p->condition)
		sentence = function_condition_check(p->condition, &fault);
	if (sentence)
		return word_error(w, w->s + at + fault, "condition: %s", sentence);
	w->s[strcspn(w->s, " \t")] = '\0';
	return 0;
}

/* After an error the caller frees what *p has by then. */
static int parse_word(const struct word *w, struct function_pattern *p, struct err *err)
{
	char *name = w->s;
	int e;

	p->text = mem_strdup(w->s);
	e = parse_condition(w, p, err);
	if (e)
		return e;
	if (!strcmp(name, "if"))
		return word_error(w, name, "a condition needs a function before it on its line");
	p->remove = *name == '!';
	name += p->remove;
	if (!*name)
		return word_error(w, name, "a name is missing behind `!`");
	if (!w->is_module)
		return parse_function(w, name, p, err);
	p->glob = mem_strdup(name);
	return 0;
}

/* --- the list ----------------------------------------------------------------------- */

/* A pattern without a module means all modules: it equals only another one without. */
static bool same_module(const struct function_pattern *a, const struct function_pattern *b)
{
	if (a->address != b->address)
		return false;
	if (!a->module || !b->module)
		return a->module == b->module;
	return a->other_modules == b->other_modules && !strcmp(a->module, b->module);
}

/* Whether a removal matches everything that the entry added, so that the entry can go. */
static bool pattern_covers(const struct function_pattern *removal,
			   const struct function_pattern *entry)
{
	bool names = !strcmp(removal->glob, "*") || !strcmp(removal->glob, entry->glob) ||
		     (glob_is_name(entry->glob) && glob_match(removal->glob, entry->glob));

	return names && (!removal->module || same_module(removal, entry));
}

/* Whether a removal may match something that the entry added. */
static bool pattern_touches(const struct function_pattern *removal,
			    const struct function_pattern *entry)
{
	if (glob_is_name(removal->glob))
		return glob_match(entry->glob, removal->glob);
	return !glob_is_name(entry->glob) || glob_match(removal->glob, entry->glob);
}

/* Drops the entries that a removal covers. The removal itself is kept if it touches other
 * entries. */
static void list_remove(struct function_list *l, struct function_pattern *removal)
{
	size_t kept = 0;
	bool needed = false;

	for (size_t i = 0; i < l->patterns.n; i++) {
		struct function_pattern *entry = &l->patterns.at[i];

		if (pattern_covers(removal, entry)) {
			pattern_free(entry);
			continue;
		}
		needed |= !entry->remove && pattern_touches(removal, entry);
		l->patterns.at[kept++] = *entry;
	}
	l->patterns.n = kept;
	if (needed)
		*vec_add(&l->patterns) = *removal;
	else
		pattern_free(removal);
}

/* The list is a copy (list_write), so that an error may leave it half done. */
static int list_add(struct function_list *l, const struct word *w, struct err *err)
{
	struct function_pattern p = { 0 };
	int e = parse_word(w, &p, err);

	if (!e && p.remove && !l->patterns.n)
		e = word_error(w, w->s, "nothing to take `%s` from, the list is empty", w->s + 1);
	if (e)
		pattern_free(&p);
	else if (p.remove)
		list_remove(l, &p);
	else
		*vec_add(&l->patterns) = p;
	return e;
}

static const char blanks[] = " \t\r\n";

/* With the condition behind it, blanks and all. */
size_t function_word_length(const char *p)
{
	size_t n = function_name_length(p, "");

	return n + function_condition_length(p + n);
}

/* Without the blanks that a condition may end in. */
static size_t trimmed_length(const char *p, size_t n)
{
	while (n && strchr(blanks, p[n - 1]))
		n--;
	return n;
}

/* For lists that only name functions; -EINVAL and *err at the condition. */
int function_list_refuse_conditions(const char *text, struct err *err)
{
	for (const char *p = text + strspn(text, blanks); *p; p += strspn(p, blanks)) {
		size_t n = function_name_length(p, ""), condition = function_condition_length(p + n);

		if (condition)
			return err_at(err, EINVAL, text, (size_t)(p - text) + n + 1,
				      "only functions that are traced (-l, set_ftrace_filter; -g, "
				      "set_graph_function) may have a condition");
		p += n;
	}
	return 0;
}

/* 0, or -errno and *err at the word. */
static int list_add_words(struct function_list *l, const char *text, bool modules, struct err *err)
{
	int e = 0;

	for (const char *p = text + strspn(text, blanks); *p && !e; p += strspn(p, blanks)) {
		size_t n = function_word_length(p);
		struct word w = { text, (size_t)(p - text),
				  mem_strndup(p, trimmed_length(p, n)), modules };

		e = list_add(l, &w, err);
		free(w.s);
		p += n;
	}
	return e;
}

/* Works on a copy, so that an error leaves the list as it was. */
static int list_write(struct function_list *l, const char *text, bool append, bool modules,
		      struct err *err)
{
	struct function_list next = { 0 };
	int e;

	for (size_t i = 0; append && i < l->patterns.n; i++)
		*vec_add(&next.patterns) = pattern_copy(&l->patterns.at[i]);
	e = list_add_words(&next, text, modules, err);
	if (e) {
		function_list_free(&next);
		return e;
	}
	function_list_free(l);
	*l = next;
	return 0;
}

int function_list_write(struct function_list *l, const char *text, bool append, struct err *err)
{
	return list_write(l, text, append, false, err);
}

int function_list_write_modules(struct function_list *l, const char *text, bool append,
				struct err *err)
{
	return list_write(l, text, append, true, err);
}

/* One pattern a line, for free(); empty: the text of a list without patterns, as the kernel has
 * it for this file. */
char *function_list_read(const struct function_list *l, const char *empty)
{
	VEC(char) out = { 0 };

	if (!l->patterns.n)
		return mem_printf("%s", empty);
	for (size_t i = 0; i < l->patterns.n; i++) {
		const char *s = l->patterns.at[i].text;
		size_t n = strlen(s);

		vec_reserve(&out, out.n + n + 2);
		memcpy(out.at + out.n, s, n);
		out.n += n;
		out.at[out.n++] = '\n';
	}
	out.at[out.n] = '\0';
	return out.at;
}

/* --- matching ----------------------------------------------------------------------- */

/* Whether the glob matches a shortened file name. Users name a library as programs link it, which
 * is a link to the mapped file: libz.so.1.2.13 also answers to libz.so.1.2, libz.so.1, libz.so and
 * libz. */
static bool shorter_match(const char *glob, const char *file)
{
	char name[256];
	char *so;

	if (strlen(file) >= sizeof(name))
		return false;
	strcpy(name, file);
	so = strstr(name, ".so");
	for (char *dot = so ? strrchr(name, '.') : NULL; dot && dot >= so;
	     dot = strrchr(name, '.')) {
		*dot = '\0';
		if (glob_match(glob, name))
			return true;
	}
	return false;
}

/* By the path, the file's name, or that with its version cut off (libc.so of libc.so.6). */
bool function_module_match(const char *glob, const char *module)
{
	const char *file = path_file_name(module);

	return glob_match(glob, module) || glob_match(glob, file) || shorter_match(glob, file);
}

/* A module of NULL does not narrow, nor does an address of 0. */
static bool pattern_match(const struct function_pattern *p, const char *name, uint64_t address,
			  const char *module)
{
	if (p->address && address && p->address != address)
		return false;
	if (p->module && module && function_module_match(p->module, module) == p->other_modules)
		return false;
	return glob_match(p->glob, name);
}

/* NULL: the list does not contain a function of that name. */
static const struct function_pattern *find_name(const struct function_list *l, const char *name,
						uint64_t address, const char *module)
{
	/* The last pattern that matches decides. */
	for (size_t i = l->patterns.n; i-- > 0;)
		if (pattern_match(&l->patterns.at[i], name, address, module))
			return l->patterns.at[i].remove ? NULL : &l->patterns.at[i];
	return NULL;
}

bool function_list_match(const struct function_list *l, const char *name, const char *module)
{
	return find_name(l, name, 0, module);
}

/* The symbol's own spelling first: most patterns are it, and demangling takes far longer than
 * comparing. */
static const struct function_pattern *find_at(const struct function_list *l, const char *symbol,
					      uint64_t address, const char *module)
{
	const struct function_pattern *p =
		l->patterns.n ? find_name(l, symbol, address, module) : NULL;
	struct demangle_spellings spellings;

	if (p || !l->patterns.n)
		return p;
	/* A pattern may have the parameters, which tell overloads apart, and whatever else --names
	 * shows. */
	demangle_spell(symbol, &spellings);
	for (unsigned i = 0; i < spellings.n && !p; i++)
		p = find_name(l, spellings.at[i], address, module);
	demangle_spellings_free(&spellings);
	return p;
}

const struct function_pattern *function_list_find(const struct function_list *l, const char *symbol,
						  const char *module)
{
	return find_at(l, symbol, 0, module);
}

bool function_list_has_at(const struct function_list *l, const char *symbol, uint64_t address,
			  const char *module)
{
	return find_at(l, symbol, address, module);
}

bool function_list_has(const struct function_list *l, const char *symbol, const char *module)
{
	return find_at(l, symbol, 0, module);
}

/* With the conditions on returned values. */
bool function_list_has_conditions(const struct function_list *l)
{
	for (size_t i = 0; i < l->patterns.n; i++)
		if (l->patterns.at[i].condition)
			return true;
	return function_list_has_returned(l);
}

bool function_list_has_returned(const struct function_list *l)
{
	for (size_t i = 0; i < l->patterns.n; i++)
		if (l->patterns.at[i].returned)
			return true;
	return false;
}

/* The last pattern that matches decides, so that a later !GLOB takes back. */
bool function_list_has_module(const struct function_list *l, const char *module)
{
	for (size_t i = l->patterns.n; i-- > 0;)
		if (function_module_match(l->patterns.at[i].glob, module))
			return !l->patterns.at[i].remove;
	return false;
}

/* NULL: it is a glob, or takes names out. */
const char *function_pattern_name(const struct function_pattern *p)
{
	return !p->remove && glob_is_name(p->glob) ? p->glob : NULL;
}

/* As texts: two ways to write one list count as different, which costs a transaction and no
 * more. */
bool function_list_is_same(const struct function_list *a, const struct function_list *b)
{
	char *x = function_list_read(a, ""), *y = function_list_read(b, "");
	bool same = !strcmp(x, y);

	free(x);
	free(y);
	return same;
}

void function_list_copy(struct function_list *to, const struct function_list *from)
{
	*to = (struct function_list){ 0 };
	for (size_t i = 0; i < from->patterns.n; i++)
		*vec_add(&to->patterns) = pattern_copy(&from->patterns.at[i]);
}
