#include "session/attach.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "session/agent_file.h"
#include "session/held_patches.h"
#include "session/held_stacks.h"
#include "session/maps.h"
#include "session/orphans.h"
#include "session/thread_blocks.h"
#include "session/unwinder.h"
#include "session/welcome.h"
#include "shared/tls.h"
#include "tracee/tracee.h"

#define PAGE UINT64_C(4096)
#define AGENT_NAME "brace-agent"
#define TRIES 5            /* the process maps memory of its own where we meant to */
#define LEAVE_TRIES 200
#define LEAVE_WAIT_NS 5000000
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

/* The agent in the process: where it is, or will be. */
struct agent_place {
	uint64_t base, contents_at;
	bool there;
	struct agent_contents contents;
	struct agent_state state;
	struct thread_layout layout;
};

static uint64_t pages(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

static void note(struct attach_report *rep, uint64_t pause_ns, size_t threads)
{
	if (pause_ns > rep->pause_ns)
		rep->pause_ns = pause_ns;
	if (threads > rep->threads)
		rep->threads = (uint32_t)threads;
}

static void release(struct tracee *t, struct attach_report *rep)
{
	size_t threads = tracee_threads(t);

	note(rep, tracee_release(t), threads);
}

/* --- looking -------------------------------------------------------------------------------- */

static bool is_agents_mapping(const struct map *m, const char *agent_path)
{
	return m->offset == 0 && (strcmp(m->path, agent_path) == 0 || strncmp(m->path, "/memfd:" AGENT_NAME " ", 19) == 0);
}

static bool read_agent(struct tracee *t, const struct agent_file *f, uint64_t base, struct agent_place *out)
{
	uint8_t build_id[sizeof(f->build_id)];
	struct err err;

	out->base = base;
	out->contents_at = base + f->contents;
	return tracee_read(t, base + f->build_id_at, build_id, sizeof(build_id), &err) == 0 &&
	       memcmp(build_id, f->build_id, sizeof(build_id)) == 0 &&
	       tracee_read(t, out->contents_at, &out->contents, sizeof(out->contents), &err) == 0 &&
	       out->contents.magic == AGENT_MAGIC &&
	       tracee_read(t, out->contents_at + (uint64_t)(int64_t)out->contents.state, &out->state, sizeof(out->state),
			   &err) == 0;
}

static bool find_agent(struct tracee *t, const struct agent_file *f, const struct maps *maps, const char *path,
		       struct agent_place *out)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (is_agents_mapping(&maps->at.at[i], path) && read_agent(t, f, maps->at.at[i].start, out)) {
			out->there = true;
			return true;
		}
	return false;
}

/* An agent whose tracer lives is not ours to take. */
static int check_free(struct tracee *t, const struct agent_place *place, struct err *err)
{
	struct memory_header h;

	if (!place->there || !place->state.memory || tracee_read(t, place->state.memory, &h, sizeof(h), err) < 0)
		return 0;
	if (h.stopped || !h.tracer_pid || (kill((pid_t)h.tracer_pid, 0) < 0 && errno == ESRCH))
		return 0;
	return err_set(err, EBUSY, "process %d is traced already, by brace (process %u): end that one first",
		       (int)tracee_pid(t), h.tracer_pid);
}

static int look(pid_t pid, const struct agent_file *f, const char *agent_path, struct agent_place *out,
		struct attach_report *rep, struct err *err)
{
	struct tracee *t;
	struct maps maps;
	int r = tracee_hold(pid, &t, err);

	memset(out, 0, sizeof(*out));
	if (r < 0)
		return r;
	r = maps_read(pid, &maps, err);
	if (r == 0 && find_agent(t, f, &maps, agent_path, out)) {
		out->layout = (struct thread_layout){ out->state.tls, out->state.key, out->state.flags };
		r = check_free(t, out, err);
	} else if (r == 0) {
		out->contents = *agent_file_contents(f);
		out->layout = thread_layout_of(t);
	}
	if (r == 0 && (!out->there || !out->state.tls) && !(out->layout.flags & AGENT_FAR))
		out->layout = thread_layout_of(t);
	maps_free(&maps);
	release(t, rep);
	return r;
}

/* --- bringing it in ------------------------------------------------------------------------- */

static bool is_free(const struct maps *maps, uint64_t from, uint64_t bytes)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (maps->at.at[i].start < from + bytes && maps->at.at[i].end > from)
			return false;
	return true;
}

static int refused(int64_t result, const char *what, struct err *err)
{
	return err_set(err, (int)-result, "the process could not %s for the agent: %s", what, strerror((int)-result));
}

