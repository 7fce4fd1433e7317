/* SPDX-License-Identifier: MIT */
/* A thread's records are counted from its first: its `position` is the number of records kept and
 * lost so far. The file's counts tell at which position the file ends. The session memory tells at
 * which position each sub-buffer begins, and how far the dead tracer had taken the thread over. So
 * records that both have are left out, and records that neither has, because the tracer died with
 * them, are a number.
 *
 * Called by `brace recover`, on its only thread. A failure discards the output. */
#include "session/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/page.h"
#include "base/aside.h"
#include "base/aside_io.h"
#include "base/keyed_hash.h"
#include "base/number_map.h"
#include "collect/drain.h"
#include "collect/renames.h"
#include "collect/ring_file.h"
#include "image/describe.h"
#include "image/maps.h"
#include "session/names.h"
#include "collect/snapshot.h"
#include "shared/record.h"
#include "store/store.h"

/* Files of a process, mapped to be written to, that are looked at for a ring; bytes that a session
 * memory has at least. */
#define RINGS_LOOKED_AT 64
#define RING_LEAST 4096u

/* One recovery; close_all() frees what it has got so far. */
struct recovery {
	struct store_reader *reader;  /* of the cut file; NULL: there is none */
	struct trace_info *info;      /* the reader's, or our own */
	struct store_writer *writer;
	struct shared_memory memory;
	VEC(uint32_t) threads;        /* slot -> index in info->threads */
	VEC(uint64_t) position;       /* by thread of info: position that the output has reached */
	struct number_map known;      /* the first `noted` threads of info, by identity() */
	size_t noted;
	struct hash_key key;
	struct recover_result *res;
};

/* --- threads ------------------------------------------------------------------------------- */

/* tid and pid may be reused; the first time stamp is not. */
static bool is_thread(const struct trace_thread *t, const struct memory_thread *slot)
{
	return t->pid == slot->pid && t->tid == slot->tid && t->tsc == slot->tsc;
}

/* Not 0. The memory's threads are the program's to choose, so nobody may choose two that meet. */
static uint64_t identity(const struct recovery *r, uint32_t pid, uint32_t tid, uint64_t tsc)
{
	return keyed_hash(&r->key, (uint64_t)pid << 32 | tid, tsc) | 1;
}

/* The first of several threads with one identity counts. */
static void note_threads(struct recovery *r)
{
	if (!r->noted)
		r->key = keyed_hash_key();
	for (; r->noted < r->info->threads.n; r->noted++) {
		const struct trace_thread *t = &r->info->threads.at[r->noted];
		const uint64_t id = identity(r, t->pid, t->tid, t->tsc);

		if (number_map_get(&r->known, id) == NUMBER_NONE)
			number_map_set(&r->known, id, r->noted);
	}
}

/* info->threads.n if the thread is not there. A hostile program can fill 262,144 slots: each is
 * looked up, not searched. */
static uint32_t find_thread(struct recovery *r, const struct memory_thread *slot)
{
	uint64_t i;

	note_threads(r);
	i = number_map_get(&r->known, identity(r, slot->pid, slot->tid, slot->tsc));
	return i != NUMBER_NONE && is_thread(&r->info->threads.at[i], slot)
		       ? (uint32_t)i
		       : (uint32_t)r->info->threads.n;
}

/* An image that the file does not know gets a number, and nothing more. */
static uint32_t image_of(struct trace_info *info, const struct memory_thread *slot)
{
	if (slot->image >= NAMES_IMAGES_MOST)
		return 0;
	while (info->images.n <= slot->image)
		*vec_add(&info->images) = (struct trace_image){ .pid = slot->pid,
								.tsc = slot->tsc,
								.exe = mem_strdup(""),
								.cmdline = mem_strdup("") };
	return slot->image;
}

/* Index of the slot's thread in info. Adds the thread if it is new. */
static uint32_t thread_of(struct recovery *r, uint32_t slot)
{
	const struct memory_thread *t = &r->memory.threads[slot];
	uint32_t i;

	while (r->threads.n <= slot)
		*vec_add(&r->threads) = UINT32_MAX;
	if (r->threads.at[slot] != UINT32_MAX)
		return r->threads.at[slot];
	i = find_thread(r, t);
	if (i == r->info->threads.n) {
		struct trace_thread add = { .pid = t->pid, .tid = t->tid, .tsc = t->tsc,
					    .image = image_of(r->info, t) };

		memcpy(add.comm, t->comm, sizeof(add.comm) - 1);
		*vec_add(&r->info->threads) = add;
		*vec_add(&r->position) = 0;
	}
	r->threads.at[slot] = i;
	return i;
}

