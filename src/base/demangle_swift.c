/* SPDX-License-Identifier: MIT */
/* Swift's mangling is a program for a machine with a stack: names and types are pushed, operators
 * take what they need and push what it makes (Swift's docs/ABI/Mangling.rst). This is that machine,
 * with texts for its values: how a name is shown alone, with its labels, with its types. Operators
 * of rare kinds are unknown to it, and the symbol stays as it is. demangle_schemes.c calls it, on
 * any thread. The symbol may be anybody's: stack, texts and substitutions are bounded, and all
 * memory belongs to one reading. */
#include "base/demangle_swift.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define WORDS_MOST 26u    /* letters that name one */
#define STACK_MOST 128u
#define SHARED_MOST 512u  /* substitutions */
#define TEXT_MOST 2048u   /* bytes of a text */
/* A substitution may double a text with a few characters: without bounds a symbol of 100 bytes
 * would fill the memory. */
#define SUM_MOST (1u << 18) /* of all texts */
#define ARGUMENTS_MOST 64u

enum kind {
	NONE,
	NAME,        /* an identifier; of a module, too */
	PRIVATE,     /* a name that a file has for itself, or a local one */
	MODULE,
	TYPE,
	ENTITY,      /* a function, a variable; something that has others in it */
	EMPTY,       /* no elements */
	FIRST,       /* the first element of a list stands below it */
	VARIADIC,
	MARK,        /* throws, async: of a function's type */
	REQUIREMENT,
	SIGNATURE,   /* of generic parameters */
};

/* Parameters, or elements of a tuple: their texts. */
struct list { unsigned n; const char *at[ARGUMENTS_MOST]; };

/* A value of the stack, with three texts for demangle_swift() to choose from: `plain` without
 * parameters, `whole` with the labels, `full` with types and where it is declared. struct swift
 * owns all of them. */
struct piece {
	enum kind kind;
	bool function, protocol, tuple, class; /* of a type */
	const char *plain, *whole, *full;
	const struct list *list;        /* of a tuple, of a function's type; or NULL */
	const char *result;             /* of a function's type: " throws -> Swift.Int" */
};

struct swift {
	const char *at;
	struct { const char *at; size_t n; } words[WORDS_MOST];
	unsigned n_words;
	struct piece stack[STACK_MOST];
	unsigned depth;
	struct piece shared[SHARED_MOST];
	unsigned n_shared;
	VEC(void *) memory;
	size_t sum;  /* bytes of all texts */
	bool failed;
};

/* --- memory and the stack --------------------------------------------------------------- */

/* Frees nothing before the end: a reading that fails may stop anywhere, and values are copied, so
 * that nobody could tell a text's last user. */
static void *keep_memory(struct swift *w, void *memory)
{
	*vec_add(&w->memory) = memory;
	return memory;
}

/* A text of the reading's; too long a one, or too many, end it. */
__attribute__((format(printf, 2, 3)))
static const char *say(struct swift *w, const char *format, ...)
{
	char text[TEXT_MOST];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	w->sum += (size_t)(n > 0 ? n : 0);
	if (n < 0 || (size_t)n >= sizeof(text) || w->sum > SUM_MOST) {
		w->failed = true;
		return "";
	}
	return keep_memory(w, mem_strdup(text));
}

static void push(struct swift *w, struct piece n)
{
	if (w->depth == STACK_MOST)
		w->failed = true;
	else
		w->stack[w->depth++] = n;
}

static enum kind top(const struct swift *w)
{
	return w->depth ? w->stack[w->depth - 1].kind : NONE;
}

/* The topmost one, if it is of that kind; otherwise one of the kind NONE. */
static struct piece pop_if(struct swift *w, enum kind kind)
{
	return top(w) == kind ? w->stack[--w->depth] : (struct piece){ .kind = NONE };
}

/* One that has to be there. In its place a failed reading gets empty texts, so that operators
 * need not ask before they use it: the loop of demangle_swift() sees `failed`. */
static struct piece pop(struct swift *w, enum kind kind)
{
	struct piece n = pop_if(w, kind);

	if (n.kind == NONE) {
		w->failed = true;
		n.plain = n.whole = n.full = "";
	}
	return n;
}

static bool took(struct swift *w, enum kind kind)
{
	return pop_if(w, kind).kind != NONE;
}

static struct piece of_text(enum kind kind, const char *text)
{
	return (struct piece){ .kind = kind, .plain = text, .whole = text, .full = text };
}

static void push_type(struct swift *w, const char *text)
{
	push(w, of_text(TYPE, text));
}

/* Later parts of the symbol may mean this one again. Their order is the mangler's own: an operator
 * that shares too much or too little makes all later ones mean something else. */
static struct piece share(struct swift *w, struct piece n)
{
	if (w->n_shared == SHARED_MOST)
		w->failed = true;
	else
		w->shared[w->n_shared++] = n;
	return n;
}

/* Something before or behind all three texts. */
static struct piece put_around(struct swift *w, const char *before, struct piece n,
			       const char *behind)
{
	n.plain = say(w, "%s%s%s", before, n.plain, behind);
	n.whole = say(w, "%s%s%s", before, n.whole, behind);
	n.full = say(w, "%s%s%s", before, n.full, behind);
	n.kind = ENTITY;
	return n;
}

/* --- numbers ---------------------------------------------------------------------------- */

/* The end of the symbol counts as a fault here, since every operator knows how much it reads. */
static char next(struct swift *w)
{
	if (!*w->at) {
		w->failed = true;
		return 0;
	}
	return *w->at++;
}

static bool next_is(struct swift *w, char c)
{
	if (*w->at != c)
		return false;
	w->at++;
	return true;
}

/* -1: none stands there. The limit keeps a long row of digits from overflowing. The digit behind it
 * fails then. (A length beyond the symbol's end is found by whoever reads so many characters.) */
static int natural(struct swift *w)
{
	int n = 0;

	if (!isdigit((unsigned char)*w->at))
		return -1;
	while (isdigit((unsigned char)*w->at) && n < 100000)
		n = 10 * n + (*w->at++ - '0');
	return n;
}

