/* SPDX-License-Identifier: MIT */
/* The grammar of synthetic_events, on the thread that writes the file; nothing is kept here. Faults
 * are found in the kernel's order. As there, the column of a fault is that of the first occurrence
 * of the words at fault in the line.
 *
 * The record has a word for each field, and a string with a length as many as that takes. (The
 * kernel's has 256 bytes for such a string, whatever its length; the `format` file tells readers.)
 * Strings and stacks without a length stand behind the fixed fields. tree/dynamic_files.c calls it
 * for what users write, hist/ and report/ for the formats of fields. */
#include "event/synthetic.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/record.h"

#define BLANKS " \t\n\r\v\f"
#define DYNAMIC "__data_loc "

const struct event_provider synthetic_provider = { .name = SYNTHETIC_SYSTEM, .can_enable = true };

static const char bad_command[] = "Command must be of the form: <name> field[;field] ...";

/* Types of numbers. */
static const struct {
	const char *name;
	unsigned size;
	const char *print;
} numbers[] = {
	{ "s64", 8, "%lld" },	       { "u64", 8, "%llu" },
	{ "s32", 4, "%d" },	       { "u32", 4, "%u" },
	{ "s16", 2, "%d" },	       { "u16", 2, "%u" },
	{ "s8", 1, "%d" },	       { "u8", 1, "%u" },
	{ "char", 1, "%d" },	       { "unsigned char", 1, "%u" },
	{ "int", 4, "%d" },	       { "unsigned int", 4, "%u" },
	{ "long", 8, "%ld" },	       { "unsigned long", 8, "%lu" },
	{ "bool", 1, "%d" },	       { "pid_t", 4, "%d" },
	{ "gfp_t", 4, "%x" },
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* The line that is parsed, and the fields so far. */
struct synthetic_parse {
	const char *line;
	struct err *err;
	struct event_field fields[SYNTHETIC_FIELDS_MAX];
	size_t n;
	uint32_t end;           /* of the fixed fields, in the record */
};

/* --- faults ----------------------------------------------------------------------------------- */

static int refuse_at(const struct synthetic_parse *p, size_t column, const char *sentence)
{
	return err_at(p->err, EINVAL, p->line, column, "%s", sentence);
}

/* Points at the first occurrence of the words. */
static int refuse_words(const struct synthetic_parse *p, const char *words, const char *sentence)
{
	const char *found = strstr(p->line, words);

	return refuse_at(p, found ? (size_t)(found - p->line) : 0, sentence);
}

/* --- types ------------------------------------------------------------------------------------ */

bool synthetic_is_dynamic(const struct event_field *f)
{
	return !strncmp(f->type, DYNAMIC, sizeof(DYNAMIC) - 1);
}

bool synthetic_is_string(const struct event_field *f)
{
	return strstr(f->type, "char[");
}

bool synthetic_is_stack(const struct event_field *f)
{
	return strstr(f->type, "long[");
}

/* Bytes of a string of this type: 0 it has no length, -1 it is none. */
static int string_size(const char *type)
{
	const char *digits = strstr(type, "char[") + 5, *end = strchr(type, ']');
	char number[4] = "", *rest;
	unsigned long n;

	/* Three digits: SYNTHETIC_STRING_MAX has no more. */
	if (!end || end < digits || end[1] || end - digits > 3)
		return -1;
	memcpy(number, digits, (size_t)(end - digits));
	if (!*number)
		return 0;
	n = strtoul(number, &rest, 0);
	return !isdigit((unsigned char)*number) || *rest || n > SYNTHETIC_STRING_MAX ? -1 : (int)n;
}

#define NO_TYPE (-2)

/* Whether the type is an array of these, or of unsigned ones. The kernel takes whatever ends so. */
static bool is_array_of(const char *type, const char *element)
{
	type += strncmp(type, "unsigned ", 9) ? 0 : 9;
	return !strncmp(type, element, strlen(element)) && type[strlen(element)] == '[';
}

/* Bytes of the type: 0 it has no length, -1 its length is none. */
static int type_size(const char *type)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (!strcmp(type, numbers[i].name))
			return (int)numbers[i].size;
	if (is_array_of(type, "char"))
		return string_size(type);
	if (!is_array_of(type, "long"))
		return NO_TYPE;
	return strcspn(type, "]") + 1 == strlen(type) ? 0 : -1;
}

/* The kernel's rule: gfp_t has no sign, nor has a type whose name begins with a `u`. */
static bool is_signed(const char *type)
{
	return *type != 'u' && strcmp(type, "gfp_t") != 0;
}