/* --- from runs to the file ------------------------------------------------------------------ */

/* Leaves out the first `n` records of a run that count; others go with the record before them. */
static void skip_words(struct drain_run *run, uint64_t n)
{
	while (n && run->n) {
		uint64_t word = run->words[0];
		size_t len = 1 + record_payload(word);

		if (len > run->n)
			len = run->n;
		run->near_tsc = record_tsc(word, run->near_tsc);
		if (record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_CPU &&
		    len > 1)
			run->cpu = (uint16_t)run->words[1];
		/* Records that tell a CPU or a sleep, for example, do not count. */
		if (record_counts(word))
			n--, run->records--;
		run->calls -= (uint64_t)record_is_call(word);
		run->words += len;
		run->n -= len;
	}
}

/* Writes a run, and counts it. A run of nothing is left out. */
static int put_run(struct recovery *r, uint32_t thread, const struct drain_run *run,
		   struct err *err)
{
	struct trace_thread *t = &r->info->threads.at[thread];

	t->records += run->records;
	t->lost += run->lost;
	r->res->from_memory += run->records;
	r->res->lost += run->lost;
	if (!run->n && !run->lost)
		return 0;
	return store_records(r->writer, thread, run->near_tsc, run->cpu, run->lost, run->words,
			     run->n, err);
}

/* drain_sink: writes the part of the run that the output does not have yet. */
static int take_run(void *context, const struct drain_run *given, struct err *err)
{
	struct recovery *r = context;
	struct drain_run run = *given;
	uint32_t thread = thread_of(r, run.slot);
	uint64_t have = r->position.at[thread], end = run.position + run.lost + run.records;

	/* The file has all of it. */
	if (end <= have)
		return 0;
	/* A gap: the dead tracer had these, and the file has not. */
	if (run.position > have) {
		r->res->unwritten += run.position - have;
		run.lost += run.position - have;
	} else if (have - run.position <= run.lost) {
		run.lost -= have - run.position;
	} else {
		/* The file has the beginning. */
		uint64_t n = have - run.position - run.lost;

		run.lost = 0;
		skip_words(&run, n);
	}
	r->position.at[thread] = end;
	return put_run(r, thread, &run, err);
}

/* Adds names that the file does not have. */
static void take_names(struct recovery *r)
{
	bool right = true;

	for (uint32_t slot = 0; slot < r->threads.n; slot++) {
		uint32_t seen = 0;

		if (r->threads.at[slot] != UINT32_MAX)
			right &= renames_take(&r->memory.threads[slot], &seen, r->info,
					      r->threads.at[slot]);
	}
	if (!right)
		*vec_add(&r->info->messages) =
			(struct trace_message){ .kind = MESSAGE_SPOILED, .count = 1 };
}

/* Counts records that the dead tracer had taken as the last of their thread. */
static int count_unwritten(struct recovery *r, struct err *err)
{
	int e = 0;

	for (uint32_t slot = 0; slot < shared_memory_threads(&r->memory) && !e; slot++) {
		const struct memory_thread *t = &r->memory.threads[slot];
		struct drain_run run = { .near_tsc = t->tsc };
		uint32_t thread;

		if (!t->ready || !t->taken)
			continue;
		thread = thread_of(r, slot);
		if (t->taken <= r->position.at[thread])
			continue;
		run.lost = t->taken - r->position.at[thread];
		r->res->unwritten += run.lost;
		r->position.at[thread] = t->taken;
		e = put_run(r, thread, &run, err);
	}
	return e;
}

/* Losses of threads that got no slot: nobody can tell which threads. */
static int put_threadless(struct recovery *r, uint64_t lost, struct err *err)
{
	const struct drain_run run = { .lost = lost };

	if (!lost)
		return 0;
	*vec_add(&r->info->threads) = (struct trace_thread){ .comm = "<...>" };
	*vec_add(&r->position) = 0;
	return put_run(r, (uint32_t)r->info->threads.n - 1, &run, err);
}

