/* SPDX-License-Identifier: MIT */
/* Walks the stacks of a stopped process. brace stack calls it, on brace's main thread; the stop and
 * the walk run in a holder's thread (tracee/holder.h) while that one waits. Tables are opened
 * before the stop and symbols read after it, so that the process stands for the walk alone. Files,
 * stacks and tables are the program's: a walk that does not go up ends, and each has a bound. A
 * process that cannot be stopped is -errno and a sentence. */
#include "image/thread_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/page.h"
#include "image/made_files.h"
#include "image/mapped_file.h"
#include "sym/made_code.h"
#include "sym/module.h"
#include "sym/source.h"
#include "sym/unwind.h"
#include "tracee/holder.h"
#include "tracee/tracee.h"

#define WORDS_PER_PAGE (ARCH_PAGE / sizeof(uint64_t))
#define PAGES_KEPT 16u    /* of the thread that is walked; a power of two */
/* Descriptors that are kept for reading symbols; others are opened again, as a process may map more
 * files than brace may have open. */
#define FILES_OPEN 256u
#define MADE_BUFFER (1u << 20)           /* the longest line or record of made code */
#define MADE_BYTES (UINT64_C(64) << 20)  /* of all names of made code */
#define MADE_READ (UINT64_C(256) << 20)  /* bytes that are read of a file of them */

/* A file that is mapped as code. unwind NULL: it has no table; sym NULL: not read yet, or it cannot
 * be. */
struct stack_file {
	char *path;
	uint64_t device, inode;
	uint64_t base;            /* of its first mapping, if unwind is not NULL */
	size_t map;               /* that mapping */
	int fd;                   /* -1: it could not be opened, or is closed again */
	bool sym_read;
	struct unwind_file *unwind;
	struct sym_module *sym;
};

struct thread_stacks {
	pid_t pid;
	struct maps maps;
	char *root;
	uint64_t stood;
	bool makes_code;          /* it has code that is no file's: a translator's */
	VEC(struct stack_file) files;
	VEC(struct standing_stack) threads;
	bool made_read;           /* the program's names of code that it made */
	struct made_code made_map, made_dump; /* of them, by the file that told */
	VEC(struct sym_source_position) sources;
};

/* --- files ----------------------------------------------------------------------------------- */

/* Index of the mapping's file; files.n: it is not there yet. A file's name may be another file's by
 * now; device and inode tell what is mapped. */
static size_t known_file(const struct thread_stacks *s, const struct map *map)
{
	size_t i = 0;

	while (i < s->files.n && (s->files.at[i].device != map->device ||
				  s->files.at[i].inode != map->inode))
		i++;
	return i;
}

/* A file that cannot be had ends the walks that come to it. It gets its entry all the same: frames
 * name it. */
static void open_file(struct thread_stacks *s, const struct map *map)
{
	struct stack_file *f = vec_add(&s->files);
	struct err ignored;
	uint64_t vaddr;

	*f = (struct stack_file){ .path = mem_strndup(map->path, mapped_file_path(map->path)),
				  .device = map->device, .inode = map->inode,
				  .map = (size_t)(map - s->maps.at.at) };
	f->fd = mapped_file_open(s->pid, s->root, map, &ignored);
	if (f->fd >= 0 && unwind_open_fd(f->fd, f->path, &f->unwind, &ignored) < 0)
		f->unwind = NULL;
	if (f->unwind && unwind_vaddr(f->unwind, map->offset, &vaddr))
		f->base = map->start - vaddr;
	if (f->fd >= 0 && s->files.n > FILES_OPEN) {
		close(f->fd);
		f->fd = -1;
	}
}

/* All tables that a walk may need. */
static int open_files(struct thread_stacks *s, struct err *err)
{
	int e = maps_read(s->pid, &s->maps, err);

	for (size_t i = 0; e == 0 && i < s->maps.at.n; i++) {
		const struct map *map = &s->maps.at.at[i];

		if (map->exec && map->inode && *map->path == '/' &&
		    known_file(s, map) == s->files.n)
			open_file(s, map);
	}
	return e;
}

