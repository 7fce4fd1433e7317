/* SPDX-License-Identifier: MIT */
/* Restores a trace_info from its items. The reader calls it while it opens a file, in one thread.
 * The bytes may be anybody's: an index may only continue or repeat what is there, and a count is
 * believed no further than bytes follow it. Unknown items, and bytes behind the fields of a known
 * one, are skipped: newer writers may have them. Text that will stand in a line is escaped here,
 * once for all readers. */
#include "base/cursor.h"
#include "base/escape.h"
#include "shared/record.h"
#include "store/info.h"

/* Text of several lines is kept as it is. */
static void read_text(struct cursor *c, char **out)
{
	const char *s = cursor_str(c);

	if (!s)
		return;
	free(*out);
	*out = mem_strdup(s);
}

/* Text that becomes part of a line: control characters are escaped. */
static void read_str(struct cursor *c, char **out)
{
	const char *s = cursor_str(c);

	if (!s)
		return;
	free(*out);
	*out = escape_line(s);
}

/* A string of several lines. */
static void read_lines(struct cursor *c, char **out)
{
	const char *s = cursor_str(c);

	if (!s)
		return;
	free(*out);
	*out = escape_text(s);
}

/* Reads an index into a list of n elements: one of them, or the one after the last (then
 * *is_new). */
static size_t read_index(struct cursor *c, size_t n, bool *is_new)
{
	uint64_t i = cursor_uleb(c);

	if (i > n)
		c->bad = true;
	*is_new = !c->bad && i == n;
	return c->bad ? 0 : i;
}

/* Reads an index of one of n elements. */
static size_t read_element(struct cursor *c, size_t n)
{
	uint64_t i = cursor_uleb(c);

	if (i >= n)
		c->bad = true;
	return i;
}

/* Item INFO_HOST. Without it a file counts as empty (info_read_end). */
static void read_host(struct trace_info *info, struct cursor *c)
{
	read_str(c, &info->host);
	read_str(c, &info->kernel);
	read_str(c, &info->cpu);
	read_str(c, &info->cmdline);
	read_str(c, &info->version);
	read_str(c, &info->tracer);
	info->cpus = cursor_uleb32(c);
	info->thresh_ns = cursor_uleb(c);
	/* Files of older versions end before this field. */
	info->exclude_sleep = cursor_left(c) && cursor_uleb(c);
}

/* Item INFO_CLOCK. A text that does not fit is damage. */
static void read_clock(struct trace_info *info, struct cursor *c)
{
	struct trace_clock *k = &info->clock;
	const char *from;

	k->hz = cursor_uleb(c);
	k->tsc = cursor_uleb(c);
	k->mono_ns = cursor_uleb(c);
	k->real_ns = cursor_uleb(c);
	from = cursor_str(c);
	if (!from || strlen(from) >= sizeof(k->from)) {
		c->bad = true;
		return;
	}
	strcpy(k->from, from);
}

/* Item INFO_IMAGE: a new image, or a known one again. */
static void read_image(struct trace_info *info, struct cursor *c)
{
	bool is_new;
	size_t i = read_index(c, info->images.n, &is_new);

	if (c->bad)
		return;
	if (is_new)
		*vec_add(&info->images) = (struct trace_image){0};
	info->images.at[i].pid = cursor_uleb32(c);
	info->images.at[i].tsc = cursor_uleb(c);
	read_str(c, &info->images.at[i].exe);
	read_str(c, &info->images.at[i].cmdline);
	if (cursor_left(c)) /* older writers end here */
		read_lines(c, &info->images.at[i].files);
}

/* The id takes its full room in the file; len bytes of it count. */
static void read_stored_id(struct trace_module *m, struct cursor *c)
{
	uint8_t len = cursor_u8(c);
	const void *id = cursor_bytes(c, sizeof(m->build_id));

	if (!id || len > sizeof(m->build_id)) {
		c->bad = true;
		return;
	}
	m->build_id_len = len;
	memcpy(m->build_id, id, sizeof(m->build_id));
}

/* Item INFO_MODULE: a new module, or a known one again. */
static void read_module(struct trace_info *info, struct cursor *c)
{
	bool is_new;
	size_t i = read_index(c, info->modules.n, &is_new);
	size_t image = read_element(c, info->images.n);
	struct trace_module *m;

	if (c->bad)
		return;
	if (is_new)
		*vec_add(&info->modules) = (struct trace_module){0};
	m = &info->modules.at[i];
	m->image = (uint32_t)image;
	read_str(c, &m->path);
	read_str(c, &m->name);
	read_stored_id(m, c);
	m->base = cursor_uleb(c);
	m->start = cursor_uleb(c);
	m->end = cursor_uleb(c);
	m->from_tsc = cursor_uleb(c);
	m->to_tsc = cursor_uleb(c);
	m->first_id = cursor_uleb32(c);
}

