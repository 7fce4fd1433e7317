/* SPDX-License-Identifier: MIT */
/* Owns the mapping of one session memory. memories.c makes it with its lock held; the session's
 * thread takes from it and gives back. Traced threads use it at the same time: shared/memory.h
 * (Orderings) says which words order the others, and agent/buffer.c has the other side. Only making
 * it can fail. */
#include "collect/shared_memory.h"
#include "arch/page.h"
#include "base/mem.h"
#include "collect/slots.h"
#include "shared/points.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POOL_BYTES (UINT64_C(512) << 20) /* of sub-buffers; memory is used as it is touched */
#define THREADS_LEAST 256u
#define WAKE_AT 8u /* 512 KiB: so much stays in the second-level cache */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10
#endif

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* RLIMIT_FSIZE holds for memory files, too. */
static uint64_t largest_file(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_FSIZE, &l) < 0 || l.rlim_cur == RLIM_INFINITY ? UINT64_MAX
									      : l.rlim_cur;
}

static int too_large(uint64_t size, struct err *err)
{
	return err_set(
		err, EFBIG,
		"the limit for the size of files (ulimit -f) is %llu KiB, and brace needs %llu KiB of shared "
		"memory: raise it, or give threads less of it (-b)",
		(unsigned long long)largest_file() >> 10, (unsigned long long)size >> 10);
}

/* Seals the file: a process that gets its descriptor can map it for itself, and open it anew to
 * write to it. Code is sealed against that once it is mapped here. Kernels before 5.1 do not know
 * this seal. */
static int seal(int fd, bool code)
{
	if (code && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 && errno != EINVAL)
		return -1;
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
}

int shared_memory_file(const char *name, uint64_t size, bool code, void **mapped, struct err *err)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | (code ? MFD_EXEC : 0));

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags); /* kernels before 6.3 */
	if (fd < 0)
		return err_set(err, errno, "cannot make shared memory: %s", strerror(errno));
	/* Sealed: a program that shortened the file would kill (SIGBUS) every process that looks at
	 * the missing part. */
	if (ftruncate(fd, (off_t)size) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) {
		*mapped =
			mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
		if (*mapped != MAP_FAILED && seal(fd, code) == 0)
			return fd;
		if (*mapped != MAP_FAILED)
			munmap(*mapped, size);
	}
	if (errno == EFBIG) {
		close(fd);
		return too_large(size, err);
	}
	err_set(err, errno, "cannot map %llu bytes of shared memory: %s", (unsigned long long)size,
		strerror(errno));
	close(fd);
	return -err->code;
}

static void place_parts(struct memory_layout *l)
{
	l->threads_at = round_up(sizeof(struct memory_header), ARCH_PAGE);
	l->descs_at =
		round_up(l->threads_at + l->threads_max * sizeof(struct memory_thread), ARCH_PAGE);
	l->ends_at = round_up(l->descs_at + l->buffers_max * sizeof(struct memory_desc), ARCH_PAGE);
	l->buffers_at = l->ends_at + MEMORY_TIDS / 8;
	l->size = l->buffers_at + (uint64_t)l->buffers_max * MEMORY_BUFFER_BYTES;
}

/* Under a limit, first the room for threads shrinks, then the room for many threads at once.
 * Records that do not fit then are lost, and counted. */
static void shrink_layout(struct memory_layout *l, uint64_t most)
{
	while (l->size > most && l->threads_max > THREADS_LEAST) {
		l->threads_max /= 2;
		place_parts(l);
	}
	while (l->size > most && l->buffers_max > 4 * l->quota) {
		l->buffers_max =
			l->buffers_max / 2 > 4 * l->quota ? l->buffers_max / 2 : 4 * l->quota;
		place_parts(l);
	}
}

/* A ring takes all its room at once: a quarter of it is for threads at most, and of its sub-buffers
 * a thread has a quarter. */
static void lay_out_ring(struct memory_layout *l, uint64_t bytes)
{
	l->buffers_max = (uint32_t)(round_up(bytes, 8 * MEMORY_BUFFER_BYTES) / MEMORY_BUFFER_BYTES);
	if (l->quota > l->buffers_max / 4)
		l->quota = l->buffers_max / 4;
	while (l->threads_max > THREADS_LEAST &&
	       l->threads_max * sizeof(struct memory_thread) > bytes / 4)
		l->threads_max /= 2;
}

