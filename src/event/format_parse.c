/* SPDX-License-Identifier: MIT */
/* A `format` file's text taken apart: what other people's tools and events (and files from elsewhere) hand to
 * us. Strict: what is accepted is written again byte for byte. */
#include "event/format.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

/* An event whose strings and fields are its own. */
struct owned {
	struct event_format e; /* first: a pointer to it is one to the whole */
	VEC(struct event_field) fields;
	VEC(char *) strings;
};

struct text {
	const char *at, *end;
	unsigned line;
	struct owned *to;
	struct err *err;
};

static const char *keep(struct text *t, const char *s, size_t n)
{
	char *copy = mem_strndup(s, n);

	*vec_add(&t->to->strings) = copy;
	return copy;
}

static int bad(struct text *t, const char *what)
{
	return err_set(t->err, EINVAL, "line %u of the event's format has no %s", t->line, what);
}

static bool skip(struct text *t, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n))
		return false;
	for (size_t i = 0; i < n; i++)
		t->line += word[i] == '\n';
	t->at += n;
	return true;
}

/* Up to the first `end`, which is skipped; NULL if there is none on this line, or nothing before it. */
static const char *until(struct text *t, char end, size_t *n)
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

/* A decimal number of at most max, without leading zeros. */
static bool number(struct text *t, uint32_t max, uint32_t *v)
{
	const char *begin = t->at;
	uint64_t sum = 0;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && sum <= max)
		sum = sum * 10 + (uint64_t)(*t->at++ - '0');
	*v = (uint32_t)sum;
	return t->at > begin && sum <= max && (*begin != '0' || t->at == begin + 1);
}

static bool labelled(struct text *t, const char *label, uint32_t max, uint32_t *v)
{
	return skip(t, label) && number(t, max, v) && skip(t, ";");
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "char comm[16]": name comm, type char[16]. */
static bool declaration(struct text *t, const char *s, size_t n, struct event_field *f)
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
	f->name = keep(t, name, (size_t)(dimension - name));
	*vec_add(&t->to->strings) = mem_printf("%.*s%.*s", (int)(name - 1 - s), s, (int)(end - dimension), dimension);
	f->type = t->to->strings.at[t->to->strings.n - 1];
	if (!strncmp(f->type, "__data_loc", 10))
		return dimension == end;
	return !memchr(s, '[', (size_t)(name - 1 - s));
}

/* The rest of a line behind "\tfield:". */
static int field(struct text *t, struct event_field *f)
{
	uint32_t offset, size, is_signed;
	const char *s;
	size_t n;

	s = until(t, ';', &n);
	if (!s || !declaration(t, s, n, f))
		return bad(t, "type and name of a field");
	if (!labelled(t, "\toffset:", 0xffff, &offset) || !labelled(t, "\tsize:", 0xffff - offset, &size) ||
	    !labelled(t, "\tsigned:", 1, &is_signed) || !skip(t, "\n"))
		return bad(t, "offset, size and sign of the field");
	f->offset = (uint16_t)offset;
	f->size = (uint16_t)size;
	f->is_signed = is_signed;
	return 0;
}

static bool same(const struct event_field *a, const struct event_field *b)
{
	return !strcmp(a->type, b->type) && !strcmp(a->name, b->name) && a->offset == b->offset && a->size == b->size &&
	       a->is_signed == b->is_signed;
}

static int common(struct text *t)
{
	for (size_t i = 0; i < EVENT_COMMON_FIELDS; i++) {
		struct event_field f;

		if (!skip(t, "\tfield:"))
			return bad(t, "common field");
		if (field(t, &f) < 0)
			return -EINVAL;
		if (!same(&f, &event_common_fields[i]))
			return bad(t, "common field as every event has it");
	}
	return 0;
}

static int head(struct text *t)
{
	const char *s;
	size_t n;

	if (!skip(t, "name: ") || !(s = until(t, '\n', &n)))
		return bad(t, "name of the event");
	t->to->e.name = keep(t, s, n);
	if (!skip(t, "ID: ") || !number(t, UINT32_MAX, &t->to->e.id) || !skip(t, "\nformat:\n"))
		return bad(t, "number of the event");
	return 0;
}

static int parse(struct text *t)
{
	const char *s;
	size_t n;

	if (head(t) < 0 || common(t) < 0)
		return -EINVAL;
	if (!skip(t, "\n"))
		return bad(t, "empty line behind the common fields");
	while (skip(t, "\tfield:"))
		if (field(t, vec_add(&t->to->fields)) < 0)
			return -EINVAL;
	if (!skip(t, "\nprint fmt: ") || !(s = until(t, '\n', &n)) || t->at != t->end)
		return bad(t, "print format as its last line");
	t->to->e.print = keep(t, s, n);
	return 0;
}

struct event_format *event_format_parse(const char *text, size_t n, const char *system, struct err *err)
{
	struct owned *to = mem_zalloc(sizeof(*to));
	struct text t = { text, text + n, 1, to, err };

	if (parse(&t) < 0) {
		event_format_free(&to->e);
		return NULL;
	}
	to->e.system = keep(&t, system, strlen(system));
	to->e.fields = to->fields.at;
	to->e.n = to->fields.n;
	return &to->e;
}

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