/* "_" is 0, "0_" 1. An INDEX of the grammar: one more than the number written, so that the frequent
 * 0 takes one character. */
static unsigned number(struct swift *w)
{
	int n = natural(w);

	if (next(w) != '_')
		w->failed = true;
	return (unsigned)(n + 1);
}

/* --- identifiers ------------------------------------------------------------------------ */

/* Words of "someFooBar" are "some", "Foo", "Bar"; an underscore ends one. The mangler keeps the
 * words of each identifier, and later ones name them by a letter instead of repeating them. Both
 * sides have to find the same words, hence the least length of 2 and the 26 words of the grammar's
 * letters. */
static void add_words(struct swift *w, const char *s, size_t n)
{
	size_t begin = n;

	for (size_t i = 0; i <= n; i++) {
		char c = i < n ? s[i] : 0;
		bool ends = !c || c == '_' ||
			    (i && !isupper((unsigned char)s[i - 1]) && isupper((unsigned char)c));

		if (begin < n && ends) {
			if (i - begin >= 2 && w->n_words < WORDS_MOST) {
				w->words[w->n_words].at = s + begin;
				w->words[w->n_words++].n = i - begin;
			}
			begin = n;
		}
		if (begin == n && c && c != '_' && !isdigit((unsigned char)c))
			begin = i;
	}
}

/* The letters that stand for words; the last is a capital. */
static const char *read_words(struct swift *w, const char *text, bool *more)
{
	while (*more && isalpha((unsigned char)*w->at) && !w->failed) {
		char c = *w->at++;
		unsigned i = (unsigned)(islower((unsigned char)c) ? c - 'a' : c - 'A');

		*more = islower((unsigned char)c);
		if (i >= w->n_words)
			w->failed = true;
		else
			text = say(w, "%s%.*s", text, (int)w->words[i].n, w->words[i].at);
	}
	return text;
}

/* Appends a character in UTF-8. At most 4 bytes: read_puny() refuses what is no character of
 * Unicode. */
static size_t put_character(char *to, uint32_t c)
{
	if (c < 0x80)
		return to[0] = (char)c, 1;
	if (c < 0x800)
		return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3f)), 2;
	if (c < 0x10000)
		return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3f)),
		       to[2] = (char)(0x80 | (c & 0x3f)), 3;
	return to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 0x3f)),
	       to[2] = (char)(0x80 | (c >> 6 & 0x3f)), to[3] = (char)(0x80 | (c & 0x3f)), 4;
}

