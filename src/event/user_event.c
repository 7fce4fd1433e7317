/* SPDX-License-Identifier: MIT */
/* Descriptions of user events, and the check of their records. Both come from any program that
 * opens user_events_data, on the tree's threads; nothing is kept here. As in the kernel fields lie
 * one behind the other, without padding, and single blanks part words.
 *
 * Names of fields are C identifiers here, where the kernel takes any word: a format file that has
 * others would be another text. */
#include "event/user_event.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/out.h"
#include "shared/record.h"

#define ARRAY_MAX 1024u   /* bytes, as the kernel's MAX_FIELD_ARRAY_SIZE */
/* The sentence of add_field() has this number: 504. */
#define RECORD_MAX (8 * RECORD_PAYLOAD_MAX)
#define DATA_LOC "__data_loc "
#define REL_LOC "__rel_loc "
#define LOC_BYTES 4u
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

bool user_event_is_name(const char *name)
{
	static const char *const systems[] = { USER_EVENT_SYSTEM, USER_EVENT_MULTI_SYSTEM };

	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
		const size_t n = strlen(systems[i]);

		if (!strncmp(name, systems[i], n) && (!name[n] || name[n] == ':'))
			return true;
	}
	return false;
}

/* Whoever records without a tree: programs find no file there by which to register. A program
 * registers at its tree's user_events_data; a session without a tree has none. */
static int check_allowed(const char *name, struct err *err)
{
	if (!user_event_is_name(name))
		return 0;
	return err_at(err, EINVAL, name, 0, "%s", USER_EVENT_CURE);
}

const struct event_provider user_event_provider = {
	.name = "user event", .can_enable = true, .without_agent = true, .made_here = true,
	.allowed = check_allowed,
};

/* Types of numbers. */
static const struct {
	const char *name;
	uint16_t size;
	const char *print;
} numbers[] = {
	{ "s64", 8, "%lld" }, { "u64", 8, "%llu" },         { "s32", 4, "%d" },
	{ "u32", 4, "%u" },   { "int", 4, "%d" },           { "unsigned int", 4, "%u" },
	{ "s16", 2, "%d" },   { "u16", 2, "%u" },           { "short", 2, "%d" },
	{ "unsigned short", 2, "%u" },                      { "s8", 1, "%d" },
	{ "u8", 1, "%u" },    { "char", 1, "%d" },          { "unsigned char", 1, "%u" },
};
#define NUMBERS (sizeof(numbers) / sizeof(*numbers))

struct user_event_parse {
	const char *line;
	struct user_event_command *to;
	uint32_t end;             /* of the fields so far, in the record */
	struct err *err;
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Types of a variable length: the field has a word with where the bytes are, and how many. */
static bool is_dynamic(const char *type)
{
	return begins(type, DATA_LOC) || begins(type, REL_LOC);
}

bool user_event_is(const struct event_format *f)
{
	return !strcmp(f->system, USER_EVENT_SYSTEM) || !strcmp(f->system, USER_EVENT_MULTI_SYSTEM);
}

/* --- types ------------------------------------------------------------------------------------ */

#define ARRAY_DIGITS 6u    /* the kernel's copy has seven characters */

/* Bytes between the brackets of char[N]; 0: it is none. */
static unsigned array_size(const char *brackets)
{
	const char *end = strchr(brackets, ']');
	char *rest;
	unsigned long n;

	if (!end || end[1] || end - brackets - 1 > ARRAY_DIGITS ||
	    !isdigit((unsigned char)brackets[1]))
		return 0;
	n = strtoul(brackets + 1, &rest, 0);
	return rest == end && n <= ARRAY_MAX ? (unsigned)n : 0;
}

/* Whether the words behind __data_loc are a type with brackets. Both words that is_dynamic() knows
 * end with a blank: strchr() finds one. */
static bool is_array(const char *type)
{
	const char *at = strchr(type, ' ') + 1;

	at += begins(at, "unsigned ") ? 9 : 0;
	return strspn(at, LETTERS) && at[strspn(at, LETTERS)] == '[' &&
	       !at[strspn(at, LETTERS "[]")];
}

/* Bytes of a field of the type, of which a struct's are written; 0: it is none. The kernel's list
 * (user_event_field_size()). Other types are refused, since a record of an unknown size could not
 * be checked. */
static unsigned type_size(const char *type)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (!strcmp(type, numbers[i].name))
			return numbers[i].size;
	if (begins(type, "char["))
		return array_size(type + 4);
	if (begins(type, "unsigned char["))
		return array_size(type + 13);
	return is_dynamic(type) && is_array(type) ? LOC_BYTES : 0;
}

