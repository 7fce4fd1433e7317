/* SPDX-License-Identifier: MIT */
/* Called by instance/made_names.c under pump_lock. Nothing fails: what cannot be read is no entry,
 * and the bounds in the header limit the memory that a hostile program can have brace take. Entries
 * may overlap, because a translator frees code and makes other code there without telling of the
 * end. */
#include "sym/made_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

void made_code_free(struct made_code *m)
{
	vec_free(&m->at);
	vec_free(&m->reach);
	vec_free(&m->text);
	*m = (struct made_code){ 0 };
}

#define ENTRY_BYTES (sizeof(struct made_code_entry) + sizeof(uint64_t)) /* with its reach */

uint64_t made_code_bytes(const struct made_code *m)
{
	return m->at.n * ENTRY_BYTES + m->text.n;
}

/* Whether an entry with n bytes of a name may be added. */
static bool has_room(const struct made_code *m, size_t n)
{
	return m->at.n < MADE_CODE_MAX && m->text.n + n < MADE_CODE_TEXT_MAX &&
	       (!m->limit || made_code_bytes(m) + ENTRY_BYTES + n + 1 <= m->limit);
}

/* An empty name would print as nothing: such an entry is left out. */
static void add_entry(struct made_code *m, uint64_t start, uint64_t size, const char *name,
		      size_t n)
{
	struct made_code_entry *e;

	if (!size || start + size < start || !n)
		return;
	n = n < MADE_CODE_NAME_MAX ? n : MADE_CODE_NAME_MAX;
	if (!has_room(m, n)) {
		m->left_out++;
		return;
	}
	e = vec_add(&m->at);
	*e = (struct made_code_entry){ start, size, (uint32_t)m->at.n, (uint32_t)m->text.n };
	vec_reserve(&m->text, m->text.n + n + 1);
	memcpy(m->text.at + m->text.n, name, n);
	m->text.at[m->text.n + n] = 0;
	m->text.n += n + 1;
}

/* --- map files -------------------------------------------------------------------------------- */

/* Reads hexadecimal digits, with or without "0x", up to a blank, which is passed. False: there is
 * no such number. */
static bool read_hex(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t v = 0;
	unsigned digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end && isxdigit((unsigned char)*p) && digits <= 16; p++, digits++)
		v = v << 4 |
		    (uint64_t)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);
	if (!digits || digits > 16 || p >= end || *p != ' ')
		return false;
	*out = v;
	*at = p + 1;
	return true;
}

/* A name goes to the line's end: it may have blanks. */
static void add_line(struct made_code *m, const char *line, const char *end)
{
	uint64_t start, size;

	if (read_hex(&line, end, &start) && read_hex(&line, end, &size))
		add_entry(m, start, size, line, strnlen(line, (size_t)(end - line)));
}

size_t made_code_add_map(struct made_code *m, const char *bytes, size_t n)
{
	size_t done = 0;

	for (const char *end; (end = memchr(bytes + done, '\n', n - done));
	     done = (size_t)(end - bytes) + 1)
		add_line(m, bytes + done, end);
	return done;
}

/* --- jitdump ---------------------------------------------------------------------------------- */

#define DUMP_MAGIC 0x4a695444u /* "JiTD" */
#define HEADER_LEAST 40u       /* bytes of the file's header */
#define PREFIX 16u	       /* of a record: its kind, its length with the prefix, a time */
enum { DUMP_LOAD = 0, DUMP_MOVE = 1 };

/* Code that is new: two ids, an address that is the next one again, address, length, a number, the
 * name, the code. */
static void add_load(struct made_code *m, struct cursor *c)
{
	uint64_t start, size;
	const char *name;

	cursor_bytes(c, 16);
	start = cursor_u64(c);
	size = cursor_u64(c);
	cursor_u64(c);
	name = cursor_str(c);
	if (!c->bad)
		add_entry(m, start, size, name, strlen(name));
}

static const struct made_code_entry *find_start(struct made_code *m, uint64_t start);

/* Code that has moved, from its beginning, has the name that it had. */
static void add_move(struct made_code *m, struct cursor *c)
{
	const struct made_code_entry *was;
	char name[MADE_CODE_NAME_MAX + 1];
	uint64_t from, to, size;

	cursor_bytes(c, 16);
	from = cursor_u64(c);
	to = cursor_u64(c);
	size = cursor_u64(c);
	was = c->bad ? NULL : find_start(m, from);
	if (!was)
		return;
	/* add_entry() may move the text. */
	strcpy(name, made_code_name(m, was));
	add_entry(m, to, size, name, strlen(name));
}

