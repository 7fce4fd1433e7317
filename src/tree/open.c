/* SPDX-License-Identifier: MIT */
/* Open files: one write is one command, one reading is one text. FUSE's threads and commands call
 * these functions; each open file has a lock, under which its operations run one at a time. The
 * tree's lock protects counts of opens and wakes, and is not held while an operation runs. A closed
 * or foreign file is -EBADF; an operation's -errno goes to the caller. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "tree/internal.h"

/* An open file. `file` is what operations see of it. */
struct tree_open {
	struct tree_file file;
	pthread_mutex_t lock; /* serializes operations on this file */
	VEC(char) text;       /* the result of `show`, and a NUL */
	bool made, untouched; /* made: there is a text; untouched: nothing of it was read */
	bool ended;           /* its end was read; more lines may have come since */
	bool closing;         /* counted in the tree's closings; protected by the tree's lock */
};

/* O_WRONLY and O_RDWR; the access mode is a number in two bits, not a set of flags. */
static bool may_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

/* --- failures ----------------------------------------------------------------------- */

/* Writes the file's path below its owner's directory. */
static void location_of(const struct tree_node *n, char *out, size_t size)
{
	const struct tree_node *dir = n->parent;

	if (dir && dir->parent && dir->parent->owner == n->owner) {
		size_t used;

		location_of(dir, out, size);
		used = strlen(out);
		snprintf(out + used, size - used, "/%s", n->name);
	} else {
		snprintf(out, size, "%s", n->name);
	}
}

/* Gives every failed command a sentence, and tells the owner, whose error_log has it. */
static int log_failure(struct tree_open *o, int e, const char *text, size_t n, struct err *err)
{
	struct tree_owner *owner = o->file.owner;
	char location[256];

	if (!err->text[0])
		err_set(err, -e, "%s", strerror(-e));
	if (!owner || !owner->failed)
		return e;
	location_of(o->file.node, location, sizeof(location));
	owner->failed(owner, o->file.node->ops->location ? o->file.node->ops->location : location,
		      text, n, err);
	return e;
}

/* --- opening and closing ------------------------------------------------------------ */

/* Counts in all directories above, for rmdir. Called with the tree's lock held. */
static void count_opens(struct tree_node *n, int by)
{
	if (n->whole)
		n->whole->parts += (unsigned)by;
	for (; n; n = n->parent)
		n->opens += (unsigned)by;
}

/* 0; -ENOENT: the node was removed, before or during the wait; -EBUSY: an exclusive file stayed
 * open for patience_ms. Called with the tree's lock held, which tree_wait_closed() releases. */
static int wait_openable(struct tree_node *n, unsigned patience_ms)
{
	if (n->gone)
		return -ENOENT;
	if (n->ops->exclusive && !tree_wait_closed(n, patience_ms))
		return -EBUSY;
	/* The wait released the lock: the node may have been removed. */
	return n->gone ? -ENOENT : 0;
}

/* Counts the open and holds the node, so that neither rmdir nor another exclusive open can pass.
 * free_open_file() undoes both. 0, or -errno and *err. */
static int reserve_node(struct tree_node *n, unsigned patience_ms, struct err *err)
{
	int e;

	if (!n->ops)
		return err_set(err, EISDIR, "%s is no file", n->name);
	pthread_mutex_lock(&n->tree->lock);
	e = wait_openable(n, patience_ms);
	if (!e) {
		n->refs++;
		count_opens(n, 1);
	}
	pthread_mutex_unlock(&n->tree->lock);
	return e ? err_set(err, -e, e == -EBUSY ? "%s is open already" : "%s is gone", n->name) : 0;
}

/* Frees the open file before the node is released: a remover that waits for the close goes on right
 * after, and takes the owner away. */
static void free_open_file(struct tree_open *o)
{
	struct tree_node *n = o->file.node;
	struct tree *t = n->tree;

	bool closing = o->closing, acting = closing && n->ops->acts_at_close;

	pthread_mutex_destroy(&o->lock);
	vec_free(&o->text);
	free(o);
	pthread_mutex_lock(&t->lock);
	t->closings -= closing;
	t->acting -= acting;
	count_opens(n, -1);
	pthread_cond_broadcast(&t->closed);
	tree_put_locked(n);
	pthread_mutex_unlock(&t->lock);
}

/* `open`, then `truncate` for O_TRUNC. */
static int begin_open(struct tree_open *o, struct err *err)
{
	const struct tree_file_ops *ops = o->file.node->ops;
	int e = ops->open ? ops->open(&o->file, err) : 0;

	if (e || !ops->truncate || !may_write(o->file.flags) || !(o->file.flags & O_TRUNC))
		return e;
	e = ops->truncate(&o->file, err);
	if (!e)
		return 0;
	log_failure(o, e, "", 0, err);
	if (caller_is_answered()) /* it has the file open already */
		return 0;
	if (ops->release)
		ops->release(&o->file);
	return e;
}

