/* SPDX-License-Identifier: MIT */
/* The nodes: making, finding, listing, removing. A node is held by its parent and by everyone who
 * found it, and holds its parent in turn, so that paths stay valid upwards. Removal sets `gone` and
 * breaks that circle (abandon). All of it happens under the tree's lock; the owner's `make` and
 * `remove` are called without it. */
#include "tree/tree.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tree/internal.h"

/* Makes a node with one hold, which goes to its parent when it is attached. The lock is taken for
 * the number alone: nobody else knows the node yet. */
static struct tree_node *node_new(struct tree *t, const char *name, mode_t mode,
				  struct tree_owner *owner)
{
	struct tree_node *n = mem_zalloc(sizeof(*n));

	n->tree = t;
	n->name = mem_strdup(name);
	n->mode = mode;
	n->uid = geteuid();
	n->gid = getegid();
	n->owner = owner;
	n->refs = 1;
	clock_gettime(CLOCK_REALTIME, &n->modified);
	n->accessed = n->modified;
	pthread_mutex_lock(&t->lock);
	n->ino = ++t->last_ino;
	pthread_mutex_unlock(&t->lock);
	return n;
}

struct tree *tree_new(struct tree_owner *owner)
{
	struct tree *t = mem_zalloc(sizeof(*t));
	pthread_condattr_t monotonic;

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	/* tree_wait_closed() must not be disturbed by a change of the wall clock. */
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->closed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&t->woken, NULL);
	t->root = node_new(t, "", S_IFDIR | 0700, owner);
	return t;
}

/* May free the parents, up to the root. */
static void node_free(struct tree_node *n)
{
	struct tree_node *parent = n->parent;

	vec_free(&n->children);
	free(n->name);
	free(n);
	if (parent)
		tree_put_locked(parent);
}

/* A parent is freed only after its children, because each child holds it. Hence dropping the last
 * hold on a removed file can free a directory that was removed long before. */
void tree_put_locked(struct tree_node *n)
{
	if (!--n->refs)
		node_free(n);
}

void tree_get(struct tree_node *n)
{
	pthread_mutex_lock(&n->tree->lock);
	n->refs++;
	pthread_mutex_unlock(&n->tree->lock);
}

void tree_put(struct tree_node *n)
{
	struct tree *t = n->tree;

	pthread_mutex_lock(&t->lock);
	tree_put_locked(n);
	pthread_mutex_unlock(&t->lock);
}

/* Breaks the circle of holds below n, from above: children hold their parents. The node itself may
 * live on, held by whoever found it. */
static void abandon_node(struct tree_node *n)
{
	n->gone = true;
	while (n->children.n) {
		struct tree_node *child = n->children.at[--n->children.n];

		abandon_node(child);
		tree_put_locked(child);
	}
}

/* The root's own hold is the last one, so that every node is freed before the lock is destroyed
 * (tree.h: no node is held any more). */
void tree_free(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	abandon_node(t->root);
	tree_put_locked(t->root);
	pthread_mutex_unlock(&t->lock);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->closed);
	pthread_cond_destroy(&t->woken);
	vec_free(&t->watchers);
	free(t);
}

struct tree_node *tree_root(struct tree *t)
{
	return t->root;
}

struct tree_owner *tree_node_owner(const struct tree_node *n)
{
	return n->owner;
}

/* --- building ----------------------------------------------------------------------- */

/* Searches by name, with the lock held; the result is not held. */
static struct tree_node *child_named(const struct tree_node *dir, const char *name)
{
	for (size_t i = 0; i < dir->children.n; i++)
		if (!strcmp(dir->children.at[i]->name, name))
			return dir->children.at[i];
	return NULL;
}

/* The parent's hold on n is the one that n was created with. */
static int attach_locked(struct tree_node *parent, struct tree_node *n)
{
	if (parent->gone)
		return -ENOENT;
	if (child_named(parent, n->name))
		return -EEXIST;
	n->parent = parent;
	parent->refs++;
	*vec_add(&parent->children) = n;
	return 0;
}

/* A node that cannot be attached is freed here, with everything below it, so that callers have
 * nothing to undo when another thread was faster. */
int tree_attach(struct tree_node *parent, struct tree_node *dir)
{
	struct tree *t = parent->tree;
	int e;

	pthread_mutex_lock(&t->lock);
	e = attach_locked(parent, dir);
	pthread_mutex_unlock(&t->lock);
	if (e)
		tree_discard(dir);
	return e;
}

/* The node has no parent yet: the hold that is dropped is the one of its making. */
void tree_discard(struct tree_node *dir)
{
	struct tree *t = dir->tree;

	pthread_mutex_lock(&t->lock);
	abandon_node(dir);
	tree_put_locked(dir);
	pthread_mutex_unlock(&t->lock);
}

struct tree_node *tree_dir_new(struct tree *t, const char *name, mode_t mode,
			       const struct tree_dir_ops *ops, struct tree_owner *owner)
{
	struct tree_node *n = node_new(t, name, S_IFDIR | mode, owner);

	n->dir_ops = ops;
	return n;
}

