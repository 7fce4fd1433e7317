/* SPDX-License-Identifier: MIT */
/* Open files, and reads and polls that wait for data. Requests arrive on the workers' threads;
 * fuse_files_waker has a thread of its own. f->lock protects the lists of opens and waits and is
 * released around every call of the tree or of libfuse. A fuse_open lives until its last hold is
 * gone: the kernel's, and those of requests that are answered before they are finished
 * (base/caller.h). An operation's -errno is the caller's answer. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tree/fuse_internal.h"

/* Size of a file of pages. splice(2) looks at the page cache, up to the size that stat tells. With
 * this size the kernel asks for each page that is not there. It never is, because reading goes only
 * forward. */
#define PAGED_SIZE (UINT64_C(1) << 52)
/* Size of a stream that has no pages: two pages, the first of which splice(2) asks for. It is
 * refused, so that the program falls back to read(2), and does not take the file for an empty
 * one. */
#define STREAM_SIZE (2 * TREE_PAGE)
/* Texts longer than this are not put into the page cache: a program that reads so much uses
 * read(2). */
#define STORED_MAX (16u << 20)

/* A read that waits for data. Owned by f->waits while listed, else by the thread that handles
 * it. */
struct fuse_wait {
	struct fuse_wait *prev, *next; /* in mount->waits while `listed` */
	struct fuse_mount *mount;
	fuse_req_t req;
	struct fuse_open *open;
	size_t size;
	bool listed, interrupted;
};

static struct fuse_mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The kernel keeps our pointer as its handle, from open to release. */
static struct fuse_open *open_of(const struct fuse_file_info *fi)
{
	return (struct fuse_open *)(uintptr_t)fi->fh;
}

/* --- opening ------------------------------------------------------------------------ */

/* Puts the file's text into the page cache, where sendfile and splice take it from, up to the size
 * that stat tells. 0, or -errno of making the text. */
static int store_text(struct fuse_mount *f, fuse_ino_t ino, struct tree_open *o,
		      struct fuse_file_info *fi)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(0);
	const char *text;
	size_t n;
	int e = tree_text(o, &text, &n, NULL);

	if (e || !n || n > STORED_MAX)
		return e;
	/* Before the reply: stat may follow the open at once. Relaxed, as the load in
	 * reply_attr(). */
	atomic_store_explicit(&fuse_inode_of(f, ino)->stored, n, memory_order_relaxed);
	buf.buf[0].size = n;
	buf.buf[0].mem = (void *)text;
	fi->keep_cache = !fuse_lowlevel_notify_store(f->session, ino, 0, &buf, 0);
	return 0;
}

/* Tells the kernel the file's size by storing its last byte: it takes the size from the latest
 * store. The first page stays absent. */
static void store_size(struct fuse_mount *f, fuse_ino_t ino, struct fuse_file_info *fi, size_t size)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(1);
	char last = 0;

	/* Relaxed, as the load in reply_attr(). */
	atomic_store_explicit(&fuse_inode_of(f, ino)->stored, size, memory_order_relaxed);
	buf.buf[0].mem = &last;
	fi->keep_cache = !fuse_lowlevel_notify_store(f->session, ino, (off_t)size - 1, &buf, 0);
}

/* Adds the file to f->opens, with the kernel's hold. */
static void keep_open(struct fuse_mount *f, struct fuse_open *o)
{
	pthread_mutex_lock(&f->lock);
	o->holds++;
	o->next = f->opens;
	if (o->next)
		o->next->prev = o;
	f->opens = o;
	pthread_mutex_unlock(&f->lock);
}

/* Adds a hold, for a request whose caller is answered before the work is finished: the caller may
 * close the file, or end. */
static void hold_file(struct fuse_mount *f, struct fuse_open *o)
{
	pthread_mutex_lock(&f->lock);
	o->holds++;
	pthread_mutex_unlock(&f->lock);
}