static int remote(struct tracee *t, const char *what, long number, const uint64_t args[6], int64_t *result, struct err *err)
{
	int r = tracee_syscall(t, number, args, result, err);

	if (r == 0 && *result < 0 && *result > -4096)
		r = refused(*result, what, err);
	return r;
}

static int remote_map(struct tracee *t, uint64_t at, uint64_t bytes, int prot, int flags, int fd, uint64_t offset,
		      uint64_t *out, struct err *err)
{
	const uint64_t args[6] = { at, bytes, (uint64_t)prot, (uint64_t)flags, (uint64_t)(int64_t)fd, offset };
	int64_t result = 0;
	int r = remote(t, "map memory", SYS_mmap, args, &result, err);

	if (out)
		*out = (uint64_t)result;
	return r;
}

static void remote_unmap(struct tracee *t, uint64_t at, uint64_t bytes)
{
	const uint64_t args[6] = { at, bytes };
	struct err ignored;
	int64_t result;

	if (bytes)
		tracee_syscall(t, SYS_munmap, args, &result, &ignored);
}

static void remote_close(struct tracee *t, int64_t fd)
{
	const uint64_t args[6] = { (uint64_t)fd };
	struct err ignored;
	int64_t result;

	tracee_syscall(t, SYS_close, args, &result, &ignored);
}

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
		r = refused(*fd, "make a memory file", err);
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

/* --- talking to it -------------------------------------------------------------------------- */

/* A socket with one end in the process and one here. */
static int connect_process(struct tracee *t, uint64_t scratch, int32_t *theirs, int *ours, struct err *err)
{
	const uint64_t args[6] = { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scratch };
	int32_t fds[2];
	int64_t result;
	int r = remote(t, "make a socket", SYS_socketpair, args, &result, err);

	if (r == 0)
		r = tracee_read(t, scratch, fds, sizeof(fds), err);
	if (r < 0)
		return r;
	*theirs = fds[0];
	*ours = tracee_take_fd(t, fds[1], err);
	remote_close(t, fds[1]);
	if (*ours < 0)
		remote_close(t, fds[0]);
	return *ours < 0 ? *ours : 0;
}

static int call_agent(struct tracee *t, const struct agent_place *place, int32_t function, struct err *err)
{
	const uint64_t args[4] = { 0 };
	uint64_t result = 0;
	int r = tracee_call(t, place->contents_at + (uint64_t)(int64_t)function, args,
			    place->contents_at + (uint64_t)(int64_t)place->contents.stack_top, &result, err);

	if (r == 0 && (int64_t)result < 0)
		r = err_set(err, (int)-(int64_t)result, "the agent cannot start in the process: %s",
			    strerror((int)-(int64_t)result));
	return r;
}

static int begin_agent(struct tracee *t, const struct agent_place *place, const struct shared_memory *memory,
		       const struct image *im, uint64_t scratch, struct err *err)
{
	struct attach_params params = { .tls = place->layout.tls, .key = place->layout.key,
					.flags = place->layout.flags };
	int ours = -1, r = connect_process(t, scratch, &params.socket, &ours, err);

	if (r < 0)
		return r;
	if (!welcome_send(ours, &im->welcome, (int[]){ memory->fd, im->image_fd, im->code_fd }))
		r = err_set(err, EPIPE, "the process does not take the session memory: %s", strerror(errno));
	if (r == 0)
		r = tracee_write(t, place->contents_at + (uint64_t)(int64_t)place->contents.params, &params, sizeof(params),
				 err);
	if (r == 0)
		r = call_agent(t, place, place->contents.attach, err);
	else
		remote_close(t, params.socket);
	close(ours);
	return r;
}

/* --- entering ------------------------------------------------------------------------------- */

/* Are the places that were chosen while the process ran still free? */
static bool places_free(const struct maps *maps, const struct agent_file *f, const struct agent_place *place,
			const struct image *im)
{
	if (!place->there && !is_free(maps, place->base, f->span))
		return false;
	for (uint32_t i = 0; i < im->welcome.n_regions; i++)
		if (!is_free(maps, im->regions[i].gate, im->regions[i].bytes + PAGE))
			return false;
	return true;
}

/* Without its unwinders a process is not to be traced. */
static int check_look_ups(const struct image *im, struct err *err)
{
	for (uint32_t i = 0; i < im->welcome.n_patches; i++)
		if (im->patches[i].function == PATCH_LOOK_UP && im->patches[i].status != PATCH_APPLIED)
			return err_set(err, im->patches[i].status == PATCH_BUSY ? EAGAIN : EPERM,
				       "the unwinder of %s is not as in its file, or in use at every try",
				       im->news.about.exe);
	return 0;
}