/* Strings and stacks are both texts to the print format. */
static const char *print_of(const struct event_field *f)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (!strcmp(f->type, numbers[i].name))
			return numbers[i].print;
	return "%s";
}

/* --- fields ----------------------------------------------------------------------------------- */

/* A C identifier. */
static bool is_good_name(const char *name)
{
	size_t n = strlen(name);

	return n && !isdigit((unsigned char)*name) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == n;
}

/* The words of a field, as they are written. */
struct field_words {
	const char *type, *name, *array; /* array: from the [ on, "" if there is none */
	bool is_unsigned;
};

/* Adds the field to the record. A fixed string's length stands in its size, as in the kernel. Each
 * field begins at a multiple of 8: records are words. */
static int offset_of_field(struct synthetic_parse *p, char *type, char *name, int size)
{
	struct event_field f = { .name = name, .offset = (uint16_t)p->end };
	bool fixed = size && strstr(type, "char[");

	f.size = (uint16_t)(size ? size : (int)sizeof(uint64_t));
	f.type = fixed	? mem_printf("%.*s[]", (int)strcspn(type, "["), type)
		 : size ? mem_strdup(type)
			: mem_printf(DYNAMIC "%s", type);
	f.is_signed = is_signed(f.type);
	free(type);
	p->fields[p->n++] = f;
	p->end += (f.size + 7u) / 8 * 8;
	if (p->end - EVENT_COMMON_BYTES <= 8 * RECORD_PAYLOAD_MAX)
		return 0;
	return refuse_at(p, 0, "The fields take more than the 504 bytes that a record has");
}

/* Checks the words and adds the field, whose type and name are freed with the parse. The name is
 * checked before the type, as in the kernel. Both texts are freed here as long as offset_of_field()
 * has not put them into p->fields. */
static int add_field(struct synthetic_parse *p, const struct field_words *w)
{
	char *name = mem_strndup(w->name, (size_t)(w->array - w->name)), *type;
	int size;

	if (!is_good_name(name)) {
		free(name);
		return refuse_words(p, w->name, "Illegal name");
	}
	type = mem_printf("%s%s%s", w->is_unsigned ? "unsigned " : "", w->type, w->array);
	size = type_size(type);
	if (size >= 0) {
		if (p->n < SYNTHETIC_FIELDS_MAX)
			return offset_of_field(p, type, name, size);
		free(type);
		free(name);
		return refuse_at(p, 0, "Too many fields");
	}
	free(type);
	free(name);
	if (size != NO_TYPE && *w->array)
		return refuse_words(p, w->name, "Invalid array specification");
	return refuse_words(p, w->type, "Invalid type");
}

/* Reads a field off the front of n words. Returns how many it took, or -EINVAL. */
static int read_field(struct synthetic_parse *p, char **words, size_t n)
{
	struct field_words w = { .type = words[0], .is_unsigned = !strcmp(words[0], "unsigned") };
	size_t took = w.is_unsigned ? 3 : 2;
	int r;

	if (w.is_unsigned && n < 3)
		return refuse_words(p, w.type, "Incomplete type");
	if (n < 2)
		return refuse_words(p, w.type, "Invalid field");
	if (w.is_unsigned)
		w.type = words[1];
	w.name = words[took - 1];
	w.array = w.name + strcspn(w.name, "[");
	r = add_field(p, &w);
	return r < 0 ? r : (int)took;
}

/* Reads what stands between semicolons: a field, or, as of old, several. Cuts the text. */
static int read_fields(struct synthetic_parse *p, char *text)
{
	VEC(char *) words = { 0 };
	char *rest = NULL;
	int r = 0;

	for (char *w = strtok_r(text, BLANKS, &rest); w; w = strtok_r(NULL, BLANKS, &rest))
		*vec_add(&words) = w;
	for (size_t i = 0; i < words.n && r >= 0; i += (size_t)r)
		r = read_field(p, words.at + i, words.n - i);
	vec_free(&words);
	return r < 0 ? r : 0;
}

/* --- the format ------------------------------------------------------------------------------- */

/* Returns the print format: "a=%llu, s=%s", REC->a, __get_str(s). The caller frees it. */
static char *print_format(const struct synthetic_parse *p)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	fputc('"', to);
	for (size_t i = 0; i < p->n; i++)
		fprintf(to, "%s%s=%s", i ? ", " : "", p->fields[i].name, print_of(&p->fields[i]));
	fputc('"', to);
	for (size_t i = 0; i < p->n; i++) {
		const struct event_field *f = &p->fields[i];

		fprintf(to,
			!synthetic_is_dynamic(f)  ? ", REC->%s"
			: synthetic_is_stack(f) ? ", __get_stacktrace(%s)"
						: ", __get_str(%s)",
			f->name);
	}
	mem_stream_close(to, &text);
	return text;
}

