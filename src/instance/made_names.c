/* SPDX-License-Identifier: MIT */
/* Called by frames.c, which unwinds copies of stacks, while the program runs or shortly after. The
 * files are the program's, so they are read as hostile ones are (image/made_files.h); bytes,
 * entries and modules are bounded. What has no room is counted in info->made_left_out. A file that
 * cannot be read is one that tells nothing. */
#include "instance/made_names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/monotonic.h"
#include "base/path.h"
#include "collect/clock.h"
#include "collect/processes.h"
#include "hook/plan.h"
#include "image/made_files.h"
#include "sym/made_code.h"

#define LOOK_MS 20u		     /* between two looks at the files of a program that has some */
#define SEARCH_MS 500u		     /* between two searches for them */
/* The first searches are as near as looks: a program maps its jitdump soon after it has begun, and
 * what ends before the next search takes the mapping, by which the file is found, with it. */
#define SEARCHES_QUICK 25u
#define FUNCTIONS_MAX 4096u	     /* of an instance, which become modules */
#define BUFFER (1u << 20)	     /* the longest record or line that is read */
#define READ_MAX (UINT64_C(1) << 28) /* bytes of a file, if it is written anew of all of them */
#define LAST_MAX 64u		     /* bytes by which a file that is written anew is known */

/* A file as far as it was read. */
struct made_file {
	struct made_code code;
	uint64_t at, took;    /* the place up to which it was; bytes in all */
	char last[LAST_MAX];  /* the bytes before that place */
	size_t last_n;
	bool there;
	bool ended;           /* no more of it is read */
};

/* Names that the program of an image has told. */
struct made_image {
	uint32_t image;
	bool known;         /* `about` holds what the process was */
	struct process_info about;
	uint64_t ended_tsc; /* the image's last process had ended by then; 0: not known */
	bool left;          /* its records have passed: it is asked no more */
	int dump_fd;        /* of its jitdump; -1: there is none */
	uint32_t searches;  /* for it, so far */
	uint64_t next_look, next_search; /* in ms */
	struct made_file map, dump;
};

struct made_names {
	struct trace_info *info;
	VEC(struct made_image) images;
	size_t functions;
};

struct made_names *made_names_new(struct trace_info *info)
{
	struct made_names *n = mem_zalloc(sizeof(*n));

	n->info = info;
	return n;
}

/* Forgets what was read of a file. made_bytes is the sum over all files of the session, which
 * MADE_NAMES_BYTES bounds. */
static void drop_code(struct made_names *n, struct made_file *f)
{
	n->info->made_bytes -= made_code_bytes(&f->code);
	made_code_free(&f->code);
}

static void leave_image(struct made_names *n, struct made_image *m)
{
	drop_code(n, &m->map);
	drop_code(n, &m->dump);
	if (m->dump_fd >= 0)
		close(m->dump_fd);
	m->dump_fd = -1;
	m->left = true;
}

void made_names_free(struct made_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->images.n; i++)
		leave_image(n, &n->images.at[i]);
	vec_free(&n->images);
	free(n);
}

/* --- files ------------------------------------------------------------------------------------ */

typedef size_t add_bytes(struct made_code *m, const void *bytes, size_t n);

static size_t add_map(struct made_code *m, const void *bytes, size_t n)
{
	return made_code_add_map(m, bytes, n);
}

static size_t add_dump(struct made_code *m, const void *bytes, size_t n)
{
	return made_code_add_dump(m, bytes, n);
}

/* Takes bytes of a file, as far as the session has room; returns how many were whole entries. A
 * limit of 0 would be none: a file for which nothing is left gets 1 byte. */
static size_t take_bytes(struct made_names *n, struct made_file *f, add_bytes *add,
			 const char *bytes, size_t size)
{
	uint64_t left_out = f->code.left_out;
	uint64_t others = n->info->made_bytes - made_code_bytes(&f->code);
	size_t took;

	f->code.limit = others < MADE_NAMES_BYTES ? MADE_NAMES_BYTES - others : 1;
	took = add(&f->code, bytes, size);
	n->info->made_bytes = others + made_code_bytes(&f->code);
	n->info->made_left_out += f->code.left_out - left_out;
	if (took) {
		f->last_n = took < LAST_MAX ? took : LAST_MAX;
		memcpy(f->last, bytes + took - f->last_n, f->last_n);
	}
	f->at += took;
	f->took += took;
	return took;
}

