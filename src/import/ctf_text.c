/* SPDX-License-Identifier: MIT */
/* The text of babeltrace2 of a CTF trace whose events have the names of LTTng-UST's cyg-profile:
 * "[SECONDS] HOST NAME: { cpu_id = 0 }, { vpid = 1, vtid = 1, procname = "x" }, { addr = 0x1 }".
 * func_entry begins a call, func_exit ends one. Called by import.c, on the command's thread. Fails
 * on a text without a call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number_map.h"
#include "import/ctf_names.h"

/* A thread of the text. Its calls' ends have no number of their entry, so the addresses that are
 * open are kept as a stack. */
struct ctf_thread {
	uint32_t thread, process, pid;
	VEC(uint64_t) open;       /* addresses of the calls that have not ended */
};

/* Addresses are looked up once for each process: two processes may have different files at one
 * address. */
struct ctf_process {
	uint32_t pid, process;
	struct number_map by_address; /* address + 1 -> function */
};

struct reading_ctf {
	struct import_build *build;
	struct ctf_names names;
	struct number_map of_pid;     /* + 1 -> place in processes */
	struct number_map of_tid;     /* process ID and thread ID, + 1 -> place in threads */
	VEC(struct ctf_thread) threads;
	VEC(struct ctf_process) processes;
	struct err *err;
};

struct ctf_line {
	struct import_text name, fields;
	uint64_t ns, pid, tid;
};

/* The text behind " KEY = " in the fields; false: there is none. babeltrace2 writes contexts and
 * fields in braces, with a blank on both sides of each `=`. A key is looked for with them, so that
 * `vtid` is not found within another name. */
static bool find_field(struct import_text fields, const char *key, struct import_text *out)
{
	char wanted[32];
	int n = snprintf(wanted, sizeof(wanted), " %s = ", key);
	const char *at = memmem(fields.at, (size_t)(fields.end - fields.at), wanted, (size_t)n);

	if (!at)
		return false;
	*out = (struct import_text){ at + n, fields.end };
	return true;
}

/* A number, decimal or behind 0x. */
static bool find_number(struct import_text fields, const char *key, uint64_t *out)
{
	struct import_text text;

	return find_field(fields, key, &text) &&
	       import_number(&text, import_literal(&text, "0x") ? 16 : 10, out);
}

/* A string without its quotes. */
static bool find_string(struct import_text fields, const char *key, struct import_text *out)
{
	const char *end;

	if (!find_field(fields, key, out) || !import_literal(out, "\""))
		return false;
	end = memchr(out->at, '"', (size_t)(out->end - out->at));
	out->end = end ? end : out->end;
	return true;
}

/* False: the line is no event of a thread. The host's name stands between the time and the event's,
 * and may be missing: the event's is the last word before the fields. IDs above what Linux has are
 * a foreign text's. */
static bool read_ctf_line(struct import_text line, struct ctf_line *l)
{
	const char *colon, *blank;

	if (!import_literal(&line, "[") || !import_seconds(&line, &l->ns) ||
	    !import_literal(&line, "]"))
		return false;
	colon = memmem(line.at, (size_t)(line.end - line.at), ": {", 3);
	if (!colon)
		return false;
	blank = memrchr(line.at, ' ', (size_t)(colon - line.at));
	l->name = (struct import_text){ blank ? blank + 1 : line.at, colon };
	l->fields = (struct import_text){ colon + 2, line.end };
	return find_number(l->fields, "vpid", &l->pid) && l->pid <= INT32_MAX &&
	       find_number(l->fields, "vtid", &l->tid) && l->tid <= INT32_MAX;
}

/* Made with its first event. */
static struct ctf_process *process_of(struct reading_ctf *c, const struct ctf_line *l,
				      const char *comm)
{
	const uint64_t row = number_map_get(&c->of_pid, l->pid + 1);
	struct ctf_process *p;

	if (row != NUMBER_NONE)
		return &c->processes.at[row];
	number_map_set(&c->of_pid, l->pid + 1, c->processes.n);
	p = vec_add(&c->processes);
	*p = (struct ctf_process){ .pid = (uint32_t)l->pid,
				   .process = import_process(c->build, (uint32_t)l->pid, comm) };
	return p;
}

