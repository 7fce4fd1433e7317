/* SPDX-License-Identifier: MIT */
/* uftrace's data directory: for `uftrace report`, `replay`, `tui` and `dump`. A file of 16-byte
 * records for each thread; one made-up module has all functions, each at an address of its own.
 * exporter.c calls it, on the thread that exports. A file that cannot be made or written ends the
 * export with its name. */
#include "export/files.h"
#include "export/formats.h"
#include "export/parts.h"

#include <inttypes.h>
#include <string.h>

#define DEPTH_MOST 1023           /* a record has 10 bits for it */
#define MODULE "functions"
enum { RECORD_IS_ENTRY, RECORD_IS_EXIT, RECORD_IS_LOST };
#define RECORD_MAGIC UINT64_C(5)

struct uftrace_record { uint64_t ns, word; };

/* A thread of the trace; one that called exec goes on in the same file. */
struct uftrace_task { uint32_t pid, tid; uint64_t ns; };

struct uftrace {
	struct walk walk;
	struct export_job *job;
	struct parts parts;       /* by task */
	VEC(struct uftrace_task) tasks;
	struct number_map of_tid;
	struct export_file file;  /* that is written now */
	struct err *err;
};

/* The task of the step's thread, made when it is first met: the time of that step is when it
 * began. */
static uint32_t task_of(struct uftrace *u, const struct walk_step *s)
{
	uint32_t tid = files_tid(&u->walk, s->lane);
	uint64_t row = number_map_get(&u->of_tid, (uint64_t)tid + 1);

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	row = u->tasks.n;
	*vec_add(&u->tasks) = (struct uftrace_task){
		u->walk.info->threads.at[u->walk.lanes.at[s->lane].thread].pid, tid, s->ns };
	number_map_set(&u->of_tid, (uint64_t)tid + 1, row);
	return (uint32_t)row;
}

/* uftrace's record: time, then type, magic, depth and an address of 48 bits in one word. Bits 0 and
 * 1 are the type, 3 to 5 the magic, 6 to 15 the depth, 16 to 63 the address (uftrace's struct
 * uftrace_record). files_address() stays below 2^48. */
static int put_record(struct uftrace *u, const struct walk_step *s, unsigned type, uint64_t value)
{
	struct uftrace_record r = { s->ns, type | RECORD_MAGIC << 3 | (uint64_t)s->depth << 6 |
					   value << 16 };

	return parts_add(&u->parts, task_of(u, s), &r, sizeof(r), u->err);
}

/* uftrace's records have 10 bits for the depth: calls beyond are left out in pairs and counted as
 * folded. */
static int take_step(void *arg, const struct walk_step *s)
{
	struct uftrace *u = arg;

	if (s->kind == WALK_EVENT)
		return 0;
	if (s->kind == WALK_LOST)
		return put_record(u, s, RECORD_IS_LOST, s->lost & UINT32_MAX);
	if (s->depth > DEPTH_MOST) {
		u->job->folded += s->kind == WALK_BEGIN;
		return 0;
	}
	return put_record(u, s, s->kind == WALK_BEGIN ? RECORD_IS_ENTRY : RECORD_IS_EXIT,
			  files_address(s->function));
}

/* parts_read()'s sink: a task's records. */
static int put_block(void *arg, const char *bytes, size_t n)
{
	struct uftrace *u = arg;

	out_bytes(&u->file.out, bytes, n);
	return u->file.out.error;
}

/* Each file is made by a function of its own, of which `i` is a task. */
typedef int put_file(struct uftrace *u, uint32_t i);

/* Makes one file of the directory by `put`. A fault at its end is told in place of one before. */
static int make_file(struct uftrace *u, const char *name, put_file *put, uint32_t i)
{
	int r = files_begin(&u->file, u->job, name, u->err), end;

	if (!r)
		r = put(u, i);
	end = files_end(&u->file, u->err);
	return end ? end : r;
}

/* TID.dat: the task's records. */
static int put_task(struct uftrace *u, uint32_t i)
{
	return parts_read(&u->parts, i, put_block, u, u->err);
}

/* Little-endian, as the head of `info` says. */
static void put_uint(struct out *o, uint64_t v, unsigned bytes)
{
	for (; bytes--; v >>= 8)
		out_char(o, (char)v);
}

/* The machine's order of bytes is little-endian, as brace's. The head has 40 bytes (struct
 * uftrace_file_header); the bits of EXE_NAME and its like say which lines follow. */
