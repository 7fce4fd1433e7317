/* SPDX-License-Identifier: MIT */
/* A ring of jobs between the thread that submits packets and the workers that code them. p->lock
 * protects everything; coding and writing happen without it. Whoever finds the oldest job coded
 * writes it (write_coded), so that packets reach the file in order without a thread of its own.
 * After an error nothing more is written, and every later call returns it; the jobs are still
 * drained, so that the submitter never hangs. */
#include "store/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "store/columns.h"
#include "store/crc.h"
#include "store/index.h"
#include "store/effects.h"
#include "shared/points.h"

#define WORKERS_MAX 4
#define JOBS (2 * WORKERS_MAX) /* jobs in the ring: at most 8 MiB of records */
#define SPARE_MAX 32           /* buffers kept for reuse */
#define INFO_LEVEL 3           /* at least: a higher level of the records is this one's, too */

/* In this order, and back to free when it is written. Only the thread that takes a job from
 * JOB_WAITING touches its contents until it is JOB_CODED, so that coding needs no lock. */
enum job_state { JOB_FREE, JOB_WAITING, JOB_CODING, JOB_CODED };

struct packet_job {
	enum job_state state;
	struct packet_header head;
	struct pipeline_words words;   /* PACKET_RECORDS */
	struct bytes items;   /* PACKET_INFO */
	struct bytes payload; /* either, coded */
	struct bytes told;    /* PACKET_RECORDS: effects_tell() */
	struct effects_jumps jumps;
};

struct pipeline {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t workers[WORKERS_MAX];
	unsigned n_workers;
	/* stopping: workers end once all is coded. writing: a thread is in write_packet(). */
	bool stopping, writing;
	bool ended;                   /* the index is written */
	unsigned level;               /* of zstd; 0: nothing was chosen */
	struct packet_job jobs[JOBS];        /* a ring: */
	uint64_t first, next, submitted; /* counts, not indices: job_at() */
	/* first: oldest job; next: to code next; submitted: one beyond the newest. */
	VEC(struct pipeline_words) spare;
	struct output out;
	uint64_t bytes;               /* out.bytes, for other threads */
	uint64_t coded_words, coded_bytes; /* of the packets of records that were written */
	struct err failed;
	VEC(struct packet_entry) entries;
	struct effects_writer effects;  /* of those with records */
	VEC(struct loops) loops;        /* by thread, behind the packets in the file */
	struct encoder *own;          /* when there are no workers the submitter codes */
};

/* The place of job number n in the ring. */
static struct packet_job *job_at(struct pipeline *p, uint64_t n)
{
	return &p->jobs[n % JOBS];
}