int tree_open(struct tree_node *n, int flags, pid_t thread, unsigned patience_ms,
	      struct tree_open **out, struct err *err)
{
	struct err own = { 0 };
	struct tree_open *o;
	int e = reserve_node(n, patience_ms, err);

	if (e)
		return e;
	o = mem_zalloc(sizeof(*o));
	o->file = (struct tree_file){ n, n->owner, n->arg, flags, thread, NULL, false };
	pthread_mutex_init(&o->lock, NULL);
	*out = o; /* a caller that is answered before the change is made has it open by then */
	e = begin_open(o, &own);
	if (e) {
		if (err)
			*err = own;
		*out = NULL;
		free_open_file(o);
	}
	return e;
}

/* A flush can carry out what was written (lists of functions), so that its failure is logged like a
 * write's: with the text that the error refers to. */
int tree_flush(struct tree_open *o, struct err *err)
{
	const struct tree_file_ops *ops = o->file.node->ops;
	struct err own = { 0 };
	int e;

	if (!ops->flush || !may_write(o->file.flags))
		return 0;
	pthread_mutex_lock(&o->lock);
	o->file.told = false;
	e = ops->flush(&o->file, &own);
	if (e && !o->file.told)
		log_failure(o, e, own.input, strlen(own.input), &own);
	pthread_mutex_unlock(&o->lock);
	if (err)
		*err = own;
	return e;
}

/* The flush is for callers that have made none. Its failure is logged; nobody is left who could be
 * told. */
void tree_close(struct tree_open *o)
{
	const struct tree_file_ops *ops = o->file.node->ops;

	tree_flush(o, NULL);
	if (ops->release)
		ops->release(&o->file);
	free_open_file(o);
}

void tree_closing(struct tree_open *o)
{
	struct tree *t = o->file.node->tree;

	pthread_mutex_lock(&t->lock);
	if (!o->closing) {
		t->closings++;
		t->acting += o->file.node->ops->acts_at_close;
	}
	o->closing = true;
	pthread_mutex_unlock(&t->lock);
}

/* --- reading ------------------------------------------------------------------------ */

/* An out.flush function. */
static int keep_bytes(void *arg, const char *bytes, size_t n)
{
	struct tree_open *o = arg;

	vec_reserve(&o->text, o->text.n + n + 1);
	memcpy(o->text.at + o->text.n, bytes, n);
	o->text.n += n;
	return 0;
}

/* Runs `show` anew. */
static int make_text(struct tree_open *o, struct err *err)
{
	struct out out;
	int e;

	o->text.n = 0;
	out_init_raw(&out, keep_bytes, o);
	e = o->file.node->ops->show(&o->file, &out, err);
	if (!e)
		e = out_flush(&out);
	out_free(&out);
	if (e)
		return e;
	vec_reserve(&o->text, o->text.n + 1);
	o->text.at[o->text.n] = '\0';
	o->made = o->untouched = true;
	return 0;
}

/* Makes the text if there is none, or if reading begins again: the kernel's files show the present
 * state then. */
static int need_text(struct tree_open *o, bool from_start, struct err *err)
{
	return o->made && (!from_start || o->untouched) ? 0 : make_text(o, err);
}

/* Length of the lines that begin with #, which change with what follows. */
static size_t comment_length(const char *text)
{
	const char *at = text;

	while (*at == '#')
		at += strcspn(at, "\n") + (strchr(at, '\n') != NULL);
	return (size_t)(at - text);
}

/* Appends lines that were added since, if the text still begins as it did. Offsets that were read
 * stay valid. */
static int grow_text(struct tree_open *o, struct err *err)
{
	char *was = mem_strndup(o->text.at, o->text.n);
	size_t head = comment_length(was), n = o->text.n - head, used = o->text.n, now;
	int e = make_text(o, err);

	if (e) {
		free(was);
		return e;
	}
	now = comment_length(o->text.at);
	if (o->text.n - now >= n && !memcmp(o->text.at + now, was + head, n)) {
		memmove(o->text.at, o->text.at + now + n, o->text.n - now - n);
		o->text.n -= now + n;
	} else {
		/* The text was cleared or has lost lines: nothing can be appended. */
		o->text.n = 0;
	}
	vec_reserve(&o->text, used + o->text.n + 1);
	memmove(o->text.at + used, o->text.at, o->text.n);
	memcpy(o->text.at, was, used);
	o->text.n += used;
	o->text.at[o->text.n] = '\0';
	o->untouched = false;
	free(was);
	return 0;
}