/* Punycode's bias (RFC 3492). */
static uint32_t adapted_bias(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / points;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* Swift's digits are a to z, A to J. -1: it is none. */
static int puny_digit(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'J' ? c - 'A' + 26 : -1;
}

#define POINTS_MOST 128u

/* The next difference of the text, a number of variable length; -1: there is none. 36, 1 and 26 are
 * RFC 3492's base, tmin and tmax. value and weight are checked before each step, so that the
 * product stays within 64 bits. */
static int64_t puny_delta(const char **s, const char *end, uint32_t bias)
{
	int64_t value = 0, weight = 1;

	for (uint32_t k = 36; *s < end; k += 36) {
		int digit = puny_digit(*(*s)++);
		int limit = k <= bias ? 1 : k >= bias + 26 ? 26 : (int)(k - bias);

		if (digit < 0 || value > INT32_MAX || weight > INT32_MAX)
			return -1;
		value += digit * weight;
		if (digit < limit)
			return value;
		weight *= 36 - limit;
	}
	return -1;
}

/* "Gre_GkaIi" -> "Größe": characters of other alphabets stand behind the last underscore. */
static const char *read_puny(struct swift *w, const char *s, size_t length)
{
	const char *end = s + length, *bar = end;
	uint32_t points[POINTS_MOST], n = 0, c = 0x80, bias = 72;
	uint64_t at = 0;
	bool first = true;
	char text[4 * POINTS_MOST + 1];
	size_t bytes = 0;

	while (bar > s && bar[-1] != '_')
		bar--;
	for (const char *p = s; p + 1 < bar && n < POINTS_MOST; p++)
		points[n++] = (unsigned char)*p;
	for (const char *p = bar; p < end; n++) {
		int64_t delta = puny_delta(&p, end, bias);

		if (delta < 0 || n + 1 >= POINTS_MOST)
			return w->failed = true, "";
		at += (uint64_t)delta;
		bias = adapted_bias((uint32_t)delta, n + 1, first);
		first = false;
		if (at / (n + 1) > 0x10ffff - c)
			return w->failed = true, "";
		c += (uint32_t)(at / (n + 1));
		at %= n + 1;
		memmove(points + at + 1, points + at, (n - at) * sizeof(*points));
		points[at++] = c;
	}
	/* Characters that identifiers cannot have are written as letters from 0xd800 on. */
	for (uint32_t i = 0; i < n; i++)
		bytes += put_character(text + bytes, points[i] >= 0xd800 && points[i] < 0xd880
							     ? points[i] - 0xd800 : points[i]);
	text[bytes] = 0;
	return say(w, "%s", text);
}

static void read_identifier(struct swift *w)
{
	bool words = *w->at == '0', puny = !strncmp(w->at, "00", 2);
	const char *text = "";

	w->at += puny ? 2 : words;
	words = words && !puny;
	do {
		const char *from;
		int n;

		text = read_words(w, text, &words);
		if (next_is(w, '0'))
			break;
		n = natural(w);
		if (puny)
			next_is(w, '_');
		from = w->at;
		if (n <= 0 || (size_t)n > strlen(from)) {
			w->failed = true;
			return;
		}
		w->at += n;
		text = say(w, "%s%s", text, puny ? read_puny(w, from, (size_t)n)
						 : say(w, "%.*s", n, from));
		if (!puny)
			add_words(w, from, (size_t)n);
	} while (words && !w->failed);
	push(w, share(w, of_text(NAME, text)));
}

/* An operator's name: its characters have letters. */
static void read_operator(struct swift *w)
{
	static const char signs[] = "& @/= >    <*!|+?%-~   ^ .";
	struct piece n = pop(w, NAME);
	char *text = keep_memory(w, mem_strdup(n.plain));
	const char fixity = next(w);

	for (char *c = text; *c; c++)
		if (islower((unsigned char)*c))
			*c = signs[*c - 'a'];
	n.plain = n.whole = text;
	n.full = say(w, "%s %s", text,
		     fixity == 'i' ? "infix" : fixity == 'p' ? "prefix" : "postfix");
	push(w, n);
}

/* --- substitutions ---------------------------------------------------------------------- */

/* "A3B" means the second part three times: a list of equal types is written once. */
static void push_shared(struct swift *w, int repeat, unsigned i)
{
	if (i >= w->n_shared) {
		w->failed = true;
		return;
	}
	do
		push(w, w->shared[i]);
	while (--repeat > 0 && !w->failed);
}

/* "AB": letters mean parts of the symbol before; the last one is a capital. */
static void read_shared(struct swift *w)
{
	int repeat = -1;

	while (!w->failed) {
		const char c = next(w);

		if (islower((unsigned char)c)) {
			push_shared(w, repeat, (unsigned)(c - 'a'));
			repeat = -1;
		} else if (isupper((unsigned char)c)) {
			push_shared(w, repeat, (unsigned)(c - 'A'));
			return;
		} else if (c == '_') {
			push_shared(w, 1, (unsigned)(repeat + 27));
			return;
		} else if (isdigit((unsigned char)c)) {
			w->at--;
			repeat = natural(w);
		} else {
			w->failed = true;
		}
	}
}

/* Types of the standard library that have a letter. */
static const char *standard_name(char c, bool second)
{
	static const char *const names[128] = {
		['A'] = "AutoreleasingUnsafeMutablePointer", ['a'] = "Array",
		['B'] = "BinaryFloatingPoint", ['b'] = "Bool", ['D'] = "Dictionary",
		['d'] = "Double", ['E'] = "Encodable", ['e'] = "Decodable",
		['F'] = "FloatingPoint", ['f'] = "Float", ['G'] = "RandomNumberGenerator",
		['H'] = "Hashable", ['h'] = "Set", ['I'] = "DefaultIndices", ['i'] = "Int",
		['J'] = "Character", ['j'] = "Numeric", ['K'] = "BidirectionalCollection",
		['k'] = "RandomAccessCollection", ['L'] = "Comparable", ['l'] = "Collection",
		['M'] = "MutableCollection", ['m'] = "RangeReplaceableCollection",
		['N'] = "ClosedRange", ['n'] = "Range", ['O'] = "ObjectIdentifier",
		['P'] = "UnsafePointer", ['p'] = "UnsafeMutablePointer", ['Q'] = "Equatable",
		['q'] = "Optional", ['R'] = "UnsafeBufferPointer",
		['r'] = "UnsafeMutableBufferPointer", ['S'] = "String", ['s'] = "Substring",
		['T'] = "Sequence", ['t'] = "IteratorProtocol", ['U'] = "UnsignedInteger",
		['u'] = "UInt", ['V'] = "UnsafeRawPointer", ['v'] = "UnsafeMutableRawPointer",
		['W'] = "UnsafeRawBufferPointer", ['w'] = "UnsafeMutableRawBufferPointer",
		['X'] = "RangeExpression", ['x'] = "Strideable", ['Y'] = "RawRepresentable",
		['y'] = "StringProtocol", ['Z'] = "SignedInteger", ['z'] = "BinaryInteger",
	};
	static const char *const concurrent[128] = {
		['A'] = "Actor", ['C'] = "CheckedContinuation", ['c'] = "UnsafeContinuation",
		['E'] = "CancellationError", ['e'] = "UnownedSerialExecutor", ['F'] = "Executor",
		['f'] = "SerialExecutor", ['G'] = "TaskGroup", ['g'] = "ThrowingTaskGroup",
		['h'] = "TaskExecutor", ['I'] = "AsyncIteratorProtocol", ['i'] = "AsyncSequence",
		['J'] = "UnownedJob", ['M'] = "MainActor", ['P'] = "TaskPriority",
		['S'] = "AsyncStream", ['s'] = "AsyncThrowingStream", ['T'] = "Task",
		['t'] = "UnsafeCurrentTask",
	};

	return isalpha((unsigned char)c) ? (second ? concurrent : names)[(unsigned char)c] : NULL;
}

static void read_standard(struct swift *w)
{
	const char *name;
	struct piece n;
	int repeat;
	bool second;
	char c;

	if (next_is(w, 'o') || next_is(w, 'C')) {
		push(w, of_text(MODULE, w->at[-1] == 'o' ? "__C" : "__C_Synthesized"));
		return;
	}
	if (next_is(w, 'g')) {
		n = pop(w, TYPE);
		push(w, share(w, of_text(TYPE, say(w, n.function ? "(%s)?" : "%s?", n.full))));
		return;
	}
	repeat = natural(w);
	second = next_is(w, 'c');
	c = next(w);
	name = standard_name(c, second);
	if (!name) {
		w->failed = true;
		return;
	}
	n = of_text(TYPE, say(w, "Swift.%s", name));
	n.protocol = second ? strchr("AFfhIi", c) : strchr("BEeFGHjKkLlMmQTtUXxYyZz", c);
	do
		push(w, n);
	while (--repeat > 0 && !w->failed);
}

/* --- types ------------------------------------------------------------------------------ */

/* A name that a declaration has. */
static struct piece pop_name(struct swift *w)
{
	struct piece n = pop_if(w, PRIVATE);

	return n.kind == NONE ? pop(w, NAME) : n;
}

/* Takes the context of a declaration: the name, module, type or entity that has it. A context's
 * kind is not written: whatever lies on the stack below the name is it. */
static struct piece pop_context(struct swift *w)
{
	static const enum kind kinds[] = { NAME, MODULE, TYPE };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (top(w) == kinds[i])
			return pop(w, kinds[i]);
	return pop(w, ENTITY);
}

/* The separator depends on both, so texts are joined here alone. */
static struct piece inside(struct swift *w, struct piece context, struct piece name)
{
	struct piece n = of_text(ENTITY, NULL);

	/* "inner #1 in shop.outer": what is local to a function has a number. */
	if (strchr(name.plain, '#') || strchr(context.plain, '#')) {
		n.plain = say(w, "%s in %s", name.plain, context.plain);
		n.whole = say(w, "%s in %s", name.whole, context.whole);
		n.full = say(w, "%s in %s", name.full, context.full);
		return n;
	}
	n.plain = say(w, "%s.%s", context.plain, name.plain);
	n.whole = say(w, "%s.%s", context.whole, name.whole);
	n.full = say(w, "%s.%s", context.full, name.full);
	return n;
}

/* A class (C), structure (V), enumeration (O), protocol (P) or type alias (a): its name and its
 * context have been pushed. */
static void read_nominal(struct swift *w, char c)
{
	struct piece name = pop_name(w), n = inside(w, pop_context(w), name);

	n.kind = TYPE;
	n.protocol = c == 'P';
	n.class = c == 'C';
	push(w, share(w, n));
}

static struct piece pop_protocol(struct swift *w)
{
	struct piece name;

	if (top(w) == TYPE)
		return pop(w, TYPE);
	name = pop_name(w);
	return inside(w, pop_context(w), name);
}

/* Types down to the first of them, in the order in which they were written. */
static const char *joined(struct swift *w, const char *text, const char *before,
			  const char *between)
{
	return *text ? say(w, "%s%s%s", before, between, text) : before;
}

/* TYPE y ARGUMENTS (_ ARGUMENTS)* G: a type within a generic one has the arguments of both, with
 * FIRST between the lists and EMPTY before the first of them. Types of the standard library get
 * their short spelling. */
static void read_bound(struct swift *w)
{
	const char *arguments = "";
	struct piece n;

	do {
		while (top(w) == TYPE && !w->failed)
			arguments = joined(w, arguments, pop(w, TYPE).full, ", ");
	} while (!took(w, EMPTY) && took(w, FIRST) && !w->failed);
	n = pop(w, TYPE);
	if (!strcmp(n.full, "Swift.Array"))
		arguments = say(w, "[%s]", arguments);
	else if (!strcmp(n.full, "Swift.Optional"))
		arguments = say(w, "%s?", arguments);
	else if (!strcmp(n.full, "Swift.Dictionary") && strstr(arguments, ", "))
		arguments = say(w, "[%.*s : %s]", (int)(strstr(arguments, ", ") - arguments),
				arguments, strstr(arguments, ", ") + 2);
	else
		arguments = say(w, "%s<%s>", n.full, arguments);
	push(w, share(w, of_text(TYPE, arguments)));
}

static const char *list_text(struct swift *w, const struct list *l)
{
	const char *text = "";

	for (unsigned i = 0; l && i < l->n; i++)
		text = i ? say(w, "%s, %s", text, l->at[i]) : l->at[i];
	return say(w, "(%s)", text);
}

static struct list *new_list(struct swift *w)
{
	return keep_memory(w, mem_zalloc(sizeof(struct list)));
}

/* The list stays beside the text: a function that takes the tuple pairs its elements with
 * labels. */
static void push_tuple(struct swift *w, const struct list *l)
{
	struct piece n = of_text(TYPE, list_text(w, l));

	n.tuple = true;
	n.list = l;
	push(w, n);
}

/* TYPE-LIST t. Elements come off the stack from the last to the first, hence the insertion in
 * front. */
static void read_tuple(struct swift *w)
{
	struct list *l = new_list(w);
	bool first = took(w, EMPTY);

	while (!first && !w->failed) {
		const char *dots, *name;

		first = took(w, FIRST);
		dots = took(w, VARIADIC) ? "..." : "";
		name = top(w) == NAME ? say(w, "%s: ", pop(w, NAME).plain) : "";
		if (l->n == ARGUMENTS_MOST) {
			w->failed = true;
			return;
		}
		memmove(l->at + 1, l->at, l->n++ * sizeof(*l->at));
		l->at[0] = say(w, "%s%s%s", name, pop(w, TYPE).full, dots);
	}
	push_tuple(w, l);
}

/* The parameters of a function, or what it returns. */
static struct piece pop_parameters(struct swift *w)
{
	if (took(w, EMPTY)) {
		struct piece n = of_text(TYPE, "()");

		n.tuple = true;
		return n;
	}
	return pop(w, TYPE);
}

/* RESULT PARAMETERS MARKS c: the marks lie on top, and the result at the bottom. A single
 * parameter that is no tuple is pushed as its bare type, and gets a list of one here. */
static struct piece pop_function_type(struct swift *w)
{
	const char *marks = "";
	struct piece n = of_text(TYPE, ""), parameters, result;

	while (top(w) == MARK)
		marks = say(w, "%s%s", pop(w, MARK).plain, marks);
	parameters = pop_parameters(w);
	result = pop_parameters(w);
	if (!parameters.tuple) {
		struct list *l = new_list(w);

		l->n = 1;
		l->at[0] = parameters.full;
		n.list = l;
	} else {
		n.list = parameters.list;
	}
	n.result = say(w, "%s -> %s", marks, result.full);
	n.plain = n.whole = n.full = say(w, "%s%s", list_text(w, n.list), n.result);
	n.function = true;
	return n;
}

static unsigned arity(const struct piece *type)
{
	return type->list ? type->list->n : 0;
}

/* The labels of a function's parameters, which stand below its type: "(of:and:)" in whole and its
 * parameters in full. */
static struct piece pop_labels(struct swift *w, const struct piece *type)
{
	struct piece n = of_text(NONE, "");
	const bool none = took(w, EMPTY);
	const char *labels = "", *arguments = "";

	for (unsigned i = arity(type); i--;) {
		const bool unnamed = none || took(w, FIRST);
		const char *label = unnamed ? "_" : pop(w, NAME).plain;

		labels = say(w, "%s:%s", label, labels);
		if (none)
			arguments = joined(w, arguments, type->list->at[i], ", ");
		else
			arguments = joined(w, arguments, say(w, "%s: %s", label, type->list->at[i]), ", ");
	}
	n.whole = say(w, "(%s)", labels);
	n.full = say(w, "(%s)%s", arguments, type->result ? type->result : "");
	return n;
}

/* --- generic parameters ----------------------------------------------------------------- */

/* The compiler's names of generic parameters, A to Z by index; parameters of an inner declaration
 * have its depth behind the letter. */
static const char *parameter_name(struct swift *w, unsigned depth, unsigned index)
{
	const char *name = say(w, "%c", 'A' + (int)(index % 26));

	return depth ? say(w, "%s%u", name, depth) : name;
}

/* z is the first parameter of the outermost declaration, by far the most frequent one; d stands
 * before a depth. */
static const char *read_parameter(struct swift *w)
{
	if (next_is(w, 'z'))
		return "A";
	if (next_is(w, 'd')) {
		unsigned depth = number(w) + 1;

		return parameter_name(w, depth, number(w));
	}
	return parameter_name(w, 0, number(w) + 1);
}

/* "A.Element": the protocol that says so may stand above the name. */
static const char *pop_associated(struct swift *w)
{
	if (top(w) == TYPE)
		pop(w, TYPE);
	return pop(w, NAME).plain;
}

/* An associated type, "A.Element"; a compound one is a path of them. base NULL: the type on the
 * stack. */
static struct piece member_of(struct swift *w, const char *base, bool compound)
{
	const char *name = "";
	bool first = !compound;

	if (!compound) {
		name = pop_associated(w);
	} else {
		while (!first && !w->failed) {
			first = took(w, FIRST);
			name = joined(w, name, pop_associated(w), ".");
		}
	}
	if (!base)
		base = pop(w, TYPE).full;
	return share(w, of_text(TYPE, say(w, "%s.%s", base, name)));
}

/* The letter of a layout, as of a class. next() fails at the end, where strchr() would find the
 * NUL. */
static void read_layout(struct swift *w)
{
	if (!strchr("URNCDT", next(w)))
		w->failed = true;
}

/* A clause of `where`. Its letter says what kind it is and how its subject is named, as parameter,
 * member, or substitution. Nothing of it is shown, so that a symbol's name does not become a
 * paragraph; but its parts have to come off the stack. */
static void read_requirement(struct swift *w)
{
	const char c = next(w);
	const char *kind = strchr("cCbBtTsSmMlLpPQ", c);

	if (!kind || !c) {
		w->at--;
		read_parameter(w);
		pop_protocol(w);
	} else {
		if (strchr("cCtTmMpP", c))
			member_of(w, read_parameter(w), isupper((unsigned char)c));
		else if (strchr("bsl", c))
			read_parameter(w);
		else
			pop(w, TYPE);
		if (strchr("pPQ", c))
			pop_protocol(w);
		else if (strchr("mMlL", c))
			read_layout(w);
		else
			pop(w, TYPE);
	}
	push(w, of_text(REQUIREMENT, ""));
}

/* The end of a generic declaration: l has one parameter, r tells how many each depth has. Like the
 * requirements before it, it is not shown. */
static void read_signature(struct swift *w, bool counts)
{
	while (counts && !next_is(w, 'l') && !w->failed)
		if (!next_is(w, 'z'))
			number(w);
	while (took(w, REQUIREMENT))
		;
	push(w, of_text(SIGNATURE, ""));
}

/* A type that depends on a generic parameter: Qz, Qy and Qx name a member of the first parameter,
 * of another one, and of a type; capitals are paths. Qr is an opaque result. */
static void read_archetype(struct swift *w)
{
	const char c = next(w);

	if (c == 'r')
		push_type(w, "some");
	else if (c == 'x' || c == 'X')
		push(w, member_of(w, NULL, c == 'X'));
	else if (c == 'y' || c == 'Y')
		push(w, member_of(w, read_parameter(w), c == 'Y'));
	else if (c == 'z' || c == 'Z')
		push(w, member_of(w, "A", c == 'Z'));
	else
		w->failed = true;
}

/* --- entities --------------------------------------------------------------------------- */

/* A declaration with labels, in its context. */
static struct piece declared(struct swift *w, struct piece name, struct piece labels)
{
	struct piece context = pop_context(w), n;

	name.whole = say(w, "%s%s", name.whole, labels.whole);
	name.full = say(w, "%s%s%s", name.full,
			name.kind == PRIVATE && strchr(name.plain, '#') ? " " : "", labels.full);
	n = inside(w, context, name);
	n.kind = ENTITY;
	return n;
}

/* F: context, name, labels and type have been pushed, in this order. */
static void read_function(struct swift *w)
{
	struct piece type, labels, name;

	took(w, SIGNATURE);
	type = pop_function_type(w);
	labels = pop_labels(w, &type);
	name = pop_name(w);
	push(w, declared(w, name, labels));
}

/* Reads an entity that the compiler makes of a function: an initialiser, a closure, a default
 * argument. */
static void read_entity(struct swift *w)
{
	static const struct { char letter; const char *name; } kinds[] = {
		{ 'C', "init" }, { 'c', "init" }, { 'D', "deinit" }, { 'd', "deinit" },
	};
	const char c = next(w);
	struct piece type, labels = of_text(NONE, "");
	const char *text;

	if (c == 'U' || c == 'u') {
		text = say(w, "%sclosure #%u", c == 'u' ? "implicit " : "", number(w) + 1);
		type = pop(w, TYPE);
		labels = pop_context(w);
		labels.full = say(w, "%s in %s", type.full, labels.full);
		labels.plain = say(w, "%s in %s", text, labels.plain);
		labels.whole = say(w, "%s in %s", text, labels.whole);
		labels.full = say(w, "%s %s", text, labels.full);
		labels.kind = ENTITY;
		push(w, labels);
		return;
	}
	if (c == 'A') {
		text = say(w, "default argument %u of ", number(w));
		push(w, put_around(w, text, pop_context(w), ""));
		return;
	}
	if (c == 'i') {
		push(w, put_around(w, "variable initialization expression of ", pop_context(w), ""));
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct piece name = of_text(NAME, kinds[i].name);

		if (c != kinds[i].letter)
			continue;
		if (i < 2) {
			took(w, PRIVATE);
			type = pop(w, TYPE);
			labels = pop_labels(w, &type);
		}
		/* Only a class has another one, which does not make the object. */
		if (c == 'C' && top(w) == TYPE && w->stack[w->depth - 1].class)
			name.full = "__allocating_init";
		else if (c == 'D')
			name.full = "__deallocating_deinit";
		push(w, declared(w, name, labels));
		return;
	}
	w->failed = true;
}

/* A variable's or a subscript's functions. */
static void read_accessor(struct swift *w, struct piece n, const char *type)
{
	static const struct { const char *letters, *name; } kinds[] = {
		{ "g", "getter" }, { "s", "setter" }, { "G", "getter" }, { "w", "willset" },
		{ "W", "didset" }, { "r", "read" }, { "M", "modify" }, { "i", "init" },
		{ "m", "materializeForSet" }, { "au", "unsafeMutableAddressor" },
		{ "lu", "unsafeAddressor" }, { "aO", "owningMutableAddressor" },
		{ "lO", "owningAddressor" }, { "x", "modify2" }, { "y", "read2" },
	};

	if (next_is(w, 'p')) {
		n.full = say(w, "%s : %s", n.full, type);
		push(w, n);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strncmp(w->at, kinds[i].letters, strlen(kinds[i].letters)))
			continue;
		w->at += strlen(kinds[i].letters);
		n = put_around(w, "", n, say(w, ".%s", kinds[i].name));
		n.full = say(w, "%s : %s", n.full, type);
		push(w, n);
		return;
	}
	w->failed = true;
}

