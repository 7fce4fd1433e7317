/* SPDX-License-Identifier: MIT */
/* Takes apart the lines that define and remove probes. They come from anybody who may write the
 * file, on the thread that writes; nothing is kept here. What the kernel refuses is refused with
 * its sentence, at its column; reference counters are refused too. */
#include "event/probe_command.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "event/probe_line.h"

/* --- faults ----------------------------------------------------------------------------------- */

/* The fault is at a word of the cut copy, which has the line's columns. Returns -EINVAL. */
int probe_line_fault(const struct line_words *w, const char *at, const char *what)
{
	return err_at(w->err, EINVAL, w->line, (size_t)(at - w->copy), "%s", what);
}

/* --- words ------------------------------------------------------------------------------------ */

/* Text behind # is a comment. w->copy is for free(), also if this fails. strtok_r() puts NULs into
 * the copy and moves nothing, so that a word's place in the copy is its column in the line. Blanks
 * are those of isspace(), as for the kernel's argv_split(). */
int probe_line_cut(const char *line, struct line_words *w)
{
	size_t n = strlen(line);
	char *rest = NULL;

	if (n > PROBE_LINE_MAX)
		return err_set(w->err, EINVAL, "a line has at most %u characters", PROBE_LINE_MAX);
	w->line = line;
	w->copy = mem_strndup(line, strcspn(line, "#"));
	for (char *word = strtok_r(w->copy, " \t\n\r\v\f", &rest); word;
	     word = strtok_r(NULL, " \t\n\r\v\f", &rest)) {
		if (w->n == WORDS_MAX)
			return err_at(w->err, E2BIG, line, (size_t)(word - w->copy),
				      "Too many arguments are specified");
		w->at[w->n++] = word;
	}
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Whether the n bytes are a C identifier; a group's name may have dashes too.
 * (is_good_system_name() and is_good_name() of the kernel.) */
static bool is_good_name(const char *name, size_t n, bool dashes)
{
	for (size_t i = 0; i < n; i++)
		if (!isalpha((unsigned char)name[i]) && name[i] != '_' &&
		    !(dashes && name[i] == '-') && !(i && isdigit((unsigned char)name[i])))
			return false;
	return n;
}

/* "GROUP/EVENT", "GROUP.EVENT", "GROUP/" or "EVENT". What is missing stays NULL; what is set is the
 * caller's. As in traceprobe_parse_event_name() a dot parts the two only if no slash is there. */
int probe_line_name(const struct line_words *w, const char *name, char **group, char **event)
{
	const char *slash = strchr(name, '/');
	size_t n;

	if (!slash)
		slash = strchr(name, '.');
	if (slash) {
		n = (size_t)(slash - name);
		if (!n)
			return probe_line_fault(w, name, "Group name is not specified");
		if (n > PROBE_NAME_MAX)
			return probe_line_fault(w, name, "Group name is too long");
		if (!is_good_name(name, n, true))
			return probe_line_fault(
				w, name,
				"Group name must follow the same rules as C identifiers");
		*group = mem_strndup(name, n);
		name = slash + 1;
	}
	n = strlen(name);
	if (!n)
		return slash ? 0 : probe_line_fault(w, name, "Event name is not specified");
	if (n > PROBE_NAME_MAX)
		return probe_line_fault(w, name, "Event name is too long");
	if (!is_good_name(name, n, false))
		return probe_line_fault(w, name, "Event name must follow the same rules as C identifiers");
	*event = mem_strdup(name);
	return 0;
}

/* p_FILE_0xOFFSET: the file's name up to the first dot, dash or underline. It begins with p for a
 * return, too, as in __trace_uprobe_create(). */
static char *name_itself(const struct probe_definition *d)
{
	const char *file = path_file_name(d->path);
	char *name = mem_printf("p_%.*s_0x%llx", (int)strcspn(file, ".-_"), file,
				(unsigned long long)d->offset);

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return name;
}

/* --- the place ------------------------------------------------------------------------------ */

/* In any base that strtoull() knows; all of the text, and no sign. */
bool probe_line_number(const char *text, uint64_t *out)
{
	char *rest;

	errno = 0;
	*out = strtoull(text, &rest, 0);
	return isdigit((unsigned char)*text) && !*rest && !errno;
}

/* OFFSET(COUNTER) counts who looks at a place. Never 0. The counter's own faults are told first, in
 * the kernel's order: who mistyped it reads of that. */
static int refuse_counter(const struct line_words *w, char *counter)
{
	char *end = strchr(counter, ')');
	uint64_t ignored;

	if (!end)
		return probe_line_fault(w, counter + strlen(counter),
				 "Reference counter brace is not closed");
	if (end[1])
		return probe_line_fault(w, end + 1, "Reference counter has wrong suffix");
	*end = '\0';
	if (!probe_line_number(counter + 1, &ignored))
		return probe_line_fault(w, counter + 1, "Invalid reference counter offset");
	return probe_line_fault(
		w, counter,
		"a reference counter is not raised here: enable the marker's own event, sdt_PROVIDER:NAME");
}

/* Reads PATH:OFFSET. The last colon counts, because a path may have some. The word is cut in the
 * copy as far as it is read: columns of later faults stay right. */
static int parse_place(const struct line_words *w, struct probe_command *c)
{
	char *word = w->at[1], *colon = strrchr(word, ':'), *counter, *suffix;

	if (!strchr(word, '/') || !colon || !isdigit((unsigned char)colon[1]))
		return probe_line_fault(w, word, "a probe's place is PATH:OFFSET, the path with a /");
	c->path_column = (size_t)(word - w->copy);
	c->offset_column = (size_t)(colon + 1 - w->copy);
	c->definition->path = mem_strndup(word, (size_t)(colon - word));
	counter = strchr(colon, '(');
	if (counter)
		return refuse_counter(w, counter);
	suffix = strchr(colon, '%');
	if (suffix && strcmp(suffix, "%return") != 0)
		return probe_line_fault(w, suffix, "Invalid probed address suffix");
	if (suffix)
		c->definition->returns = true;
	if (suffix)
		*suffix = '\0';
	return probe_line_number(colon + 1, &c->definition->offset)
		       ? 0
		       : probe_line_fault(w, colon + 1, "Invalid uprobe offset");
}

/* --- arguments ------------------------------------------------------------------------------ */

/* "$argN". */
bool probe_line_is_number(const char *word)
{
	return !strncmp(word, "$arg", 4) && word[4] && !word[4 + strspn(word + 4, "0123456789")];
}

/* The fault is told in the line: its column counts from the word there. */
static int fault_in_word(const struct line_words *w, const char *word, int r)
{
	struct err why = *w->err;

	return err_at(w->err, -r, w->line, (size_t)(word - w->copy) + why.column, "%s", why.text);
}

/* Adds one FETCHARG to the program, and to the listing the word that it was made of: each argument
 * is listed with a name, its own or the one that it got. */
static int add_argument(struct probe_command *c, struct fetch_build *b, const char *fetched,
			const char *word, struct err *err)
{
	char *before = c->definition->arguments;
	const char *name;
	int r = fetch_add(b, fetched, strlen(fetched), err);

	if (r < 0)
		return r;
	name = b->fields.at[b->fields.n - 1].name;
	c->definition->arguments = strchr(word, '=') ? mem_printf("%s %s", before, word)
						     : mem_printf("%s %s=%s", before, name, word);
	free(before);
	return 0;
}

/* Adds what $arg* stands for; each is listed by its name alone, as in the kernel. */
static int add_all(const struct line_words *w, const char *word, struct probe_command *c,
		   struct fetch_build *b)
{
	struct err why;
	char *all = w->all(w->arg, &why), *rest = NULL, *name;
	int r = all ? 0 : probe_line_fault(w, word, why.text);

	for (char *one = all ? strtok_r(all, " ", &rest) : NULL; one && r == 0;
	     one = strtok_r(NULL, " ", &rest)) {
		name = mem_strndup(one, strcspn(one, "="));
		r = add_argument(c, b, one, name, &why);
		free(name);
		if (r < 0)
			r = probe_line_fault(w, word, why.text);
	}
	free(all);
	return r;
}

/* $arg* stands alone, and once: the kernel's sentences. `seen`: it stood before. */
static int check_all(const struct line_words *w, const char *word, bool *seen)
{
	const char *at = strstr(word, "$arg*");

	/* Within an argument it is a variable, and there is none of that name. */
	if (at != word)
		return probe_line_fault(w, at, "Invalid $-variable specified");
	if (word[strlen("$arg*")])
		return probe_line_fault(w, at,
					"$arg* must be an independent parameter without name etc.");
	if (*seen)
		return probe_line_fault(w, word,
					"$arg* can be used only once in the parameters");
	*seen = true;
	return 0;
}

/* An argument that is $argN alone is listed by its name, as in the kernel. */
static int add_word(const struct line_words *w, const char *word, struct probe_command *c,
		    struct fetch_build *b)
{
	char *made = NULL, *name = NULL;
	int r = w->translate ? w->translate(w->arg, word, &made, w->err) : 0;

	if (made && *word == '$')
		name = mem_strndup(made, strcspn(made, "="));
	if (r == 0)
		r = add_argument(c, b, made ? made : word, name ? name : word, w->err);
	free(name);
	/* Columns of a made text mean nothing: its type is what can be wrong. */
	if (r < 0 && made)
		w->err->column = strchr(word, ':') ? (size_t)(strchr(word, ':') + 1 - word) : 0;
	free(made);
	return r < 0 ? fault_in_word(w, word, r) : 0;
}

/* Sets the definition's text and programs. 0, or -errno and *w->err. A program that is too long has
 * an argument: w->at[2] is there for the fault. */
int probe_line_arguments(const struct line_words *w, struct probe_command *c,
			 struct fetch_build *b)
{
	bool seen = false;
	int r = 0;

	c->definition->arguments = mem_strdup("");
	for (size_t i = 2; i < w->n && r == 0; i++) {
		bool all = w->all && strstr(w->at[i], "$arg*");

		r = all ? check_all(w, w->at[i], &seen) : add_word(w, w->at[i], c, b);
		if (r == 0 && all)
			r = add_all(w, w->at[i], c, b);
	}
	if (r < 0)
		return r;
	c->definition->program = fetch_finish(b, &c->definition->program_bytes);
	c->definition->entry = fetch_finish_entry(b, &c->definition->entry_bytes);
	return c->definition->program
		       ? 0
		       : err_at(w->err, E2BIG, w->line, (size_t)(w->at[2] - w->copy),
				"these arguments take more than %u instructions", FETCH_INSNS_MAX);
}

/* --- commands ------------------------------------------------------------------------------- */

/* Reads p[:NAME] and r[:NAME] with a place and arguments; what the line leaves out is named as the
 * kernel does. */
static int parse_definition(const struct line_words *w, struct probe_command *c)
{
	struct fetch_build b;
	int r;

	if (w->at[0][1] && w->at[0][1] != ':')
		return probe_line_fault(w, w->at[0] + 1,
				 *w->at[0] == 'r'
					 ? "returns are all seen, however many calls are active: write r:NAME"
					 : "Maxactive is only for function exit");
	if (w->n < 2)
		return probe_line_fault(w, w->at[0], "a probe's place is missing: p:NAME PATH:OFFSET");
	c->definition = mem_zalloc(sizeof(*c->definition));
	c->definition->returns = *w->at[0] == 'r';
	r = parse_place(w, c);
	if (r == 0 && w->at[0][1])
		r = probe_line_name(w, w->at[0] + 2, &c->group, &c->event);
	if (r < 0)
		return r;
	if (!c->group)
		c->group = mem_strdup("uprobes");
	if (!c->event)
		c->event = name_itself(c->definition);
	if (c->definition->returns)
		fetch_begin_return(&b);
	else
		fetch_begin(&b);
	b.of_file = true;
	b.offset = c->definition->offset;
	r = probe_line_arguments(w, c, &b);
	if (r == 0)
		c->format = fetch_format(&b, c->event);
	fetch_free(&b);
	return r;
}

/* Parses -:[GRP/]EVENT and -:GRP/, and what the listing has behind the name. */
static int parse_removal(const struct line_words *w, struct probe_command *c)
{
	if (w->at[0][1] != ':' || !w->at[0][2])
		return probe_line_fault(w, w->at[0], "a removal names what goes: -:[GROUP/]EVENT, -:GROUP/");
	for (size_t i = 1; i < w->n; i++) {
		char *before = c->listed;

		c->listed = mem_printf("%s %s", before ? before : "", w->at[i]);
		free(before);
	}
	return probe_line_name(w, w->at[0] + 2, &c->group, &c->event);
}

/* A line without words, a comment, does nothing. symbols NULL: a place is a file's. */
static int parse_words(const struct line_words *w, const struct probe_symbols *symbols,
		       struct probe_command *c)
{
	if (!w->n)
		return 0;
	switch (*w->at[0]) {
	case 'f':
		if (!symbols)
			break;
		/* fall through */
	case 'p':
	case 'r':
		c->action = PROBE_DEFINE;
		return symbols ? kprobe_command_definition(w, symbols, c) : parse_definition(w, c);
	case '-':
		c->action = PROBE_REMOVE;
		return parse_removal(w, c);
	default:
		break;
	}
	return probe_line_fault(w, w->at[0],
			 "a line begins with p (a probe), r (a function's return) or -: (a removal)");
}

/* out is empty if this fails. */
int probe_command_parse_symbols(const char *line, const struct probe_symbols *symbols,
				struct probe_command *out, struct err *err)
{
	struct line_words w = { .err = err };
	int r;

	*out = (struct probe_command){ 0 };
	r = probe_line_cut(line, &w);
	if (r == 0)
		r = parse_words(&w, symbols, out);
	free(w.copy);
	if (r < 0)
		probe_command_free(out);
	return r;
}

int probe_command_parse(const char *line, struct probe_command *out, struct err *err)
{
	return probe_command_parse_symbols(line, NULL, out, err);
}

bool probe_command_is_of(const char *line, char letter, const char *digits)
{
	size_t n = strspn(line + (*line == letter), digits);

	return *line == letter && (line[1 + n] == ':' || line[1 + n] == ' ' || line[1 + n] == '\t');
}

bool probe_command_is_fprobe(const char *line)
{
	return probe_command_is_of(line, 'f', "0123456789abcdefx");
}

/* Whether the place is PATH:OFFSET; removals are of any file's lists. */
bool probe_command_is_of_file(const char *line)
{
	size_t head = strcspn(line, " \t"), at = head + strspn(line + head, " \t"),
	       n = strcspn(line + at, " \t");

	return (*line != 'p' && *line != 'r') ||
	       (memchr(line + at, '/', n) && memchr(line + at, ':', n));
}

void probe_command_free(struct probe_command *c)
{
	free(c->group);
	free(c->event);
	free(c->listed);
	free(c->format);
	probe_definition_free(c->definition);
	*c = (struct probe_command){ 0 };
}

/* All places of the event, from this one on. */
void probe_definition_free(struct probe_definition *d)
{
	while (d) {
		/* Relaxed: nobody else has it any more. */
		struct probe_definition *next =
			atomic_load_explicit(&d->next, memory_order_relaxed);

		free(d->path);
		free(d->symbol);
		free(d->arguments);
		free(d->program);
		free(d->entry);
		free(d);
		d = next;
	}
}

/* Relaxed: who has to know whether a place goes meanwhile has a lock of its own
 * (tree/dynamic_define.c). The acquire pairs with the release of events_add_place()
 * (catalogue.c). */
const struct probe_definition *probe_definition_first(const struct probe_definition *d)
{
	while (d && atomic_load_explicit(&d->gone, memory_order_relaxed))
		d = atomic_load_explicit(&d->next, memory_order_acquire);
	return d;
}

const struct probe_definition *probe_definition_next(const struct probe_definition *d)
{
	/* Pairs with the release by which catalogue.c adds a place. */
	return probe_definition_first(atomic_load_explicit(&d->next, memory_order_acquire));
}
