/* SPDX-License-Identifier: MIT */
/* Part of one plan, on its thread. Searches for byte patterns, without decoding from a function's
 * start. A file that cannot be read has no such calls. */
#include "image/intercepts.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/code.h"
#include "arch/wrapper.h"
#include "base/file.h"
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
		found = file_is_same(&searched[i].file, file);
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

/* The bytes that are read at once. The pages are used again and again: reading a file of 7 MB
 * into fresh ones was a fifth of a program's start. */
#define PIECE 65536u

/* Looks everywhere: a wrapper in the C library need not begin where a function does. Returns the
 * bytes behind which there may be more. */
static uint64_t search_piece(const uint8_t *p, uint64_t bytes, uint64_t vaddr, intercept_list *out)
{
	uint64_t behind = 0;
	struct intercept c;

	for (uint64_t i = 0; (i = wrapper_next(p, bytes, i, &c.n, &c.number)) < bytes;
	     behind = i += c.n) {
		if (!is_number(c.number, INTERCEPTS_ALL))
			continue;
		c.vaddr = vaddr + i;
		memcpy(c.bytes, p + i, c.n);
		*vec_add(out) = c;
	}
	return behind;
}

/* Returns the bytes that were read, fewer than n at the file's end only. */
static uint64_t read_piece(int fd, uint8_t *to, uint64_t n, uint64_t offset)
{
	uint64_t done = 0;

	while (done < n) {
		ssize_t r = pread(fd, to + done, n - done, (off_t)(offset + done));

		if (r <= 0 && (r == 0 || errno != EINTR))
			break;
		done += r > 0 ? (uint64_t)r : 0;
	}
	return done;
}

/* Pieces overlap, for what lies across two; what was found in one is not found again. */
static void search_segment(int fd, const struct sym_segment *seg, uint8_t *piece,
			   intercept_list *out)
{
	uint64_t at = 0, n, behind;

	while (at < seg->filesz) {
		n = seg->filesz - at < PIECE ? seg->filesz - at : PIECE;
		if (read_piece(fd, piece, n, seg->offset + at) < n)
			break;
		behind = search_piece(piece, n, seg->vaddr + at, out);
		if (at + n == seg->filesz)
			break;
		n -= WRAPPER_BYTES_MAX - 1;
		at += behind > n ? behind : n;
	}
}

/* All calls that may be intercepted. A file that changes meanwhile harms nobody: a call is replaced
 * only where the process has the very bytes. */
static void search_file(int fd, const struct hook_module *h, intercept_list *out)
{
	struct stat is, after;
	uint64_t bytes = 0;
	uint8_t *piece;

	if (file_stat(fd, &is) || find_searched(&is, out))
		return;
	piece = mem_zalloc(PIECE);
	for (uint32_t s = 0; s < h->n_segments; s++) {
		const struct sym_segment *seg = &h->segments[s];
		uint64_t size = (uint64_t)is.st_size;

		/* Together no more than the file: segments may lie one over the other. */
		if (!seg->exec || seg->offset > size || seg->filesz > size - seg->offset ||
		    seg->filesz > size - bytes)
			continue;
		bytes += seg->filesz;
		search_segment(fd, seg, piece, out);
	}
	free(piece);
	if (file_stat(fd, &after) == 0 && file_is_same(&is, &after))
		note_searched(&is, out);
}

void intercepts_find(int fd, const struct hook_module *h, enum intercepts_which which,
		     intercept_list *out)
{
	intercept_list all = { 0 };

	if (which == INTERCEPTS_NONE)
		return;
	search_file(fd, h, &all);
	for (size_t i = 0; i < all.n; i++)
		if (is_number(all.at[i].number, which))
			*vec_add(out) = all.at[i];
	vec_free(&all);
}

/* A jump replaces the instructions before the call. */
bool intercepts_touch(const intercept_list *calls, uint64_t vaddr, uint64_t bytes)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->at[i].vaddr < vaddr + bytes &&
		    vaddr < calls->at[i].vaddr + CODE_JUMP_BYTES)
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
		uint8_t jump[CODE_JUMP_BYTES];

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