/* v: a variable, or one of its accessors, whose letter follows. A variable of a function's type has
 * an empty list of labels. */
static void read_variable(struct swift *w)
{
	struct piece type = pop(w, TYPE), name;

	if (type.function)
		took(w, EMPTY);
	name = pop_name(w);
	read_accessor(w, declared(w, name, of_text(NONE, "")), type.full);
}

/* i: labels stand before the type as a function's do, but are not repeated in front of the
 * accessor's type. */
static void read_subscript(struct swift *w)
{
	struct piece type, labels;

	took(w, PRIVATE);
	type = pop(w, TYPE);
	labels = pop_labels(w, &type);
	labels.full = "";
	read_accessor(w, declared(w, of_text(NAME, "subscript"), labels), type.full);
}

/* Names of a function's inside have a number, those of a file a word. */
static void read_local(struct swift *w)
{
	struct piece name, of;
	unsigned i;

	if (next_is(w, 'L')) {
		of = pop(w, NAME);
		name = pop_name(w);
		name.full = say(w, "(%s in %s)", name.full, of.plain);
	} else if (*w->at == '_' || isdigit((unsigned char)*w->at)) {
		i = number(w) + 1;
		name = pop_name(w);
		name.plain = say(w, "%s #%u", name.plain, i);
		name.whole = say(w, "%s #%u", name.whole, i);
		name.full = say(w, "%s #%u", name.full, i);
	} else {
		w->failed = true;
		return;
	}
	name.kind = PRIVATE;
	push(w, name);
}

