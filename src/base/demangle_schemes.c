/* SPDX-License-Identifier: MIT */
/* The names of languages that libiberty does not know, or knows only by request: OCaml, Swift, Go,
 * D, Ada. demangle.c calls it on any thread. Each scheme looks at a symbol that anybody may have
 * made up, byte by byte, and leaves alone what it does not understand. A symbol of none of them
 * gives NULL. */
#include "base/demangle_schemes.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle_swift.h"
#include "base/mem.h"

/* --- memory ----------------------------------------------------------------------------- */

/* libiberty's demanglers of Ada and D ask for memory here. Its own functions of these names end the
 * process with their own words when there is none. */
void *xmalloc(size_t n);
void *xrealloc(void *old, size_t n);

void *xmalloc(size_t n)
{
	return mem_zalloc(n);
}

void *xrealloc(void *old, size_t n)
{
	return mem_realloc(old, n ? n : 1, 1);
}

/* --- OCaml ------------------------------------------------------------------------------ */

/* Two hexadecimal digits; -1: they are none. */
static int hex_byte(const char *s)
{
	char digits[3] = { s[0], s[0] ? s[1] : 0, 0 }, *end;
	long byte = strtol(digits, &end, 16);

	return isxdigit((unsigned char)digits[0]) && end == digits + 2 ? (int)byte : -1;
}

/* The number that makes a symbol unique: "_267" at its end. */
static size_t without_stamp(const char *s, size_t n)
{
	size_t at = n;

	while (at && isdigit((unsigned char)s[at - 1]))
		at--;
	return at > 1 && at < n && s[at - 1] == '_' ? at - 1 : n;
}

/* "camlStdlib__List__map_389" -> "Stdlib.List.map"; "$2b" is an operator's '+'. OCaml 5.1 writes a
 * dot before the function. */
static char *ocaml_name(const char *symbol)
{
	const char *s = symbol + 4, *end = s + without_stamp(s, strlen(s));
	char *name = mem_zalloc(strlen(s) + 1), *to = name;

	while (s < end) {
		int byte = *s == '$' ? hex_byte(s + 1) : -1;

		if (byte > ' ' && byte < 0x7f) {
			*to++ = (char)byte;
			s += 3;
		} else if (s[0] == '_' && s[1] == '_' && s + 2 < end) {
			*to++ = '.';
			s += 2;
		} else {
			*to++ = *s++;
		}
	}
	return name;
}

/* camlModule__name_123, or with a dot, as the version of OCaml has it. */
static bool is_ocaml(const char *s)
{
	return !strncmp(s, "caml", 4) && isupper((unsigned char)s[4]) &&
	       (strstr(s, "__") || strchr(s, '.'));
}

/* --- Go, D, Ada ------------------------------------------------------------------------- */

/* "gopkg.in/yaml%2ev3.Unmarshal": the linker escapes dots in a package's last component. */
static bool is_go(const char *s)
{
	return strchr(s, '%') && strstr(s, "%2e");
}

/* The linker writes a dot in the last element of an import path as %2e: in names it would end the
 * package. */
static char *go_name(const char *symbol)
{
	char *name = mem_strdup(symbol);

	for (char *at = name; (at = strstr(at, "%2e"));) {
		*at++ = '.';
		memmove(at, at + 2, strlen(at + 2) + 1);
	}
	return name;
}

/* _D and the length of the first name, a thunk's offset, or the main function's own symbol. */
static bool is_d(const char *s)
{
	return s[0] == '_' && s[1] == 'D' &&
	       (isdigit((unsigned char)s[2]) || !strncmp(s + 2, "Ti", 2) ||
		!strncmp(s + 2, "Th", 2) || !strcmp(s, "_Dmain"));
}

/* Thunks, which calls by way of an interface run first: "_DTi16_D4shop6Basket5totalMFZi" of ldc2,
 * "_DThn16_4shop6Basket5totalMFZi" of gdc. Returns the symbol of the method, for free(), or NULL:
 * it is no such thunk. */
static char *d_thunk_target(const char *symbol)
{
	const char *s = symbol + 4;

	if (strncmp(symbol, "_DTi", 4) && strncmp(symbol, "_DTh", 4))
		return NULL;
	while (isdigit((unsigned char)*s) || *s == 'N' || *s == 'n')
		s++;
	if (*s++ != '_')
		return NULL;
	s += *s == 'D';
	return isdigit((unsigned char)*s) ? mem_printf("_D%s", s) : NULL;
}

/* The compilers write the attribute "return" of a parameter (Nk) before its "scope" (M), too, which
 * libiberty of GCC 12 expects the other way round. Exchanges them; back references stay right.
 * Names are passed over by their lengths. False: there are none. */
static bool d_exchange_attributes(char *s)
{
	bool found = false;

	while (*s) {
		if (isdigit((unsigned char)*s)) {
			unsigned long n = strtoul(s, &s, 10);

			s += n < strlen(s) ? n : 0;
		} else if (!strncmp(s, "NkM", 3)) {
			memcpy(s, "MNk", 3);
			s += 3;
			found = true;
		} else {
			s++;
		}
	}
	return found;
}