/* Each reader of the trace says it, too. Pages of zeros among the records may be holes that the
 * program's next stores filled. */
static void note_holes(struct recovery *r, uint64_t hollow)
{
	const uint64_t pages = (r->res->holes + ARCH_PAGE - 1) / ARCH_PAGE;
	const uint64_t n = pages > hollow ? pages : hollow;

	r->res->holes = n * ARCH_PAGE;
	if (n)
		*vec_add(&r->info->messages) = (struct trace_message){
			.kind = MESSAGE_HOLES, .count = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX
		};
}

/* Takes everything out of the copy of the memory. */
static int drain_memory(struct recovery *r, struct err *err)
{
	struct drain *drain = drain_new(&r->memory);
	uint64_t lost = 0;
	int e;

	for (uint32_t slot = 0; slot < shared_memory_threads(&r->memory); slot++)
		r->res->threads += r->memory.threads[slot].ready == 1;
	/* The copy does not change, so a last pass is right though the program runs on. */
	e = drain_finish(drain, take_run, r, &lost, err);
	note_holes(r, drain_hollow_pages(drain));
	drain_free(drain);
	if (e >= 0)
		e = count_unwritten(r, err);
	take_names(r);
	if (e >= 0)
		e = put_threadless(r, lost, err);
	return e < 0 ? e : 0;
}

/* --- from a file and a memory to a file ------------------------------------------------------ */

/* Records of a thread in files before this one (--rotate); the text is the file's. */
static void add_before(void *context, size_t thread, uint64_t records)
{
	struct recovery *r = context;

	if (thread < r->position.n)
		r->position.at[thread] += records;
}

/* Counts begin with those of the file. */
static void count_file(struct recovery *r)
{
	struct store_description about;

	for (size_t i = 0; i < r->info->threads.n; i++) {
		const struct trace_thread *t = &r->info->threads.at[i];

		*vec_add(&r->position) = t->records + t->lost;
	}
	describe_ring_before(r->info, add_before, r);
	store_describe(r->reader, &about);
	r->res->from_file = about.records;
	r->res->lost = about.lost;
	r->res->cut = about.cut;
	r->res->cut_bytes = about.cut_bytes;
}

/* By device and inode: two names may be links to one file. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the ring is of the file's session: records of another one would get wrong names. */
static int check_ring(const struct recover_request *req, const struct trace_info *info,
		      const char *ring, struct err *err)
{
	const char *id;

	if (describe_ring_of(info, &id) && !strcmp(id, ring))
		return 0;
	return err_set(err, EPROTO, "%s is the ring of another recording than %s is of", req->ring,
		       req->file);
}

/* Another ring than this one would not have the file's id. */
static void note_ring(struct recovery *r, const struct recover_request *req)
{
	const char *id, *text = describe_ring_of(r->info, &id);

	if (text && !req->ring && !req->pid)
		snprintf(r->res->ring, sizeof(r->res->ring), "%.*s",
			 (int)(id - text - (ptrdiff_t)strlen(DESCRIBE_RING_ID)), text);
}

/* may_be_whole: there is a memory too, which may have more. ring: its id; NULL: it is none. */
static int open_file(struct recovery *r, const struct recover_request *req, bool may_be_whole,
		     const char *ring, struct err *err)
{
	int e;

	if (is_same_file(req->file, req->output))
		return err_set(err, EINVAL,
			       "%s cannot be recovered into itself: name another file with -o",
			       req->file);
	e = store_open(req->file, &r->reader, err);
	if (e == 0 && ring)
		e = check_ring(req, store_info(r->reader), ring, err);
	if (e)
		return e;
	if (!store_was_cut(r->reader, NULL) && !may_be_whole)
		return err_set(err, EALREADY, "%s is whole: there is nothing to recover",
			       req->file);
	r->info = store_info(r->reader);
	count_file(r);
	note_ring(r, req);
	return store_continue(req->output, r->reader, &r->writer, err);
}

/* Ends the output, with its totals. */
static int finish_recovery(struct recovery *r, const struct recover_request *req, struct err *err)
{
	struct stat st;
	int e = store_count(r->writer, r->info, err), finished;

	r->res->calls = r->info->total.calls;
	r->info->total = (struct trace_total){ .records = r->res->from_file + r->res->from_memory,
					       .calls = r->res->calls, .lost = r->res->lost,
					       .bytes = store_bytes(r->writer) };
	finished = store_finish(r->writer, e ? NULL : err);
	r->writer = NULL;
	if (stat(req->output, &st) == 0)
		r->res->bytes = (uint64_t)st.st_size;
	return e ? e : finished;
}