/* Reads an extension of a type that another module defined. Its requirements are left out. */
static void read_extension(struct swift *w)
{
	struct piece module, n;

	took(w, SIGNATURE);
	module = pop_context(w);
	n = pop(w, TYPE);
	n.full = say(w, "(extension in %s):%s", module.full, n.full);
	n.kind = ENTITY;
	push(w, n);
}

/* --- what the compiler makes -------------------------------------------------------------- */

/* "shop.Item : Swift.Hashable in shop". */
static struct piece pop_conformance(struct swift *w)
{
	struct piece module, protocol, type;

	took(w, SIGNATURE);
	module = pop_context(w);
	protocol = pop_protocol(w);
	type = pop(w, TYPE);
	type.full = say(w, "%s : %s in %s", type.full, protocol.full, module.full);
	type.plain = type.whole = say(w, "%s : %s", type.plain, protocol.plain);
	return type;
}

/* Made for calls by a protocol. */
static void read_witness(struct swift *w)
{
	struct piece n = pop(w, ENTITY), in = pop_conformance(w);

	n.plain = say(w, "protocol witness for %s in conformance %s", n.plain, in.plain);
	n.whole = say(w, "protocol witness for %s in conformance %s", n.whole, in.whole);
	n.full = say(w, "protocol witness for %s in conformance %s", n.full, in.full);
	push(w, n);
}

