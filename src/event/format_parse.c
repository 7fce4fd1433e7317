/* SPDX-License-Identifier: MIT */
/* Parses the text of a `format` file. The text comes from programs, trace files and the kernel, so
 * it is not trusted: accepted text is strict enough that event_format_read() writes it again byte
 * for byte. An error names the line. Any thread; no state. It owns what it allocates until it has
 * succeeded. */
#include "event/format.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

/* A format that owns its strings and fields. */
struct owned {
	struct event_format e; /* first: a pointer to it is one to the whole */
	VEC(struct event_field) fields;
	VEC(char *) strings;
};

/* The text as it is being read. `line` counts from 1, for errors. */
struct format_text {
	const char *at, *end;
	unsigned line;
	struct owned *to;
	struct err *err;
};

/* Copies the text; the format frees it. */
static const char *keep_string(struct format_text *t, const char *s, size_t n)
{
	char *copy = mem_strndup(s, n);

	*vec_add(&t->to->strings) = copy;
	return copy;
}

/* Sets the error with the present line; `what` is missing there. */
static int bad_format(struct format_text *t, const char *what)
{
	return err_set(t->err, EINVAL, "line %u of the event's format has no %s", t->line, what);
}

/* Skips the word if the text goes on with it. */
static bool skip_word(struct format_text *t, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n))
		return false;
	for (size_t i = 0; i < n; i++)
		t->line += word[i] == '\n';
	t->at += n;
	return true;
}

/* Returns the text up to the first `end`, which is skipped; NULL if there is none on this line, or
 * nothing before it. */
static const char *text_until(struct format_text *t, char end, size_t *n)
{
	const char *begin = t->at, *p = memchr(begin, end, (size_t)(t->end - begin));

	if (!p || p == begin || memchr(begin, 0, (size_t)(p - begin)) ||
	    (end != '\n' && memchr(begin, '\n', (size_t)(p - begin))))
		return NULL;
	*n = (size_t)(p - begin);
	t->at = p + 1;
	t->line += end == '\n';
	return begin;
}

/* Reads a decimal number of at most max, without leading zeros. */
static bool parse_number(struct format_text *t, uint32_t max, uint32_t *v)
{
	const char *begin = t->at;
	uint64_t sum = 0;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && sum <= max)
		sum = sum * 10 + (uint64_t)(*t->at++ - '0');
	*v = (uint32_t)sum;
	return t->at > begin && sum <= max && (*begin != '0' || t->at == begin + 1);
}

/* Reads LABEL, a number of at most max, and a semicolon. */
static bool parse_labelled(struct format_text *t, const char *label, uint32_t max, uint32_t *v)
{
	return skip_word(t, label) && parse_number(t, max, v) && skip_word(t, ";");
}

/* Letters of C's names; isalnum() would ask the locale. */
static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* "char comm[16]" becomes name comm, type char[16]. */
static bool parse_declaration(struct format_text *t, const char *s, size_t n, struct event_field *f)
{
	const char *end = s + n, *dimension = end, *name;

	if (n && s[n - 1] == ']')
		while (dimension > s && *dimension != '[')
			dimension--;
	name = dimension;
	while (name > s && is_word(name[-1]))
		name--;
	if (name == dimension || name < s + 2 || name[-1] != ' ')
		return false;
	f->name = keep_string(t, name, (size_t)(dimension - name));
	*vec_add(&t->to->strings) =
		mem_printf("%.*s%.*s", (int)(name - 1 - s), s, (int)(end - dimension), dimension);
	f->type = t->to->strings.at[t->to->strings.n - 1];
	if (!strncmp(f->type, "__data_loc", 10))
		return dimension == end;
	return !memchr(s, '[', (size_t)(name - 1 - s));
}

/* Reads the rest of a line after "\tfield:". */
static int parse_field(struct format_text *t, struct event_field *f)
{
	uint32_t offset, size, is_signed;
	const char *s;
	size_t n;

	s = text_until(t, ';', &n);
	if (!s || !parse_declaration(t, s, n, f))
		return bad_format(t, "type and name of a field");
	if (!parse_labelled(t, "\toffset:", 0xffff, &offset) ||
	    !parse_labelled(t, "\tsize:", 0xffff - offset, &size) ||
	    !parse_labelled(t, "\tsigned:", 1, &is_signed) || !skip_word(t, "\n"))
		return bad_format(t, "offset, size and sign of the field");
	f->offset = (uint16_t)offset;
	f->size = (uint16_t)size;
	f->is_signed = is_signed;
	return 0;
}

/* True if both fields are equal in all that a reader uses. */
static bool same_field(const struct event_field *a, const struct event_field *b)
{
	return !strcmp(a->type, b->type) && !strcmp(a->name, b->name) && a->offset == b->offset &&
	       a->size == b->size && a->is_signed == b->is_signed;
}

/* Only formats with the kernel's four common fields are accepted: readers rely on their places. */
static int parse_common(struct format_text *t)
{
	for (size_t i = 0; i < EVENT_COMMON_FIELDS; i++) {
		struct event_field f;

		if (!skip_word(t, "\tfield:"))
			return bad_format(t, "common field");
		if (parse_field(t, &f) < 0)
			return -EINVAL;
		if (!same_field(&f, &event_common_fields[i]))
			return bad_format(t, "common field as every event has it");
	}
	return 0;
}

/* Reads the lines "name: NAME", "ID: NUMBER" and "format:". */
static int parse_head(struct format_text *t)
{
	const char *s;
	size_t n;

	if (!skip_word(t, "name: ") || !(s = text_until(t, '\n', &n)))
		return bad_format(t, "name of the event");
	t->to->e.name = keep_string(t, s, n);
	if (!skip_word(t, "ID: ") || !parse_number(t, UINT32_MAX, &t->to->e.id) ||
	    !skip_word(t, "\nformat:\n"))
		return bad_format(t, "number of the event");
	return 0;
}

/* Reads the whole file: its head, common fields, an empty line, own fields, an empty line, the
 * print format, and nothing after that. */
static int parse_text(struct format_text *t)
{
	const char *s;
	size_t n;

	if (parse_head(t) < 0 || parse_common(t) < 0)
		return -EINVAL;
	if (!skip_word(t, "\n"))
		return bad_format(t, "empty line behind the common fields");
	while (skip_word(t, "\tfield:"))
		if (parse_field(t, vec_add(&t->to->fields)) < 0)
			return -EINVAL;
	if (!skip_word(t, "\nprint fmt: ") || !(s = text_until(t, '\n', &n)) || t->at != t->end)
		return bad_format(t, "print format as its last line");
	t->to->e.print = keep_string(t, s, n);
	return 0;
}

/* The format has all texts in one piece with it: event_format_free() frees them. NULL and *err;
 * text need not end with a NUL. */
struct event_format *event_format_parse(const char *text, size_t n, const char *system,
					struct err *err)
{
	struct owned *to = mem_zalloc(sizeof(*to));
	struct format_text t = { text, text + n, 1, to, err };

	if (parse_text(&t) < 0) {
		event_format_free(&to->e);
		return NULL;
	}
	to->e.system = keep_string(&t, system, strlen(system));
	to->e.fields = to->fields.at;
	to->e.n = to->fields.n;
	return &to->e;
}

/* For formats of event_format_parse() only: they are the first member of a struct owned. */
void event_format_free(struct event_format *e)
{
	struct owned *o = (struct owned *)e;

	if (!o)
		return;
	for (size_t i = 0; i < o->strings.n; i++)
		free(o->strings.at[i]);
	vec_free(&o->strings);
	vec_free(&o->fields);
	free(o);
}