/* Drops a hold; true: it was the last. Called with f->lock held. */
static bool drop_hold(struct fuse_mount *f, struct fuse_open *o)
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

/* Reads that wait hold the file, too: the last holder frees it, which may be after the kernel's
 * release. */
static void close_file(struct fuse_mount *f, struct fuse_open *o)
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

/* After the threads have ended: an unmounted file system gets no release for what was open. */
void fuse_files_close_all(struct fuse_mount *f)
{
	while (f->opens)
		close_file(f, f->opens);
}

/* An open that is in progress. */
struct fuse_opening {
	struct fuse_call call;
	struct fuse_file_info *fi;
	struct fuse_open *open;
};

/* Replies; from here on the kernel closes the file. */
static void reply_open(struct fuse_opening *o)
{
	struct fuse_mount *f = mount_of(o->call.req);

	keep_open(f, o->open);
	o->fi->fh = (uintptr_t)o->open;
	o->fi->direct_io = 1;
	o->fi->nonseekable = tree_is_stream(o->open->file);
	/* The caller was interrupted: nobody will release the file. */
	if (fuse_reply_open(o->call.req, o->fi) == -ENOENT)
		close_file(f, o->open);
}

/* The early answer: open() returns to a thread of the traced program before O_TRUNC has its
 * effect. */
static void answer_open(struct caller *c)
{
	struct fuse_opening *o = (struct fuse_opening *)c;

	o->open->holds = 1; /* do_open()'s hold */
	reply_open(o);
}

static int open_node(struct fuse_mount *f, fuse_req_t req, fuse_ino_t ino,
		     struct fuse_file_info *fi, struct tree_open **out)
{
	int e = tree_open(fuse_inode_of(f, ino)->node, fi->flags, fuse_req_ctx(req)->pid,
			  FUSE_PATIENCE_MS, out, NULL);

	if (e)
		return e;
	/* Only for readers: a list being written has no text to splice. */
	if ((fi->flags & O_ACCMODE) == O_RDONLY && !tree_is_stream(*out))
		e = store_text(f, ino, *out, fi);
	if (e)
		tree_close(*out);
	else if ((fi->flags & O_ACCMODE) != O_WRONLY && tree_is_stream(*out))
		store_size(f, ino, fi, tree_is_paged(*out) ? PAGED_SIZE : STREAM_SIZE);
	return e;
}

/* Opening may change the program whose thread is asking: then it has had its early answer
 * (base/caller.h), and only this function's own hold is given back. */
static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fuse_mount *f = mount_of(req);
	struct fuse_opening o = { .fi = fi };
	int e;

	if (!fuse_caller_ok(req))
		return;
	tree_await_acts(f->tree);
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

/* Reports no failure: it is in the error_log, and close(2) on tracefs does not fail either. */
static void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fuse_mount *f = mount_of(req);
	struct fuse_open *o = open_of(fi);
	struct fuse_call call;

	hold_file(f, o);
	fuse_call_begin(&call, req, fuse_answer_done, 0);
	tree_flush(o->file, NULL);
	if (!caller_end(0))
		fuse_reply_err(req, 0);
	close_file(f, o);
}

/* The kernel queues a RELEASE before close(2) returns and waits for no answer, so that what the
 * closer does next may be served first, by another worker. A RELEASE is small and hence in memory;
 * the kernel wrote it, and its fh is the one that reply_open() gave. */
void fuse_files_received(const struct fuse_buf *buf)
{
	struct {
		struct fuse_in_header header;
		struct fuse_release_in release;
	} in;

	if ((buf->flags & FUSE_BUF_IS_FD) || buf->size < sizeof(in))
		return;
	memcpy(&in, buf->mem, sizeof(in));
	if (in.header.opcode == FUSE_RELEASE)
		tree_closing(((struct fuse_open *)(uintptr_t)in.release.fh)->file);
}

static void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	close_file(mount_of(req), open_of(fi));
	fuse_reply_err(req, 0);
}

