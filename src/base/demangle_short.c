/* SPDX-License-Identifier: MIT */
/* C++ names as their programmers wrote them: std::string for std::__cxx11::basic_string<char,
 * ...>, and template arguments left out that are the standard library's defaults. demangle.c
 * calls it with libiberty's text, on any thread. The text comes from a symbol that anybody may
 * have made up: what does not parse, nests too deeply or is too long stays as it is. A result is
 * never longer than its text. */
#include "base/demangle_short.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NAME_MOST 8192u  /* bytes of a name that is shortened */
#define NESTED_MOST 32u  /* templates in templates */
#define ARGUMENTS_MOST 32u
#define DEFAULTS_MOST 3u

/* A text under construction. */
struct text { char *at; size_t n; };

static void put_text(struct text *t, const char *s, size_t n)
{
	memcpy(t->at + t->n, s, n);
	t->n += n;
	t->at[t->n] = 0;
}

/* --- defaults --------------------------------------------------------------------------- */

/* A template of the standard library: how many arguments its users write, and the defaults of those
 * behind; $1 and $2 stand for the first two. Of a function's template nobody writes any: those
 * behind the character type tell nothing more. */
struct defaults { const char *name; unsigned written; const char *by[DEFAULTS_MOST]; };

#define CHARS(name) { "std::" name, 1, { "std::char_traits<$1>" } }
#define STRINGS(name) { "std::" name, 1, { "std::char_traits<$1>", "std::allocator<$1>" } }
#define ALLOCATED(name) { "std::" name, 1, { "std::allocator<$1>" } }
#define ORDERED(name) { "std::" name, 1, { "std::less<$1>", "std::allocator<$1>" } }
#define PAIRS "std::allocator<std::pair<$1 const, $2>>"
#define MAPPED(name) { "std::" name, 2, { "std::less<$1>", PAIRS } }
#define HASHED "std::hash<$1>", "std::equal_to<$1>"

static const struct defaults defaults[] = {
	ALLOCATED("vector"), ALLOCATED("list"), ALLOCATED("forward_list"), ALLOCATED("deque"),
	ORDERED("set"), ORDERED("multiset"), MAPPED("map"), MAPPED("multimap"),
	{ "std::unordered_set", 1, { HASHED, "std::allocator<$1>" } },
	{ "std::unordered_multiset", 1, { HASHED, "std::allocator<$1>" } },
	{ "std::unordered_map", 2, { HASHED, PAIRS } },
	{ "std::unordered_multimap", 2, { HASHED, PAIRS } },
	{ "std::unique_ptr", 1, { "std::default_delete<$1>" } },
	{ "std::stack", 1, { "std::deque<$1>" } },
	{ "std::queue", 1, { "std::deque<$1>" } },
	{ "std::priority_queue", 1, { "std::vector<$1>", "std::less<$1>" } },
	{ "std::chrono::duration", 1, { "std::ratio<1l, 1l>" } },
	{ "std::istream_iterator", 1, { "char", "std::char_traits<char>", "long" } },
	STRINGS("basic_string"), STRINGS("basic_stringstream"), STRINGS("basic_istringstream"),
	STRINGS("basic_ostringstream"), STRINGS("basic_stringbuf"), CHARS("basic_string_view"),
	CHARS("basic_ios"), CHARS("basic_streambuf"), CHARS("basic_istream"),
	CHARS("basic_ostream"), CHARS("basic_iostream"), CHARS("basic_filebuf"),
	CHARS("basic_ifstream"), CHARS("basic_ofstream"), CHARS("basic_fstream"),
	CHARS("istreambuf_iterator"), CHARS("ostreambuf_iterator"),
	{ "std::basic_regex", 1, { "std::regex_traits<$1>" } },
	STRINGS("operator+"), STRINGS("operator=="), STRINGS("operator!="), STRINGS("operator<"),
	STRINGS("operator>"), STRINGS("operator<="), STRINGS("operator>="), STRINGS("operator<=>"),
	STRINGS("operator<<"), STRINGS("operator>>"), STRINGS("getline"), CHARS("endl"),
	CHARS("ends"), CHARS("flush"), CHARS("ws"), CHARS("__ostream_insert"),
};

