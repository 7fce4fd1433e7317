/* SPDX-License-Identifier: MIT */
/* The unwinder behind `stacktrace` triggers and options. triggers.c owns a struct frames and calls
 * it under pump_lock. Files are opened once and shared by all images that map them; a file that
 * cannot be had, or has no table, ends the walk there and is not tried again. */
#include "instance/frames.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "instance/made_names.h"
#include "instance/module_file.h"
#include "sym/unwind.h"

struct frames_file { struct stat is; struct unwind_file *unwind; /* NULL: it says nothing */ };
/* A module, by image, address and time, and its file. file NO_FILE: it could not be opened. */
struct frame_module {
	uint32_t image;
	uint64_t start, from_tsc;
	size_t file; /* index into frames.files, or NO_FILE */
};

#define NO_FILE SIZE_MAX

struct frames {
	struct trace_info *info;
	struct made_names *made;
	VEC(struct frames_file) files;
	VEC(struct frame_module) modules;
};

struct frames *frames_new(struct trace_info *info)
{
	struct frames *f = mem_zalloc(sizeof(*f));

	f->info = info;
	f->made = made_names_new(info);
	return f;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->files.n; i++)
		unwind_close(f->files.at[i].unwind);
	vec_free(&f->files);
	vec_free(&f->modules);
	made_names_free(f->made);
	free(f);
}

/* Index of the file with this inode, or files.n. */
static size_t known_file(const struct frames *f, const struct stat *is)
{
	size_t i = 0;

	while (i < f->files.n && !file_is_same(&f->files.at[i].is, is))
		i++;
	return i;
}

/* Returns the file's index, opening its tables at the first use. Processes that map the same file
 * share it. */
static size_t file_of(struct frames *f, int fd, const char *path)
{
	struct err ignored;
	struct frames_file *new;
	struct stat is;
	size_t i;

	if (fd < 0 || file_stat(fd, &is) < 0)
		return NO_FILE;
	i = known_file(f, &is);
	if (i < f->files.n)
		return i;
	new = vec_add(&f->files);
	*new = (struct frames_file){ is, NULL };
	/* A failure leaves unwind NULL: the file is remembered as one without tables. */
	unwind_open_fd(fd, path, &new->unwind, &ignored);
	return i;
}

/* Returns the tables for a module; NULL: it has none, or its file could not be opened. Both answers
 * are kept, since a trace has few modules and many stacks. */
static struct unwind_file *unwind_of(struct frames *f, const struct trace_info *info,
				     const struct trace_module *m)
{
	struct frame_module *p;
	int fd;

	for (size_t i = 0; i < f->modules.n; i++) {
		p = &f->modules.at[i];
		if (p->image == m->image && p->start == m->start && p->from_tsc == m->from_tsc)
			return p->file == NO_FILE ? NULL : f->files.at[p->file].unwind;
	}
	fd = m->image < info->images.n
		     ? module_file_open((pid_t)info->images.at[m->image].pid, m)
		     : -1;
	p = vec_add(&f->modules);
	*p = (struct frame_module){ m->image, m->start, m->from_tsc, file_of(f, fd, m->path) };
	if (fd >= 0)
		close(fd);
	return p->file == NO_FILE ? NULL : f->files.at[p->file].unwind;
}

/* Reads a word of the stack from the copy. False beyond it: the unwinder stops. */
static bool read_copy(void *context, uint64_t address, uint64_t *word)
{
	const struct stack_copy *s = context;
	uint64_t at = address - s->at;

	if (at % 8 || at / 8 >= s->n)
		return false;
	*word = s->words[at / 8];
	return true;
}

/* Registers at the time of the copy. The pc and those that a call keeps are all that unwind tables
 * refer to. */
static void begin_unwind(const struct stack_copy *s, struct unwind_regs *r)
{
	static const uint8_t kept[STACK_KEPT] = DWARF_KEPT;
	const struct stack_regs *from = &s->regs;

	*r = (struct unwind_regs){ 0 };
	r->at[UNWIND_PC] = from->pc;
	r->at[UNWIND_SP] = from->sp;
	r->at[UNWIND_FP] = from->fp;
	for (unsigned i = 0; i < STACK_KEPT; i++)
		r->at[kept[i]] = from->kept[i];
}

/* Whether code can be at the address: a file's, or such as the program told of. */
static bool is_code(struct frames *f, uint32_t image, uint64_t address, uint64_t tsc)
{
	const struct trace_module *m = trace_info_module_at(f->info, image, address, tsc);

	return (m && m->first_id != TRACE_MADE_ID) ||
	       made_names_know(f->made, image, address, tsc);
}

/* To the caller by the frame pointer, as translators' code keeps it and the assembler code does by
 * which they enter and leave it. Only in programs that tell of such code: elsewhere a file's
 * silence means that nobody knows. */
static bool step_by_frame(struct frames *f, uint32_t image, uint64_t tsc,
			  const struct stack_copy *s, struct unwind_regs *r)
{
	uint64_t at = r->at[UNWIND_FP], fp, pc;

	if (at < r->at[UNWIND_SP] || !read_copy((void *)s, at, &fp) ||
	    !read_copy((void *)s, at + 8, &pc) || !pc || !made_names_any(f->made, image) ||
	    !is_code(f, image, pc - 1, tsc))
		return false;
	r->at[UNWIND_PC] = pc;
	r->at[UNWIND_SP] = at + 16;
	r->at[UNWIND_FP] = fp;
	return true;
}

/* To the caller. *exact: r's pc is where the thread stood, not a return address; it becomes what
 * the caller's is. */
static bool step_frame(struct frames *f, uint32_t image, uint64_t tsc, const struct stack_copy *s,
		       struct unwind_regs *r, bool *exact)
{
	/* A return address may be the first byte of the next function; its call is in the byte
	 * before it. */
	uint64_t at = r->at[UNWIND_PC] - !*exact;
	const struct trace_module *m = trace_info_module_at(f->info, image, at, tsc);
	bool made = !m || m->first_id == TRACE_MADE_ID;
	struct unwind_file *file = made ? NULL : unwind_of(f, f->info, m);

	if (file && unwind_step(file, at - m->base, r, exact, read_copy, (void *)s))
		return true;
	*exact = false;
	if (made && !made_names_know(f->made, image, at, tsc))
		return false;
	return step_by_frame(f, image, tsc, s, r);
}

size_t frames_walk(struct frames *f, uint32_t image, uint64_t tsc, const struct stack_copy *s,
		   uint64_t *to, size_t max)
{
	bool exact = !s->returns;
	struct unwind_regs r;
	size_t n = 0;

	begin_unwind(s, &r);
	while (n < max && r.at[UNWIND_PC]) {
		uint64_t sp = r.at[UNWIND_SP];

		to[n++] = r.at[UNWIND_PC];
		/* A frame that is not above the one before would loop: tables and stack are the
		 * program's. */
		if (!step_frame(f, image, tsc, s, &r, &exact) || r.at[UNWIND_SP] <= sp)
			break;
	}
	return n;
}