/* Reads "first, count" of a run of elements that extends or overwrites a list of n. Each element
 * takes `least` bytes or more of what follows, which bounds the count; ids bound the list. */
static size_t read_run(struct cursor *c, size_t n, size_t least, uint64_t *count)
{
	uint64_t first = cursor_uleb(c);

	*count = cursor_uleb(c);
	if (first > n || *count > cursor_left(c) / least || first + *count > RECORD_ID_MAX + 1)
		c->bad = true;
	return first;
}

/* Appends zeroed elements up to n == want. */
#define grow_zeroed(v, want)                                                            \
	(vec_reserve(v, want),                                                          \
	 (want) > (v)->n ? (memset((v)->at + (v)->n, 0, ((want) - (v)->n) * sizeof(*(v)->at)), \
			    (void)((v)->n = (want)))                                    \
			 : (void)0)

/* Item INFO_FUNCTIONS: a run of a module's functions, as differences. */
static void read_functions(struct trace_info *info, struct cursor *c)
{
	size_t i = read_element(c, info->modules.n);
	struct trace_function last = {0};
	struct trace_module *m;
	uint64_t first, count;

	if (c->bad)
		return;
	m = &info->modules.at[i];
	/* A function takes 6 bytes or more: three numbers and three bytes. */
	first = read_run(c, m->functions.n, 6, &count);
	if (c->bad)
		return;
	grow_zeroed(&m->functions, first + count);
	for (; count--; first++) {
		last.vaddr += (uint64_t)bytes_unzigzag(cursor_uleb(c));
		last.size = cursor_uleb32(c);
		last.name += (uint32_t)bytes_unzigzag(cursor_uleb(c));
		last.hook = cursor_u8(c);
		last.reason = cursor_u8(c);
		last.flags = cursor_u8(c);
		m->functions.at[first] = last;
	}
}

/* Reads "module, count", and for each a function's number as difference and a place in the module's
 * strings, which goes to the field at `offset` of the function. Differences are checked before they
 * are added, so that the sum cannot wrap. */
static void read_places(struct trace_info *info, struct cursor *c, size_t offset)
{
	size_t i = read_element(c, info->modules.n);
	uint64_t count = cursor_uleb(c), at = 0;

	for (; count && !c->bad; count--) {
		struct trace_module *m = &info->modules.at[i];
		uint64_t more = cursor_uleb(c);

		if (more >= m->functions.n || at + more >= m->functions.n) {
			c->bad = true;
			return;
		}
		at += more;
		*(uint32_t *)((char *)&m->functions.at[at] + offset) = cursor_uleb32(c);
	}
}

static void read_libraries(struct trace_info *info, struct cursor *c)
{
	read_places(info, c, offsetof(struct trace_function, library));
}

static void read_prototypes(struct trace_info *info, struct cursor *c)
{
	read_places(info, c, offsetof(struct trace_function, prototype));
}

/* Item INFO_STRINGS: the rest of the item continues the module's strings at `first`. */
static void read_strings(struct trace_info *info, struct cursor *c)
{
	size_t i = read_element(c, info->modules.n), n;
	uint64_t first = cursor_uleb(c);
	struct trace_module *m;

	if (c->bad || first > info->modules.at[i].strings.n) {
		c->bad = true;
		return;
	}
	m = &info->modules.at[i];
	n = cursor_left(c);
	vec_reserve(&m->strings, first + n);
	if (n)
		memcpy(m->strings.at + first, cursor_bytes(c, n), n);
	if (first + n > m->strings.n)
		m->strings.n = first + n;
}

/* Item INFO_GLOBALS: a run of a module's variables, as differences. Each has a place behind the one
 * before, so that they can be searched. */
static void read_globals(struct trace_info *info, struct cursor *c)
{
	size_t i = read_element(c, info->modules.n);
	struct trace_global last = { 0 };
	struct trace_module *m;
	uint64_t first, count;

	if (c->bad)
		return;
	m = &info->modules.at[i];
	first = read_run(c, m->globals.n, 3, &count);
	if (c->bad)
		return;
	grow_zeroed(&m->globals, first + count);
	for (; count--; first++) {
		last.vaddr += cursor_uleb(c);
		last.size = cursor_uleb(c);
		last.name += (uint32_t)bytes_unzigzag(cursor_uleb(c));
		m->globals.at[first] = last;
	}
}

/* Item INFO_THREAD: a new thread, or a known one with newer counts. Names stay: they are items of
 * their own. */