/* --- reads that wait ---------------------------------------------------------------- */

/* The caller holds the mount's lock. */
static void unlist_wait(struct fuse_wait *w)
{
	if (w->prev)
		w->prev->next = w->next;
	else
		w->mount->waits = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->listed = false;
}

static void answer_read(fuse_req_t req, const char *buf, ssize_t got)
{
	if (got < 0)
		fuse_reply_err(req, (int)-got);
	else
		fuse_reply_buf(req, buf, (size_t)got);
}

/* Called by libfuse, which holds the request's lock, when the reader got a signal. Answers if the
 * read is waiting; a thread that is just reading for it sees `interrupted`. */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct fuse_wait *w = arg;
	bool mine;

	pthread_mutex_lock(&w->mount->lock);
	w->interrupted = true;
	mine = w->listed;
	if (mine)
		unlist_wait(w);
	pthread_mutex_unlock(&w->mount->lock);
	if (!mine)
		return;
	fuse_reply_err(req, EINTR);
	free(w);
}

/* Answers and frees w. No interrupt can use w after the first line. */
static void finish_wait(struct fuse_wait *w, const char *buf, ssize_t got)
{
	fuse_req_interrupt_func(w->req, NULL, NULL);
	answer_read(w->req, buf, got);
	free(w);
}

/* Puts the read on the list of waits. False: there was a wake since `wakes`, or it must not
 * wait. */
static bool wait_on(struct fuse_wait *w, unsigned wakes)
{
	struct fuse_mount *f = w->mount;
	bool waits;

	pthread_mutex_lock(&f->lock);
	/* Compared under the lock that fuse_files_wake takes: a wake between the read and here is
	 * not missed. */
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

/* Why the read must not wait: -EINTR, 0 (the end), or -EAGAIN: it may. */
static ssize_t given_up(struct fuse_wait *w)
{
	ssize_t how;

	pthread_mutex_lock(&w->mount->lock);
	how = w->interrupted ? -EINTR : w->mount->ended ? 0 : -EAGAIN;
	pthread_mutex_unlock(&w->mount->lock);
	return how;
}

/* Reads, or waits to be called again by serve_waiting(). */
static void try_read(struct fuse_wait *w)
{
	char *buf = mem_zalloc(w->size + 1);
	ssize_t got;

	for (;;) {
		unsigned wakes;

		pthread_mutex_lock(&w->mount->lock);
		wakes = w->mount->wakes;
		pthread_mutex_unlock(&w->mount->lock);
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
	finish_wait(w, buf, got);
	free(buf);
}

static void read_now(fuse_req_t req, struct fuse_open *o, size_t size, off_t off)
{
	char *buf = mem_zalloc(size + 1);

	answer_read(req, buf, tree_read(o->file, buf, size, off, NULL));
	free(buf);
}

/* Whether the page cache asks, for splice(2): only read(2) has a lock owner. Such a request must
 * not wait, because it would hold up what the caller has got already. */
static bool is_for_cache(const struct fuse_open *o, const struct fuse_file_info *fi)
{
	return tree_is_stream(o->file) && !fi->lock_owner;
}

/* For splice(): a page of the buffer as a whole, never a part. */
static void read_page(fuse_req_t req, struct fuse_open *o, size_t size)
{
	if (!tree_is_paged(o->file))
		fuse_reply_err(req, EINVAL); /* like a file that cannot be spliced */
	else if (size == TREE_PAGE)
		read_now(req, o, size, 0);
	else
		fuse_reply_err(req, EAGAIN); /* then it asks for one */
}

/* A stream's read may wait for hours: it is put aside with its request, and the thread serves
 * others. */
static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct fuse_open *o = open_of(fi);
	struct fuse_wait *w;

	/* fcntl() is not reported: each request carries the flags. */
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
	*w = (struct fuse_wait){ .mount = mount_of(req), .req = req, .open = o, .size = size };
	/* After w is complete: the handler may run at once. */
	fuse_req_interrupt_func(req, on_interrupt, w);
	try_read(w);
}

static void answer_write(struct caller *c)
{
	fuse_reply_write(((struct fuse_call *)c)->req, (size_t)c->result);
}

/* A write may change hooks, for which the caller itself is stopped: answered before
 * (fuse_call_begin). */
static void do_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t n, off_t off,
		     struct fuse_file_info *fi)
{
	struct fuse_mount *f = mount_of(req);
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

/* The handle is the kernel's way to be told later; it sends a new one with each poll, and the old
 * one is ours to destroy. */
static void do_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *poll)
{
	struct fuse_mount *f = mount_of(req);
	struct fuse_open *o = open_of(fi);
	struct fuse_pollhandle *old;

	/* Set before the file is asked, so that data that comes in between is reported. */
	pthread_mutex_lock(&f->lock);
	old = o->poll;
	o->poll = poll;
	pthread_mutex_unlock(&f->lock);
	if (old)
		fuse_pollhandle_destroy(old);
	fuse_reply_poll(req,
			(tree_ready(o->file) ? POLLIN | POLLRDNORM : 0) | POLLOUT | POLLWRNORM);
}

