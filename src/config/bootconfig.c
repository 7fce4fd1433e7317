/* SPDX-License-Identifier: MIT */
/* The parser, on any thread; it owns the struct's memory. Bytes are untrusted: they may come from a
 * program's file. The parser looks for the next byte that ends a key, and takes what the byte says:
 * a value, an open brace, a closing one, or a key alone. ui/config_option.c calls it. A fault is
 * -errno, with the sentence and the place that the kernel gives. */
#include "config/parsing.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "config/attached.h"

/* --- places ------------------------------------------------------------------------------ */

/* By counting: places are asked for faults, and there are few. */
struct bootconfig_position bootconfig_position(const struct bootconfig *c, size_t at)
{
	struct bootconfig_position place = { 1, 1 };

	for (size_t i = 0; i < at && c->text[i]; i++) {
		place.column++;
		if (c->text[i] == '\n')
			place = (struct bootconfig_position){ place.line + 1, 1 };
	}
	return place;
}

/* The kernel's sentence, with the line that it speaks of. Returns -EINVAL. */
int parsing_fault(struct parser *p, const char *where, const char *sentence)
{
	const size_t at = (size_t)(where - p->c->text);
	const struct bootconfig_position place = bootconfig_position(p->c, at);
	const char *begin = p->c->text + (at - (place.column - 1));
	char *line = mem_strndup(begin, strcspn(begin, "\n"));

	err_at(p->err, EINVAL, line, place.column - 1, "%s:%zu:%zu: %s", p->c->name, place.line,
	       place.column, sentence);
	free(line);
	return -EINVAL;
}

/* All blanks of isspace(), newlines too, as in the kernel. */
static const char *skip_spaces(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* The end of a text without the blanks before it. */
static const char *trim_end(const char *begin, const char *end)
{
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return end;
}

/* Behind the newline that ends the comment. */
static const char *skip_comment(const char *at)
{
	at += strcspn(at, "\n");
	return at + !!*at;
}

/* --- keys ------------------------------------------------------------------------------------ */

/* Keys and values count alike, as in the kernel, whose nodes they are. */
static int count_node(struct parser *p, const char *where)
{
	if (p->c->nodes == BOOTCONFIG_NODES_MAX)
		return parsing_fault(p, where, "Too many nodes");
	p->c->nodes++;
	return 0;
}

/* Adds a key below `parent`, behind its other subkeys. Number 0 is the root. */
static uint32_t add_key(struct bootconfig *c, uint32_t parent, const char *word, size_t n)
{
	const uint32_t added = (uint32_t)c->keys.n;
	struct bootconfig_key *up;

	*vec_add(&c->keys) = (struct bootconfig_key){
		.word = mem_strndup(word, n), .at = (size_t)(word - c->text), .parent = parent,
		.child = BOOTCONFIG_NONE, .last_child = BOOTCONFIG_NONE, .next = BOOTCONFIG_NONE };
	if (parent == BOOTCONFIG_NONE)
		return added;
	up = &c->keys.at[parent];
	if (up->last_child == BOOTCONFIG_NONE)
		up->child = added;
	else
		c->keys.at[up->last_child].next = added;
	up->last_child = added;
	return added;
}

/* The subkey of that word; BOOTCONFIG_NONE: there is none. */
static uint32_t find_child(const struct bootconfig *c, uint32_t key, const char *word, size_t n)
{
	uint32_t k = c->keys.at[key].child;

	while (k != BOOTCONFIG_NONE && (strncmp(c->keys.at[k].word, word, n) ||
					c->keys.at[k].word[n]))
		k = c->keys.at[k].next;
	return k;
}

/* Letters, digits, - and _ only, and one at least. */
static bool is_word(const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)word[i]) && word[i] != '-' && word[i] != '_')
			return false;
	return n;
}

/* Finds or makes the key between two places, WORD.WORD..., below p->key. */
int parsing_key(struct parser *p, const char *begin, const char *end, uint32_t *key)
{
	const char *word = skip_spaces(begin), *dot;
	uint32_t found;
	size_t n;
	int e;

	end = trim_end(word, end);
	*key = p->key;
	for (;; word = dot + 1) {
		dot = memchr(word, '.', (size_t)(end - word));
		n = (size_t)((dot ? dot : end) - word);
		if (!is_word(word, n))
			return parsing_fault(p, word, "Invalid keyword");
		found = find_child(p->c, *key, word, n);
		if (found == BOOTCONFIG_NONE) {
			e = count_node(p, word);
			if (e)
				return e;
			found = add_key(p->c, *key, word, n);
		}
		*key = found;
		if (!dot)
			return 0;
	}
}

/* --- values ---------------------------------------------------------------------------------- */