static int check_regions(const struct image *im, struct err *err)
{
	for (uint32_t i = 0; i < im->welcome.n_regions; i++)
		if (!im->regions[i].mapped)
			return err_set(err, EAGAIN, "%s would not map trampolines where there was room a moment ago",
				       im->news.about.exe);
	return 0;
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
		r = check_regions(im, err);
		if (r == 0)
			r = held_patches_apply(t, maps, im->patches, im->welcome.n_patches, err);
		if (r == 0) {
			r = check_look_ups(im, err);
			if (r < 0)
				held_patches_undo(t, im->patches, im->welcome.n_patches, HELD_FUNCTIONS | HELD_LOOK_UPS,
						  &ignored);
		}
		if (r < 0)
			call_agent(t, place, place->contents.detach, &ignored);
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
	release(t, rep);
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

static void fill_hello(const struct agent_place *place, struct protocol_hello *h)
{
	memset(h, 0, sizeof(*h));
	agent_file_hello(&place->contents, place->contents_at, h);
	h->tls = place->layout.tls;
	h->key = place->layout.key;
	h->flags = place->layout.flags;
}

/* One attempt: plan for the address space as it is now, and enter it. */
static int attempt(struct image_request *req, const struct agent_file *f, struct agent_place *place,
		   const struct shared_memory *memory, struct image *out, struct attach_report *rep, struct err *err)
{
	struct protocol_hello hello;
	int r = place->there ? 0 : choose_base(f, place, req->pid, err);

	if (r < 0)
		return r;
	fill_hello(place, &hello);
	req->hello = &hello;
	req->taken_from = place->there ? 0 : place->base;
	req->taken_bytes = place->there ? 0 : f->span;
	r = image_prepare(req, out, err);
	if (r == 0 && !out->selected)
		r = err_set(err, EINVAL, "no function of %s matches the filters: brace list -f shows their names",
			    out->news.about.exe);
	out->welcome.memory_size = memory->size;
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
	for (size_t i = 0; i < req->known->at.n; i++)
		free(req->known->at.at[i].path);
	req->known->at.n = 0;
}

/* Its tracer died, or could not leave. */
static int leave_orphan(pid_t pid, const char *agent_path, struct attach_report *rep, struct err *err)
{
	struct patch_list list = { 0 };
	int r = orphans_find(pid, &list, err);

	if (r == 0)
		r = attach_leave(pid, agent_path, &list, 1, rep, err);
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
		r = look(req->pid, &f, req->agent_path, &place, rep, err);
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

/* --- leaving -------------------------------------------------------------------------------- */

typedef VEC(struct held_range) range_list;

struct leaving {
	const struct agent_file *file;
	const char *agent_path;
	const struct patch_list *by_image;
	size_t n;
	unsigned tries;
	bool undone;              /* functions are as before */
	struct held_unwinder unwinder;
	VEC(pid_t) clean;         /* threads without stubs on their stacks */
	struct attach_report *rep;
};

static const struct patch_list *patches_of(const struct leaving *l, const struct agent_place *place)
{
	static const struct patch_list none;

	return l->n ? &l->by_image[place->state.image < l->n ? place->state.image : l->n - 1] : &none;
}

static int undo(struct leaving *l, struct tracee *t, const struct agent_place *place, enum held_which which,
		struct err *err)
{
	const struct patch_list *list = patches_of(l, place);
	int r = held_patches_undo(t, list->at, list->n, which, err);

	l->rep->changed += r > 0 ? (uint32_t)r : 0;
	return r < 0 ? r : 0;
}

/* The agent's code and the trampolines. */
static void list_code(const struct maps *maps, const struct agent_file *f, const struct agent_place *place,
		      range_list *out)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (m->exec && strncmp(m->path, "/memfd:brace-code", 17) == 0)
			*vec_add(out) = (struct held_range){ m->start, m->end };
	}
	*vec_add(out) = (struct held_range){ place->base, place->base + f->segments[0].memory_bytes };
}

static struct held_arena arena_of(const struct agent_place *place)
{
	uint64_t at = place->contents_at + (uint64_t)(int64_t)place->contents.arena;

	return (struct held_arena){ at, at + SITE_ARENA_BYTES + SITE_BLOCK_BYTES, place->contents.stub_return };
}

#define PATIENT_TRIES 40

static bool is_clean(const struct leaving *l, pid_t tid)
{
	for (size_t i = 0; i < l->clean.n; i++)
		if (l->clean.at[i] == tid)
			return true;
	return false;
}

/* Since the functions are as before no stack gets new stubs: a thread that was cleaned stays so. One that unwinds
 * is left for the next time. */
