/* SPDX-License-Identifier: MIT */
/* Open files, and reads and polls that wait for data. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tree/fuse_internal.h"

/* splice(2) looks at the page cache, and there is nothing for it behind the size that we tell. So a file of pages is as
 * large as this, and the kernel asks for each page that is not there. It never is: reading goes only forward. */
#define PAGED_SIZE (UINT64_C(1) << 52)
/* A stream that is no pages has two, the first of which splice(2) asks for. It is refused: whoever splices then reads, and does
 * not take an empty file for what it is. */
#define STREAM_SIZE (2 * TREE_PAGE)
/* Texts longer than this are not put into the page cache: whoever reads so much uses read(2). */
#define STORED_MAX (16u << 20)

struct fuse_wait {
	struct fuse_wait *prev, *next; /* in face->waits while `listed` */
	struct fuse_face *face;
	fuse_req_t req;
	struct fuse_open *open;
	size_t size;
	bool listed, interrupted;
};

static struct fuse_face *face_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct fuse_open *open_of(const struct fuse_file_info *fi)
{
	return (struct fuse_open *)(uintptr_t)fi->fh;
}

/* --- opening ------------------------------------------------------------------------ */

/* sendfile and splice take what is in the page cache, up to the size that stat tells. */
static int store_text(struct fuse_face *f, fuse_ino_t ino, struct tree_open *o, struct fuse_file_info *fi)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(0);
	const char *text;
	size_t n;
	int e = tree_text(o, &text, &n, NULL);

	if (e || !n || n > STORED_MAX)
		return e;
	atomic_store(&fuse_inode_of(f, ino)->stored, n);
	buf.buf[0].size = n;
	buf.buf[0].mem = (void *)text;
	fi->keep_cache = !fuse_lowlevel_notify_store(f->session, ino, 0, &buf, 0);
	return 0;
}

/* The kernel knows the size from where something was stored last; the first page is not there. */
static void store_size(struct fuse_face *f, fuse_ino_t ino, struct fuse_file_info *fi, size_t size)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(1);
	char last = 0;

	atomic_store(&fuse_inode_of(f, ino)->stored, size);
	buf.buf[0].mem = &last;
	fi->keep_cache = !fuse_lowlevel_notify_store(f->session, ino, (off_t)size - 1, &buf, 0);
}

static void keep_open(struct fuse_face *f, struct fuse_open *o)
{
	pthread_mutex_lock(&f->lock);
	o->holds++;
	o->next = f->opens;
	if (o->next)
		o->next->prev = o;
	f->opens = o;
	pthread_mutex_unlock(&f->lock);
}

/* A caller that is answered before the work is done may close the file, or end. */
static void hold_file(struct fuse_face *f, struct fuse_open *o)
{
	pthread_mutex_lock(&f->lock);
	o->holds++;
	pthread_mutex_unlock(&f->lock);
}

/* Locked. */
static bool drop_hold(struct fuse_face *f, struct fuse_open *o)
{
	if (--o->holds)
		return false;
	if (o->prev)
		o->prev->next = o->next;
	else
		f->opens = o->next;
	if (o->next)
		o->next->prev = o->prev;
	return true;
}

static void close_file(struct fuse_face *f, struct fuse_open *o)
{
	bool last;

	pthread_mutex_lock(&f->lock);
	last = drop_hold(f, o);
	pthread_mutex_unlock(&f->lock);
	if (!last)
		return;
	if (o->poll)
		fuse_pollhandle_destroy(o->poll);
	tree_close(o->file);
	free(o);
}

void fuse_files_close_all(struct fuse_face *f)
{
	while (f->opens)
		close_file(f, f->opens);
}

struct opening {
	struct fuse_call call;
	struct fuse_file_info *fi;
	struct fuse_open *open;
};

/* From here on the file is the kernel's to close. */
static void reply_open(struct opening *o)
{
	struct fuse_face *f = face_of(o->call.req);

	keep_open(f, o->open);
	o->fi->fh = (uintptr_t)o->open;
	o->fi->direct_io = 1;
	o->fi->nonseekable = tree_is_stream(o->open->file);
	if (fuse_reply_open(o->call.req, o->fi) == -ENOENT)
		close_file(f, o->open);
}

static void answer_open(struct caller *c)
{
	struct opening *o = (struct opening *)c;

	o->open->holds = 1; /* do_open's */
	reply_open(o);
}