/* real_ns: time of creation; 0: now. */
static int write_header(struct pipeline *p, bool values, uint64_t real_ns, struct err *err)
{
	struct bytes b = {0};
	struct timespec now;
	int r;

	clock_gettime(CLOCK_REALTIME, &now);
	format_file_header(&b, values ? FORMAT_VERSION : FORMAT_VERSION_PLAIN,
			   real_ns ? real_ns
				   : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	r = output_write(&p->out, b.at, b.n, err);
	vec_free(&b);
	return r;
}

/* NULL and *err: nothing is left of the new file then. */
struct pipeline *pipeline_new(const char *path, bool values, uint64_t real_ns, struct err *err)
{
	struct pipeline *p = mem_zalloc(sizeof(*p));

	if (output_open(&p->out, path, err)) {
		free(p);
		return NULL;
	}
	if (write_header(p, values, real_ns, err)) {
		output_close(&p->out, false, NULL);
		free(p);
		return NULL;
	}
	POINT(file_begun);
	p->bytes = p->out.bytes;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	return p;
}

void pipeline_limit(struct pipeline *p, uint64_t bytes)
{
	p->out.limit = bytes;
}

void pipeline_renamed(struct pipeline *p, const char *path)
{
	output_renamed(&p->out, path);
}

void pipeline_compress(struct pipeline *p, unsigned level)
{
	p->level = level;
}

/* Compresses a packet of trace information into job->payload. */
static int code_items(struct packet_job *job, unsigned level, struct err *err)
{
	size_t bound = ZSTD_compressBound(job->items.n), n;

	vec_reserve(&job->payload, bound);
	n = ZSTD_compress(job->payload.at, bound, job->items.at, job->items.n,
			  level > INFO_LEVEL ? (int)level : INFO_LEVEL);
	if (ZSTD_isError(n))
		return err_set(err, EIO, "cannot compress trace information: %s",
			       ZSTD_getErrorName(n));
	job->payload.n = n;
	job->head.raw = (uint32_t)job->items.n;
	return 0;
}

/* Codes a job's packet, and fills in its header. Without the lock, on a worker or the submitting
 * thread. */
static int code_job(struct packet_job *job, struct encoder *encoder, unsigned level,
		    struct err *err)
{
	int r;

	job->told.n = 0;
	if (job->head.type == PACKET_RECORDS)
		r = columns_encoder_run(encoder, job->words.at, job->words.n, &job->head.records,
					&job->payload, err);
	else
		r = code_items(job, level, err);
	/* now that the packet's last time is known */
	if (job->head.type == PACKET_RECORDS && !r)
		effects_tell(&job->told, &job->jumps, job->words.at, job->words.n,
			     &job->head.records);
	job->head.payload = (uint32_t)job->payload.n;
	job->head.crc = crc32c(job->payload.at, job->payload.n);
	return r;
}

/* Writes a packet, and notes its place for the index. Header and payload go in one write: a killed
 * tracer leaves a packet whole, or cut at the end, where readers stop. The caller is the only one
 * that writes (p->writing). */
static int write_packet(struct pipeline *p, const struct packet_header *head,
			const struct bytes *payload, struct err *err)
{
	struct bytes b = {0};
	int r;

	/* Noted before it is written: a failed write is taken back below. */
	*vec_add(&p->entries) = (struct packet_entry){ p->out.bytes, *head };
	POINT(packet_to_write);
	format_packet_header(&b, head);
	bytes_put(&b, payload->at, payload->n);
	r = output_write(&p->out, b.at, b.n, err);
	if (r)
		p->entries.n--;
	POINT(packet_written);
	vec_free(&b);
	return r;
}

/* Takes a function's jumps to its own first instruction out of the packet's calls. They are known
 * by the calls that the thread's packets before it have left open, so that only who writes in order
 * can tell. */
static void leave_loops_out(struct pipeline *p, struct packet_job *job)
{
	const uint32_t thread = job->head.records.thread;
	struct loops *l;

	while (p->loops.n <= thread)
		*vec_add(&p->loops) = (struct loops){ 0 };
	l = &p->loops.at[thread];
	if (job->jumps.known && !l->unwinding && !l->away && !l->dead.n)
		job->head.records.calls -= effects_follow(&job->told, &job->jumps, l);
	else
		job->head.records.calls -=
			(uint32_t)loops_follow(l, job->words.at, job->words.n);
}

/* Writes a coded job's packet. */
static void write_job(struct pipeline *p, struct packet_job *job, struct err *err)
{
	if (job->head.type == PACKET_RECORDS)
		leave_loops_out(p, job);
	if (!write_packet(p, &job->head, &job->payload, err) && job->told.n)
		effects_add(&p->effects, &job->told);
}

/* The packet is copied as it was written, its header included. No worker runs yet. Effects are
 * dropped: they count packets from the first one on, and nothing is known of these. */
int pipeline_adopt(struct pipeline *p, const struct packet_header *head, const struct bytes *packet,
		   struct err *err)
{
	int r;

	*vec_add(&p->entries) = (struct packet_entry){ p->out.bytes, *head };
	effects_drop(&p->effects);
	r = output_write(&p->out, packet->at, packet->n, err);
	p->bytes = p->out.bytes;
	return r;
}

/* Keeps a block of words for the next job, up to SPARE_MAX of them. Blocks of megabytes would go
 * back to the kernel by munmap() at each free(), and fault in anew. */
static void keep_spare_words(struct pipeline *p, struct pipeline_words *words)
{
	words->n = 0;
	if (p->spare.n < SPARE_MAX)
		*vec_add(&p->spare) = *words;
	else
		free(words->at);
	*words = (struct pipeline_words){0};
}

/* The bytes that words become, for pipeline_bytes_likely(). */
static void count_coded(struct pipeline *p, const struct packet_job *job)
{
	if (job->head.type != PACKET_RECORDS)
		return;
	p->coded_words += job->words.n;
	p->coded_bytes += job->payload.n;
}

/* Writes the coded jobs at the head of the ring, unless another thread is doing that. Called with
 * p->lock held. The lock is given up for each write. A job at the head stays coded meanwhile,
 * because only who is `writing` moves `first`; and the loop looks again with the lock held, so that
 * no coded job is missed. */
static void write_coded(struct pipeline *p)
{
	while (!p->writing && p->first < p->submitted && job_at(p, p->first)->state == JOB_CODED) {
		struct packet_job *job = job_at(p, p->first);
		struct err err = {0};

		/* After an error jobs are only freed. */
		if (!p->failed.code) {
			p->writing = true;
			pthread_mutex_unlock(&p->lock);
			write_job(p, job, &err);
			pthread_mutex_lock(&p->lock);
			p->writing = false;
			p->bytes = p->out.bytes;
			count_coded(p, job);
			if (err.code)
				p->failed = err;
		}
		keep_spare_words(p, &job->words);
		job->state = JOB_FREE;
		p->first++;
		pthread_cond_broadcast(&p->changed);
	}
}

/* Codes the oldest waiting job. Called with p->lock held, and returns with it. A job that failed
 * counts as coded: left in another state it would keep all behind it, and the submitter, for
 * ever. */
static void code_next(struct pipeline *p, struct encoder *encoder)
{
	struct packet_job *job = job_at(p, p->next++);
	struct err err = {0};

	job->state = JOB_CODING;
	pthread_mutex_unlock(&p->lock);
	POINT(packet_to_code);
	code_job(job, encoder, p->level, &err);
	pthread_mutex_lock(&p->lock);
	if (err.code && !p->failed.code)
		p->failed = err;
	job->state = JOB_CODED;
	/* Also when another thread is writing: it looks at this job before it stops. */
	write_coded(p);
}

/* A worker: codes jobs until all submitted ones are taken and the pipeline stops. */
static void *pipeline_work(void *arg)
{
	struct pipeline *p = arg;
	struct encoder *encoder = columns_encoder_new(p->level);

	pthread_mutex_lock(&p->lock);
	while (!p->stopping || p->next < p->submitted) {
		if (p->next < p->submitted)
			code_next(p, encoder);
		else
			pthread_cond_wait(&p->changed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	columns_encoder_free(encoder);
	return NULL;
}

/* Starts workers for half of the CPUs; the others run the program. Workers block all signals, which
 * brace's main thread handles. They start with the first records and not before, so that brace can
 * still fork. If none can be started, the submitter codes itself. */
static void start_workers(struct pipeline *p)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), want = cpus / 2;
	sigset_t all, old;

	want = want < 1 ? 1 : want > WORKERS_MAX ? WORKERS_MAX : want;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (p->n_workers < want &&
	       !pthread_create(&p->workers[p->n_workers], NULL, pipeline_work, p))
		p->n_workers++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!p->n_workers)
		p->own = columns_encoder_new(p->level);
}