static void read_thread(struct trace_info *info, struct cursor *c)
{
	struct trace_thread t = {0};
	bool is_new;
	size_t i = read_index(c, info->threads.n, &is_new);
	const char *comm;

	t.pid = cursor_uleb32(c);
	t.tid = cursor_uleb32(c);
	t.image = (uint32_t)read_element(c, info->images.n);
	t.tsc = cursor_uleb(c);
	comm = cursor_bytes(c, sizeof(t.comm));
	t.records = cursor_uleb(c);
	t.lost = cursor_uleb(c);
	if (c->bad)
		return;
	/* The last byte stays NUL, whatever the file has. */
	memcpy(t.comm, comm, sizeof(t.comm) - 1);
	if (is_new)
		(void)vec_add(&info->threads);
	else
		memcpy(&t.names, &info->threads.at[i].names, sizeof(t.names));
	info->threads.at[i] = t;
}

/* Item INFO_RENAME: a name that a thread took, and when. */
static void read_rename(struct trace_info *info, struct cursor *c)
{
	size_t i = read_element(c, info->threads.n);
	uint64_t tsc = cursor_uleb(c);
	const char *comm = cursor_bytes(c, TRACE_COMM);

	if (!c->bad)
		trace_info_rename(info, (uint32_t)i, tsc, comm);
}

/* Item INFO_CLOCK_PAIRS: more of them. */
static void read_clock_pairs(struct trace_info *info, struct cursor *c)
{
	const uint64_t n = cursor_uleb(c);

	for (uint64_t i = 0; i < n && !c->bad; i++) {
		const uint64_t cpu = cursor_uleb(c);
		struct trace_clock_pair p = { .tsc = cursor_uleb(c), .cpu = (uint16_t)cpu };

		p.ns = cursor_uleb(c);
		p.window = cursor_uleb32(c);
		if (cpu > UINT16_MAX)
			c->bad = true;
		if (!c->bad && info->clock_pairs.n < TRACE_CLOCK_PAIRS_MAX)
			*vec_add(&info->clock_pairs) = p;
	}
}

/* Item INFO_SITES: a run of an image's call sites, as differences. */
static void read_sites(struct trace_info *info, struct cursor *c)
{
	size_t i = read_element(c, info->images.n);
	struct trace_image *image;
	uint64_t first, count, at = 0;

	if (c->bad)
		return;
	image = &info->images.at[i];
	/* A difference takes a byte or more. */
	first = read_run(c, image->sites.n, 1, &count);
	if (c->bad)
		return;
	grow_zeroed(&image->sites, first + count);
	for (; count--; first++) {
		at += (uint64_t)bytes_unzigzag(cursor_uleb(c));
		image->sites.at[first] = at;
	}
}

/* Item INFO_TOTAL, the last one of a whole file. */
static void read_total(struct trace_info *info, struct cursor *c)
{
	info->total.calls = cursor_uleb(c);
	info->total.bytes = cursor_uleb(c);
	info->total.lost = cursor_uleb(c);
	info->total.records = cursor_uleb(c);
}

/* Item INFO_MESSAGE: a new note, or a known one with a newer count. */
static void read_note(struct trace_info *info, struct cursor *c)
{
	struct trace_message note = {0};
	bool is_new;
	size_t i = read_index(c, info->messages.n, &is_new);
	const char *name;

	note.kind = cursor_uleb32(c);
	note.pid = cursor_uleb32(c);
	note.number = cursor_uleb32(c);
	note.count = cursor_uleb32(c);
	name = cursor_str(c);
	if (c->bad || !name || strlen(name) >= sizeof(note.name)) {
		c->bad = true;
		return;
	}
	strcpy(note.name, name);
	if (is_new)
		(void)vec_add(&info->messages);
	info->messages.at[i] = note;
}

/* Item INFO_EVENT. The format is a text of several lines; names are parts of a line. */
static void read_event(struct trace_info *info, struct cursor *c)
{
	bool is_new;
	size_t i = read_index(c, info->events.n, &is_new);
	struct trace_event *e;

	if (c->bad)
		return;
	if (is_new)
		*vec_add(&info->events) = (struct trace_event){ 0 };
	e = &info->events.at[i];
	e->index = cursor_uleb32(c);
	read_str(c, &e->system);
	read_str(c, &e->name);
	read_text(c, &e->format);
	if (cursor_left(c))
		read_str(c, &e->made_of);
}

static void read_run_item(struct trace_info *info, struct cursor *c)
{
	struct trace_run *r = &info->run;
	uint64_t flags;

	read_str(c, &r->invocation);
	flags = cursor_uleb(c);
	r->timed = flags & RUN_TIMED;
	r->ended = flags & RUN_ENDED;
	r->status = cursor_uleb32(c);
	r->elapsed_ns = cursor_uleb(c);
	r->user_ns = cursor_uleb(c);
	r->system_ns = cursor_uleb(c);
}