/* Through the text, so that the format owns its strings and has passed the parser. */
static struct event_format *make_format(const struct synthetic_parse *p, const char *name)
{
	char *print = print_format(p), *text;
	const struct event_format f = { SYNTHETIC_SYSTEM, name, 0, p->fields, p->n, print };
	struct event_format *made;

	text = event_format_read(&f);
	made = event_format_parse(text, strlen(text), SYNTHETIC_SYSTEM, p->err);
	free(text);
	free(print);
	return made;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Whether a name and a field stand before the first semicolon. */
static bool is_definition(const char *text)
{
	size_t words = 0, end = strcspn(text, ";");

	for (size_t at = 0; at < end && words < 3; words++) {
		at += strspn(text + at, BLANKS);
		if (at >= end)
			break;
		at += strcspn(text + at, BLANKS ";");
	}
	return words >= 3;
}

/* Takes over `name`; also when it fails. */
static int parse_definition(struct synthetic_parse *p, char *name, const char *fields,
			    struct synthetic_command *out)
{
	char *copy, *rest, *part;
	int r = 0;

	if (!is_good_name(name)) {
		r = *name ? refuse_words(p, name, "Illegal name") : refuse_at(p, 0, bad_command);
		free(name);
		return r;
	}
	p->end = EVENT_COMMON_BYTES;
	rest = copy = mem_strdup(fields);
	while (r == 0 && (part = strsep(&rest, ";")))
		r = read_fields(p, part);
	free(copy);
	if (r == 0 && !p->n)
		r = refuse_at(p, 0, bad_command);
	if (r == 0) {
		*out = (struct synthetic_command){ SYNTHETIC_DEFINE, name, make_format(p, name) };
		/* The format is brace's own text: the parser refuses it only where a name makes it
		 * another text. */
		r = out->format ? 0 : refuse_at(p, 0, p->err->text);
	}
	for (size_t i = 0; i < p->n; i++) {
		free((char *)p->fields[i].type);
		free((char *)p->fields[i].name);
	}
	if (r < 0)
		free(name);
	return r;
}

int synthetic_command_parse(const char *line, struct synthetic_command *out, struct err *err)
{
	struct synthetic_parse p = { .line = line, .err = err };
	size_t n = strcspn(line, " \t");

	*out = (struct synthetic_command){ 0 };
	if (!*line)
		return 0;
	if (*line == '!') {
		*out = (struct synthetic_command){ SYNTHETIC_REMOVE, mem_strndup(line + 1, n - 1),
						   NULL };
		return 0;
	}
	/* A name alone defines nothing. */
	if (!is_definition(line) || !line[n])
		return refuse_at(&p, 0, bad_command);
	return parse_definition(&p, mem_strndup(line, n), line + n, out);
}

int synthetic_command_parse_dynamic(const char *line, struct synthetic_command *out,
				    struct err *err)
{
	static const char group[] = SYNTHETIC_SYSTEM "/";
	struct synthetic_parse p = { .line = line, .err = err };
	/* Behind the `s:`. */
	size_t n = strcspn(line, " \t"), at = 2;

	*out = (struct synthetic_command){ 0 };
	if (!line[n])
		return refuse_at(&p, 0, bad_command);
	if (strchr(line + at, '/')) {
		if (strncmp(line + at, group, sizeof(group) - 1) != 0)
			return refuse_at(&p, 0,
					 "Command must be of the form: s or -:[synthetic/]<name> "
					 "field[;field] ...");
		at += sizeof(group) - 1;
	}
	if (at > n || !is_definition(line + at))
		return refuse_at(&p, 0, bad_command);
	return parse_definition(&p, mem_strndup(line + at, n - at), line + n, out);
}

void synthetic_command_free(struct synthetic_command *c)
{
	free(c->name);
	event_format_free(c->format);
}

/* A fixed string's length stands in its size, from where the type gets it back. */
void synthetic_show(const struct event_format *f, struct out *to)
{
	out_printf(to, "%s\t", f->name);
	for (size_t i = 0; i < f->n; i++) {
		const struct event_field *field = &f->fields[i];
		bool dynamic = synthetic_is_dynamic(field);
		const char *type = field->type + (dynamic ? sizeof(DYNAMIC) - 1 : 0);

		if (dynamic || !synthetic_is_string(field))
			out_printf(to, "%s%s %s", i ? "; " : "", type, field->name);
		else
			out_printf(to, "%s%.*s[%u] %s", i ? "; " : "", (int)strcspn(type, "["),
				   type, field->size, field->name);
	}
}