/* The text is made for a read at 0 and kept for those behind it, as seq_file does. A reader that
 * has seen the end and asks again (`tail -f`) gets lines that were added, if the file grows. */
static ssize_t read_text(struct tree_open *o, char *buf, size_t n, size_t at, struct err *err)
{
	int e = need_text(o, !at, err);

	if (e)
		return e;
	o->untouched = false;
	if (at == o->text.n && o->ended && (e = grow_text(o, err)) != 0)
		return e;
	o->ended = at >= o->text.n && o->file.node->ops->grows;
	if (at >= o->text.n)
		return 0;
	if (n > o->text.n - at)
		n = o->text.n - at;
	memcpy(buf, o->text.at + at, n);
	return (ssize_t)n;
}

/* A file with `show` has a text and offsets; any other reads as a stream. */
bool tree_is_stream(const struct tree_open *o)
{
	return !o->file.node->ops->show;
}

bool tree_is_paged(const struct tree_open *o)
{
	return o->file.node->ops->paged;
}

void tree_set_nonblock(struct tree_open *o, bool nonblock)
{
	pthread_mutex_lock(&o->lock);
	o->file.flags = nonblock ? o->file.flags | O_NONBLOCK : o->file.flags & ~O_NONBLOCK;
	pthread_mutex_unlock(&o->lock);
}

/* The offset is tree_open's business only for texts: a stream goes on where the last read ended. */
ssize_t tree_read(struct tree_open *o, char *buf, size_t n, off_t at, struct err *err)
{
	const struct tree_file_ops *ops = o->file.node->ops;
	ssize_t got;

	if ((o->file.flags & O_ACCMODE) == O_WRONLY || (!ops->show && !ops->stream) || at < 0)
		return err_set(err, EINVAL, "%s cannot be read", o->file.node->name);
	pthread_mutex_lock(&o->lock);
	got = ops->stream ? ops->stream(&o->file, buf, n, err)
			  : read_text(o, buf, n, (size_t)at, err);
	pthread_mutex_unlock(&o->lock);
	return got;
}

int tree_text(struct tree_open *o, const char **text, size_t *n, struct err *err)
{
	int e;

	if (!o->file.node->ops->show)
		return err_set(err, EINVAL, "%s has no text", o->file.node->name);
	pthread_mutex_lock(&o->lock);
	e = need_text(o, true, err);
	*text = e ? NULL : o->text.at;
	*n = e ? 0 : o->text.n;
	pthread_mutex_unlock(&o->lock);
	return e;
}

/* Files without `ready` always have something to say. */
bool tree_ready(struct tree_open *o)
{
	const struct tree_file_ops *ops = o->file.node->ops;
	bool ready;

	if (!ops->ready)
		return true;
	pthread_mutex_lock(&o->lock);
	ready = ops->ready(&o->file);
	pthread_mutex_unlock(&o->lock);
	return ready;
}

/* --- writing ------------------------------------------------------------------------ */

/* A refusal by open mode is the caller's mistake and not a command's: only what `write` refuses
 * goes to the error_log. */
ssize_t tree_write(struct tree_open *o, pid_t thread, const char *text, size_t n, struct err *err)
{
	const struct tree_file_ops *ops = o->file.node->ops;
	struct err own = { 0 };
	char *command;
	ssize_t took;

	if (!may_write(o->file.flags))
		return err_set(err, EBADF, "%s is not open for writing", o->file.node->name);
	if (!ops->write)
		return err_set(err, EINVAL, "%s can only be read", o->file.node->name);
	/* Operations get a NUL-terminated copy, which they may not keep. */
	command = mem_realloc(NULL, n + 1, 1);
	memcpy(command, text, n);
	command[n] = '\0';
	pthread_mutex_lock(&o->lock);
	o->file.thread = thread;
	o->file.told = false;
	took = ops->write(&o->file, command, n, &own);
	if (took < 0 && !o->file.told)
		log_failure(o, (int)took, command, n, &own);
	pthread_mutex_unlock(&o->lock);
	free(command);
	if (err)
		*err = own;
	return took;
}

int tree_ioctl(struct tree_open *o, pid_t thread, unsigned command, uint64_t argument,
	       struct err *err)
{
	const struct tree_file_ops *ops = o->file.node->ops;
	struct err own = { 0 };
	int r;

	if (!ops->ioctl)
		return err_set(err, ENOTTY, "%s has no requests", o->file.node->name);
	pthread_mutex_lock(&o->lock);
	o->file.thread = thread;
	r = ops->ioctl(&o->file, command, argument, &own);
	/* Without a sentence it is a matter of course, which programs try. */
	if (r < 0 && own.text[0])
		log_failure(o, r, own.input, strlen(own.input), &own);
	pthread_mutex_unlock(&o->lock);
	if (err)
		*err = own;
	return r;
}