/* Sizes and places of the parts, within the limit for files. */
static void lay_out(struct memory_layout *l, const struct shared_memory_shape *shape)
{
	uint64_t quota =
		round_up(shape->thread_kb * 1024, MEMORY_BUFFER_BYTES) / MEMORY_BUFFER_BYTES;
	uint64_t pool = POOL_BYTES / MEMORY_BUFFER_BYTES;

	l->mode = shape->mode;
	/* At least two: a thread fills one while the tracer takes the other. */
	l->quota = (uint32_t)(quota < 2 ? 2 : quota > UINT32_MAX / 2 ? UINT32_MAX / 2 : quota);
	l->threads_max = SLOTS;
	l->buffers_max = (uint32_t)(pool < l->quota * 4 ? l->quota * UINT64_C(4) : pool);
	if (shape->ring)
		lay_out_ring(l, shape->ring_kb ? shape->ring_kb << 10 : RING_BYTES);
	l->wake_at = l->quota < 4 * WAKE_AT ? (l->quota + 3) / 4 : WAKE_AT;
	place_parts(l);
	shrink_layout(l, largest_file());
}

/* fd, or -errno and *err. The label of a ring takes a page more. */
static int make_file(const struct shared_memory_shape *shape, uint64_t size, void **mapped,
		     struct err *err)
{
	if (!shape->ring)
		return shared_memory_file("brace-session", size, false, mapped, err);
	if (size + ARCH_PAGE > largest_file())
		return too_large(size + ARCH_PAGE, err);
	return ring_file_create(shape->ring, size, shape->ring_id, mapped, err);
}

int shared_memory_create(const struct shared_memory_shape *shape, struct shared_memory *out,
			 struct err *err)
/* size, threads_max and buffers_max follow from the limit: the agent gets them in the setup
 * reply. */
{
	struct memory_layout l = { 0 };
	struct memory_header *h;
	void *at;
	int fd;

	lay_out(&l, shape);
	fd = make_file(shape, l.size, &at, err);
	if (fd < 0)
		return fd;
	h = at; /* in place: sanitizers align no variable of this type on a stack */
	*h = (struct memory_header){
		.magic = MEMORY_MAGIC, .version = MEMORY_VERSION, .layout = l,
		.settings = shape->settings,
		.stopped = shape->stopped, .free_head = MEMORY_NONE,
		.tracer_pid = (uint32_t)getpid(),
	};
	*out = (struct shared_memory){
		.fd = fd, .header = h,
		.threads = (void *)((char *)at + l.threads_at),
		.descs = (void *)((char *)at + l.descs_at),
		.buffers = (void *)((char *)at + l.buffers_at),
		.layout = l, .settings = shape->settings,
		.ring = shape->ring ? mem_strdup(shape->ring) : NULL,
	};
	return 0;
}

static void set_settings(struct memory_settings *s, const struct memory_settings *to)
{
	s->max_depth = to->max_depth;
	s->graph_functions = to->graph_functions;
	s->record_both = to->record_both;
	s->record_sp = to->record_sp;
	s->causal = to->causal;
	s->tracer_number = to->tracer_number;
	memcpy(s->scope_depths, to->scope_depths, sizeof(s->scope_depths));
	/* The drain reads these meanwhile. */
	__atomic_store_n(&s->tracer, to->tracer, __ATOMIC_RELAXED);
	__atomic_store_n(&s->values, to->values, __ATOMIC_RELAXED);
	__atomic_store_n(&s->thresh_ticks, to->thresh_ticks, __ATOMIC_RELAXED);
}

void shared_memory_reshape(struct shared_memory *m, const struct memory_settings *settings)
{
	set_settings(&m->settings, settings);
	set_settings(&m->header->settings, settings);
}

void shared_memory_setup(const struct shared_memory *m, struct protocol_setup *out)
{
	out->layout = m->layout;
	out->settings = m->settings;
}

