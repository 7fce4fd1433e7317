/* SPDX-License-Identifier: MIT */
/* Records wait in memory until all functions are known, 16 bytes each; then they are written by
 * time, a batch of a thread at a time. The clock of the trace is in nanoseconds. Called by the
 * readers of formats, on brace's only thread. A file that cannot be written is -errno and a
 * sentence. */
#include "import/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/table_hash.h"
#include "hook/plan.h"
#include "shared/record.h"
#include "store/store.h"

#define BATCH 4096          /* records of one thread at a time */
/* Records hold 40 bits of time, and a run's first one is found by the time that is given. */
#define GAP_MOST (UINT64_C(1) << 38)
/* Bytes from a symbol to the next one. Addresses are made up, and the same in all processes:
 * reports take the same address in the same file for one function. */
#define STRIDE 16
#define MODULE_BYTES (UINT64_C(1) << 32)
#define FIRST_MODULE UINT64_C(0x100000000)

/* Also after an error, with what had been built until then. */
void import_build_free(struct import_build *b)
{
	for (size_t p = 0; p < b->processes.n; p++) {
		struct import_process *process = &b->processes.at[p];

		for (size_t i = 0; i < process->files.n; i++)
			free(process->files.at[i]);
		vec_free(&process->files);
		vec_free(&process->functions);
		number_map_free(&process->by_symbol);
		free(process->exe);
	}
	for (size_t i = 0; i < b->symbols.n; i++) {
		free(b->symbols.at[i].file);
		free(b->symbols.at[i].name);
	}
	vec_free(&b->symbols);
	number_map_free(&b->by_name);
	for (size_t t = 0; t < b->threads.n; t++)
		vec_free(&b->threads.at[t].records);
	vec_free(&b->processes);
	vec_free(&b->threads);
	free(b->command);
}

/* Returns the process's number. A process that executes another program is a new one here. */
uint32_t import_process(struct import_build *b, uint32_t pid, const char *exe)
{
	*vec_add(&b->processes) = (struct import_process){ .pid = pid, .exe = mem_strdup(exe) };
	return (uint32_t)b->processes.n - 1;
}

/* comm: cut to the trace's 16 bytes. */
uint32_t import_thread(struct import_build *b, uint32_t process, uint32_t pid, uint32_t tid,
		       const char *comm, struct err *err)
{
	struct import_thread *t;

	if (b->threads.n >= IMPORT_THREADS_MOST) {
		err_set(err, E2BIG, "there are more than %u threads", IMPORT_THREADS_MOST);
		return UINT32_MAX;
	}
	t = vec_add(&b->threads);
	*t = (struct import_thread){ .process = process, .pid = pid, .tid = tid };
	strncpy(t->comm, comm, sizeof(t->comm) - 1);
	return (uint32_t)b->threads.n - 1;
}

/* The number of the file in its process, made if there is none yet. A list is enough: a process
 * has few files. */
static uint32_t file_number(struct import_process *p, const char *file)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (!strcmp(p->files.at[i], file))
			return (uint32_t)i;
	*vec_add(&p->files) = mem_strdup(file);
	return (uint32_t)p->files.n - 1;
}

/* The symbol's number, made if there is none yet. Symbols whose hashes are equal are sought from
 * the first of them on. UINT32_MAX: there are too many. */
static uint32_t symbol_number(struct import_build *b, const char *file, const char *name)
{
	uint64_t key = table_hash_text(table_hash_text(0, file), name) | 1;
	uint64_t row = number_map_get(&b->by_name, key);

	for (size_t i = row; row != NUMBER_NONE && i < b->symbols.n; i++)
		if (!strcmp(b->symbols.at[i].name, name) && !strcmp(b->symbols.at[i].file, file))
			return (uint32_t)i;
	if (b->symbols.n >= IMPORT_SYMBOLS_MOST)
		return UINT32_MAX;
	*vec_add(&b->symbols) = (struct import_symbol){ mem_strdup(file), mem_strdup(name) };
	if (row == NUMBER_NONE)
		number_map_set(&b->by_name, key, b->symbols.n - 1);
	return (uint32_t)b->symbols.n - 1;
}