/* Lock held, or no worker runs. Copies the first error; 0: there is none. */
static int pipeline_failure(const struct pipeline *p, struct err *err)
{
	if (p->failed.code && err)
		*err = p->failed;
	return -p->failed.code;
}

/* Locks p->lock and waits for a free place in the ring. A full ring is the backpressure: the
 * recording thread waits for the disk instead of taking memory without bound. Without workers each
 * job is written by end_job(), and the ring is never full. */
static struct packet_job *begin_job(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->submitted - p->first == JOBS)
		pthread_cond_wait(&p->changed, &p->lock);
	return job_at(p, p->submitted);
}

/* Submits the job, unlocks, and returns the first error so far. */
static int end_job(struct pipeline *p, struct packet_job *job, struct err *err)
{
	int r;

	job->state = JOB_WAITING;
	p->submitted++;
	if (p->n_workers)
		pthread_cond_broadcast(&p->changed);
	else
		code_next(p, p->own);
	r = pipeline_failure(p, err);
	pthread_mutex_unlock(&p->lock);
	return r;
}

int pipeline_records(struct pipeline *p, const struct packet_records *head,
		     struct pipeline_words *words, struct err *err)
{
	struct packet_job *job = begin_job(p);

	/* Once: a failed start leaves p->own. */
	if (!p->n_workers && !p->own)
		start_workers(p);
	job->head = (struct packet_header){ .type = PACKET_RECORDS, .records = *head };
	job->words = *words;
	*words = (struct pipeline_words){0};
	return end_job(p, job, err);
}