static int open_node(struct fuse_face *f, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct tree_open **out)
{
	int e = tree_open(fuse_inode_of(f, ino)->node, fi->flags, fuse_req_ctx(req)->pid, FUSE_PATIENCE_MS, out, NULL);

	if (e)
		return e;
	if ((fi->flags & O_ACCMODE) == O_RDONLY && !tree_is_stream(*out))
		e = store_text(f, ino, *out, fi);
	if (e)
		tree_close(*out);
	else if ((fi->flags & O_ACCMODE) != O_WRONLY && tree_is_stream(*out))
		store_size(f, ino, fi, tree_is_paged(*out) ? PAGED_SIZE : STREAM_SIZE);
	return e;
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fuse_face *f = face_of(req);
	struct opening o = { .fi = fi };
	int e;

	if (!fuse_caller_ok(req))
		return;
	o.open = mem_zalloc(sizeof(*o.open));
	fuse_call_begin(&o.call, req, answer_open, 0);
	e = open_node(f, req, ino, fi, &o.open->file);
	if (caller_end(0)) {
		close_file(f, o.open);
	} else if (!e) {
		reply_open(&o);
	} else {
		free(o.open);
		fuse_reply_err(req, -e);
	}
}

/* A failure is in the error_log; close(2) of tracefs knows none. */
static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fuse_face *f = face_of(req);
	struct fuse_open *o = open_of(fi);
	struct fuse_call call;

	hold_file(f, o);
	fuse_call_begin(&call, req, fuse_answer_done, 0);
	tree_flush(o->file, NULL);
	if (!caller_end(0))
		fuse_reply_err(req, 0);
	close_file(f, o);
}

static void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	close_file(face_of(req), open_of(fi));
	fuse_reply_err(req, 0);
}

/* --- reads that wait ---------------------------------------------------------------- */

static void unlist(struct fuse_wait *w)
{
	if (w->prev)
		w->prev->next = w->next;
	else
		w->face->waits = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->listed = false;
}

static void answer(fuse_req_t req, const char *buf, ssize_t got)
{
	if (got < 0)
		fuse_reply_err(req, (int)-got);
	else
		fuse_reply_buf(req, buf, (size_t)got);
}

/* A signal of the reader's. libfuse holds the request's lock meanwhile. */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct fuse_wait *w = arg;
	bool mine;

	pthread_mutex_lock(&w->face->lock);
	w->interrupted = true;
	mine = w->listed;
	if (mine)
		unlist(w);
	pthread_mutex_unlock(&w->face->lock);
	if (!mine)
		return;
	fuse_reply_err(req, EINTR);
	free(w);
}

/* From here on no interrupt knows of w. */
static void finish(struct fuse_wait *w, const char *buf, ssize_t got)
{
	fuse_req_interrupt_func(w->req, NULL, NULL);
	answer(w->req, buf, got);
	free(w);
}

/* False: somebody woke us, or wants us to stop waiting, since `wakes`. */
static bool wait_on(struct fuse_wait *w, unsigned wakes)
{
	struct fuse_face *f = w->face;
	bool waits;

	pthread_mutex_lock(&f->lock);
	waits = f->wakes == wakes && !f->ended && !w->interrupted;
	if (waits) {
		w->prev = NULL;
		w->next = f->waits;
		if (w->next)
			w->next->prev = w;
		f->waits = w;
		w->listed = true;
	}
	pthread_mutex_unlock(&f->lock);
	return waits;
}

static ssize_t given_up(struct fuse_wait *w)
{
	ssize_t how;

	pthread_mutex_lock(&w->face->lock);
	how = w->interrupted ? -EINTR : w->face->ended ? 0 : -EAGAIN;
	pthread_mutex_unlock(&w->face->lock);
	return how;
}

static void try_read(struct fuse_wait *w)
{
	char *buf = mem_zalloc(w->size + 1);
	ssize_t got;

	for (;;) {
		unsigned wakes;

		pthread_mutex_lock(&w->face->lock);
		wakes = w->face->wakes;
		pthread_mutex_unlock(&w->face->lock);
		got = tree_read(w->open->file, buf, w->size, 0, NULL);
		if (got == -EAGAIN)
			got = given_up(w);
		if (got != -EAGAIN)
			break;
		if (wait_on(w, wakes)) {
			free(buf);
			return;
		}
	}
	finish(w, buf, got);
	free(buf);
}

static void read_now(fuse_req_t req, struct fuse_open *o, size_t size, off_t off)
{
	char *buf = mem_zalloc(size + 1);

	answer(req, buf, tree_read(o->file, buf, size, off, NULL));
	free(buf);
}

/* The page cache asks, for splice(2); only read(2) says whose locks are concerned. Who waits here holds up what the
 * caller has got already: there is a page, or not. */
static bool is_for_cache(const struct fuse_open *o, const struct fuse_file_info *fi)
{
	return tree_is_stream(o->file) && !fi->lock_owner;
}