/* NULL and *err: there are too many. */
static struct ctf_thread *thread_of(struct reading_ctf *c, const struct ctf_line *l)
{
	const uint64_t key = (l->pid << 32 | l->tid) + 1, row = number_map_get(&c->of_tid, key);
	struct import_text name = { "", "" };
	struct ctf_thread t = { .pid = (uint32_t)l->pid };
	char *comm;

	if (row != NUMBER_NONE)
		return &c->threads.at[row];
	find_string(l->fields, "procname", &name);
	comm = import_copy(name);
	t.process = (uint32_t)(process_of(c, l, comm) - c->processes.at);
	t.thread = import_thread(c->build, c->processes.at[t.process].process, t.pid,
				 (uint32_t)l->tid, comm, c->err);
	free(comm);
	if (t.thread == UINT32_MAX)
		return NULL;
	number_map_set(&c->of_tid, key, c->threads.n);
	*vec_add(&c->threads) = t;
	return &c->threads.at[c->threads.n - 1];
}

/* UINT32_MAX and *err: there are too many. The name is looked for when the address is first
 * seen, by the mappings that the text told until then. */
static uint32_t function_at(struct reading_ctf *c, struct ctf_process *p, uint64_t address)
{
	uint64_t known = number_map_get(&p->by_address, address + 1);
	char *file, *name;
	uint32_t function;

	if (known != NUMBER_NONE)
		return (uint32_t)known;
	ctf_names_find(&c->names, p->pid, address, &file, &name);
	function = import_function(c->build, p->process, file, name, c->err);
	free(file);
	free(name);
	if (function != UINT32_MAX)
		number_map_set(&p->by_address, address + 1, function);
	return function;
}

/* Without an address the call has no name: it is counted as left out, not invented. */
static int begin_call(struct reading_ctf *c, const struct ctf_line *l)
{
	struct ctf_thread *t = thread_of(c, l);
	uint32_t function;
	uint64_t address;

	if (!find_number(l->fields, "addr", &address)) {
		c->build->left_out++;
		return 0;
	}
	function = t ? function_at(c, &c->processes.at[t->process], address) : UINT32_MAX;
	if (function == UINT32_MAX)
		return -E2BIG;
	import_enter(c->build, t->thread, l->ns, function);
	*vec_add(&t->open) = address;
	return 0;
}

/* The end of the innermost call of that address, and of those within it, whose ends were lost. Of
 * none that is open: the call began before the trace. Without an address the innermost one's. */
static int end_call(struct reading_ctf *c, const struct ctf_line *l)
{
	struct ctf_thread *t = thread_of(c, l);
	uint64_t address;
	size_t n;

	if (!t)
		return -E2BIG;
	n = t->open.n;
	if (find_number(l->fields, "addr", &address))
		while (n && t->open.at[n - 1] != address)
			n--;
	for (; n && t->open.n >= n; t->open.n--)
		import_leave(c->build, t->thread, l->ns);
	return 0;
}

/* brace's own event: records of the thread are missing, and all its open calls ended somewhere. */
static int lose_records(struct reading_ctf *c, const struct ctf_line *l)
{
	struct ctf_thread *t = thread_of(c, l);
	uint64_t n;

	if (!t)
		return -E2BIG;
	if (find_number(l->fields, "count", &n) && n)
		import_lose(c->build, t->thread, l->ns, n);
	return 0;
}

/* bin_info and load tell of a mapping. */
static int take_mapping(struct reading_ctf *c, const struct ctf_line *l)
{
	struct ctf_mapping m = { .pid = (uint32_t)l->pid };
	struct import_text path;
	uint64_t moved = 1;

	find_number(l->fields, "is_pic", &moved);
	m.moved = moved;
	if (find_number(l->fields, "baddr", &m.begin) &&
	    find_number(l->fields, "memsz", &m.bytes) && find_string(l->fields, "path", &path))
		ctf_names_map(&c->names, &m, path);
	return 0;
}