/* NULL: the name is in use or the parent was removed; the new node is freed then. The returned node
 * is held by its parent only. */
struct tree_node *tree_dir(struct tree_node *parent, const char *name, mode_t mode,
			   const struct tree_dir_ops *ops)
{
	struct tree_node *n = tree_dir_new(parent->tree, name, mode, ops, parent->owner);

	return tree_attach(parent, n) ? NULL : n;
}

struct tree_node *tree_file(struct tree_node *parent, const char *name, mode_t mode,
			    const struct tree_file_ops *ops, const void *arg)
{
	struct tree_node *n = node_new(parent->tree, name, S_IFREG | mode, parent->owner);

	n->ops = ops;
	n->arg = arg;
	return tree_attach(parent, n) ? NULL : n;
}

/* --- finding ------------------------------------------------------------------------ */

struct tree_node *tree_lookup(struct tree_node *dir, const char *name)
{
	struct tree_node *n;

	pthread_mutex_lock(&dir->tree->lock);
	n = child_named(dir, name);
	if (n)
		n->refs++;
	pthread_mutex_unlock(&dir->tree->lock);
	return n;
}

/* Goes down word by word and holds one node at a time. Empty words are skipped, so that "//" and a
 * slash at either end do no harm; "." and ".." are names like any other, and no node has them. */
struct tree_node *tree_find(struct tree *t, const char *path)
{
	struct tree_node *at = t->root;
	char *words = mem_strdup(path), *save = NULL;

	tree_get(at);
	for (char *word = strtok_r(words, "/", &save); word && at;
	     word = strtok_r(NULL, "/", &save)) {
		struct tree_node *next = tree_lookup(at, word);

		tree_put(at);
		at = next;
	}
	free(words);
	return at;
}

/* The pointer is not protected by the tree's lock; fuse_nodes.c has a lock of its own for it. */
void **tree_node_front(struct tree_node *n)
{
	return &n->front;
}

/* Counts links as Unix file systems do: two for a directory, and one for each directory in it. */
void tree_stat(const struct tree_node *n, struct stat *st)
{
	*st = (struct stat){ .st_ino = n->ino, .st_nlink = 1, .st_blksize = 4096 };
	pthread_mutex_lock(&n->tree->lock);
	st->st_mode = n->mode;
	st->st_uid = n->uid;
	st->st_gid = n->gid;
	st->st_atim = n->accessed;
	st->st_mtim = st->st_ctim = n->modified;
	if (S_ISDIR(n->mode))
		st->st_nlink = 2;
	for (size_t i = 0; i < n->children.n; i++)
		st->st_nlink += S_ISDIR(n->children.at[i]->mode);
	pthread_mutex_unlock(&n->tree->lock);
}

void tree_chmod(struct tree_node *n, mode_t mode)
{
	pthread_mutex_lock(&n->tree->lock);
	n->mode = (n->mode & S_IFMT) | (mode & 07777);
	pthread_mutex_unlock(&n->tree->lock);
}

void tree_chown(struct tree_node *n, uid_t uid, gid_t gid)
{
	pthread_mutex_lock(&n->tree->lock);
	if (uid != (uid_t)-1)
		n->uid = uid;
	if (gid != (gid_t)-1)
		n->gid = gid;
	pthread_mutex_unlock(&n->tree->lock);
}

void tree_utimes(struct tree_node *n, const struct timespec *accessed,
		 const struct timespec *modified)
{
	pthread_mutex_lock(&n->tree->lock);
	n->accessed = accessed ? *accessed : n->accessed;
	n->modified = modified ? *modified : n->modified;
	pthread_mutex_unlock(&n->tree->lock);
}

void tree_list(struct tree_node *dir, struct tree_list *out)
{
	*out = (struct tree_list){ 0 };
	pthread_mutex_lock(&dir->tree->lock);
	for (size_t i = 0; i < dir->children.n; i++) {
		const struct tree_node *n = dir->children.at[i];

		*vec_add(&out->entries) =
			(struct tree_entry){ mem_strdup(n->name), n->ino, n->mode };
	}
	pthread_mutex_unlock(&dir->tree->lock);
}

void tree_list_free(struct tree_list *l)
{
	for (size_t i = 0; i < l->entries.n; i++)
		free(l->entries.at[i].name);
	vec_free(&l->entries);
}

/* --- mkdir and rmdir ---------------------------------------------------------------- */

/* The look-up only gives a better sentence. Whether the name is free is decided in tree_attach(),
 * under the lock. */