void shared_memory_destroy(struct shared_memory *m)
{
	if (!m->header)
		return;
	munmap(m->header, m->layout.size);
	if (m->ring)
		ring_file_look(m->fd);
	close(m->fd);
	/* All its records have been taken. */
	if (m->ring)
		unlink(m->ring);
	free(m->ring);
	m->ring = NULL;
	m->header = NULL;
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

uint32_t shared_memory_used(const struct shared_memory *m)
{
	/* Pairs with nothing: take_unused() of agent/sub_buffer.c raises it relaxed. It is only a
	 * bound; each descriptor's state tells whether its fields are there. */
	return at_most(__atomic_load_n(&m->header->buffers_used, __ATOMIC_ACQUIRE),
		       m->layout.buffers_max);
}

uint32_t shared_memory_threads(const struct shared_memory *m)
{
	/* Pairs with nothing: thread_start() of agent/thread.c raises it relaxed. It is only a
	 * bound; each slot's `ready` tells whether its fields are there. */
	return at_most(__atomic_load_n(&m->header->threads_used, __ATOMIC_ACQUIRE),
		       m->layout.threads_max);
}

size_t shared_memory_touched(const struct shared_memory *m, uint32_t i)
{
	const off_t begin = (off_t)(m->layout.buffers_at + (uint64_t)i * MEMORY_BUFFER_BYTES);
	off_t end = begin;

	while (end < begin + (off_t)MEMORY_BUFFER_BYTES) {
		off_t page = m->fd < 0 ? end : lseek(m->fd, end, SEEK_DATA);

		/* ENXIO: no data up to the end of the file. Others: the file system cannot tell. */
		if (page < 0 && errno != ENXIO)
			return MEMORY_BUFFER_BYTES;
		if (page < 0 || page >= begin + (off_t)MEMORY_BUFFER_BYTES)
			break;
		end = page / ARCH_PAGE * ARCH_PAGE + ARCH_PAGE;
	}
	return (size_t)(end - begin);
}

bool shared_memory_take_end(struct shared_memory *m, uint32_t tid)
{
	uint64_t *ends = (uint64_t *)((char *)m->header + m->layout.ends_at), bit = UINT64_C(1)
										    << tid % 64;

	/* Pairs with tell_end() of agent/tasks.c. */
	return tid < MEMORY_TIDS &&
	       __atomic_fetch_and(&ends[tid / 64], ~bit, __ATOMIC_ACQ_REL) & bit;
}

void shared_memory_let_go(struct shared_memory *m, uint32_t slot)
{
	__atomic_fetch_sub(&m->threads[slot].held, 1, __ATOMIC_RELAXED);
}

void shared_memory_give_back(struct shared_memory *m, uint32_t i)
{
	/* The head's high half counts up with every change: a pop that was interrupted meanwhile
	 * fails (ABA). */
	struct memory_desc *d = &m->descs[i];
	uint64_t head, next;

	/* A copy is read once; reading its holes took memory for them. */
	if (m->fd < 0)
		madvise(shared_memory_words(m, i), MEMORY_BUFFER_BYTES, MADV_REMOVE);
	__atomic_store_n(&d->state, MEMORY_FREE, __ATOMIC_RELAXED);
	POINT(buffer_free);
	head = __atomic_load_n(&m->header->free_head, __ATOMIC_RELAXED);
	do {
		/* A thread whose pop will fail may still read `next`. */
		__atomic_store_n(&d->next, (uint32_t)head, __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | i;
	/* Pairs with the acquire in pop_free() of agent/sub_buffer.c. */
	} while (!__atomic_compare_exchange_n(&m->header->free_head, &head, next, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	POINT(buffer_given_back);
}

void shared_memory_heartbeat(struct shared_memory *m)
{
	__atomic_fetch_add(&m->header->heartbeat, 1, __ATOMIC_RELAXED);
}

void shared_memory_passed(struct shared_memory *m)
{
	/* Pairs with the load of `passes` in wait_and_take() of agent/sub_buffer.c. */
	__atomic_fetch_add(&m->header->passes, 1, __ATOMIC_RELEASE);
}

void shared_memory_wake_writers(struct shared_memory *m)
{
	/* Pairs with wait_and_take() of agent/sub_buffer.c: either we see the waiter here, or it
	 * sees what was given back. */
	if (!__atomic_load_n(&m->header->free_waiters, __ATOMIC_SEQ_CST))
		return;
	POINT(writers_to_wake);
	__atomic_fetch_add(&m->header->free_futex, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &m->header->free_futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void shared_memory_wake(struct shared_memory *m)
{
	/* Pairs with memories_read_wakeups(). */
	__atomic_fetch_add(&m->header->full_futex, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &m->header->full_futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void shared_memory_stop(struct shared_memory *m)
{
	/* Pairs with wait_and_take() of agent/sub_buffer.c: a writer sees `stopped`, or its wait
	 * ends by the changed futex. */
	__atomic_store_n(&m->header->stopped, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&m->header->free_futex, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &m->header->free_futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
