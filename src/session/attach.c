#include "session/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/agent_place.h"
#include "session/held_patches.h"
#include "session/orphans.h"
#include "session/remote.h"
#include "session/welcome.h"

#define PAGE UINT64_C(4096)
#define TRIES 5            /* the process maps memory of its own where we meant to */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

static uint64_t pages(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

/* --- bringing it in ------------------------------------------------------------------------- */

/* A file of the process's own that holds the agent: its mappings then say what they are. */
static int make_agent_file(struct tracee *t, const struct agent_file *f, uint64_t scratch, int64_t *fd, struct err *err)
{
	static const char name[] = AGENT_NAME;
	uint64_t args[6] = { scratch, MFD_CLOEXEC | MFD_EXEC };
	int r = tracee_write(t, scratch, name, sizeof(name), err), own;
	ssize_t n;

	if (r == 0)
		r = tracee_syscall(t, SYS_memfd_create, args, fd, err);
	args[1] = MFD_CLOEXEC;
	if (r == 0 && *fd == -EINVAL) /* kernels before 6.3 */
		r = tracee_syscall(t, SYS_memfd_create, args, fd, err);
	if (r == 0 && *fd < 0)
		r = remote_refused(*fd, "make a memory file", err);
	if (r < 0)
		return r;
	own = tracee_take_fd(t, (int)*fd, err);
	if (own < 0) {
		remote_close(t, *fd);
		return own;
	}
	n = write(own, f->bytes, f->n);
	close(own);
	return n == (ssize_t)f->n ? 0 : err_set(err, ENOSPC, "no memory for the agent's file in the process");
}

static int map_segment(struct tracee *t, const struct agent_file *f, const struct agent_segment *s, uint64_t base,
		       int64_t tls, int64_t fd, struct err *err)
{
	uint64_t in_file = pages(s->file_bytes), at = base + s->vaddr;
	uint8_t *bytes;
	int r = 0;

	if (in_file)
		r = remote_map(t, at, in_file, s->prot, MAP_PRIVATE | MAP_FIXED, (int)fd, s->offset, NULL, err);
	if (r == 0 && s->memory_bytes > in_file)
		r = remote_map(t, at + in_file, s->memory_bytes - in_file, s->prot,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0, NULL, err);
	if (r < 0 || !(s->prot & PROT_WRITE) || !in_file)
		return r;
	bytes = mem_zalloc(in_file);
	memcpy(bytes, f->bytes + s->offset, s->file_bytes);
	agent_file_relocate(f, base, tls, s, bytes);
	r = tracee_write(t, at, bytes, in_file, err);
	free(bytes);
	return r;
}

static int map_agent(struct tracee *t, const struct agent_file *f, const struct agent_place *place, uint64_t scratch,
		     struct err *err)
{
	int64_t fd;
	int r = make_agent_file(t, f, scratch, &fd, err);

	if (r < 0)
		return r;
	r = remote_map(t, place->base, f->span, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0, NULL, err);
	for (unsigned i = 0; r == 0 && i < f->n_segments; i++) {
		r = map_segment(t, f, &f->segments[i], place->base, place->layout.tls, fd, err);
		if (r < 0)
			remote_unmap(t, place->base, f->span);
	}
	remote_close(t, fd);
	return r;
}

static int begin_agent(struct tracee *t, const struct agent_place *place, const struct shared_memory *memory,
		       const struct image *im, uint64_t scratch, struct err *err)
{
	struct attach_params params = { .tls = place->layout.tls, .key = place->layout.key,
					.flags = place->layout.flags };

	if (place->tracer && strlen(place->path) < sizeof(params.agent)) {
		snprintf(params.tracer, sizeof(params.tracer), "%s", place->tracer);
		snprintf(params.agent, sizeof(params.agent), "%s", place->path);
	}
	return agent_place_welcome(t, place, place->contents.attach, &params, &im->welcome,
				   (int[]){ memory->fd, im->image_fd, im->code_fd }, scratch, err);
}

/* Are the places that were chosen while the process ran still free? */
static bool places_free(const struct maps *maps, const struct agent_file *f, const struct agent_place *place,
			const struct image *im)
{
	return (place->there || maps_are_free(maps, place->base, f->span)) && image_places_free(im, maps);
}

static int enter_held(struct tracee *t, const struct maps *maps, const struct agent_file *f, struct agent_place *place,
		      const struct shared_memory *memory, struct image *im, struct err *err)
{
	uint64_t scratch;
	struct err ignored;
	/* Beside the agent, not where the kernel would put it: that may be a region's place. */
	int r = remote_map(t, place->base - PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
			   &scratch, err);

	if (r < 0)
		return r;
	if (!place->there)
		r = map_agent(t, f, place, scratch, err);
	if (r == 0)
		thread_blocks_clear(t, &place->layout);
	if (r == 0)
		r = begin_agent(t, place, memory, im, scratch, err);
	if (r == 0) {
		r = image_check_mapped(im, err);
		if (r == 0)
			r = held_patches_apply(t, maps, im->patches, im->welcome.n_patches, err);
		if (r == 0) {
			r = image_check_look_ups(im, err);
			if (r < 0)
				held_patches_undo(t, im->patches, im->welcome.n_patches, HELD_FUNCTIONS | HELD_LOOK_UPS,
						  &ignored);
		}
		if (r < 0)
			agent_place_call(t, place, place->contents.detach, &ignored);
	}
	if (r < 0 && !place->there)
		remote_unmap(t, place->base, f->span);
	remote_unmap(t, scratch, PAGE);
	return r;
}

/* -EAGAIN: somebody took a place meanwhile. */
static int enter(pid_t pid, const struct agent_file *f, struct agent_place *place, const struct shared_memory *memory,
		 struct image *im, struct attach_report *rep, struct err *err)
{
	struct tracee *t;
	struct maps maps;
	int r;

	held_patches_touch(pid, im->patches, im->welcome.n_patches);
	r = tracee_hold(pid, &t, err);
	if (r < 0)
		return r;
	r = maps_read(pid, &maps, err);
	if (r == 0 && !places_free(&maps, f, place, im))
		r = err_set(err, EAGAIN, "process %d maps memory faster than brace can choose places: try again", (int)pid);
	if (r == 0)
		r = enter_held(t, &maps, f, place, memory, im, err);
	maps_free(&maps);
	attach_release(t, rep);
	return r;
}

static int choose_base(const struct agent_file *f, struct agent_place *place, pid_t pid, struct err *err)
{
	struct maps maps;
	int r = maps_read(pid, &maps, err);

	if (r < 0)
		return r;
	place->base = maps_find_gap(&maps, f->span);
	place->contents_at = place->base + f->contents;
	maps_free(&maps);
	return place->base ? 0 : err_set(err, ENOMEM, "process %d has no %llu MiB of address space for the agent", (int)pid,
					 (unsigned long long)(f->span >> 20));
}

/* For the address space as it is now. *hello is what req refers to from here on. */
static int plan(struct image_request *req, const struct agent_file *f, struct agent_place *place,
		const struct shared_memory *memory, struct protocol_hello *hello, struct image *out, struct err *err)
{
	int r = place->there ? 0 : choose_base(f, place, req->pid, err);

	if (r < 0)
		return r;
	agent_place_hello(place, hello);
	req->hello = hello;
	req->taken_from = place->there ? 0 : place->base;
	req->taken_bytes = place->there ? 0 : f->span;
	r = image_prepare(req, out, err);
	if (r == 0 && !out->selected)
		r = err_set(err, EINVAL, "no function of %s matches the filters: brace list -f shows their names",
			    out->news.about.exe);
	out->welcome.memory_size = memory->size;
	return r;
}

static int attempt(struct image_request *req, const struct agent_file *f, struct agent_place *place,
		   const struct shared_memory *memory, struct image *out, struct attach_report *rep, struct err *err)
{
	struct protocol_hello hello;
	int r = plan(req, f, place, memory, &hello, out, err);

	if (r == 0)
		r = enter(req->pid, f, place, memory, out, rep, err);
	req->hello = NULL;
	if (r == 0)
		image_settle(out, req);
	return r;
}

static void forget_attempt(struct image_request *req, struct image *out)
{
	image_close(out);
	image_news_free(&out->news);
	known_modules_free(req->known);
}

/* Its tracer died, or could not leave. */
static int leave_orphan(pid_t pid, const char *agent_path, struct attach_report *rep, struct err *err)
{
	struct patch_list list = { 0 };
	int r = orphans_find(pid, &list, err);

	if (r == 0)
		r = attach_leave(pid, agent_path, &list, rep, err);
	vec_free(&list);
	return r;
}

int attach_process(struct image_request *req, const struct shared_memory *memory, struct image *out,
		   struct attach_report *rep, struct err *err)
{
	struct agent_file f;
	struct agent_place place;
	int r = tracee_check(req->pid, err);

	if (r == 0)
		r = agent_file_open(req->agent_path, &f, err);
	if (r < 0)
		return r;
	for (int i = 0; i < TRIES; i++) {
		r = agent_place_look(req->pid, &f, req->agent_path, &place, rep, err);
		if (r == 0 && place.there && place.state.memory)
			r = leave_orphan(req->pid, req->agent_path, rep, err);
		if (r == 0)
			r = attempt(req, &f, &place, memory, out, rep, err);
		if (r != -EAGAIN)
			break;
		forget_attempt(req, out);
	}
	agent_file_close(&f);
	return r;
}

int attach_held(struct image_request *req, struct tracee *t, const struct shared_memory *memory, struct image *out,
		struct err *err)
{
	struct agent_place place = { .layout = thread_layout_of(t), .tracer = req->socket, .path = req->agent_path };
	struct protocol_hello hello;
	struct agent_file f;
	struct maps maps;
	int r = agent_file_open(req->agent_path, &f, err);

	if (r < 0)
		return r;
	place.contents = *agent_file_contents(&f);
	r = plan(req, &f, &place, memory, &hello, out, err);
	if (r == 0)
		r = maps_read(req->pid, &maps, err);
	if (r == 0) {
		r = enter_held(t, &maps, &f, &place, memory, out, err);
		maps_free(&maps);
	}
	req->hello = NULL;
	if (r == 0)
		image_settle(out, req);
	agent_file_close(&f);
	return r;
}