int tree_mkdir(struct tree_node *dir, const char *name, struct err *err)
{
	struct tree_node *there;

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || strchr(name, '/'))
		return err_set(err, EINVAL, "'%s' is no name for a directory here", name);
	if (strlen(name) > NAME_MAX)
		return err_set(err, ENAMETOOLONG, "a name has %d bytes at most", NAME_MAX);
	there = tree_lookup(dir, name);
	/* A name that exists is told before a lack of permission, as by mkdir(2). */
	if (there) {
		tree_put(there);
		return err_set(err, EEXIST, "%s is there already", name);
	}
	if (!dir->dir_ops || !dir->dir_ops->make)
		return err_set(err, EPERM, "no directory can be made here");
	return dir->dir_ops->make(dir, name, err);
}

/* An absolute time, as pthread_cond_timedwait wants it: waits that begin again after a wake do not
 * grow. */
static struct timespec deadline_in(unsigned ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* Including parts of n, and the file that n is a part of. */
static bool is_in_use(const struct tree_node *n)
{
	return n->opens || n->parts || (n->whole && n->whole->opens);
}

void tree_set_whole(struct tree_node *part, struct tree_node *whole)
{
	part->whole = whole;
}

/* Waits for the next close. False: the time has come. Called with the lock held. */
static bool next_close(struct tree *t, const struct timespec *until)
{
	return !pthread_cond_timedwait(&t->closed, &t->lock, until);
}

/* After a timeout the state is looked at once more: the last close may have come between the
 * timeout and the lock. A caller that would not wait at all does not wait for closings either. */
bool tree_wait_closed(struct tree_node *n, unsigned patience_ms)
{
	struct timespec until = deadline_in(patience_ms), limit = deadline_in(TREE_CLOSING_MS);

	while (is_in_use(n) && next_close(n->tree, &until))
		;
	while (is_in_use(n) && patience_ms && n->tree->closings && next_close(n->tree, &limit))
		;
	return !is_in_use(n);
}

/* Waits until a count of the tree's is 0, which only closes make smaller. */
static void await_none(struct tree *t, const unsigned *count)
{
	struct timespec limit = deadline_in(TREE_CLOSING_MS);

	pthread_mutex_lock(&t->lock);
	while (*count && next_close(t, &limit))
		;
	pthread_mutex_unlock(&t->lock);
}

void tree_await_closings(struct tree *t)
{
	await_none(t, &t->closings);
}

void tree_await_acts(struct tree *t)
{
	await_none(t, &t->acting);
}

/* Takes the child out of its parent and drops the parent's hold. The order of the other children
 * stays, because listings show it. Called with the lock held. */
static void detach_child(struct tree_node *parent, struct tree_node *child)
{
	size_t i = 0;

	while (i < parent->children.n && parent->children.at[i] != child)
		i++;
	if (i == parent->children.n) /* the parent itself was removed meanwhile */
		return;
	memmove(&parent->children.at[i], &parent->children.at[i + 1],
		(--parent->children.n - i) * sizeof(*parent->children.at));
	abandon_node(child);
	tree_put_locked(child);
}

/* Closes or opens everything in and below n to new opens. Called with the lock held. */
static void set_gone(struct tree_node *n, bool gone)
{
	n->gone = gone;
	for (size_t i = 0; i < n->children.n; i++)
		set_gone(n->children.at[i], gone);
}

/* Removes the child: closes it to new opens, lets the owner decide without the lock, and detaches
 * it, or opens it again. */
static int remove_child(struct tree_node *dir, struct tree_node *child, unsigned patience_ms,
			struct err *err)
{
	struct tree *t = dir->tree;
	int e;

	pthread_mutex_lock(&t->lock);
	if (!tree_wait_closed(child, patience_ms) || child->gone) {
		e = child->gone ? ENOENT : EBUSY;
		pthread_mutex_unlock(&t->lock);
		return err_set(err, e, e == EBUSY ? "a file in it is open" : "it is gone");
	}
	set_gone(child, true);
	pthread_mutex_unlock(&t->lock);
	e = dir->dir_ops->remove(child, err);
	pthread_mutex_lock(&t->lock);
	/* The owner refused: the files can be opened again. */
	if (e)
		set_gone(child, false);
	else
		detach_child(dir, child);
	pthread_mutex_unlock(&t->lock);
	return e;
}

void tree_detach(struct tree_node *dir, const char *name)
{
	struct tree_node *child;

	pthread_mutex_lock(&dir->tree->lock);
	child = child_named(dir, name);
	if (child) {
		set_gone(child, true);
		detach_child(dir, child);
	}
	pthread_mutex_unlock(&dir->tree->lock);
}

int tree_rmdir(struct tree_node *dir, const char *name, unsigned patience_ms, struct err *err)
{
	struct tree_node *child = tree_lookup(dir, name);
	int e;

	if (!child)
		return err_set(err, ENOENT, "there is no %s", name);
	if (!S_ISDIR(child->mode))
		e = err_set(err, ENOTDIR, "%s is no directory", name);
	else if (!dir->dir_ops || !dir->dir_ops->remove)
		e = err_set(err, EPERM, "%s cannot be removed", name);
	else
		e = remove_child(dir, child, patience_ms, err);
	tree_put(child);
	return e;
}