/* The reader owns the trace_info that it gave out; without one it is ours. A writer that is still
 * there has failed: its file goes. */
static void close_all(struct recovery *r)
{
	if (r->writer)
		store_discard(r->writer);
	if (!r->reader)
		trace_info_free(r->info);
	store_close(r->reader);
	snapshot_free(&r->memory);
	vec_free(&r->threads);
	vec_free(&r->position);
	number_map_free(&r->known);
}

/* A FIFO would wait for a reader, and what a device or a FIFO was given cannot be read again for
 * the index. Links are the writer's to refuse. */
static int check_output(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	return err_set(err, EINVAL,
		       "cannot write the trace to %s: it is not a regular file; name another with -o",
		       path);
}

/* Opens the output: behind the file's records or, without a file, with names from the process. */
static int begin_recovery(struct recovery *r, const struct recover_request *req,
			  struct recover_result *res, bool memory, const char *ring,
			  struct err *err)
{
	int e = check_output(req->output, err);

	memset(res, 0, sizeof(*res));
	r->res = res;
	if (e)
		return e;
	if (req->file)
		return open_file(r, req, memory, ring, err);
	if (!memory)
		return err_set(err, EINVAL,
			       "nothing to recover from: neither a file nor a process");
	r->info = names_of_process(req->pid, &r->memory);
	return store_create(req->output, r->info, &r->writer, err);
}

/* Records of the file are in the output already (store_continue); those of the memory come behind
 * them. */
static int recover(struct recovery *r, const struct recover_request *req, bool memory,
		   struct err *err)
{
	int e = memory ? drain_memory(r, err) : 0;

	return e ? e : finish_recovery(r, req, err);
}

/* at, size: where the session memory lies in the file fd. */
int recover_memory(int fd, uint64_t at, uint64_t size, const struct recover_request *req,
		   struct recover_result *res, struct err *err)
{
	struct recovery r = { 0 };
	int e = snapshot_take(fd, at, size, &r.memory, err);

	if (e == 0)
		e = begin_recovery(&r, req, res, true, NULL, err);
	if (e == 0)
		e = recover(&r, req, true, err);
	close_all(&r);
	return e;
}

/* --- the process ------------------------------------------------------------------------------ */

/* A descriptor of the process' memory, or -errno and *err. */
static int open_memory(pid_t pid, struct err *err)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return err_set(
			err, errno,
			"may not read the memory of process %d: that takes the right to ptrace it "
			"(the same user, and no Yama or container in the way; or root)",
			(int)pid);
	return fd < 0 ? err_set(err, errno, "cannot open %s: %s", name, strerror(errno)) : fd;
}

/* Whether the mapping may be a session memory: all of one, written to by the process. */
static bool may_be_memory(const struct map *m)
{
	return m->shared && m->write && m->offset == 0 && m->end - m->start >= RING_LEAST;
}

/* Whether a file's mapping begins as a session memory does: one with --ring. */
static bool is_ring(int memory, const struct map *m)
{
	uint64_t magic = 0;
	bool silent;

	return aside_io_read(memory, -1, m->start, &magic, sizeof(magic), ASIDE_MS, &silent) ==
		       sizeof(magic) &&
	       magic == MEMORY_MAGIC;
}

/* The first mapping that is a ring, of files that may be one; NULL: none is. Each look costs a
 * fork, and how many files there are is the process's to choose: *more says that some were left
 * out. */
static const struct map *find_ring(int memory, const struct maps *maps, bool *more)
{
	unsigned looked = 0;

	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (!may_be_memory(m) || m->path[0] != '/' || !strncmp(m->path, "/memfd:", 7))
			continue;
		if (looked++ == RINGS_LOOKED_AT) {
			*more = true;
			break;
		}
		if (is_ring(memory, m))
			return m;
	}
	return NULL;
}

/* The first mapping that has the name of a session memory; NULL: none has. */
static const struct map *find_named(const struct maps *maps)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (may_be_memory(&maps->at.at[i]) &&
		    !strncmp(maps->at.at[i].path, "/memfd:brace-session", 20))
			return &maps->at.at[i];
	return NULL;
}

