#include "live/frames.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sym/unwind.h"

struct file { char *path; struct unwind_file *unwind; /* NULL: it says nothing */ };

struct frames { VEC(struct file) files; };

struct frames *frames_new(void)
{
	return mem_zalloc(sizeof(struct frames));
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->files.n; i++) {
		free(f->files.at[i].path);
		unwind_close(f->files.at[i].unwind);
	}
	vec_free(&f->files);
	free(f);
}

static struct unwind_file *file_of(struct frames *f, const char *path)
{
	struct err ignored;
	struct file *new;
	int fd;

	for (size_t i = 0; i < f->files.n; i++)
		if (!strcmp(f->files.at[i].path, path))
			return f->files.at[i].unwind;
	new = vec_add(&f->files);
	*new = (struct file){ mem_strdup(path), NULL };
	fd = file_open(path, &ignored);
	if (fd >= 0) {
		unwind_open_fd(fd, path, &new->unwind, &ignored);
		close(fd);
	}
	return new->unwind;
}

static bool read_copy(void *context, uint64_t address, uint64_t *word)
{
	const struct stack_copy *s = context;
	uint64_t at = address - s->at;

	if (at % 8 || at / 8 >= s->n)
		return false;
	*word = s->words[at / 8];
	return true;
}

static void begin(const struct stack_copy *s, struct unwind_regs *r)
{
	const struct stack_regs *from = &s->regs;

	*r = (struct unwind_regs){ 0 };
	r->at[UNWIND_RIP] = from->rip;
	r->at[UNWIND_RSP] = from->rsp;
	r->at[UNWIND_RBP] = from->rbp;
	r->at[UNWIND_RBX] = from->rbx;
	memcpy(&r->at[UNWIND_R12], &from->r12, 4 * sizeof(uint64_t));
}

size_t frames_walk(struct frames *f, const struct trace_info *info, uint32_t image, uint64_t tsc, const struct stack_copy *s,
		   uint64_t *to, size_t max)
{
	bool exact = !s->returns;
	struct unwind_regs r;
	size_t n = 0;

	begin(s, &r);
	while (n < max && r.at[UNWIND_RIP]) {
		uint64_t at = r.at[UNWIND_RIP] - !exact, sp = r.at[UNWIND_RSP];
		const struct trace_module *m = trace_info_module_at(info, image, at, tsc);
		struct unwind_file *file = m ? file_of(f, m->path) : NULL;

		to[n++] = r.at[UNWIND_RIP];
		if (!file || !unwind_step(file, at - m->base, &r, &exact, read_copy, (void *)s) || r.at[UNWIND_RSP] <= sp)
			break;
	}
	return n;
}