/* The mapping with the address, by bisection; NULL: nothing is mapped there. Called for each frame
 * and each frame pointer, and a process may have thousands of mappings. */
static const struct map *mapping_of(const struct thread_stacks *s, uint64_t at)
{
	size_t from = 0, to = s->maps.at.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (s->maps.at.at[mid].end <= at)
			from = mid + 1;
		else
			to = mid;
	}
	return from < s->maps.at.n && s->maps.at.at[from].start <= at ? &s->maps.at.at[from] : NULL;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Pages of the stopped process, which are read once for many words. A page's place is its number
 * modulo PAGES_KEPT: stacks are read upwards, so that two pages that are in use seldom want one
 * place. */
struct stack_memory {
	struct tracee *tracee;
	uint64_t page[PAGES_KEPT]; /* 0: none */
	uint64_t words[PAGES_KEPT][WORDS_PER_PAGE];
};

/* unwind_read. Words on a stack are aligned: others are not known. Page 0 is never mapped for
 * programs, and its number says that the place is empty. */
static bool read_stopped(void *context, uint64_t address, uint64_t *word)
{
	struct stack_memory *m = context;
	uint64_t page = address & ~(uint64_t)(ARCH_PAGE - 1);
	size_t at = (page / ARCH_PAGE) % PAGES_KEPT;
	struct err ignored;

	if (address % sizeof(*word) || !page)
		return false;
	if (m->page[at] != page) {
		m->page[at] = 0;
		if (tracee_read(m->tracee, page, m->words[at], ARCH_PAGE, &ignored) < 0)
			return false;
		m->page[at] = page;
	}
	*word = m->words[at][(address - page) / sizeof(*word)];
	return true;
}

/* --- the walk -------------------------------------------------------------------------------- */

/* Code in memory that a file has room for and does not fill: the stubs by which calls return in a
 * program that brace traces. The files' tables are asked, since the mapping itself names none. */
static bool place_in_rest(const struct thread_stacks *s, uint64_t at, struct stack_frame *f)
{
	for (size_t i = 0; i < s->files.n; i++) {
		const struct stack_file *file = &s->files.at[i];

		if (file->unwind && unwind_has_code(file->unwind, at - file->base)) {
			f->file = i;
			f->vaddr = at - file->base;
			return true;
		}
	}
	return false;
}

/* Files that are not opened have frames, too: they name the mapping, and the walk ends there or
 * goes on by the frame pointer. */
static struct stack_frame frame_at(const struct thread_stacks *s, uint64_t pc, bool returns)
{
	/* A return address may be the next function's first byte; its call is in the byte before
	 * it. */
	uint64_t at = pc - returns;
	const struct map *map = mapping_of(s, at);
	struct stack_frame f = { .pc = pc, .file = STACK_NO_FILE, .source = STACK_NO_SOURCE,
				 .returns = returns };
	size_t i = map && map->inode ? known_file(s, map) : s->files.n;

	if (i == s->files.n) {
		f.rest = map && map->exec && place_in_rest(s, at, &f);
		f.placed = f.rest;
		return f;
	}
	f.file = i;
	f.offset = at - map->start + map->offset;
	f.placed = s->files.at[i].unwind &&
		   unwind_vaddr(s->files.at[i].unwind, f.offset, &f.vaddr);
	return f;
}

/* The tables for a frame; NULL: they have no rule there. */
static struct unwind_file *tables_of(const struct thread_stacks *s, const struct stack_frame *f)
{
	struct unwind_file *u = f->placed ? s->files.at[f->file].unwind : NULL;

	return u && unwind_knows(u, f->vaddr) ? u : NULL;
}

/* To the caller by the frame pointer, as translators' code keeps it, and the assembler code by
 * which they enter and leave it. What the pointer leads to has to look like a frame: on the stack
 * that the thread is on, with a return to code. A register that holds anything else would lead to
 * invented callers. */