/* The letters that stand for a character type in the names of basic_ templates. */
static const struct { const char *type, *letters; } characters[] = {
	{ "char", "" }, { "wchar_t", "w" }, { "char8_t", "u8" }, { "char16_t", "u16" },
	{ "char32_t", "u32" },
};

/* The arguments of a template, shortened: NUL-terminated texts. */
struct arguments {
	char *at[ARGUMENTS_MOST];
	bool apart[ARGUMENTS_MOST]; /* a blank stands before it */
	unsigned n;
};

static void free_arguments(struct arguments *a)
{
	for (unsigned i = 0; i < a->n; i++)
		free(a->at[i]);
}

/* Whether an argument is that default. */
static bool is_default(const char *argument, const char *by, const struct arguments *a)
{
	for (; *by; by++) {
		const char *first = a->at[0], *word;
		size_t n;

		if (*by != '$') {
			if (*argument++ != *by)
				return false;
			continue;
		}
		word = *++by == '1' ? first : a->at[1];
		n = strlen(word);
		if (strncmp(argument, word, n))
			return false;
		argument += n;
	}
	return !*argument;
}

/* The number of the template's arguments that are left when the defaults go. */
static unsigned arguments_shown(const char *name, const struct arguments *a)
{
	const struct defaults *d = NULL;
	unsigned n = a->n;

	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults) && !d; i++)
		if (!strcmp(name, defaults[i].name))
			d = &defaults[i];
	while (d && n > d->written && n - d->written <= DEFAULTS_MOST &&
	       d->by[n - d->written - 1] &&
	       is_default(a->at[n - 1], d->by[n - d->written - 1], a))
		n--;
	return n;
}

/* --- templates -------------------------------------------------------------------------- */

/* The number of characters of "operator+" or "operator<< " at the end of the text; 0: it ends
 * otherwise. */
static size_t operator_at_end(const struct text *t)
{
	static const char word[] = "operator";
	size_t at = t->n - (t->n && t->at[t->n - 1] == ' '), n = sizeof(word) - 1;

	while (at && strchr("+-*/%^&|~!=<>,", t->at[at - 1]))
		at--;
	return at < t->n && at >= n && !strncmp(t->at + at - n, word, n) ? t->n - at + n : 0;
}

/* Where the name begins that ends at the end of the text: "int f(std::vector" -> "std::vector". */
static size_t name_begin(const struct text *t)
{
	size_t at = t->n - operator_at_end(t);

	while (at && (isalnum((unsigned char)t->at[at - 1]) || strchr("_:", t->at[at - 1])))
		at--;
	return at;
}

/* std::basic_ostream<char> has a name of its own, std::ostream. Writes it in the place of the name
 * at the text's end. */
static bool put_alias(struct text *t, const char *name, const char *type)
{
	static const char basic[] = "std::basic_";
	const char *rest = name + sizeof(basic) - 1;
	char *kept;

	if (strncmp(name, basic, sizeof(basic) - 1))
		return false;
	for (size_t i = 0; i < sizeof(characters) / sizeof(*characters); i++) {
		const char *letters = characters[i].letters;

		/* u8, u16 and u32 are for strings alone. */
		if (strcmp(type, characters[i].type) ||
		    (*letters == 'u' && strcmp(rest, "string") && strcmp(rest, "string_view")))
			continue;
		kept = mem_strdup(rest);
		t->n = name_begin(t);
		put_text(t, "std::", 5);
		put_text(t, letters, strlen(letters));
		put_text(t, kept, strlen(kept));
		free(kept);
		return true;
	}
	return false;
}

static void put_template(struct text *t, const struct arguments *a)
{
	char *name = mem_strdup(t->at + name_begin(t));
	size_t end = strlen(name);
	unsigned shown;

	if (end && name[end - 1] == ' ')
		name[end - 1] = 0;
	shown = arguments_shown(name, a);

	if (shown != 1 || !put_alias(t, name, a->at[0])) {
		put_text(t, "<", 1);
		for (unsigned i = 0; i < shown; i++) {
			if (i)
				put_text(t, ", ", a->apart[i] ? 2 : 1);
			put_text(t, a->at[i], strlen(a->at[i]));
		}
		put_text(t, ">", 1);
	}
	free(name);
}

