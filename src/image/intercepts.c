/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread. Searches for byte patterns, without decoding from a function's
 * start. A file that cannot be read has no such calls. */
#include "image/intercepts.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/code.h"
#include "arch/wrapper.h"
#include "image/patch_source.h"

/* Whether it is the number of a call to be intercepted. A call that says its number at run time may
 * be one. */
static bool is_number(uint32_t number, enum intercepts_which which)
{
	/* Calls that change what the agent may call; then those that change which program runs, how
	 * much memory the agent may have, or whose process this is. */
	static const uint32_t numbers[] = { SYS_prctl,	   SYS_seccomp,	 SYS_execve,
					    SYS_execveat,  SYS_prlimit64, SYS_mlockall,
					    SYS_setuid,	   SYS_setreuid, SYS_setresuid };
	size_t n = which == INTERCEPTS_FILTERS ? 2 : sizeof(numbers) / sizeof(*numbers);

	for (size_t i = 0; i < n; i++)
		if (number == numbers[i])
			return true;
	return number == WRAPPER_ANY;
}

/* Only a program that was launched by hand has a socket here. */
enum intercepts_which intercepts_wanted(const struct image_request *req)
{
	return req->socket			? INTERCEPTS_ALL
	       : req->hello->intercept_filter	? INTERCEPTS_FILTERS
						: INTERCEPTS_NONE;
}

enum intercepts_which intercepts_wanted_of(const struct image_request *req, const char *module)
{
	bool by_hand = req->hello->flags & AGENT_BY_HAND;

	return by_hand || strcmp(module, "libc.so.6") != 0 ? intercepts_wanted(req)
							   : INTERCEPTS_NONE;
}

/* --- in a file ------------------------------------------------------------------------------ */

/* Files that were searched, so that a program's later executions need not wait. Most have no such
 * call. */
#define SEARCHED_MAX 256
static struct searched { struct stat file; intercept_list calls; } searched[SEARCHED_MAX];
static size_t n_searched;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects both */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void copy_calls(intercept_list *to, const intercept_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		*vec_add(to) = from->at[i];
}

/* False: the file was not searched yet. */
static bool find_searched(const struct stat *file, intercept_list *out)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_searched && !found; i++) {
		found = is_same_file(&searched[i].file, file);
		if (found)
			copy_calls(out, &searched[i].calls);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void note_searched(const struct stat *file, const intercept_list *calls)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; n_searched == SEARCHED_MAX && i < SEARCHED_MAX; i++)
		vec_free(&searched[i].calls);
	n_searched %= SEARCHED_MAX;
	searched[n_searched] = (struct searched){ .file = *file };
	copy_calls(&searched[n_searched].calls, calls);
	n_searched++;
	pthread_mutex_unlock(&lock);
}

/* Looks everywhere: a wrapper in the C library need not begin where a function does. */
static void search_segment(const uint8_t *p, uint64_t bytes, uint64_t vaddr, intercept_list *out)
{
	struct intercept c;

	for (uint64_t i = 0; (i = wrapper_next(p, bytes, i, &c.n, &c.number)) < bytes; i += c.n) {
		if (!is_number(c.number, INTERCEPTS_ALL))
			continue;
		c.vaddr = vaddr + i;
		memcpy(c.bytes, p + i, c.n);
		*vec_add(out) = c;
	}
}

/* All calls that may be intercepted. */
static void search_file(int fd, const char *path, const struct hook_module *h, intercept_list *out)
{
	struct elf_file file;
	struct stat st;
	bool known = fstat(fd, &st) == 0;

	if (known && find_searched(&st, out))
		return;
	if (elf_file_read(fd, path, ELF_CONTENTS, &file, NULL))
		return;
	for (uint32_t s = 0; s < h->n_segments; s++) {
		const struct sym_segment *seg = &h->segments[s];

		if (seg->exec && seg->offset <= file.n && seg->filesz <= file.n - seg->offset)
			search_segment(file.bytes + seg->offset, seg->filesz, seg->vaddr, out);
	}
	elf_file_free(&file);
	if (known)
		note_searched(&st, out);
}

void intercepts_find(int fd, const char *path, const struct hook_module *h,
		     enum intercepts_which which, intercept_list *out)
{
	intercept_list all = { 0 };

	if (which == INTERCEPTS_NONE)
		return;
	search_file(fd, path, h, &all);
	for (size_t i = 0; i < all.n; i++)
		if (is_number(all.at[i].number, which))
			*vec_add(out) = all.at[i];
	vec_free(&all);
}

/* Five bytes are the jump that replaces the instructions before the call. */
bool intercepts_touch(const intercept_list *calls, uint64_t vaddr, uint64_t bytes)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->at[i].vaddr < vaddr + bytes && vaddr < calls->at[i].vaddr + 5)
			return true;
	return false;
}

bool intercepts_begin(const intercept_list *calls, uint64_t vaddr, uint64_t bytes)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->at[i].vaddr == vaddr && bytes <= calls->at[i].n)
			return true;
	return false;
}

/* --- into the process ----------------------------------------------------------------------- */

/* The most that any of them needs; write_calls() gives back nothing. */
static uint64_t calls_room(const struct module *mod, const struct image_request *req)
{
	(void)req;
	return mod->calls.n * WRAPPER_CODE_MAX;
}

static uint32_t calls_max(const struct module *mod)
{
	return (uint32_t)mod->calls.n;
}

/* The system calls themselves stay in place: only the instructions right before them move. A call
 * that is out of reach is left as it is. */
static void write_calls(struct patch_job *j)
{
	const struct protocol_hello *h = j->req->hello;
	uint64_t agent = intercepts_wanted(j->req) == INTERCEPTS_ALL ? h->intercept
								     : h->intercept_filter;

	for (size_t i = 0; i < j->mod->calls.n; i++) {
		const struct intercept *c = &j->mod->calls.at[i];
		uint64_t from = j->mod->base + c->vaddr;
		uint8_t jump[5];

		if (j->used + WRAPPER_CODE_MAX > j->room ||
		    code_jump(from, j->at + j->used, jump) < 0)
			continue;
		wrapper_emit(c->bytes, c->n, from, agent, j->at + j->used, j->code + j->used);
		j->used += WRAPPER_CODE_MAX;
		memcpy(patch_list_add(j->list, from, sizeof(jump), c->bytes, PATCH_CALL, j->region)
			       ->bytes,
		       jump, sizeof(jump));
	}
}

const struct patch_source intercept_patches = {
	.room = calls_room, .patches = calls_max, .write = write_calls, .along = true,
};