/* Swaps buffers with the job, so that neither side allocates for each packet. */
int pipeline_info(struct pipeline *p, struct bytes *items, struct err *err)
{
	struct packet_job *job = begin_job(p);
	struct bytes old = job->items;

	job->head = (struct packet_header){ .type = PACKET_INFO };
	job->items = *items;
	*items = old;
	items->n = 0;
	return end_job(p, job, err);
}

struct pipeline_words pipeline_buffer(struct pipeline *p)
{
	struct pipeline_words words = {0};

	pthread_mutex_lock(&p->lock);
	if (p->spare.n)
		words = p->spare.at[--p->spare.n];
	pthread_mutex_unlock(&p->lock);
	return words;
}

/* No job waits or is coded, and there is a worker that could take one. */
bool pipeline_is_idle(struct pipeline *p)
{
	bool idle;

	pthread_mutex_lock(&p->lock);
	idle = p->n_workers && p->first == p->submitted;
	pthread_mutex_unlock(&p->lock);
	return idle;
}

/* For other threads: out.bytes changes while a packet is written. */
uint64_t pipeline_bytes(struct pipeline *p)
{
	uint64_t bytes;

	pthread_mutex_lock(&p->lock);
	bytes = p->bytes;
	pthread_mutex_unlock(&p->lock);
	return bytes;
}

bool pipeline_has_records(struct pipeline *p)
{
	bool has;

	pthread_mutex_lock(&p->lock);
	has = p->coded_words > 0;
	pthread_mutex_unlock(&p->lock);
	return has;
}

/* Words that are not coded yet count by the ratio of those that are; 128 bits, because the product
 * of two sizes may leave 64. */
uint64_t pipeline_bytes_likely(struct pipeline *p, uint64_t waiting)
{
	uint64_t bytes;

	pthread_mutex_lock(&p->lock);
	bytes = p->bytes;
	for (uint64_t n = p->first; n < p->submitted; n++) {
		waiting += job_at(p, n)->words.n;
		bytes += job_at(p, n)->items.n;
	}
	if (p->coded_words)
		waiting = (uint64_t)((unsigned __int128)waiting * p->coded_bytes / p->coded_words);
	pthread_mutex_unlock(&p->lock);
	return bytes + waiting;
}

