/* SPDX-License-Identifier: MIT */
/* uftrace's data directory: `info`, the processes and threads in `task.txt`, what they had mapped
 * in `sid-ID.map`, symbols in `FILE.sym`, and 16-byte records in `TID.dat`. Called by import.c.
 * Fails on what is no such directory, and on records with arguments, whose length only their
 * specifications tell. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "import/formats.h"

enum record_type { UFTRACE_ENTRY, UFTRACE_EXIT, UFTRACE_LOST, UFTRACE_EVENT };
#define RECORD_MAGIC 5u
#define MAPS_MOST 65536u
#define DEPTH_MOST 1024u /* what the bits of a record hold */

struct uftrace_symbol { uint64_t at; struct import_text name; };
typedef VEC(struct uftrace_symbol) symbols;

/* An executable mapping of a session; symbols are read when they are needed. */
struct uftrace_mapping { uint64_t start, end; char *file; symbols symbols; bool read; };

/* A process from one exec to the next. */
struct uftrace_session {
	char *sid;
	uint32_t pid, process;
	uint64_t ns;
	VEC(struct uftrace_mapping) maps;
	struct number_map functions; /* address + 1 -> number */
};

struct uftrace_thread { uint32_t pid, tid; };

/* How deep each of a thread's open calls is, as its record says: those below it may have begun
 * before the file does, as in a forked child, or be lost. Their number is the build's. */
struct uftrace_depths { uint16_t at[DEPTH_MOST]; };

struct uftrace_reading {
	struct import_build *build;
	const struct import_files *files;
	VEC(struct uftrace_session) sessions;
	VEC(struct uftrace_thread) tasks;
	struct number_map parents; /* pid + 1 -> its parent */
	struct err *err;
};

/* --- symbols -------------------------------------------------------------------------- */