/* A value from a place on; p->at is behind its end then. Returns the byte that ends it (`,` `;` `}`
 * newline, also for a comment, or NUL), or -EINVAL. */
static int take_value(struct parser *p, const char *at, struct bootconfig_value *v)
{
	const char *begin = skip_spaces(at), *end;
	char quote = 0;

	while (*begin == '#')
		begin = skip_spaces(skip_comment(begin));
	v->is_later = memchr(at, '\n', (size_t)(begin - at)) && *begin;
	if (*begin == '"' || *begin == '\'')
		quote = *begin++;
	for (end = begin; *end && (quote ? *end != quote : !strchr(",;\n#}", *end)); end++)
		if (!isprint((unsigned char)*end) && !isspace((unsigned char)*end))
			return parsing_fault(p, end, "Non printable value");
	if (quote && !*end)
		return parsing_fault(p, end, "No closing quotes");
	v->at = (size_t)(begin - p->c->text);
	v->text = mem_strndup(begin, (size_t)((quote ? end : trim_end(begin, end)) - begin));
	if (quote) {
		end++;
		while (*end != '\n' && isspace((unsigned char)*end))
			end++;
		if (*end && !strchr(",;\n#}", *end))
			return parsing_fault(p, end, "No value delimiter");
	}
	p->at = *end == '#' ? skip_comment(end) : end + !!*end;
	return *end == '#' ? '\n' : (unsigned char)*end;
}

/* Back to the key that was open around the brace. */
static int close_brace(struct parser *p, const char *where)
{
	if (!p->depth)
		return parsing_fault(p, where, "Unexpected closing brace");
	p->key = p->open[--p->depth];
	return 0;
}

/* Adds the value, and takes over its text: it is freed if there are too many. */
int parsing_value(struct parser *p, uint32_t key, const struct bootconfig_value *v)
{
	int e = count_node(p, p->c->text + v->at);

	if (e)
		free(v->text);
	else
		*vec_add(&p->c->keys.at[key].values) = *v;
	return e;
}

/* Adds the values that stand from a place on to a key. */
static int take_values(struct parser *p, uint32_t key, const char *at)
{
	int end;

	do {
		struct bootconfig_value v = { 0 };

		end = take_value(p, at, &v);
		if (end < 0) {
			free(v.text);
			return end;
		}
		if (parsing_value(p, key, &v))
			return -EINVAL;
		at = p->at;
	} while (end == ',');
	return end == '}' ? close_brace(p, p->at - 1) : 0;
}

/* `:=` takes away what the key had; their nodes count no more. */
static void drop_values(struct bootconfig *c, uint32_t key)
{
	for (size_t i = 0; i < c->keys.at[key].values.n; i++)
		free(c->keys.at[key].values.at[i].text);
	c->nodes -= (unsigned)c->keys.at[key].values.n;
	c->keys.at[key].values.n = 0;
}