uint32_t import_function(struct import_build *b, uint32_t process, const char *file,
			 const char *name, struct err *err)
{
	struct import_process *p = &b->processes.at[process];
	uint32_t symbol = symbol_number(b, file, name);
	uint64_t row = symbol == UINT32_MAX ? NUMBER_NONE
					    : number_map_get(&p->by_symbol, (uint64_t)symbol + 1);

	if (row != NUMBER_NONE)
		return (uint32_t)row;
	if (symbol == UINT32_MAX)
		err_set(err, E2BIG, "there are more than %u functions", IMPORT_SYMBOLS_MOST);
	else if (p->functions.n >= IMPORT_FUNCTIONS_MOST)
		err_set(err, E2BIG, "a process has more than %u functions", IMPORT_FUNCTIONS_MOST);
	if (symbol == UINT32_MAX || p->functions.n >= IMPORT_FUNCTIONS_MOST)
		return UINT32_MAX;
	*vec_add(&p->functions) = (struct import_function){ symbol, file_number(p, file) };
	number_map_set(&p->by_symbol, (uint64_t)symbol + 1, p->functions.n - 1);
	return (uint32_t)p->functions.n - 1;
}

/* Time does not go back in a thread. */
static void add_record(struct import_thread *t, uint64_t ns, uint32_t value, enum import_kind kind)
{
	uint64_t last = t->records.n ? t->records.at[t->records.n - 1].ns : 0;

	*vec_add(&t->records) =
		(struct import_record){ ns > last ? ns : last, value, (uint8_t)kind };
}

/* function: of the thread's process. */
void import_enter(struct import_build *b, uint32_t thread, uint64_t ns, uint32_t function)
{
	b->threads.at[thread].depth++;
	b->calls++;
	add_record(&b->threads.at[thread], ns, function, IMPORT_ENTER);
}

/* Ends the innermost call; an end without a call is left out. */
void import_leave(struct import_build *b, uint32_t thread, uint64_t ns)
{
	if (!b->threads.at[thread].depth)
		return;
	b->threads.at[thread].depth--;
	add_record(&b->threads.at[thread], ns, 0, IMPORT_LEAVE);
}

/* n records are missing of this thread at this time. A number that a record has no room for is
 * cut. */
void import_lose(struct import_build *b, uint32_t thread, uint64_t ns, uint64_t n)
{
	b->lost += n;
	add_record(&b->threads.at[thread], ns, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
		   IMPORT_LOST);
}

/* --- the trace ------------------------------------------------------------------------ */

struct import_writing {
	struct import_build *build;
	struct trace_info *info;
	struct store_writer *store;
	VEC(uint32_t *) ids;      /* by process: the id of each function */
	VEC(size_t) next;         /* by thread */
};

struct import_placed { uint32_t symbol, number; };

static int by_symbol(const void *a, const void *b)
{
	const struct import_placed *x = a, *y = b;

	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static void add_function(struct trace_module *m, uint32_t symbol, const char *name)
{
	*vec_add(&m->functions) = (struct trace_function){
		.vaddr = (uint64_t)symbol * STRIDE, .size = STRIDE,
		.name = (uint32_t)m->strings.n, .hook = HOOK_JUMP };
	do
		*vec_add(&m->strings) = *name;
	while (*name++);
}

/* Functions of one file of a process stand together, by address, since a module's ids do. */
static void add_module(struct import_writing *w, uint32_t process, uint32_t file, uint32_t *ids,
		       uint32_t *next_id)
{
	const struct import_process *p = &w->build->processes.at[process];
	struct trace_module *m = vec_add(&w->info->modules);
	uint64_t base = FIRST_MODULE + w->info->modules.n * MODULE_BYTES;
	VEC(struct import_placed) placed = { 0 };

	*m = (struct trace_module){ .image = process, .path = mem_strdup(p->files.at[file]),
				    .name = mem_strdup(p->files.at[file]), .base = base,
				    .start = base, .first_id = *next_id };
	*vec_add(&m->strings) = '\0';
	for (uint32_t i = 0; i < p->functions.n; i++)
		if (p->functions.at[i].file == file)
			*vec_add(&placed) = (struct import_placed){ p->functions.at[i].symbol, i };
	qsort(placed.at, placed.n, sizeof(*placed.at), by_symbol);
	for (size_t i = 0; i < placed.n; i++) {
		add_function(m, placed.at[i].symbol,
			     w->build->symbols.at[placed.at[i].symbol].name);
		ids[placed.at[i].number] = (*next_id)++;
	}
	m->end = base + (placed.n ? placed.at[placed.n - 1].symbol + 1 : 0) * (uint64_t)STRIDE;
	vec_free(&placed);
}

/* A process becomes an image: its file's name is all that is known of its command line. */
static void add_process(struct import_writing *w, uint32_t process)
{
	const struct import_process *p = &w->build->processes.at[process];
	uint32_t *ids = mem_zalloc((p->functions.n + 1) * sizeof(*ids)), next = 0;
	struct trace_image *image = vec_add(&w->info->images);

	*image = (struct trace_image){ .pid = p->pid, .exe = mem_strdup(p->exe),
				       .cmdline = mem_strdup(p->exe) };
	*vec_add(&image->sites) = 0;
	for (uint32_t f = 0; f < p->files.n; f++)
		add_module(w, process, f, ids, &next);
	*vec_add(&w->ids) = ids;
}

/* Sums of the trace's head, before anything is written. */
static void count_records(const struct import_thread *t, struct trace_thread *out,
			  struct trace_total *total)
{
	for (size_t i = 0; i < t->records.n; i++) {
		const struct import_record *r = &t->records.at[i];

		if (r->kind == IMPORT_LOST)
			out->lost += r->value;
		else
			out->records++;
		total->calls += r->kind == IMPORT_ENTER;
	}
	total->records += out->records;
	total->lost += out->lost;
}

/* Returns the time of the first record of all; 0: there is none. */
static uint64_t add_threads(struct import_writing *w)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < w->build->threads.n; i++) {
		const struct import_thread *t = &w->build->threads.at[i];
		struct trace_thread *to = vec_add(&w->info->threads);

		*to = (struct trace_thread){ .pid = t->pid, .tid = t->tid, .image = t->process };
		memcpy(to->comm, t->comm, sizeof(to->comm));
		to->tsc = t->records.n ? t->records.at[0].ns : 0;
		count_records(t, to, &w->info->total);
		first = t->records.n && to->tsc < first ? to->tsc : first;
		*vec_add(&w->next) = 0;
	}
	return first == UINT64_MAX ? 0 : first;
}