/* The kernel's conversions; it takes a struct for 64 bits. (user_field_format() there.) */
static const char *print_of(const char *type)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (!strcmp(type, numbers[i].name))
			return numbers[i].print;
	return strstr(type, "char[") ? "%s" : "%llu";
}

/* --- fields ----------------------------------------------------------------------------------- */

static int refuse(const struct user_event_parse *p, const char *at, const char *sentence)
{
	return err_at(p->err, EINVAL, p->line, (size_t)(at - p->line), "%s", sentence);
}

/* Bytes of the text that are the type's: types of two and three words are known by the first ones,
 * as the kernel does. *is_struct: its size is written. Longer heads stand before those that they
 * begin with, since the first that fits is taken. */
static size_t type_length(const char *text, size_t n, bool *is_struct)
{
	static const char *const heads[] = { "unsigned ", "struct ", DATA_LOC "unsigned ", DATA_LOC,
					     REL_LOC "unsigned ", REL_LOC };
	size_t head = 0;

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads) && !head; i++)
		head = begins(text, heads[i]) ? strlen(heads[i]) : 0;
	*is_struct = begins(text, "struct ");
	head += strcspn(text + head, " ;");
	return head < n ? head : n;
}

/* The size behind a struct's name. 0: there is none. Seven digits fit in the result; read_field()
 * refuses what event_field.size, of 16 bits, has no room for. */
static unsigned written_size(const char *text, size_t n)
{
	char digits[8] = "";

	if (!n || n >= sizeof(digits) || strspn(text, "0123456789") < n)
		return 0;
	memcpy(digits, text, n);
	return (unsigned)strtoul(digits, NULL, 10);
}

/* Owns type and name from here on, in case of a failure, too: they are in the list that
 * user_event_command_free() frees. A field has a sign unless its type begins with u. */
static int add_field(struct user_event_parse *p, char *type, char *name, unsigned size,
		     const char *at)
{
	const struct event_field f = { type, name, (uint16_t)p->end, (uint16_t)size, *type != 'u' };

	*vec_add(&p->to->at) = f;
	p->end += size;
	if (p->end - EVENT_COMMON_BYTES <= RECORD_MAX)
		return 0;
	refuse(p, at, "the fields take more than the 504 bytes that a record has here");
	return err_code(p->err, E2BIG);
}

static bool is_identifier(const char *text, size_t n)
{
	return n && !isdigit((unsigned char)*text) && strspn(text, LETTERS) >= n;
}

/* Reads what stands between two semicolons, n bytes: TYPE NAME, or struct TYPE NAME SIZE. */
static int read_field(struct user_event_parse *p, const char *text, size_t n)
{
	bool is_struct;
	size_t type = type_length(text, n, &is_struct), name, rest;
	const char *at = text + type + 1;
	char *word;
	unsigned size;

	if (type >= n)
		return refuse(p, text, "a field is TYPE NAME");
	n -= type + 1;
	name = strcspn(at, " ;") < n ? strcspn(at, " ;") : n;
	if (!is_identifier(at, name))
		return refuse(p, at, "the name of a field is letters, digits and _");
	rest = n - name;
	if (rest && !is_struct)
		return refuse(p, at + name, "nothing but a ; stands behind a field's name");
	if (is_struct && !is_identifier(text + 7, type - 7))
		return refuse(p, text, "the name of a struct is letters, digits and _");
	word = mem_strndup(text, type);
	size = is_struct ? (rest ? written_size(at + name + 1, rest - 1) : 0) : type_size(word);
	if (!size || size > UINT16_MAX) {
		free(word);
		return refuse(p, text, is_struct ? "a struct has its size behind the name"
						 : "this is none of the types that fields have");
	}
	return add_field(p, word, mem_strndup(at, name), size, text);
}

static int read_fields(struct user_event_parse *p, const char *text)
{
	int r = 0;

	while (r == 0) {
		const size_t blanks = strspn(text, " \t\n\v\f\r"), n = strcspn(text + blanks, ";");

		if (n)
			r = read_field(p, text + blanks, n);
		text += blanks + n;
		if (!*text++)
			break;
	}
	return r;
}

/* --- commands --------------------------------------------------------------------------------- */

static void show_fields(const struct event_field *at, size_t n, struct out *to)
{
	for (size_t i = 0; i < n; i++) {
		out_printf(to, "%s%s %s", i ? "; " : "", at[i].type, at[i].name);
		if (begins(at[i].type, "struct "))
			out_printf(to, " %u", at[i].size);
	}
}