int pipeline_error(struct pipeline *p, struct err *err)
{
	int r;

	pthread_mutex_lock(&p->lock);
	r = pipeline_failure(p, err);
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* Returns when all submitted jobs are in the file, or are given up after an error. */
int pipeline_wait_written(struct pipeline *p, struct err *err)
{
	int r;

	pthread_mutex_lock(&p->lock);
	while (p->first < p->submitted)
		pthread_cond_wait(&p->changed, &p->lock);
	r = pipeline_failure(p, err);
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* Jobs that wait are still coded: workers end when none is left. */
void pipeline_stop(struct pipeline *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_workers; i++)
		pthread_join(p->workers[i], NULL);
	p->n_workers = 0;
}

/* Called when nothing is under way (pipeline_stop()): p->entries and p->out are read without the
 * lock. -ESPIPE: what went into a pipe cannot be taken back. The error is forgotten, since what it
 * concerned is cut off; later jobs are coded by the submitter. */
int pipeline_keep(struct pipeline *p, size_t keep)
{
	/* A packet's offset is also where the one before it ends. */
	uint64_t end = keep < p->entries.n ? p->entries.at[keep].offset : p->out.bytes;

	if (!p->out.regular)
		return -ESPIPE;
	p->entries.n = keep;
	effects_drop(&p->effects);
	p->failed = (struct err){ 0 };
	if (!p->own)
		p->own = columns_encoder_new(p->level);
	return output_cut(&p->out, end);
}

size_t pipeline_index(const struct pipeline *p, const struct packet_entry **entries)
{
	*entries = p->entries.at;
	return p->entries.n;
}

/* Writes what packets tell of stacks. It is worth less than records: where there is no room for it,
 * the file ends without it. */
static int put_effects(struct pipeline *p, struct err *err)
{
	const uint64_t at = p->out.bytes;
	const size_t entries = p->entries.n;
	int r = 0;

	effects_end(&p->effects);
	for (size_t i = 0; i < p->effects.packets.n && !r; i++)
		r = write_packet(p, &p->effects.packets.at[i].head,
				 &p->effects.packets.at[i].payload, err);
	if (!r || !p->out.regular || output_cut(&p->out, at))
		return r;
	p->entries.n = entries;
	if (err)
		err->code = 0;
	return 0;
}

/* All packets are written by now; the index and the trailer make the file whole. */
int pipeline_end(struct pipeline *p, struct err *err)
{
	struct bytes b = {0};
	uint64_t at;
	int r;

	POINT(index_to_write);
	r = put_effects(p, err);
	at = p->out.bytes;
	if (!r)
		r = index_encode(p->entries.at, p->entries.n, &b, err);
	format_trailer(&b, at);
	if (!r)
		r = output_write(&p->out, b.at, b.n, err);
	p->ended = !r;
	vec_free(&b);
	return r;
}

/* After pipeline_stop(): nobody else uses it. */
static void free_pipeline(struct pipeline *p)
{
	for (int i = 0; i < JOBS; i++) {
		free(p->jobs[i].words.at);
		vec_free(&p->jobs[i].items);
		vec_free(&p->jobs[i].payload);
		vec_free(&p->jobs[i].told);
		vec_free(&p->jobs[i].jumps.open);
	}
	for (size_t i = 0; i < p->spare.n; i++)
		free(p->spare.at[i].at);
	vec_free(&p->spare);
	vec_free(&p->entries);
	effects_free(&p->effects);
	for (size_t i = 0; i < p->loops.n; i++)
		loops_free(&p->loops.at[i]);
	vec_free(&p->loops);
	columns_encoder_free(p->own);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int pipeline_finish(struct pipeline *p, bool keep, struct err *err)
{
	int r, closed;

	pipeline_stop(p);
	r = pipeline_failure(p, err);
	if (!r && keep && !p->ended)
		r = pipeline_end(p, err);
	POINT(index_written);
	/* The first error is the one to be told. */
	closed = output_close(&p->out, keep, r ? NULL : err);
	free_pipeline(p);
	return r ? r : closed;
}