/* Whether the program wrote the file anew since: other bytes stand before the place up to which it
 * was read, or none. */
static bool is_rewritten(const struct made_file *f, int fd)
{
	char now[LAST_MAX];

	return f->last_n &&
	       (pread(fd, now, f->last_n, (off_t)(f->at - f->last_n)) < (ssize_t)f->last_n ||
		memcmp(now, f->last, f->last_n) != 0);
}

/* Takes what has come to the file since the last time. What does not end within a buffer is never
 * taken, and nothing behind it. The bytes are counted over all versions of the file (`took`), or a
 * program that writes it anew for ever would keep brace reading. */
static void read_more(struct made_names *n, struct made_file *f, int fd, add_bytes *add)
{
	char *buffer = NULL;
	ssize_t got = 0;
	size_t took = 1;
	struct stat is;

	f->there = true;
	if (is_rewritten(f, fd)) {
		drop_code(n, f);
		*f = (struct made_file){ .took = f->took, .there = true };
	}
	if (f->ended || fstat(fd, &is) || (uint64_t)is.st_size <= f->at)
		return;
	buffer = mem_realloc(NULL, BUFFER, 1);
	while (took && f->took < READ_MAX && (got = pread(fd, buffer, BUFFER, (off_t)f->at)) > 0)
		took = take_bytes(n, f, add, buffer, (size_t)got);
	free(buffer);
	f->ended = f->code.bad || f->took >= READ_MAX || (!took && got == BUFFER);
	n->info->made_left_out += f->ended && !f->code.bad;
}

static void look_at_map(struct made_names *n, struct made_image *m, pid_t pid)
{
	int fd = made_files_open_map(pid, &m->about);

	if (fd < 0)
		return;
	read_more(n, &m->map, fd, add_map);
	close(fd);
}

/* Learns whose the files have to be. A process that is gone cannot be asked: it is taken for one of
 * brace's own user, which has lived since its image is known. */
static void know_process(struct made_image *m, const struct trace_info *info)
{
	const struct trace_image *image = &info->images.at[m->image];
	const struct trace_clock *c = &info->clock;

	m->known = true;
	if (!processes_info((pid_t)image->pid, &m->about))
		m->about = (struct process_info){
			image->pid, geteuid(),
			(c->real_ns + trace_clock_ns(c, image->tsc) - c->mono_ns) / 1000000000 - 1
		};
}

/* Reads what is new. */
static void read_new_code(struct made_names *n, struct made_image *m)
{
	pid_t pid = (pid_t)n->info->images.at[m->image].pid;
	uint64_t now = monotonic_ms();
	bool quick;

	if (now < m->next_look || m->left)
		return;
	if (!m->known)
		know_process(m, n->info);
	look_at_map(n, m, pid);
	quick = m->searches < SEARCHES_QUICK;
	if (m->dump_fd < 0 && now >= m->next_search) {
		m->dump_fd = made_files_open_dump(pid, &m->about);
		m->searches++;
		m->next_search = now + (quick ? LOOK_MS : SEARCH_MS);
	}
	if (m->dump_fd >= 0)
		read_more(n, &m->dump, m->dump_fd, add_dump);
	m->next_look = now + (quick || m->map.there || m->dump.there ? LOOK_MS : SEARCH_MS);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Returns the names that the image's program has told by now; NULL: it is the kernel. */
static struct made_image *image_of(struct made_names *n, uint32_t image)
{
	struct made_image *m = NULL;

	if (image >= n->info->images.n ||
	    (image == TRACE_KERNEL_IMAGE && trace_info_has_kernel(n->info)))
		return NULL;
	for (size_t i = 0; i < n->images.n && !m; i++)
		if (n->images.at[i].image == image)
			m = &n->images.at[i];
	if (!m) {
		m = vec_add(&n->images);
		*m = (struct made_image){ .image = image, .dump_fd = -1 };
	}
	read_new_code(n, m);
	return m;
}

/* Forgets programs that have ended, once a record comes that is younger than that: records come in
 * order of time. The end is noted when it is first seen: the last records may still be on their way
 * then. */
static void leave_ended(struct made_names *n, uint64_t tsc)
{
	for (size_t i = 0; i < n->images.n; i++) {
		struct made_image *m = &n->images.at[i];

		if (m->left || !n->info->images.at[m->image].complete)
			continue;
		if (!m->ended_tsc)
			m->ended_tsc = clock_tsc();
		else if (tsc > m->ended_tsc)
			leave_image(n, m);
	}
}

bool made_names_any(struct made_names *n, uint32_t image)
{
	const struct made_image *m = image_of(n, image);

	return m && (m->map.there || m->dump.there);
}

static uint32_t function_size(const struct made_code_entry *e)
{
	return e->size < UINT32_MAX ? (uint32_t)e->size : UINT32_MAX;
}

/* Whether the module is the very function. */
static bool is_entry(const struct trace_module *m, const struct made_code_entry *e,
		     const char *name)
{
	const struct trace_function *f = &m->functions.at[0];

	return f->vaddr == e->start && f->size == function_size(e) &&
	       strcmp(m->strings.at + f->name, name) == 0;
}

/* Narrows the module, around the address, to where no file is mapped: what a program tells of a
 * range does not rename the files in it. */
static void narrow(struct trace_module *made, const struct trace_info *info, uint64_t address,
		   uint64_t tsc)
{
	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];

		if (m->image != made->image || m->first_id == TRACE_MADE_ID ||
		    (m->to_tsc && tsc > m->to_tsc))
			continue;
		if (m->end <= address && m->end > made->start)
			made->start = m->end;
		else if (m->start > address && m->start < made->end)
			made->end = m->start;
	}
}