/* Symbols of equal addresses may come in any order. */
static int by_address(const void *a, const void *b)
{
	const struct uftrace_symbol *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* "ADDRESS TYPE NAME"; lines with # are about the file. */
static void read_symbol(struct import_text line, symbols *out)
{
	struct uftrace_symbol s;

	if (!import_number(&line, 16, &s.at) || import_word(&line).at == line.end)
		return;
	s.name = line;
	if (s.name.at < s.name.end)
		*vec_add(out) = s;
}

/* Files without symbols have no such file: their functions are told by address. */
static void read_symbols(struct uftrace_reading *u, struct uftrace_mapping *m)
{
	char *name = mem_printf("%s.sym", m->file);
	struct import_text text, line;
	struct err ignored;

	m->read = true;
	if (!u->files->get(u->files->of, name, &text, &ignored))
		while (import_line(&text, &line))
			read_symbol(line, &m->symbols);
	if (m->symbols.n)
		qsort(m->symbols.at, m->symbols.n, sizeof(*m->symbols.at), by_address);
	free(name);
}

/* The symbol that the address lies in; NULL: none. */
static const struct uftrace_symbol *symbol_at(const symbols *s, uint64_t at)
{
	size_t n = vec_bisect(s, item, item->at <= at);

	return n ? &s->at[n - 1] : NULL;
}

/* The function of an address by the session's mappings; one without a symbol has its address for
 * a name. */
static uint32_t name_function(struct uftrace_reading *u, struct uftrace_session *s,
			      uint64_t address)
{
	const struct uftrace_symbol *found = NULL;
	const char *file = "unknown";
	uint32_t number;
	char *name;

	for (size_t i = 0; i < s->maps.n; i++) {
		struct uftrace_mapping *m = &s->maps.at[i];

		if (address < m->start || address >= m->end)
			continue;
		if (!m->read)
			read_symbols(u, m);
		file = m->file;
		found = symbol_at(&m->symbols, address - m->start);
		break;
	}
	name = found ? import_copy(found->name) : mem_printf("0x%llx", (unsigned long long)address);
	number = import_function(u->build, s->process, file, name, u->err);
	free(name);
	return number;
}

/* UINT32_MAX and *err: there are too many. */
static uint32_t function_at(struct uftrace_reading *u, struct uftrace_session *s, uint64_t address)
{
	uint64_t row = number_map_get(&s->functions, address + 1);
	uint32_t number;

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	number = name_function(u, s, address);
	if (number != UINT32_MAX)
		number_map_set(&s->functions, address + 1, number);
	return number;
}

/* --- processes ------------------------------------------------------------------------ */

/* "START-END PERMS OFFSET DEVICE INODE PATH ..." of /proc/PID/maps. */
static void read_mapping(struct import_text line, struct uftrace_session *s)
{
	struct uftrace_mapping m = { 0 };
	struct import_text perms, path;
	const char *slash;

	if (!import_number(&line, 16, &m.start) || !import_literal(&line, "-") ||
	    !import_number(&line, 16, &m.end) || s->maps.n >= MAPS_MOST)
		return;
	perms = import_word(&line);
	if (!memchr(perms.at, 'x', (size_t)(perms.end - perms.at)))
		return;
	for (int i = 0; i < 3; i++)
		import_word(&line);
	path = import_word(&line);
	slash = memrchr(path.at, '/', (size_t)(path.end - path.at));
	if (!slash)
		return;
	m.file = import_copy((struct import_text){ slash + 1, path.end });
	*vec_add(&s->maps) = m;
}

/* The mappings of a session. 0, or -errno and u->err: every session has to have them. */
static int read_maps(struct uftrace_reading *u, struct uftrace_session *s)
{
	char *name = mem_printf("sid-%s.map", s->sid);
	struct import_text text, line;
	int r = u->files->get(u->files->of, name, &text, u->err);

	while (!r && import_line(&text, &line))
		read_mapping(line, s);
	free(name);
	return r;
}

/* KEY=NUMBER of the line. */
static bool number_of(struct import_text line, const char *key, uint32_t *out)
{
	struct import_text value;
	uint64_t n;

	if (!import_value(line, key, &value) || !import_number(&value, 10, &n) || n > UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* "SESS timestamp=S.NS pid=N sid=ID exename="PATH"" */
static int read_session(struct uftrace_reading *u, struct import_text line)
{
	struct uftrace_session s = { 0 };
	struct import_text sid, exe = { line.end, line.end }, at;
	char *path;

	if (!number_of(line, "pid", &s.pid) || !import_value(line, "sid", &sid) ||
	    !import_value(line, "timestamp", &at) || !import_seconds(&at, &s.ns) ||
	    memchr(sid.at, '/', (size_t)(sid.end - sid.at)))
		return 0;
	import_value(line, "exename", &exe);
	path = import_copy(exe);
	s.process = import_process(u->build, s.pid, path);
	free(path);
	s.sid = import_copy(sid);
	*vec_add(&u->sessions) = s;
	return read_maps(u, &u->sessions.at[u->sessions.n - 1]);
}

/* A line of task.txt: a session, a thread, or a fork, whose child is a thread and goes by its
 * parent's session. */
static int read_task(struct uftrace_reading *u, struct import_text line)
{
	struct uftrace_thread t;
	uint32_t parent;

	if (import_literal(&line, "SESS "))
		return read_session(u, line);
	if (import_literal(&line, "TASK ")) {
		if (number_of(line, "tid", &t.tid) && number_of(line, "pid", &t.pid))
			*vec_add(&u->tasks) = t;
	} else if (import_literal(&line, "FORK ")) {
		if (number_of(line, "pid", &t.pid) && number_of(line, "ppid", &parent)) {
			t.tid = t.pid;
			*vec_add(&u->tasks) = t;
			number_map_set(&u->parents, (uint64_t)t.pid + 1, parent);
		}
	}
	return 0;
}

/* The session of a process at a time: its latest exec, or what it has of its parent. */
static struct uftrace_session *session_of(struct uftrace_reading *u, uint32_t pid, uint64_t ns)
{
	for (unsigned generations = 0; generations < 1000; generations++) {
		struct uftrace_session *found = NULL;
		uint64_t parent;

		for (size_t i = 0; i < u->sessions.n; i++)
			if (u->sessions.at[i].pid == pid &&
			    (!found || u->sessions.at[i].ns <= ns))
				found = &u->sessions.at[i];
		parent = found ? NUMBER_NONE : number_map_get(&u->parents, (uint64_t)pid + 1);
		if (found || parent == NUMBER_NONE)
			return found ? found : &u->sessions.at[0];
		pid = (uint32_t)parent;
	}
	return &u->sessions.at[0];
}

/* --- records -------------------------------------------------------------------------- */

/* A record says how deep it is: calls that are as deep, or deeper, end here where their own end is
 * missing. */
static void end_from(struct uftrace_reading *u, uint32_t thread, uint64_t ns,
		     const struct uftrace_depths *d, uint32_t depth)
{
	const struct import_thread *t = &u->build->threads.at[thread];

	while (t->depth && d->at[t->depth - 1] >= depth)
		import_leave(u->build, thread, ns);
}

/* An end without a beginning is passed over. */
static void take_exit(struct uftrace_reading *u, uint32_t thread, uint64_t ns,
		      const struct uftrace_depths *d, uint32_t depth)
{
	const struct import_thread *t = &u->build->threads.at[thread];

	end_from(u, thread, ns, d, depth + 1);
	if (t->depth && d->at[t->depth - 1] == depth)
		import_leave(u->build, thread, ns);
}

/* A record of 64 bits behind its time: type, depth and address. Events of other kinds are left
 * out. */
static int take_record(struct uftrace_reading *u, struct uftrace_session *s, uint32_t thread,
		       struct uftrace_depths *d, uint64_t ns, uint64_t word)
{
	uint32_t depth = word >> 6 & 1023, function;

	switch (word & 3) {
	case UFTRACE_ENTRY:
		function = function_at(u, s, word >> 16);
		if (function == UINT32_MAX)
			return -E2BIG;
		end_from(u, thread, ns, d, depth);
		d->at[u->build->threads.at[thread].depth] = (uint16_t)depth;
		import_enter(u->build, thread, ns, function);
		return 0;
	case UFTRACE_EXIT:
		take_exit(u, thread, ns, d, depth);
		return 0;
	case UFTRACE_LOST:
		import_lose(u->build, thread, ns, word >> 16);
		return 0;
	default:
		u->build->left_out++;
		return 0;
	}
}

/* A record is 16 bytes: the time, and a word of type, flag for more data, magic number, depth and
 * address (uftrace's struct uftrace_record). A thread's file may span several sessions. */
static int read_records(struct uftrace_reading *u, const struct uftrace_thread *t,
			struct import_text text)
{
	struct cursor c = cursor_of(text.at, (size_t)(text.end - text.at));
	struct uftrace_depths depths;
	uint32_t thread = UINT32_MAX;
	struct uftrace_session *s;
	const char *comm;
	int r = 0;

	while (cursor_left(&c) >= 16 && !r) {
		uint64_t ns = cursor_u64(&c), word = cursor_u64(&c);

		if ((word >> 3 & 7) != RECORD_MAGIC)
			return err_set(u->err, EBADMSG, "%u.dat has bytes that are no record",
				       t->tid);
		if (word & 4)
			return err_set(u->err, ENOTSUP,
				       "%u.dat has arguments or events' data, which cannot be imported: record without -A, -R and -E",
				       t->tid);
		s = session_of(u, t->pid, ns);
		if (thread == UINT32_MAX || u->build->threads.at[thread].process != s->process) {
			const char *exe = u->build->processes.at[s->process].exe;

			/* A record of another session than the one before: the process has
			 * executed a program. */
			comm = strrchr(exe, '/');
			thread = import_thread(u->build, s->process, t->pid, t->tid,
					       comm ? comm + 1 : exe, u->err);
			if (thread == UINT32_MAX)
				return -E2BIG;
		}
		r = take_record(u, s, thread, &depths, ns, word);
	}
	return r;
}

/* A thread that made no call has no file. One that is listed twice is read once. */
static int read_threads(struct uftrace_reading *u)
{
	struct number_map seen = { 0 };
	struct import_text text;
	struct err ignored;
	int r = 0;

	for (size_t i = 0; i < u->tasks.n && !r; i++) {
		const struct uftrace_thread *t = &u->tasks.at[i];
		char *name = mem_printf("%u.dat", t->tid);

		if (number_map_get(&seen, (uint64_t)t->tid + 1) == NUMBER_NONE &&
		    !u->files->get(u->files->of, name, &text, &ignored))
			r = read_records(u, t, text);
		number_map_set(&seen, (uint64_t)t->tid + 1, 1);
		free(name);
	}
	number_map_free(&seen);
	return r;
}

/* --- the directory -------------------------------------------------------------------- */

/* The head of the data: byte order, size of words, and the command line. */
static int read_info(struct uftrace_reading *u)
{
	struct import_text text, line;
	struct cursor c;
	int r = u->files->get(u->files->of, "info", &text, u->err);

	if (r == -ENOENT)
		return err_set(u->err, ENOENT, "it has no file info, as uftrace's data has");
	if (r)
		return r;
	c = cursor_of(text.at, (size_t)(text.end - text.at));
	if (!import_literal(&text, "Ftrace!"))
		return err_set(u->err, ENOEXEC, "its file info is not uftrace's");
	cursor_bytes(&c, 12);
	text.at = text.end - cursor_left(&c);
	if (cursor_u16(&c) < 40 || cursor_u8(&c) != 1 || cursor_u8(&c) != 2 || c.bad)
		return err_set(u->err, ENOTSUP,
			       "its records are not those of a little-endian machine of 64 bits");
	while (import_line(&text, &line))
		if (import_literal(&line, "cmdline:") && !u->build->command)
			u->build->command = import_copy(line);
	return 0;
}

/* Processes, threads and records are the build's, and stay. */
static void end_reading(struct uftrace_reading *u)
{
	for (size_t i = 0; i < u->sessions.n; i++) {
		struct uftrace_session *s = &u->sessions.at[i];

		for (size_t m = 0; m < s->maps.n; m++) {
			vec_free(&s->maps.at[m].symbols);
			free(s->maps.at[m].file);
		}
		vec_free(&s->maps);
		number_map_free(&s->functions);
		free(s->sid);
	}
	vec_free(&u->sessions);
	vec_free(&u->tasks);
	number_map_free(&u->parents);
}

/* 0, or -errno and *err. Texts of files are the caller's, which frees them after the trace is
 * written. */
int import_uftrace(struct import_build *b, const struct import_files *files, struct err *err)
{
	struct uftrace_reading u = { .build = b, .files = files, .err = err };
	struct import_text text, line;
	int r = read_info(&u);

	b->tool = "uftrace";
	if (!r)
		r = files->get(files->of, "task.txt", &text, err);
	while (!r && import_line(&text, &line))
		r = read_task(&u, line);
	if (!r && !u.sessions.n)
		r = err_set(err, EBADMSG, "its task.txt names no program");
	if (!r)
		r = read_threads(&u);
	end_reading(&u);
	return r;
}