static void read_page(fuse_req_t req, struct fuse_open *o, size_t size)
{
	if (!tree_is_paged(o->file))
		fuse_reply_err(req, EINVAL); /* as of a file that cannot be spliced */
	else if (size == TREE_PAGE)
		read_now(req, o, size, 0);
	else
		fuse_reply_err(req, EAGAIN); /* then it asks for one */
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct fuse_open *o = open_of(fi);
	struct fuse_wait *w;

	tree_set_nonblock(o->file, fi->flags & O_NONBLOCK);
	if (is_for_cache(o, fi)) {
		read_page(req, o, size);
		return;
	}
	if (!tree_is_stream(o->file) || (fi->flags & O_NONBLOCK)) {
		read_now(req, o, size, off);
		return;
	}
	w = mem_zalloc(sizeof(*w));
	*w = (struct fuse_wait){ .face = face_of(req), .req = req, .open = o, .size = size };
	fuse_req_interrupt_func(req, on_interrupt, w);
	try_read(w);
}

static void answer_write(struct caller *c)
{
	fuse_reply_write(((struct fuse_call *)c)->req, (size_t)c->result);
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t n, off_t off, struct fuse_file_info *fi)
{
	struct fuse_face *f = face_of(req);
	struct fuse_open *o = open_of(fi);
	struct fuse_call call;
	ssize_t took;
	bool answered;

	hold_file(f, o);
	fuse_call_begin(&call, req, answer_write, (int64_t)n);
	took = tree_write(o->file, fuse_req_ctx(req)->pid, text, n, NULL);
	answered = caller_end(took);
	if (!answered && took < 0)
		fuse_reply_err(req, (int)-took);
	else if (!answered)
		fuse_reply_write(req, (size_t)took);
	close_file(f, o);
}

/* --- polls, and who wakes them ----------------------------------------------------------- */

static void do_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *poll)
{
	struct fuse_face *f = face_of(req);
	struct fuse_open *o = open_of(fi);
	struct fuse_pollhandle *old;

	pthread_mutex_lock(&f->lock);
	old = o->poll;
	o->poll = poll;
	pthread_mutex_unlock(&f->lock);
	if (old)
		fuse_pollhandle_destroy(old);
	fuse_reply_poll(req, (tree_ready(o->file) ? POLLIN | POLLRDNORM : 0) | POLLOUT | POLLWRNORM);
}

/* Who reads trace_pipe_raw in another thread is to stop: it is woken by other means. */
static void do_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned command, void *arg, struct fuse_file_info *fi, unsigned flags,
		     const void *in, size_t n_in, size_t n_out)
{
	if (tree_is_paged(open_of(fi)->file) && !command)
		fuse_reply_ioctl(req, 0, NULL, 0);
	else
		fuse_reply_err(req, ENOTTY);
}

void fuse_files_wake(void *face)
{
	struct fuse_face *f = face;

	pthread_mutex_lock(&f->lock);
	f->wakes++;
	pthread_cond_signal(&f->woken);
	pthread_mutex_unlock(&f->lock);
}

/* Locked; takes one away. */
static struct fuse_pollhandle *some_poll(struct fuse_face *f)
{
	for (struct fuse_open *o = f->opens; o; o = o->next) {
		struct fuse_pollhandle *poll = o->poll;

		o->poll = NULL;
		if (poll)
			return poll;
	}
	return NULL;
}

/* Locked, and unlocked for each call. Reads that wait again come to the front of the list, which is
 * taken whole first. */
static void serve_waiting(struct fuse_face *f)
{
	struct fuse_pollhandle *poll;
	VEC(struct fuse_wait *) waits = { 0 };

	while (f->waits) {
		*vec_add(&waits) = f->waits;
		unlist(f->waits);
	}
	while ((poll = some_poll(f))) {
		pthread_mutex_unlock(&f->lock);
		fuse_lowlevel_notify_poll(poll);
		fuse_pollhandle_destroy(poll);
		pthread_mutex_lock(&f->lock);
	}
	pthread_mutex_unlock(&f->lock);
	while (waits.n)
		try_read(waits.at[--waits.n]);
	vec_free(&waits);
	pthread_mutex_lock(&f->lock);
}

void *fuse_files_waker(void *face)
{
	struct fuse_face *f = face;
	unsigned served = 0;
	bool ended = false;

	pthread_mutex_lock(&f->lock);
	while (!ended) {
		while (f->wakes == served && !f->ended)
			pthread_cond_wait(&f->woken, &f->lock);
		served = f->wakes;
		ended = f->ended;
		serve_waiting(f);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* Readahead would ask for pages that there are none of yet. Nothing else here is read by the cache's asking. */
static void do_init(void *face, struct fuse_conn_info *conn)
{
	conn->max_readahead = 0;
}

void fuse_files_ops(struct fuse_lowlevel_ops *ops)
{
	ops->init = do_init;
	ops->open = do_open;
	ops->read = do_read;
	ops->write = do_write;
	ops->flush = do_flush;
	ops->release = do_release;
	ops->poll = do_poll;
	ops->ioctl = do_ioctl;
}