/* The number of characters at `at` that name an operator with angle brackets, behind the word
 * "operator" at the end of the text: the brackets are no template's. 0: none do. */
static size_t operator_length(const struct text *t, const char *at)
{
	static const char *const names[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=",
					     "->", "<", ">" };

	if (t->n < 8 || strncmp(t->at + t->n - 8, "operator", 8))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(at, names[i], strlen(names[i])))
			return strlen(names[i]);
	return 0;
}

/* Whether a '<' behind this text begins a template's arguments; a comparison stands between
 * parentheses or blanks. */
static bool begins_arguments(const struct text *t)
{
	char last = t->n ? t->at[t->n - 1] : ' ';

	if (last == ' ') /* "operator<< <int>" */
		return t->n > 9 && strchr("<>=-", t->at[t->n - 2]);
	return isalnum((unsigned char)last) || strchr("_}]", last) || operator_at_end(t);
}

static const char *shorten_until(const char *s, bool argument, unsigned depth, struct text *t);

/* From behind the '<' to behind its '>'. NULL: it has no end, or too many arguments. */
static const char *shorten_arguments(const char *s, unsigned depth, struct text *t)
{
	struct arguments a = { 0 };
	size_t most = strlen(s) + 1;

	while (s && a.n < ARGUMENTS_MOST) {
		struct text one = { mem_realloc(NULL, most, 1), 0 };

		one.at[0] = 0;
		a.at[a.n++] = one.at;
		s = shorten_until(s, true, depth + 1, &one);
		while (one.n && one.at[one.n - 1] == ' ')
			one.at[--one.n] = 0;
		if (!s || *s == '>')
			break;
		s++;
		if (a.n < ARGUMENTS_MOST)
			a.apart[a.n] = *s == ' ';
		s += *s == ' ';
	}
	if (s && *s == '>')
		put_template(t, &a);
	else
		s = NULL;
	free_arguments(&a);
	return s ? s + 1 : NULL;
}

/* One piece of the text: a template's arguments, an operator's name, a character. */
static const char *shorten_piece(const char *s, unsigned depth, struct text *t)
{
	size_t n = operator_length(t, s);

	if (!n && !strncmp(s, "->", 2))
		n = 2;
	if (!n && *s == '<' && begins_arguments(t))
		return depth < NESTED_MOST ? shorten_arguments(s + 1, depth, t) : NULL;
	put_text(t, s, n ? n : 1);
	return s + (n ? n : 1);
}

/* Up to the end, or for an argument up to the ',' or '>' behind it. */
static const char *shorten_until(const char *s, bool argument, unsigned depth, struct text *t)
{
	unsigned open = 0; /* parentheses */

	while (s && *s && !(argument && !open && (*s == ',' || *s == '>') &&
			    !operator_length(t, s))) {
		open += strchr("({[", *s) ? 1 : 0;
		if (strchr(")}]", *s) && !open--)
			return NULL;
		s = shorten_piece(s, depth, t);
	}
	return s && !argument == !*s ? s : NULL;
}

/* Removes each occurrence of a word that programmers do not write. */
static void drop_word(char *s, const char *word)
{
	size_t n = strlen(word);

	for (char *at = s; (at = strstr(at, word));)
		memmove(at, at + n, strlen(at + n) + 1);
}

/* Inline namespaces and marks of libstdc++ and libc++ go first. */
char *demangle_short(const char *name)
{
	char *plain = mem_strdup(name);
	struct text t = { 0 };

	drop_word(plain, "__cxx11::");
	drop_word(plain, "[abi:cxx11]");
	if (strstr(plain, "std::__1::"))
		drop_word(plain, "__1::");
	if (!strchr(plain, '<') || strlen(plain) > NAME_MOST)
		return plain;
	t.at = mem_zalloc(strlen(plain) + 1);
	if (!shorten_until(plain, false, 0, &t)) {
		free(t.at);
		return plain;
	}
	free(plain);
	return t.at;
}