static bool clean_stacks(struct leaving *l, struct tracee *t, const struct maps *maps, const struct held_arena *arena)
{
	bool all = true;

	for (size_t i = 0; i < tracee_threads(t); i++) {
		if (is_clean(l, tracee_tid(t, i)))
			continue;
		if (held_is_unwinding(t, i, maps, &l->unwinder, l->tries >= PATIENT_TRIES)) {
			all = false;
			continue;
		}
		held_unstub(t, i, maps, arena);
		*vec_add(&l->clean) = tracee_tid(t, i);
	}
	return all;
}

/* No thread is in code of ours, nor will it come back there. */
static bool is_quiet(struct leaving *l, struct tracee *t, const struct maps *maps, range_list *code,
		     const struct held_arena *arena)
{
	*vec_add(code) = (struct held_range){ arena->begin, arena->end };
	return held_step_out(t, code->at, code->n) && !held_is_inside(t, maps, code->at, code->n) &&
	       clean_stacks(l, t, maps, arena);
}

static int leave_place(struct leaving *l, struct tracee *t, const struct maps *maps, struct agent_place *place,
		       struct err *err)
{
	const struct held_arena arena = arena_of(place);
	range_list code = { 0 };
	int r = l->undone ? 0 : undo(l, t, place, HELD_FUNCTIONS, err);

	l->undone |= r == 0;
	list_code(maps, l->file, place, &code);
	if (r == 0 && !is_quiet(l, t, maps, &code, &arena))
		r = -EBUSY;
	if (r == 0)
		r = undo(l, t, place, HELD_LOOK_UPS, err);
	if (r == 0) {
		place->layout = (struct thread_layout){ place->state.tls, place->state.key, place->state.flags };
		thread_blocks_drop(t, &place->layout);
		r = call_agent(t, place, place->contents.detach, err);
	}
	vec_free(&code);
	return r;
}

static int leave_held(struct leaving *l, struct tracee *t, struct err *err)
{
	struct agent_place place = { 0 };
	struct maps maps;
	int r = maps_read(tracee_pid(t), &maps, err);

	if (r == 0 && find_agent(t, l->file, &maps, l->agent_path, &place) && place.state.memory)
		r = leave_place(l, t, &maps, &place, err);
	maps_free(&maps);
	return r;
}

int attach_leave(pid_t pid, const char *agent_path, const struct patch_list *by_image, size_t n,
		 struct attach_report *rep, struct err *err)
{
	const struct timespec pause = { 0, LEAVE_WAIT_NS };
	struct agent_file f;
	struct leaving l = { .file = &f, .agent_path = agent_path, .by_image = by_image, .n = n, .rep = rep };
	struct maps maps;
	int r = agent_file_open(agent_path, &f, err);

	if (r == 0 && maps_read(pid, &maps, err) == 0) {
		unwinder_find(&maps, &l.unwinder);
		maps_free(&maps);
	}
	for (int i = 0; r == 0 && i < LEAVE_TRIES; i++) {
		struct tracee *t;

		r = tracee_hold(pid, &t, err);
		if (r < 0) {
			r = kill(pid, 0) < 0 && errno == ESRCH ? 0 : r;
			break;
		}
		r = leave_held(&l, t, err);
		l.tries++;
		if (!tracee_alive(t))
			r = 0;
		release(t, rep);
		if (r != -EBUSY)
			break;
		r = i + 1 < LEAVE_TRIES ? 0 : err_set(err, EBUSY, "a thread of process %d stays inside the agent: its bytes are "
						      "restored, the agent's memory stays until the next attach", (int)pid);
		nanosleep(&pause, NULL);
	}
	vec_free(&l.clean);
	agent_file_close(&f);
	return r;
}

/* --- children ------------------------------------------------------------------------------- */

static bool maps_inode(pid_t pid, uint64_t inode)
{
	char name[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long long here = 0;

		found = strstr(line, "/memfd:brace-session") && sscanf(line, "%*s %*s %*s %*s %llu", &here) == 1 &&
			here == inode;
	}
	if (f)
		fclose(f);
	return found;
}

static bool is_listed(pid_t pid, const pid_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

size_t attach_find_children(const struct shared_memory *memory, const pid_t *but, size_t n, pid_t **out)
{
	DIR *d = opendir("/proc");
	VEC(pid_t) found = { 0 };
	struct dirent *e;
	struct stat st;

	if (fstat(memory->fd, &st) < 0)
		st.st_ino = 0;
	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && !is_listed(pid, but, n) && maps_inode(pid, st.st_ino))
			*vec_add(&found) = pid;
	}
	if (d)
		closedir(d);
	*out = found.at;
	return found.n;
}