/* KEY = VALUES, KEY += VALUES, KEY := VALUES. `op` is the operator's first byte. */
static int take_assignment(struct parser *p, const char *op)
{
	const char *values = op + 1;
	uint32_t key;
	int e;

	if (*op != '=' && *values++ != '=')
		return parsing_fault(p, op, *op == '+' ? "Wrong '+' operator" : "Wrong ':' operator");
	e = parsing_key(p, p->at, op, &key);
	if (e)
		return e;
	if (*op == '=' && p->c->keys.at[key].values.n)
		return parsing_fault(p, skip_spaces(values), "Value is redefined");
	if (*op == ':')
		drop_values(p->c, key);
	return take_values(p, key, values);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* KEY { : what follows is below the key. */
static int open_brace(struct parser *p, const char *brace)
{
	uint32_t key;
	int e = parsing_key(p, p->at, brace, &key);

	if (e)
		return e;
	if (p->depth == BOOTCONFIG_WORDS_MAX)
		return parsing_fault(p, brace, "Exceed max depth of braces");
	p->open[p->depth++] = p->key;
	p->key = key;
	p->at = brace + 1;
	return 0;
}

/* A key without a value, or nothing but blanks. */
static int take_bare_key(struct parser *p, const char *end)
{
	uint32_t key;

	return trim_end(p->at, end) == p->at ? 0 : parsing_key(p, p->at, end, &key);
}

/* One step: up to the next byte that says what stands before it. */
static int take_step(struct parser *p)
{
	const char *end = strpbrk(p->at, "{}=+;:\n#");
	int e;

	if (!end) {
		p->at = skip_spaces(p->at);
		return *p->at ? parsing_fault(p, p->at, "No delimiter") : 0;
	}
	if (strchr("=+:", *end))
		return take_assignment(p, end);
	if (*end == '{')
		return open_brace(p, end);
	e = take_bare_key(p, end);
	p->at = *end == '#' ? skip_comment(end) : end + 1;
	return e || *end != '}' ? e : close_brace(p, end);
}

/* Bytes and words of each key, from the root down. */
static int check_sizes(struct parser *p)
{
	const struct bootconfig *c = p->c;

	for (uint32_t k = 1; k < c->keys.n; k++) {
		const char *where = c->text + c->keys.at[k].at;
		size_t bytes = 0, words = 0;

		for (uint32_t up = k; up; up = c->keys.at[up].parent) {
			bytes += strlen(c->keys.at[up].word) + 1;
			words++;
		}
		if (bytes > BOOTCONFIG_KEY_MAX)
			return parsing_fault(p, where, "Too long key length");
		if (words > BOOTCONFIG_WORDS_MAX)
			return parsing_fault(p, where, "Too many key words");
	}
	return 0;
}

/* In the kernel's grammar a key stands before a brace, and no quote behind it. */
static bool is_json(const char *text)
{
	text = skip_spaces(text);
	return *text == '{' && *skip_spaces(text + 1) == '"';
}

/* bytes may be freed afterwards: c has its own copy. The caller frees c in every case, also after
 * an error. */
int bootconfig_parse(struct bootconfig *c, const char *name, const char *bytes, size_t n,
		     struct err *err)
{
	struct parser p = { .c = c, .err = err };
	int e = 0;

	*c = (struct bootconfig){ .name = mem_strdup(name) };
	if (n > BOOTCONFIG_BYTES_MAX)
		return err_set(err, EFBIG, "%s: a boot configuration has at most %d bytes", name,
			       BOOTCONFIG_BYTES_MAX);
	/* The kernel's tool reads no further than a NUL. */
	c->text = mem_strndup(bytes, n);
	add_key(c, BOOTCONFIG_NONE, c->text, 0);
	p.at = c->text;
	if (is_json(p.at)) {
		p.at = skip_spaces(p.at);
		e = parsing_json(&p);
	}
	while (!e && *p.at)
		e = take_step(&p);
	if (!e && p.depth)
		e = parsing_fault(&p, c->text + c->keys.at[p.key].at, "Brace is not closed");
	if (!e && c->keys.n == 1)
		e = parsing_fault(&p, c->text, "Empty config");
	return e ? e : check_sizes(&p);
}

/* One byte more than there may be is read, so that parsing sees that it is too much. A program's
 * file is known by its magic, and its section is read instead. */
int bootconfig_read(struct bootconfig *c, const char *path, struct err *err)
{
	const bool is_input = !strcmp(path, "-");
	int fd = is_input ? STDIN_FILENO : file_open(path, err);
	char bytes[BOOTCONFIG_BYTES_MAX + 1];
	ssize_t n = 1;
	size_t got = 0;

	*c = (struct bootconfig){ 0 };
	if (fd == -EISDIR || fd == -ENOEXEC)
		return err_set(err, -fd, "%s is no regular file, and so no boot configuration", path);
	if (fd < 0)
		return fd;
	while (n > 0 && got < sizeof(bytes)) {
		n = read(fd, bytes + got, sizeof(bytes) - got);
		got += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		err_set(err, errno, "%s cannot be read: %s", path, strerror(errno));
	if (n >= 0 && attached_is_program(bytes, got)) {
		n = attached_read(fd, path, bytes, sizeof(bytes), err);
		got = n < 0 ? 0 : (size_t)n;
	}
	if (!is_input)
		close(fd);
	return n < 0 ? -err->code
		     : bootconfig_parse(c, is_input ? "standard input" : path, bytes, got, err);
}

void bootconfig_free(struct bootconfig *c)
{
	for (uint32_t k = 0; k < c->keys.n; k++) {
		drop_values(c, k);
		vec_free(&c->keys.at[k].values);
		free(c->keys.at[k].word);
	}
	vec_free(&c->keys);
	free(c->text);
	free(c->name);
	*c = (struct bootconfig){ 0 };
}

/* Below `key`; a dot parts the words. An empty path is no key's. */
uint32_t bootconfig_find(const struct bootconfig *c, uint32_t key, const char *path)
{
	const char *word = path, *dot;

	for (; key != BOOTCONFIG_NONE; word = dot + 1) {
		dot = strchrnul(word, '.');
		key = find_child(c, key, word, (size_t)(dot - word));
		if (!*dot)
			break;
	}
	return key;
}

/* The words from the root down, for free(). As deep as the grammar lets keys be. */
char *bootconfig_path(const struct bootconfig *c, uint32_t key)
{
	char *up, *path;

	if (!key || !c->keys.at[key].parent)
		return mem_strdup(c->keys.at[key].word);
	up = bootconfig_path(c, c->keys.at[key].parent);
	path = mem_printf("%s.%s", up, c->keys.at[key].word);
	free(up);
	return path;
}