/* A copy of a generic function for certain types: "Si_Tg5". */
static void read_specialization(struct swift *w, const char *kind)
{
	const char *types = "";
	bool first = took(w, EMPTY);

	natural(w);
	while (!first && !w->failed) {
		first = took(w, FIRST);
		types = joined(w, types, pop(w, TYPE).full, ", ");
	}
	push(w, put_around(w, say(w, "generic %s <%s> of ", kind, types), pop_context(w), ""));
}

/* T: code that stands before a function, or is a variant of it. The function was pushed as an
 * entity before. */
static void read_thunk(struct swift *w)
{
	static const struct { char letter; const char *text; } kinds[] = {
		{ 'j', "dispatch thunk of " }, { 'm', "merged " }, { 'c', "curry thunk of " },
		{ 'o', "@objc " }, { 'O', "@nonobjc " }, { 'D', "dynamic " },
		{ 'A', "partial apply forwarder for " }, { 'd', "direct super method " },
	};
	const char c = next(w);

	if (c == 'W') {
		read_witness(w);
		return;
	}
	if (c == 'g' || c == 'G' || c == 's') {
		read_specialization(w, c == 's' ? "pre-specialization" : "specialization");
		return;
	}
	if (c == 'Y' || c == 'Q') {
		const char *text = say(w, "(%u) %s ", number(w),
				       c == 'Y' ? "suspend resume partial function for"
						: "await resume partial function for");

		push(w, put_around(w, text, pop_context(w), ""));
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (c == kinds[i].letter) {
			push(w, put_around(w, kinds[i].text, pop_context(w), ""));
			return;
		}
	}
	w->failed = true;
}