/* "build_id = [ [0] = 0x1, [1] = 0x2 ]", behind the mapping's own event. */
static int take_build_id(struct reading_ctf *c, const struct ctf_line *l)
{
	struct ctf_mapping *m;
	struct import_text text;
	uint64_t begin, byte;

	if (!find_number(l->fields, "baddr", &begin) || !find_field(l->fields, "build_id", &text))
		return 0;
	m = ctf_names_at(&c->names, (uint32_t)l->pid, begin);
	if (!m)
		return 0;
	m->build_id_len = 0;
	while (m->build_id_len < sizeof(m->build_id)) {
		const char *at = memmem(text.at, (size_t)(text.end - text.at), "= 0x", 4);

		text.at = at ? at + 4 : text.end;
		if (!at || !import_number(&text, 16, &byte))
			break;
		m->build_id[m->build_id_len++] = (uint8_t)byte;
	}
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct reading_ctf *c, const struct ctf_line *l); /* NULL: nothing to take */
} ctf_events[] = {
	{ "lttng_ust_cyg_profile:func_entry", begin_call },
	{ "lttng_ust_cyg_profile:func_exit", end_call },
	{ "lttng_ust_cyg_profile_fast:func_entry", begin_call },
	{ "lttng_ust_cyg_profile_fast:func_exit", end_call },
	{ "brace:lost", lose_records },
	{ "lttng_ust_statedump:bin_info", take_mapping },
	{ "lttng_ust_lib:load", take_mapping },
	{ "lttng_ust_statedump:build_id", take_build_id },
	{ "lttng_ust_lib:build_id", take_build_id },
	{ "lttng_ust_statedump:start", NULL },
	{ "lttng_ust_statedump:procname", NULL },
	{ "lttng_ust_statedump:debug_link", NULL },
	{ "lttng_ust_statedump:end", NULL },
	{ "lttng_ust_lib:debug_link", NULL },
	{ "lttng_ust_lib:unload", NULL },
};

/* Other events have no place in the trace, and are counted. */
static int take_ctf_line(struct reading_ctf *c, const struct ctf_line *l)
{
	const size_t length = (size_t)(l->name.end - l->name.at);

	for (size_t i = 0; i < sizeof(ctf_events) / sizeof(*ctf_events); i++)
		if (length == strlen(ctf_events[i].name) &&
		    !memcmp(l->name.at, ctf_events[i].name, length))
			return ctf_events[i].take ? ctf_events[i].take(c, l) : 0;
	c->build->left_out++;
	return 0;
}

int import_ctf_text(struct import_build *b, const struct import_files *files, struct err *err)
{
	struct reading_ctf c = { .build = b, .err = err };
	struct import_text text, line;
	int r = files->get(files->of, "", &text, err);

	b->tool = "babeltrace2";
	if (!r)
		ctf_names_read(&c.names, files);
	while (!r && import_line(&text, &line)) {
		struct ctf_line l;

		if (read_ctf_line(line, &l))
			r = take_ctf_line(&c, &l);
		else if (line.at < line.end)
			b->left_out++;
	}
	if (!r && !b->calls)
		r = err_set(err, ENOEXEC, "it has no call (lttng_ust_cyg_profile:func_entry)");
	for (size_t i = 0; i < c.threads.n; i++)
		vec_free(&c.threads.at[i].open);
	for (size_t i = 0; i < c.processes.n; i++)
		number_map_free(&c.processes.at[i].by_address);
	vec_free(&c.threads);
	vec_free(&c.processes);
	number_map_free(&c.of_pid);
	number_map_free(&c.of_tid);
	b->strange = c.names.strange;
	ctf_names_free(&c.names);
	return r;
}