/* trace-cmd's ioctl 0 wakes readers of trace_pipe_raw in the kernel. Here they are woken by other
 * means. Other requests are the file's. The kernel has copied as many bytes as the command tells;
 * the file reads what its caller means at the argument, an address. */
static void do_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned command, void *arg,
		     struct fuse_file_info *fi, unsigned flags, const void *in, size_t n_in,
		     size_t n_out)
{
	struct fuse_open *o = open_of(fi);
	int r;

	if (tree_is_paged(o->file) && !command) {
		fuse_reply_ioctl(req, 0, NULL, 0);
		return;
	}
	r = tree_ioctl(o->file, fuse_req_ctx(req)->pid, command, (uintptr_t)arg, NULL);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_ioctl(req, r, NULL, 0);
}

/* Whether anybody is to be told. Called with f->lock held. */
static bool has_waiting(const struct fuse_mount *f)
{
	for (const struct fuse_open *o = f->opens; o; o = o->next)
		if (o->poll)
			return true;
	return f->waits;
}

/* Called by the tree, under its lock: only counts and signals. A record wakes, and a program waits
 * for each that it writes: the waker's thread is woken only for somebody. Who begins to wait
 * meanwhile sees another f->wakes, or the data. */
void fuse_files_wake(void *mount)
{
	struct fuse_mount *f = mount;

	pthread_mutex_lock(&f->lock);
	f->wakes++;
	if (has_waiting(f))
		pthread_cond_signal(&f->woken);
	pthread_mutex_unlock(&f->lock);
}

/* Takes one poll handle off an open file. Called with f->lock held. */
static struct fuse_pollhandle *some_poll(struct fuse_mount *f)
{
	for (struct fuse_open *o = f->opens; o; o = o->next) {
		struct fuse_pollhandle *poll = o->poll;

		o->poll = NULL;
		if (poll)
			return poll;
	}
	return NULL;
}

/* Answers polls, and lets waiting reads try again. Called with f->lock held, which it releases
 * around each call. Reads that wait again are put on the list anew, so that the list is emptied
 * first. */
static void serve_waiting(struct fuse_mount *f)
{
	struct fuse_pollhandle *poll;
	VEC(struct fuse_wait *) waits = { 0 };

	while (f->waits) {
		*vec_add(&waits) = f->waits;
		unlist_wait(f->waits);
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

/* The waker's thread: one round for any number of wakes since the last. */
void *fuse_files_waker(void *mount)
{
	struct fuse_mount *f = mount;
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

/* Disables readahead, which would ask for pages that do not exist yet. No other file here is read
 * through the cache. */
static void do_init(void *mount, struct fuse_conn_info *conn)
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