/* A module with one function. Addresses in its "file" are those in memory. Takes over `file`. A
 * name of 0 is none, so that the text begins at 1. */
static struct trace_module module_of(uint32_t image, const struct made_code_entry *e,
				     const char *name, char *file)
{
	struct trace_module m = { .image = image,
				  .path = file,
				  .name = mem_strdup(path_file_name(file)),
				  .start = e->start,
				  .end = e->start + e->size,
				  .first_id = TRACE_MADE_ID };
	size_t n = strlen(name) + 1;

	*vec_add(&m.functions) = (struct trace_function){
		.vaddr = e->start, .size = function_size(e), .name = 1, .reason = REASON_NOT_CODE
	};
	vec_reserve(&m.strings, n + 1);
	m.strings.at[0] = 0;
	memcpy(m.strings.at + 1, name, n);
	m.strings.n = n + 1;
	return m;
}

/* Code that stood at its place before ends where this was first seen. vec_add() may move the
 * modules: `was` and `found` are not used behind it. */
static void add_function(struct made_names *n, const struct made_image *m, bool dumped,
			 const struct made_code_entry *e, uint64_t address, uint64_t tsc)
{
	const char *name = made_code_name(dumped ? &m->dump.code : &m->map.code, e);
	const struct trace_module *found = trace_info_module_at(n->info, m->image, address, tsc);
	struct trace_module *was =
		found ? n->info->modules.at + (found - n->info->modules.at) : NULL;
	struct trace_module made;
	char *file;

	if (was && (was->first_id != TRACE_MADE_ID || is_entry(was, e, name)))
		return;
	if (n->functions >= FUNCTIONS_MAX) {
		n->info->made_left_out++;
		return;
	}
	if (was)
		was->to_tsc = tsc - 1;
	file = dumped ? mem_printf("jit-%u.dump", m->about.own)
		      : mem_printf("/tmp/perf-%u.map", m->about.own);
	made = module_of(m->image, e, name, file);
	narrow(&made, n->info, address, tsc);
	*vec_add(&n->info->modules) = made;
	n->functions++;
}

bool made_names_know(struct made_names *n, uint32_t image, uint64_t address, uint64_t tsc)
{
	struct made_image *m = image_of(n, image);
	const struct made_code_entry *e;
	bool dumped;

	leave_ended(n, tsc);
	e = m ? made_code_find(&m->map.code, address) : NULL;
	dumped = m && !e;
	if (dumped)
		e = made_code_find(&m->dump.code, address);
	if (e)
		add_function(n, m, dumped, e, address, tsc);
	return e;
}