/* Reads the whole list of settings: it replaces that of an earlier item. */
static void read_settings(struct trace_info *info, struct cursor *c)
{
	uint64_t count = cursor_uleb(c);

	trace_info_drop_settings(info);
	for (; count && !c->bad; count--) {
		struct trace_setting s = { .chosen = cursor_u8(c) };

		read_str(c, &s.file);
		read_text(c, &s.text);
		*vec_add(&info->settings) = s;
	}
}

/* A part is no more than the whole. */
static void read_cost(struct trace_info *info, struct cursor *c)
{
	info->cost.inside = cursor_uleb32(c);
	info->cost.total = cursor_uleb32(c);
	if (info->cost.inside > info->cost.total)
		c->bad = true;
}

/* By item type. A type without a row is a newer writer's, and is skipped by its length. */
static void (*const readers[INFO_TYPES_N])(struct trace_info *, struct cursor *) = {
	[INFO_HOST] = read_host,           [INFO_CLOCK] = read_clock,
	[INFO_IMAGE] = read_image,         [INFO_MODULE] = read_module,
	[INFO_FUNCTIONS] = read_functions, [INFO_STRINGS] = read_strings,
	[INFO_THREAD] = read_thread,       [INFO_SITES] = read_sites,
	[INFO_TOTAL] = read_total,         [INFO_MESSAGE] = read_note,
	[INFO_EVENT] = read_event,         [INFO_RUN] = read_run_item,
	[INFO_SETTINGS] = read_settings,   [INFO_LIBRARIES] = read_libraries,
	[INFO_RENAME] = read_rename,       [INFO_PROTOTYPES] = read_prototypes,
	[INFO_COST] = read_cost,           [INFO_CLOCK_PAIRS] = read_clock_pairs,
	[INFO_GLOBALS] = read_globals,
};

/* Items of a type that is not known are a newer writer's, and are passed over. */
bool info_read(struct trace_info *info, const uint8_t *p, size_t n)
{
	struct cursor c = cursor_of(p, n);

	while (cursor_left(&c) && !c.bad) {
		uint64_t type = cursor_uleb(&c), len = cursor_uleb(&c);
		const void *content = cursor_bytes(&c, len);
		struct cursor item;

		/* The length is longer than the bytes that follow it. */
		if (!content)
			return false;
		item = cursor_of(content, len);
		if (type < INFO_TYPES_N && readers[type])
			readers[type](info, &item);
		if (item.bad)
			return false;
	}
	return !c.bad;
}

/* An item that would have set the text was missing, or cut short. */
static void never_null(char **s)
{
	if (!*s)
		*s = mem_strdup("");
}

/* A name is part of a line. brace's writers escape the names they find (sym/functions.c), but this
 * file may come from another writer. */
static void make_one_line(struct trace_module *m)
{
	for (size_t i = 0; i < m->strings.n; i++)
		if (m->strings.at[i] == '\n' || m->strings.at[i] == '\t')
			m->strings.at[i] = '?';
}

/* Terminates the string table and clears names outside it. */
static void make_module_safe(struct trace_module *m)
{
	never_null(&m->path);
	never_null(&m->name);
	if (m->strings.n && m->strings.at[m->strings.n - 1])
		*vec_add(&m->strings) = 0;
	for (size_t i = 0; i < m->functions.n; i++) {
		if (m->functions.at[i].name >= m->strings.n)
			m->functions.at[i].name = 0;
		if (m->functions.at[i].library >= m->strings.n)
			m->functions.at[i].library = 0;
		if (m->functions.at[i].prototype >= m->strings.n)
			m->functions.at[i].prototype = 0;
	}
	for (size_t i = 0; i < m->globals.n; i++)
		if (m->globals.at[i].name >= m->strings.n)
			m->globals.at[i].name = 0;
	make_one_line(m);
}

/* A file may lack any item: readers need not ask for NULL behind this. */
bool info_read_end(struct trace_info *info)
{
	bool have_host = info->version != NULL;
	char **strings[] = { &info->host, &info->kernel, &info->cpu, &info->cmdline, &info->version,
			     &info->tracer, &info->run.invocation };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		never_null(strings[i]);
	for (size_t i = 0; i < info->images.n; i++) {
		never_null(&info->images.at[i].exe);
		never_null(&info->images.at[i].cmdline);
	}
	for (size_t i = 0; i < info->modules.n; i++)
		make_module_safe(&info->modules.at[i]);
	for (size_t i = 0; i < info->events.n; i++) {
		never_null(&info->events.at[i].system);
		never_null(&info->events.at[i].name);
		never_null(&info->events.at[i].format);
	}
	for (size_t i = 0; i < info->settings.n; i++) {
		never_null(&info->settings.at[i].file);
		never_null(&info->settings.at[i].text);
	}
	return have_host;
}