/* Finds the session memory among the process's mappings, and tells where it lies. */
static int choose_memory(pid_t pid, int memory, const struct maps *maps, uint64_t *at,
			 uint64_t *size, struct err *err)
{
	const struct map *found = find_named(maps);
	bool more = false;

	if (!found)
		found = find_ring(memory, maps, &more);
	if (!found && more)
		return err_set(err, ENODATA,
			       "process %d has no session memory among the first %d files that it "
			       "maps to write to: if it was traced with --ring, name the ring "
			       "(brace recover --ring FILE TRACE)",
			       (int)pid, RINGS_LOOKED_AT);
	if (!found)
		return err_set(err, ENODATA,
			       "process %d is not being traced: it has no session memory",
			       (int)pid);
	*at = found->start;
	*size = found->end - found->start;
	return 0;
}

/* Opens the memory of the process, and finds the session memory in it. A descriptor, or -errno and
 * *err. */
static int open_session(pid_t pid, uint64_t *at, uint64_t *size, struct err *err)
{
	struct maps maps;
	int fd, e;

	e = maps_read(pid, &maps, err);
	if (e < 0)
		return e;
	fd = open_memory(pid, err);
	e = fd < 0 ? fd : choose_memory(pid, fd, &maps, at, size, err);
	maps_free(&maps);
	if (e < 0 && fd >= 0)
		close(fd);
	return e < 0 ? e : fd;
}

/* The process is read while it runs and is not stopped: snapshot_take() copies the memory once, and
 * nothing is read from it afterwards but names. */
static int recover_process(const struct recover_request *req, struct recover_result *res,
			   struct err *err)
{
	struct recovery r = { 0 };
	uint64_t at = 0, size = 0;
	int fd, e;

	fd = open_session(req->pid, &at, &size, err);
	if (fd < 0)
		return fd;
	/* A tracer that lives would write the same records. */
	if (snapshot_is_attended(fd, at))
		e = err_set(err, EBUSY,
			    "the tracer of process %d lives: there is nothing to recover",
			    (int)req->pid);
	else
		e = snapshot_take(fd, at, size, &r.memory, err);
	close(fd);
	if (e == 0)
		e = begin_recovery(&r, req, res, true, NULL, err);
	if (e == 0) {
		names_add_sites(r.info, &r.memory, NULL);
		e = recover(&r, req, true, err);
	}
	close_all(&r);
	return e;
}

/* --- the ring --------------------------------------------------------------------------------- */

/* Call sites that the file does not have yet are asked for where the program lives: a process of
 * this boot that maps the ring. */
static void add_sites_of_living(struct recovery *r, const struct ring_file *ring)
{
	struct stat st;

	if (ring->this_boot && fstat(ring->fd, &st) == 0)
		names_add_sites(r->info, &r->memory, &st);
}

/* The programs may be dead, or write on: the memory is copied as a living process's is. */
static int recover_ring(const struct recover_request *req, struct recover_result *res,
			struct err *err)
{
	struct recovery r = { 0 };
	struct ring_file ring;
	int e;

	if (!req->file)
		return err_set(err, EINVAL,
			       "a ring has no names of functions: name the trace file that was "
			       "written beside it, too (brace recover --ring %s TRACE)",
			       req->ring);
	e = ring_file_open(req->ring, &ring, err);
	if (e)
		return e;
	e = snapshot_take(ring.fd, 0, ring.size, &r.memory, err);
	if (e == 0)
		e = begin_recovery(&r, req, res, true, ring.id, err);
	if (e == 0) {
		res->other_boot = !ring.this_boot;
		res->holes = ring.holes;
		add_sites_of_living(&r, &ring);
		e = recover(&r, req, true, err);
	}
	close(ring.fd);
	close_all(&r);
	return e;
}

/* Recovers the session of the process req->pid, if one is named, or of the ring. */
int session_recover(const struct recover_request *req, struct recover_result *res, struct err *err)
{
	struct recovery r = { 0 };
	int e;

	if (req->pid)
		return recover_process(req, res, err);
	if (req->ring)
		return recover_ring(req, res, err);
	e = begin_recovery(&r, req, res, false, NULL, err);
	if (e == 0)
		e = recover(&r, req, false, err);
	close_all(&r);
	return e;
}