static bool step_by_frame(const struct thread_stacks *s, struct stack_memory *m,
			  struct unwind_regs *r)
{
	uint64_t at = r->at[UNWIND_FP], fp, pc;
	const struct map *stack = mapping_of(s, r->at[UNWIND_SP]), *caller;

	if (!stack || at < r->at[UNWIND_SP] || at >= stack->end || !read_stopped(m, at, &fp) ||
	    !read_stopped(m, at + sizeof(fp), &pc) || !pc)
		return false;
	caller = mapping_of(s, pc - 1);
	if (!caller || !caller->exec)
		return false;
	r->at[UNWIND_PC] = pc;
	r->at[UNWIND_SP] = at + 2 * sizeof(fp);
	r->at[UNWIND_FP] = fp;
	return true;
}

/* exact: the pc is where the thread stood, not a return address. */
struct stack_walk { struct unwind_regs regs; bool exact; };

/* To the caller of a frame. The frame pointer is taken only in processes that make code: elsewhere
 * a file's silence means that nobody knows. *by_frame: it was. */
static bool step_frame(const struct thread_stacks *s, const struct stack_frame *f,
		       struct stack_memory *m, struct stack_walk *w, bool *by_frame)
{
	struct unwind_file *u = tables_of(s, f);

	*by_frame = !u;
	if (u)
		return unwind_step(u, f->vaddr, &w->regs, &w->exact, read_stopped, m);
	w->exact = false;
	return s->makes_code && step_by_frame(s, m, &w->regs);
}

/* Why the walk ends at a frame. DWARF marks the outermost function by an undefined return address
 * (6.4.4 of DWARF 5): without that mark the tables merely have no rule for the caller. */
static enum stack_end end_at(const struct thread_stacks *s, const struct stack_frame *f)
{
	struct unwind_file *u = tables_of(s, f);

	return u && unwind_is_first(u, f->vaddr) ? STACK_WHOLE : STACK_NO_TABLE;
}

/* A hostile stack cannot keep the walk: it ends after THREAD_STACK_MOST frames, and each frame but
 * a stub has to lie above the one before. A step that is exact again came out of a signal's frame:
 * the kernel made the frame below, whose caller was interrupted. */
static void walk_thread(const struct thread_stacks *s, struct stack_memory *m,
			const struct user_regs_struct *regs, struct standing_stack *out)
{
	struct stack_walk w = { .exact = true };
	bool by_frame = false;
	size_t stubs = 0; /* at most one stands above a frame */

	regs_to_dwarf(regs, w.regs.at);
	while (out->frames.n < THREAD_STACK_MOST) {
		uint64_t sp = w.regs.at[UNWIND_SP];
		struct stack_frame f = frame_at(s, w.regs.at[UNWIND_PC], !w.exact);

		f.by_frame = by_frame;
		if (!f.rest)
			*vec_add(&out->frames) = f;
		/* A frame that is not above the one before would loop. Stubs have none. */
		if (!step_frame(s, &f, m, &w, &by_frame) || !w.regs.at[UNWIND_PC] ||
		    w.regs.at[UNWIND_SP] < sp + !f.rest || stubs > out->frames.n + 1) {
			out->end = end_at(s, &f);
			return;
		}
		stubs += f.rest;
		if (w.exact && !f.rest)
			out->frames.at[out->frames.n - 1].signal = true;
	}
	out->end = STACK_LONG;
}

/* Code of no file, but for the kernel's pages, which have names, and brace's stubs. */
static bool has_made_code(const struct thread_stacks *s)
{
	struct stack_frame ignored;

	for (size_t i = 0; i < s->maps.at.n; i++) {
		const struct map *map = &s->maps.at.at[i];

		if (map->exec && !map->inode && !*map->path &&
		    !place_in_rest(s, map->start, &ignored))
			return true;
	}
	return false;
}

/* In a holder. The permission is asked for again, since the process may have changed its user while
 * its tables were opened. */