/* Functions that handle values of a type: their letters, and what is said of the type. */
struct made { const char *letters, *text; };

static bool read_made(struct swift *w, const struct made *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(w->at, kinds[i].letters, strlen(kinds[i].letters)))
			continue;
		w->at += strlen(kinds[i].letters);
		took(w, SIGNATURE);
		push(w, put_around(w, kinds[i].text, pop(w, TYPE), ""));
		return true;
	}
	return false;
}

/* M: functions by which the runtime gets at a type's description. Descriptors themselves are data,
 * and have no symbols in a trace. */
static void read_metadata(struct swift *w)
{
	static const struct made kinds[] = {
		{ "a", "type metadata accessor for " },
		{ "i", "type metadata instantiation function for " },
		{ "r", "type metadata completion function for " },
		{ "b", "canonical specialized generic type metadata accessor for " },
		{ "u", "method lookup function for " },
	};

	if (!read_made(w, kinds, sizeof(kinds) / sizeof(*kinds)))
		w->failed = true;
}

/* W: helpers that the compiler shares between functions, to make code small (WO), and initializers
 * that run once (WZ). */
static void read_generated(struct swift *w)
{
	static const struct made kinds[] = {
		{ "Oh", "outlined destroy of " }, { "Oc", "outlined init with copy of " },
		{ "Ob", "outlined init with take of " }, { "Od", "outlined assign with take of " },
		{ "Of", "outlined assign with copy of " }, { "Oy", "outlined copy of " },
		{ "Oe", "outlined consume of " }, { "Or", "outlined retain of " },
		{ "Os", "outlined release of " },
	};
	struct piece in, n;

	if (next_is(w, 'Z')) {
		took(w, FIRST);
		n = pop_name(w);
		push(w, put_around(w, "one-time initialization function for ",
				   inside(w, pop_context(w), n), ""));
	} else if (*w->at == 'l' || *w->at == 'L') {
		w->at++;
		in = pop_conformance(w);
		n = pop(w, TYPE);
		n.plain = n.whole = say(w, "lazy protocol witness table accessor for type %s and conformance %s",
					n.plain, in.plain);
		n.full = say(w, "lazy protocol witness table accessor for type %s and conformance %s",
			     n.full, in.full);
		n.kind = ENTITY;
		push(w, n);
	} else if (!read_made(w, kinds, sizeof(kinds) / sizeof(*kinds))) {
		w->failed = true;
	}
}

#define WITNESS " value witness for "

/* w and two letters: the functions of a type's value witness table, through which generic code
 * copies and destroys values that it does not know (ValueWitnessMangling.def). */
static void read_value_witness(struct swift *w)
{
	static const struct made kinds[] = {
		{ "al", "allocateBuffer" WITNESS }, { "ca", "assignWithCopy" WITNESS },
		{ "ta", "assignWithTake" WITNESS }, { "de", "deallocateBuffer" WITNESS },
		{ "xx", "destroy" WITNESS }, { "XX", "destroyBuffer" WITNESS },
		{ "Xx", "destroyArray" WITNESS },
		{ "CP", "initializeBufferWithCopyOfBuffer" WITNESS },
		{ "Cp", "initializeBufferWithCopy" WITNESS }, { "cp", "initializeWithCopy" WITNESS },
		{ "TK", "initializeBufferWithTakeOfBuffer" WITNESS },
		{ "Tk", "initializeBufferWithTake" WITNESS }, { "tk", "initializeWithTake" WITNESS },
		{ "pr", "projectBuffer" WITNESS }, { "xs", "storeExtraInhabitant" WITNESS },
		{ "xg", "getExtraInhabitantIndex" WITNESS }, { "ug", "getEnumTag" WITNESS },
		{ "up", "destructiveProjectEnumData" WITNESS },
		{ "ui", "destructiveInjectEnumTag" WITNESS },
		{ "et", "getEnumTagSinglePayload" WITNESS },
		{ "st", "storeEnumTagSinglePayload" WITNESS },
	};

	if (!read_made(w, kinds, sizeof(kinds) / sizeof(*kinds)))
		w->failed = true;
}

/* --- the machine ------------------------------------------------------------------------ */

/* p: "P & Q"; without any it is Any. */
static void read_protocols(struct swift *w)
{
	const char *text = "";
	bool first = took(w, EMPTY);

	if (first)
		text = "Any";
	while (!first && !w->failed) {
		first = took(w, FIRST);
		text = joined(w, text, pop_protocol(w).full, " & ");
	}
	push_type(w, text);
}

/* X: function types by their convention (block, C, thin, not escaping), which look alike when
 * shown; and types of types. */
static void read_extended(struct swift *w)
{
	struct piece n;

	switch (next(w)) {
	case 'E': case 'A': case 'B': case 'C': case 'f': case 'U':
		push(w, pop_function_type(w));
		break;
	case 'K':
		n = pop_function_type(w);
		n.full = say(w, "@autoclosure %s", n.full);
		push(w, n);
		break;
	case 'p':
		push_type(w, say(w, "%s.Type", pop(w, TYPE).full));
		break;
	case 'D':
		pop(w, TYPE);
		push_type(w, "Self");
		break;
	case 'l':
		read_protocols(w);
		n = pop(w, TYPE);
		push_type(w, strcmp(n.full, "Any") ? say(w, "%s & Swift.AnyObject", n.full)
						   : "Swift.AnyObject");
		break;
	default:
		w->failed = true;
	}
}