/* --- waiting ------------------------------------------------------------------------ */

/* Calls the watchers. Called with the lock held, so that tree_unwatch cannot return while its
 * watcher is called. */
static void tell_change(struct tree *t)
{
	pthread_cond_broadcast(&t->woken);
	for (size_t i = 0; i < t->watchers.n; i++)
		t->watchers.at[i].woken(t->watchers.at[i].arg);
}

/* All waiters of the tree are woken, and each looks whether its own count has changed. */
void tree_wake(struct tree_node *n)
{
	pthread_mutex_lock(&n->tree->lock);
	n->wakes++;
	tell_change(n->tree);
	pthread_mutex_unlock(&n->tree->lock);
}

/* Wakes of the node and of everything above it: a directory's wake counts for its files. Called
 * with the lock held. */
static unsigned count_wakes(const struct tree_node *n)
{
	unsigned wakes = 0;

	for (; n; n = n->parent)
		wakes += n->wakes;
	return wakes;
}

unsigned tree_wakes(const struct tree_node *n)
{
	unsigned wakes;

	pthread_mutex_lock(&n->tree->lock);
	wakes = count_wakes(n);
	pthread_mutex_unlock(&n->tree->lock);
	return wakes;
}

bool tree_wait(struct tree_node *n, unsigned wakes)
{
	struct tree *t = n->tree;
	bool goes_on;

	pthread_mutex_lock(&t->lock);
	while (count_wakes(n) == wakes && !t->ended)
		pthread_cond_wait(&t->woken, &t->lock);
	goes_on = !t->ended;
	pthread_mutex_unlock(&t->lock);
	return goes_on;
}

/* Never taken back: who waits now or later returns at once. */
void tree_end(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	tell_change(t);
	pthread_mutex_unlock(&t->lock);
}

void tree_watch(struct tree *t, void (*woken)(void *arg), void *arg)
{
	pthread_mutex_lock(&t->lock);
	*vec_add(&t->watchers) = (struct tree_watcher){ woken, arg };
	pthread_mutex_unlock(&t->lock);
}

void tree_unwatch(struct tree *t, void *arg)
{
	size_t kept = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->watchers.n; i++)
		if (t->watchers.at[i].arg != arg)
			t->watchers.at[kept++] = t->watchers.at[i];
	t->watchers.n = kept;
	pthread_mutex_unlock(&t->lock);
}

/* --- by path ------------------------------------------------------------------------ */

/* For callers within brace: no thread, and no patience with an exclusive file. The open file holds
 * the node from here on. */
static int open_path(struct tree *t, const char *path, int flags, struct tree_open **out,
		     struct err *err)
{
	struct tree_node *n = tree_find(t, path);
	int e;

	if (!n)
		return err_set(err, ENOENT, "there is no file %s", path);
	e = tree_open(n, flags, 0, 0, out, err);
	tree_put(n);
	return e;
}

/* Reads a text to its end, or what a stream has now. */
static int collect_text(struct tree_open *o, char **out, struct err *err)
{
	VEC(char) all = { 0 };
	ssize_t got = 0;

	do {
		all.n += (size_t)got;
		vec_reserve(&all, all.n + 65536);
		got = tree_read(o, all.at + all.n, 65535, (off_t)all.n, err);
	} while (got > 0);
	if (got < 0 && got != -EAGAIN) {
		vec_free(&all);
		return (int)got;
	}
	all.at[all.n] = '\0';
	*out = all.at;
	return 0;
}

/* collect_text() leaves `text` NULL when a read fails. */
char *tree_cat(struct tree *t, const char *path, struct err *err)
{
	struct tree_open *o;
	char *text = NULL;

	if (open_path(t, path, O_RDONLY, &o, err))
		return NULL;
	collect_text(o, &text, err);
	tree_close(o);
	return text;
}

int tree_echo(struct tree *t, const char *path, const char *text, bool append, struct err *err)
{
	/* With a newline, like the shell's echo. */
	char *line = mem_printf("%s\n", text);
	size_t n = strlen(line), done = 0;
	struct tree_open *o = NULL;
	int e = open_path(t, path, O_WRONLY | (append ? O_APPEND : O_TRUNC), &o, err);

	while (!e && done < n) {
		ssize_t took = tree_write(o, 0, line + done, n - done, err);

		/* A write that takes nothing would loop. */
		e = took < 0 ? (int)took : took ? 0 : -EIO;
		done += (size_t)(took > 0 ? took : 0);
	}
	if (!e)
		e = tree_flush(o, err);
	if (o)
		tree_close(o);
	free(line);
	return e;
}