static int take_there(void *of)
{
	struct thread_stacks *s = ((void **)of)[0];
	struct err *err = ((void **)of)[1];
	struct stack_memory *m = mem_zalloc(sizeof(*m));
	int e = tracee_check(s->pid, err);

	if (e == 0)
		e = tracee_stop(s->pid, &m->tracee, err);
	for (size_t i = 0; e == 0 && i < tracee_threads(m->tracee); i++) {
		const struct user_regs_struct *regs = tracee_regs(m->tracee, i);
		struct standing_stack *t = vec_add(&s->threads);

		*t = (struct standing_stack){ .tid = tracee_tid(m->tracee, i),
					    .call = regs_call(regs) };
		walk_thread(s, m, regs, t);
	}
	if (e == 0)
		s->stood = tracee_release(m->tracee);
	free(m);
	return e;
}

int thread_stacks_take(pid_t pid, struct thread_stacks **out, struct err *err)
{
	struct thread_stacks *s = mem_zalloc(sizeof(*s));
	void *both[] = { s, err };
	int e;

	s->pid = pid;
	s->root = mapped_file_root(pid);
	e = tracee_check(pid, err);
	if (e == 0)
		e = open_files(s, err);
	s->makes_code = e == 0 && has_made_code(s);
	if (e == 0)
		e = holder_run(take_there, both, err);
	if (e == 0)
		*out = s;
	else
		thread_stacks_free(s);
	return e;
}

void thread_stacks_free(struct thread_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->files.n; i++) {
		struct stack_file *f = &s->files.at[i];

		unwind_close(f->unwind);
		if (f->sym)
			sym_close(f->sym);
		if (f->fd >= 0)
			close(f->fd);
		free(f->path);
	}
	for (size_t i = 0; i < s->threads.n; i++)
		vec_free(&s->threads.at[i].frames);
	for (size_t i = 0; i < s->sources.n; i++)
		free(s->sources.at[i].path);
	vec_free(&s->files);
	vec_free(&s->threads);
	vec_free(&s->sources);
	made_code_free(&s->made_map);
	made_code_free(&s->made_dump);
	maps_free(&s->maps);
	free(s->root);
	free(s);
}

/* --- answers --------------------------------------------------------------------------------- */

size_t thread_stacks_count(const struct thread_stacks *s)
{
	return s->threads.n;
}

const struct standing_stack *thread_stacks_at(const struct thread_stacks *s, size_t i)
{
	return &s->threads.at[i];
}

uint64_t thread_stacks_stood(const struct thread_stacks *s)
{
	return s->stood;
}

const char *thread_stacks_path(const struct thread_stacks *s, const struct stack_frame *f)
{
	return f->file == STACK_NO_FILE ? NULL : s->files.at[f->file].path;
}

/* A file without symbols is asked once. */
static const struct sym_module *symbols_of(struct thread_stacks *s, struct stack_file *f)
{
	struct err ignored;

	if (f->sym_read)
		return f->sym;
	f->sym_read = true;
	if (f->fd < 0)
		f->fd = mapped_file_open(s->pid, s->root, &s->maps.at.at[f->map], &ignored);
	if (f->fd < 0)
		return NULL;
	if (sym_open_fd(f->fd, f->path, s->root, &f->sym, &ignored) < 0)
		f->sym = NULL;
	close(f->fd);
	f->fd = -1;
	return f->sym;
}

/* The frame's symbols and its place among them. NULL: it has none. */
static const struct sym_module *symbols_at(struct thread_stacks *s, const struct stack_frame *f,
					   uint64_t *vaddr)
{
	const struct sym_module *m =
		f->file == STACK_NO_FILE ? NULL : symbols_of(s, &s->files.at[f->file]);

	*vaddr = f->vaddr;
	return m && (f->placed || sym_code_vaddr(m, f->offset, vaddr)) ? m : NULL;
}

typedef size_t add_made(struct made_code *m, const void *bytes, size_t n);