static int put_info(struct uftrace *u, uint32_t i)
{
	enum { TASK_SESSION = 2, SYMBOLS_RELATIVE = 32, MAX_STACK = 64 };
	enum { EXE_NAME = 1, COMMAND = 8, TASKS = 128 };
	const char *command = u->walk.info->cmdline;
	struct out *o = &u->file.out;

	out_bytes(o, "Ftrace!", 8);
	put_uint(o, 4, 4);
	put_uint(o, 40, 2);       /* size of this head */
	put_uint(o, 1, 1);        /* little-endian */
	put_uint(o, 2, 1);        /* 64 bits */
	put_uint(o, TASK_SESSION | SYMBOLS_RELATIVE | MAX_STACK, 8);
	put_uint(o, EXE_NAME | COMMAND | TASKS, 8);
	put_uint(o, DEPTH_MOST + 1, 2);
	put_uint(o, 0, 6);
	out_str(o, "exename:/" MODULE "\ncmdline:");
	files_put_line(o, command ? command : "brace");
	out_printf(o, "\ntaskinfo:lines=2\ntaskinfo:nr_tid=%zu\ntaskinfo:tids=", u->tasks.n);
	for (size_t t = 0; t < u->tasks.n; t++)
		out_printf(o, "%s%u", t ? "," : "", u->tasks.at[t].tid);
	out_char(o, '\n');
	return 0;
}

/* Every process has a session, with the same functions. */
static int put_tasks(struct uftrace *u, uint32_t i)
{
	struct number_map seen = { 0 };

	for (size_t t = 0; t < u->tasks.n; t++) {
		const struct uftrace_task *k = &u->tasks.at[t];
		uint64_t s = k->ns / 1000000000, ns = k->ns % 1000000000;

		if (number_map_get(&seen, (uint64_t)k->pid + 1) == NUMBER_NONE)
			out_printf(&u->file.out,
				   "SESS timestamp=%" PRIu64 ".%09" PRIu64
				   " pid=%u sid=%016x exename=\"/" MODULE "\"\n",
				   s, ns, k->pid, 1);
		number_map_set(&seen, (uint64_t)k->pid + 1, 1);
		out_printf(&u->file.out,
			   "TASK timestamp=%" PRIu64 ".%09" PRIu64 " tid=%u pid=%u\n", s, ns,
			   k->tid, k->pid);
	}
	number_map_free(&seen);
	return 0;
}

/* By where a stack is uftrace tells which addresses are the kernel's: without one, all. */
static int put_map(struct uftrace *u, uint32_t i)
{
	uint64_t end = (files_address((uint32_t)u->walk.functions.n) + 4096) & ~UINT64_C(4095);

	out_printf(&u->file.out,
		   "%" PRIx64 "-%" PRIx64 " r-xp 00000000 00:00 0                          /" MODULE
		   "\n7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n",
		   FILES_FUNCTIONS, end);
	return 0;
}

/* functions.sym, sorted by address as uftrace wants it. The last line ends the last function. */
static int put_symbols(struct uftrace *u, uint32_t i)
{
	struct out *o = &u->file.out;

	out_printf(o, "# symbols: %zu\n# path name: /" MODULE "\n", u->walk.functions.n + 1);
	for (uint32_t f = 0; f < u->walk.functions.n; f++) {
		out_printf(o, "%016" PRIx64 " T ", files_address(f) - FILES_FUNCTIONS);
		files_put_line(o, u->walk.functions.at[f].text);
		out_char(o, '\n');
	}
	out_printf(o, "%016" PRIx64 " ? __sym_end\n",
		   files_address((uint32_t)u->walk.functions.n) - FILES_FUNCTIONS);
	return 0;
}

/* An empty file: uftrace asks for it. */
static int put_nothing(struct uftrace *u, uint32_t i)
{
	return 0;
}

/* All files, those of the tasks last. */
static int make_files(struct uftrace *u)
{
	static const struct { const char *name; put_file *put; } files[] = {
		{ "info", put_info }, { "task.txt", put_tasks },
		{ "sid-0000000000000001.map", put_map }, { MODULE ".sym", put_symbols },
		{ "default.opts", put_nothing },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !r; i++)
		r = make_file(u, files[i].name, files[i].put, 0);
	for (uint32_t i = 0; i < u->tasks.n && !r; i++) {
		char name[24];

		snprintf(name, sizeof(name), "%u.dat", u->tasks.at[i].tid);
		r = make_file(u, name, put_task, i);
	}
	return r;
}

/* The exporter's `write`. Calls are cut at a loss, because uftrace pairs entries and exits. */
static int write_uftrace(struct export_job *job, struct err *err)
{
	struct uftrace u = { .job = job, .parts = parts_none(), .err = err };
	int r;

	walk_init(&u.walk, job->source);
	u.walk.cuts = true;
	r = export_walk(job, &u.walk, take_step, &u, err);
	if (!r)
		r = make_files(&u);
	parts_free(&u.parts);
	vec_free(&u.tasks);
	number_map_free(&u.of_tid);
	walk_free(&u.walk);
	return r;
}

const struct exporter export_uftrace = {
	.name = "uftrace", .summary = "uftrace's data directory, for uftrace report, replay and tui",
	.binary = true, .directory = true, .holds = HOLDS_LOSSES, .write = write_uftrace,
};