/* Writes the definition that `dynamic_events` shows; it may be registered again in these words. */
void user_event_show(const struct event_format *f, struct out *to)
{
	show_fields(f->fields, f->n, to);
}

static char *text_of_fields(const struct user_event_command *c)
{
	struct out_text text = { NULL, 0 };
	struct out out;

	out_init_raw(&out, out_keep_text, &text);
	show_fields(c->at.at, c->at.n, &out);
	return out_text_end(&out);
}

int user_event_parse(const char *line, struct user_event_command *out, struct err *err)
{
	const size_t name = strcspn(line, " ");
	struct user_event_parse p = { line, out, EVENT_COMMON_BYTES, err };
	int r = 0;

	*out = (struct user_event_command){ 0 };
	if (!name)
		return refuse(&p, line, "an event has a name: NAME TYPE FIELD; ...");
	if (memchr(line, ':', name))
		return refuse(&p, strchr(line, ':'), "there are no flags behind an event's name");
	if (strspn(line, LETTERS ".-") < name)
		return refuse(&p, line + strspn(line, LETTERS ".-"),
			      "the name of an event is letters, digits, and ._-");
	out->name = mem_strndup(line, name);
	if (line[name])
		r = read_fields(&p, line + name + 1);
	if (r < 0)
		user_event_command_free(out);
	else
		out->fields = text_of_fields(out);
	return r;
}

void user_event_command_free(struct user_event_command *c)
{
	for (size_t i = 0; i < c->at.n; i++) {
		free((char *)c->at.at[i].type);
		free((char *)c->at.at[i].name);
	}
	vec_free(&c->at);
	free(c->name);
	free(c->fields);
	*c = (struct user_event_command){ 0 };
}

/* --- formats ---------------------------------------------------------------------------------- */

/* Returns "a=%u s=%s", REC->a, __get_str(s), as the kernel writes it. The caller frees it. */
static char *print_format(const struct user_event_command *c)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	fputc('"', to);
	for (size_t i = 0; i < c->at.n; i++)
		fprintf(to, "%s%s=%s", i ? " " : "", c->at.at[i].name, print_of(c->at.at[i].type));
	fputc('"', to);
	for (size_t i = 0; i < c->at.n; i++) {
		const struct event_field *f = &c->at.at[i];
		const bool text_field = is_dynamic(f->type) && strstr(f->type, "char");

		fprintf(to, !text_field ? ", REC->%s"
			    : begins(f->type, DATA_LOC) ? ", __get_str(%s)"
							: ", __get_rel_str(%s)",
			f->name);
	}
	mem_stream_close(to, &text);
	return text;
}

/* Through the text, so that the format owns its strings and has passed the parser. */
struct event_format *user_event_format(const struct user_event_command *c, const char *system,
				       const char *name, struct err *err)
{
	char *print = print_format(c), *text;
	const struct event_format f = { system, name, 0, c->at.at, c->at.n, print };
	struct event_format *made;

	text = event_format_read(&f);
	made = event_format_parse(text, strlen(text), system, err);
	free(text);
	free(print);
	return made;
}

/* --- records ---------------------------------------------------------------------------------- */

/* A field of variable length: where it lies counts from the record's begin, with its common fields,
 * or from behind the word that says so. `bytes` are the program's and begin behind the common
 * fields. The word itself lies within them: user_event_check() has compared the length. A string
 * without its NUL would lead readers behind the record. */
static int check_dynamic(const struct event_field *f, const uint8_t *bytes, size_t n)
{
	const size_t at = f->offset - EVENT_COMMON_BYTES;
	const bool relative = begins(f->type, REL_LOC);
	uint32_t loc;
	size_t place, end;

	memcpy(&loc, bytes + at, sizeof(loc));
	place = loc & 0xffff;
	end = place + (loc >> 16) + (relative ? at + sizeof(loc) : 0);
	if (!relative && place < EVENT_COMMON_BYTES)
		return -EFAULT;
	end -= relative ? 0 : EVENT_COMMON_BYTES;
	if (end > n)
		return -EFAULT;
	/* A string of no bytes ends before its begin, as the kernel judges it. */
	return strstr(f->type, "char") && end && bytes[end - 1] ? -EFAULT : 0;
}

/* Fixed fields need no check beyond the length of all; a field of variable length could lead behind
 * the record's end. */
int user_event_check(const struct event_format *f, const void *bytes, size_t n)
{
	int r = 0;

	if (EVENT_COMMON_BYTES + n < event_record_bytes(f))
		return -EINVAL;
	for (size_t i = 0; i < f->n && r == 0; i++)
		if (is_dynamic(f->fields[i].type))
			r = check_dynamic(&f->fields[i], bytes, n);
	return r;
}