static size_t add_map(struct made_code *m, const void *bytes, size_t n)
{
	return made_code_add_map(m, bytes, n);
}

static size_t add_dump(struct made_code *m, const void *bytes, size_t n)
{
	return made_code_add_dump(m, bytes, n);
}

/* Reads what a file tells, as far as it is whole, and closes it. -1: there is none. What is cut at
 * the buffer's end is read again with the next piece. A reader that takes nothing ends the loop: a
 * line longer than the buffer is nobody's. */
static void read_made(struct made_code *m, int fd, add_made *add)
{
	char *buffer = fd < 0 ? NULL : mem_zalloc(MADE_BUFFER);
	uint64_t at = 0;
	size_t took = 1;
	ssize_t got;

	m->limit = MADE_BYTES;
	while (buffer && took && !m->bad && at < MADE_READ &&
	       (got = pread(fd, buffer, MADE_BUFFER, (off_t)at)) > 0)
		at += took = add(m, buffer, (size_t)got);
	free(buffer);
	if (fd >= 0)
		close(fd);
}

/* The program's name for code that it made; NULL: it told none. */
static const char *made_name(struct thread_stacks *s, const struct stack_frame *f, uint64_t *behind)
{
	struct made_code *from[] = { &s->made_map, &s->made_dump };
	struct process_info about;

	if (!s->made_read && s->makes_code && processes_info(s->pid, &about)) {
		read_made(&s->made_map, made_files_open_map(s->pid, &about), add_map);
		read_made(&s->made_dump, made_files_open_dump(s->pid, &about), add_dump);
	}
	s->made_read = true;
	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++) {
		const struct made_code_entry *e = made_code_find(from[i], f->pc - f->returns);

		if (e) {
			*behind = f->pc - e->start;
			return made_code_name(from[i], e);
		}
	}
	return NULL;
}

/* A return address was looked up one byte lower (frame_at()): *behind counts from the address
 * itself. */
const char *thread_stacks_symbol(struct thread_stacks *s, const struct stack_frame *f,
				 uint64_t *behind)
{
	const struct sym_module *m;
	const struct sym_function *fn;
	const char *name;
	uint64_t vaddr;

	if (f->file == STACK_NO_FILE)
		return made_name(s, f, behind);
	m = symbols_at(s, f, &vaddr);
	fn = m ? sym_around(m, vaddr) : NULL;
	name = fn ? sym_name(m, fn) : NULL;
	if (name)
		*behind = vaddr + f->returns - fn->vaddr;
	return name;
}

/* Adds the places of all frames in a file, which are looked up together. */
static void add_sources(struct thread_stacks *s, size_t file)
{
	for (size_t i = 0; i < s->threads.n; i++)
		for (size_t k = 0; k < s->threads.at[i].frames.n; k++) {
			struct stack_frame *f = &s->threads.at[i].frames.at[k];
			uint64_t vaddr;

			if (f->file != file || !symbols_at(s, f, &vaddr))
				continue;
			f->source = s->sources.n;
			*vec_add(&s->sources) = (struct sym_source_position){ .vaddr = vaddr };
		}
}

void thread_stacks_read_sources(struct thread_stacks *s)
{
	for (size_t i = 0; i < s->files.n; i++) {
		const size_t first = s->sources.n;
		struct sym_source_info *info;
		struct err ignored;

		add_sources(s, i);
		if (s->sources.n == first || sym_source_open(s->files.at[i].sym, &info, &ignored))
			continue;
		sym_source_positions_find(info, s->sources.at + first, s->sources.n - first,
					  &ignored);
		sym_source_close(info);
	}
}

const char *thread_stacks_source(const struct thread_stacks *s, const struct stack_frame *f,
				 uint32_t *line)
{
	const struct sym_source_position *p =
		f->source == STACK_NO_SOURCE ? NULL : &s->sources.at[f->source];

	*line = p ? p->line : 0;
	return p ? p->path : NULL;
}