/* Y: isolation of a function's type. Only what a caller sees in source is shown: async, and the
 * type of a typed throw. */
static void read_annotation(struct swift *w)
{
	switch (next(w)) {
	case 'a':
		push(w, of_text(MARK, " async"));
		break;
	case 'c': /* an actor */
		pop(w, TYPE);
		push(w, of_text(MARK, ""));
		break;
	case 'b':
		push(w, of_text(MARK, ""));
		break;
	case 'K':
		push(w, of_text(MARK, say(w, " throws(%s)", pop(w, TYPE).full)));
		break;
	default:
		w->failed = true;
	}
}

/* B: types of the compiler's own module, which symbols of the standard library have. Numbers are an
 * INDEX, thus one too high. */
static void read_builtin(struct swift *w)
{
	static const struct { char letter; const char *name; } kinds[] = {
		{ 'p', "RawPointer" }, { 'o', "NativeObject" }, { 'w', "Word" },
		{ 'b', "BridgeObject" }, { 'B', "UnsafeValueBuffer" }, { 'j', "Job" },
		{ 'c', "RawUnsafeContinuation" }, { 'D', "DefaultActorStorage" },
		{ 'e', "Executor" }, { 't', "SILToken" }, { 'O', "UnknownObject" },
		{ 'I', "IntLiteral" },
	};
	const char c = next(w);

	if (c == 'v') { /* of the builtin type before */
		struct piece n = pop(w, TYPE);

		push_type(w, say(w, "Builtin.Vec%ux%s", number(w) - 1,
				 strncmp(n.full, "Builtin.", 8) ? n.full : n.full + 8));
		return;
	}
	if (c == 'i' || c == 'f') {
		push_type(w, say(w, c == 'i' ? "Builtin.Int%u" : "Builtin.FPIEEE%u", number(w) - 1));
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (c == kinds[i].letter) {
			push_type(w, say(w, "Builtin.%s", kinds[i].name));
			return;
		}
	}
	w->failed = true;
}

/* A type with a word before it. */
static void read_qualified(struct swift *w, const char *before, const char *behind)
{
	struct piece n = pop(w, TYPE);

	push_type(w, say(w, "%s%s%s", before, n.full, behind));
}

static void read_static(struct swift *w)
{
	struct piece n = pop(w, ENTITY);

	n.full = say(w, "static %s", n.full);
	push(w, n);
}

static void read_generic_type(struct swift *w)
{
	took(w, SIGNATURE);
	push(w, pop(w, TYPE));
}

/* Operators that push a node and read no more. */
static bool read_simple(struct swift *w, char c)
{
	switch (c) {
	case '_': push(w, of_text(FIRST, "")); return true;
	case 'y': push(w, of_text(EMPTY, "")); return true;
	case 'd': push(w, of_text(VARIADIC, "")); return true;
	case 'K': push(w, of_text(MARK, " throws")); return true;
	case 's': push(w, of_text(MODULE, "Swift")); return true;
	case 'x': push_type(w, "A"); return true;
	case 'q': push_type(w, read_parameter(w)); return true;
	case 'c': push(w, pop_function_type(w)); return true;
	case 'z': read_qualified(w, "inout ", ""); return true;
	case 'n': read_qualified(w, "__owned ", ""); return true;
	case 'h': read_qualified(w, "__shared ", ""); return true;
	case 'm': read_qualified(w, "", ".Type"); return true;
	case 'l': read_signature(w, false); return true;
	case 'r': read_signature(w, true); return true;
	default: return false;
	}
}

static void read_one(struct swift *w)
{
	static const struct { char letter; void (*read)(struct swift *w); } readers[] = {
		{ 'A', read_shared }, { 'B', read_builtin }, { 'E', read_extension },
		{ 'F', read_function }, { 'G', read_bound }, { 'L', read_local },
		{ 'M', read_metadata }, { 'Q', read_archetype }, { 'R', read_requirement },
		{ 'S', read_standard }, { 'T', read_thunk }, { 'W', read_generated },
		{ 'X', read_extended }, { 'Y', read_annotation }, { 'Z', read_static },
		{ 'f', read_entity }, { 'i', read_subscript }, { 'o', read_operator },
		{ 'p', read_protocols }, { 't', read_tuple }, { 'u', read_generic_type },
		{ 'v', read_variable }, { 'w', read_value_witness },
	};
	const char c = next(w);

	if (isdigit((unsigned char)c)) {
		w->at--;
		read_identifier(w);
		return;
	}
	if (c == 'C' || c == 'V' || c == 'O' || c == 'P' || c == 'a') {
		read_nominal(w, c);
		return;
	}
	if (read_simple(w, c))
		return;
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (c == readers[i].letter) {
			readers[i].read(w);
			return;
		}
	}
	w->failed = true;
}

/* $s since Swift 5, $S in 4.2; some systems put an underscore before every symbol. */
bool demangle_is_swift(const char *s)
{
	s += *s == '_';
	return s[0] == '$' && (s[1] == 's' || s[1] == 'S') && isalnum((unsigned char)s[2]);
}

/* Parts that a compiler makes of a function have a suffix, ".resume.0", which is kept. */
char *demangle_swift(const char *symbol, bool whole, bool full)
{
	struct swift *w = mem_zalloc(sizeof(*w));
	const char *from = symbol + (*symbol == '_') + 2, *tail = strchr(from, '.');
	char *core = mem_strndup(from, tail ? (size_t)(tail - from) : strlen(from)), *name = NULL;

	w->at = core;
	while (*w->at && !w->failed)
		read_one(w);
	if (!w->failed && w->depth == 1 && top(w) == ENTITY) {
		const struct piece *n = &w->stack[0];

		name = mem_printf("%s%s", full && whole ? n->full : whole ? n->whole : n->plain,
				  tail ? tail : "");
	}
	for (size_t i = 0; i < w->memory.n; i++)
		free(w->memory.at[i]);
	vec_free(&w->memory);
	free(core);
	free(w);
	return name;
}