/* Bytes of the file's header, which may be longer than what is known of it; 0: not there yet. */
static size_t read_header(struct made_code *m, const uint8_t *bytes, size_t n)
{
	struct cursor c = cursor_of(bytes, n);
	uint32_t magic = cursor_u32(&c), total;

	cursor_u32(&c);
	total = cursor_u32(&c);
	if (c.bad)
		return 0;
	m->bad = magic != DUMP_MAGIC || total < HEADER_LEAST;
	m->begun = !m->bad && total <= n;
	return m->begun ? total : 0;
}

/* Bytes of the next record; 0: it is not there as a whole. */
static size_t read_record(struct made_code *m, const uint8_t *bytes, size_t n)
{
	struct cursor c = cursor_of(bytes, n);
	uint32_t kind = cursor_u32(&c), total = cursor_u32(&c);

	if (c.bad)
		return 0;
	m->bad = total < PREFIX;
	if (m->bad || total > n)
		return 0;
	c = cursor_of(bytes + PREFIX, total - PREFIX);
	if (kind == DUMP_LOAD)
		add_load(m, &c);
	else if (kind == DUMP_MOVE)
		add_move(m, &c);
	return total;
}

size_t made_code_add_dump(struct made_code *m, const uint8_t *bytes, size_t n)
{
	size_t done = m->begun || m->bad ? 0 : read_header(m, bytes, n);

	for (size_t some = 1; m->begun && !m->bad && some; done += some)
		some = read_record(m, bytes + done, n - done);
	return done;
}

/* --- finding ---------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct made_code_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A look at each entry, one by one, is cheap up to so many. A hostile program can make it that many
 * for a frame of a stack. */
#define STEPS_MAX 4096u
/* Newer entries are looked at as they came, so that looks between additions do not sort: so many,
 * because each record of a move is such a look. */
#define UNSORTED_MAX 256u

/* Puts the entries from `first` on in order. */
static void sort_from(struct made_code *m, size_t first)
{
	uint64_t highest = 0;

	qsort(m->at.at + first, m->at.n - first, sizeof(*m->at.at), by_start);
	m->old = first ? first : m->at.n;
	m->sorted = m->at.n;
	m->reach.n = first;
	for (size_t i = first; i < m->at.n; i++) {
		uint64_t end = m->at.at[i].start + m->at.at[i].size;

		highest = end > highest ? end : highest;
		*vec_add(&m->reach) = highest;
	}
}

static void sort_entries(struct made_code *m)
{
	if (m->at.n - m->sorted > UNSORTED_MAX)
		sort_from(m, m->at.n - m->old > STEPS_MAX ? 0 : m->old);
}

/* The place behind the last of the entries from `low` on and before `high`, which are in order,
 * that begins at the address or before. */
static size_t place_behind(const struct made_code *m, size_t low, size_t high, uint64_t address)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->at.at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The newest one of these around the address. Those before one that nothing reaches beyond
 * cannot be around it. */
static const struct made_code_entry *find_sorted(const struct made_code *m, size_t low, size_t high,
						 uint64_t address)
{
	const struct made_code_entry *found = NULL;
	size_t i = place_behind(m, low, high, address);

	for (unsigned n = 0; i-- > low && m->reach.at[i] > address && n < STEPS_MAX; n++) {
		const struct made_code_entry *e = &m->at.at[i];

		if (address - e->start < e->size && (!found || e->order > found->order))
			found = e;
	}
	return found;
}

/* Newer entries first: those that are not sorted, the later run, the earlier one. */
const struct made_code_entry *made_code_find(struct made_code *m, uint64_t address)
{
	const struct made_code_entry *found;

	sort_entries(m);
	for (size_t i = m->at.n; i-- > m->sorted;)
		if (address - m->at.at[i].start < m->at.at[i].size)
			return &m->at.at[i];
	found = find_sorted(m, m->old, m->sorted, address);
	return found ? found : find_sorted(m, 0, m->old, address);
}

/* The newest entry that begins there, or NULL. A search, never a walk: a dump may have millions of
 * moves. */
static const struct made_code_entry *find_start(struct made_code *m, uint64_t start)
{
	size_t at;

	sort_entries(m);
	for (size_t i = m->at.n; i-- > m->sorted;)
		if (m->at.at[i].start == start)
			return &m->at.at[i];
	at = place_behind(m, m->old, m->sorted, start);
	if (at > m->old && m->at.at[at - 1].start == start)
		return &m->at.at[at - 1];
	at = place_behind(m, 0, m->old, start);
	return at && m->at.at[at - 1].start == start ? &m->at.at[at - 1] : NULL;
}