/* Fills the trace's information. Host and kernel are not known: the tool's data may come from
 * anywhere. */
static void describe(struct import_writing *w)
{
	struct trace_info *info = w->info;
	uint64_t first;

	info->host = mem_strdup("");
	info->kernel = mem_strdup("");
	info->cpu = mem_strdup("");
	info->cmdline = mem_strdup(w->build->command ? w->build->command : "");
	info->version = mem_printf("imported from %s", w->build->tool);
	info->tracer = mem_strdup("function_graph");
	info->cpus = 1;
	for (uint32_t p = 0; p < w->build->processes.n; p++)
		add_process(w, p);
	first = add_threads(w);
	info->clock = (struct trace_clock){ .hz = 1000000000, .tsc = first, .mono_ns = first,
					    .from = "imported" };
}

/* The thread whose next record is the oldest; UINT32_MAX: all are written. */
static uint32_t next_thread(const struct import_writing *w)
{
	uint32_t found = UINT32_MAX;
	uint64_t oldest = UINT64_MAX;

	for (uint32_t i = 0; i < w->build->threads.n; i++) {
		const struct import_thread *t = &w->build->threads.at[i];

		if (w->next.at[i] < t->records.n && t->records.at[w->next.at[i]].ns < oldest) {
			oldest = t->records.at[w->next.at[i]].ns;
			found = i;
		}
	}
	return found;
}

/* Writes what comes next of a thread: losses before it, and records that are near in time. */
static int write_batch(struct import_writing *w, uint32_t thread, struct err *err)
{
	const struct import_thread *t = &w->build->threads.at[thread];
	const uint32_t *ids = w->ids.at[t->process];
	uint64_t words[BATCH], lost = 0, near, last;
	size_t *next = &w->next.at[thread], n = 0;

	near = last = t->records.at[*next].ns;
	for (; *next < t->records.n && t->records.at[*next].kind == IMPORT_LOST; ++*next)
		lost += t->records.at[*next].value;
	if (*next < t->records.n && lost)
		near = last = t->records.at[*next].ns;
	for (; *next < t->records.n && n < BATCH; ++*next) {
		const struct import_record *r = &t->records.at[*next];

		/* A loss, or a record far away in time, begins the next batch. */
		if (r->kind == IMPORT_LOST || r->ns - last >= GAP_MOST)
			break;
		last = r->ns;
		words[n++] = r->kind == IMPORT_ENTER
				     ? record_word(r->ns, ids[r->value], RECORD_ENTRY)
				     : record_word(r->ns, 0, RECORD_EXIT);
	}
	return store_records(w->store, thread, near, 0, lost, words, n, err);
}

/* A trace that was not written whole is removed. */
int import_write(struct import_build *b, const char *path, struct err *err)
{
	struct import_writing w = { .build = b, .info = trace_info_new() };
	uint32_t thread;
	int r;

	describe(&w);
	r = store_create(path, w.info, &w.store, err);
	while (!r && (thread = next_thread(&w)) != UINT32_MAX)
		r = write_batch(&w, thread, err);
	if (w.store && r)
		store_discard(w.store);
	else if (w.store)
		r = store_finish(w.store, err);
	for (size_t i = 0; i < w.ids.n; i++)
		free(w.ids.at[i]);
	vec_free(&w.ids);
	vec_free(&w.next);
	trace_info_free(w.info);
	return r;
}