static char *d_demangle(const char *symbol)
{
	char *name = cplus_demangle(symbol, DMGL_DLANG | DMGL_PARAMS), *other;

	if (name || !strstr(symbol, "NkM"))
		return name;
	other = mem_strdup(symbol);
	if (d_exchange_attributes(other))
		name = cplus_demangle(other, DMGL_DLANG | DMGL_PARAMS);
	free(other);
	return name;
}

/* The types that object.d gives names: string is immutable(char)[]. In place. */
static void d_put_strings(char *name)
{
	static const struct { const char *type, *name; } strings[] = {
		{ "immutable(char)[]", "string" }, { "immutable(wchar)[]", "wstring" },
		{ "immutable(dchar)[]", "dstring" },
	};

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		size_t n = strlen(strings[i].type), shown = strlen(strings[i].name);

		for (char *at = name; (at = strstr(at, strings[i].type)); at += shown) {
			memcpy(at, strings[i].name, shown);
			memmove(at + shown, at + n, strlen(at + n) + 1);
		}
	}
}

/* The beginning of "(int) nothrow" that ends before `end`; NULL: no parameters stand there. */
static char *d_parameters(char *name, char *end)
{
	char *at = end - 1;
	int open = 0;

	while (at > name && (islower((unsigned char)*at) || *at == ' ' || *at == '@'))
		at--;
	if (*at != ')')
		return NULL;
	for (; at >= name; at--) {
		open += *at == ')' ? 1 : *at == '(' ? -1 : 0;
		if (!open)
			return at;
	}
	return NULL;
}

/* "int(char) delegate" is libiberty's order; D's is "int delegate(char)". In place. */
static void d_put_words(char *name, const char *word)
{
	size_t n = strlen(word);

	for (char *at = name; (at = strstr(at, word)); at += n) {
		char *open = d_parameters(name, at);

		if (!open)
			continue;
		memmove(open + n, open, (size_t)(at - open));
		memcpy(open, word, n);
	}
}

/* A suffix behind the parameters is cut with them. */
static void d_cut(char *name)
{
	char *end = strrchr(name, ')');
	int open = 0;

	for (; end && end > name; end--) {
		open += *end == ')' ? 1 : *end == '(' ? -1 : 0;
		if (!open) {
			*end = 0;
			break;
		}
	}
}

static char *d_name(const char *symbol, bool whole, bool full)
{
	char *target = d_thunk_target(symbol), *longer;
	char *name = d_demangle(target ? target : symbol);
	const bool thunk = target;

	free(target);
	if (!name)
		return NULL;
	if (!whole)
		d_cut(name);
	if (!full) {
		d_put_strings(name);
		d_put_words(name, " delegate");
		d_put_words(name, " function");
	}
	if (!thunk)
		return name;
	longer = mem_printf("%s.thunk", name);
	free(name);
	return longer;
}

bool demangle_is_scheme(const char *symbol)
{
	return (symbol[0] == 'c' && is_ocaml(symbol)) || demangle_is_swift(symbol) ||
	       is_d(symbol) || is_go(symbol);
}

char *demangle_scheme(const char *symbol, bool whole, bool full)
{
	if (is_ocaml(symbol))
		return ocaml_name(symbol);
	if (demangle_is_swift(symbol))
		return demangle_swift(symbol, whole, full);
	return is_d(symbol) ? d_name(symbol, whole, full) : is_go(symbol) ? go_name(symbol) : NULL;
}

/* The main procedure, and the elaboration of a package: no other language has such symbols. */
bool demangle_tells_ada(const char *symbol)
{
	size_t n = strlen(symbol);

	return !strncmp(symbol, "_ada_", 5) ||
	       (n > 8 && (!strcmp(symbol + n - 8, "___elabb") || !strcmp(symbol + n - 8, "___elabs")));
}

/* The number by which GNAT tells overloads apart, "__2" at the end; "": there is none. */
static const char *ada_overload(const char *symbol)
{
	const char *at = strrchr(symbol, '_');

	return at && at - symbol > 1 && at[-1] == '_' && at[1] &&
			       strspn(at + 1, "0123456789") == strlen(at + 1)
		       ? at - 1
		       : "";
}

/* libiberty writes "<name>" for what is no name of Ada, and leaves an overload's number out. */
char *demangle_ada(const char *symbol, bool whole)
{
	char *name, *longer;

	if (strncmp(symbol, "_ada_", 5) && !strstr(symbol, "__"))
		return NULL;
	name = cplus_demangle(symbol, DMGL_GNAT);
	if (name && *name != '<') {
		longer = mem_printf("%s%s", name, whole ? ada_overload(symbol) : "");
		free(name);
		return longer;
	}
	free(name);
	return NULL;
}
