/* SPDX-License-Identifier: MIT */
/* Names, attributes, directories. Requests arrive on the workers' threads. The kernel caches
 * nothing (timeouts are 0), because a write to one file can make others appear. inodes_lock
 * protects the inodes of all mounts, since a node's inodes of several mounts are linked.
 * fuse_mount.c has the table of requests. A refused request is its -errno. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/statvfs.h>

#include "tree/fuse_internal.h"

/* libfuse hands the session's userdata to every request. */
static struct fuse_mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* An inode number is the address of the struct: the kernel gives back only numbers that it got from
 * a look-up and has not forgotten. The root has a number of FUSE's own. */
struct fuse_inode *fuse_inode_of(struct fuse_mount *f, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &f->root : (struct fuse_inode *)(uintptr_t)ino;
}

/* The tree's files act on programs in the mounting user's name: only that user and root may use
 * them. False: the request has been answered. */
bool fuse_caller_ok(fuse_req_t req)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	if (!uid || uid == mount_of(req)->uid)
		return true;
	fuse_reply_err(req, EACCES);
	return false;
}

/* Not held here: the inode holds it until the kernel forgets the inode, which it does not while a
 * request on it is open. */
static struct tree_node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	return fuse_inode_of(mount_of(req), ino)->node;
}

/* --- looking up and forgetting ------------------------------------------------------- */

/* The mount's list is for the end, when all inodes are forgotten at once. Both functions are called
 * with inodes_lock held. */
static void list_inode(struct fuse_mount *f, struct fuse_inode *i)
{
	i->next = f->inodes;
	if (i->next)
		i->next->prev = i;
	f->inodes = i;
}

/* The caller holds the mount's lock. */
static void unlist_inode(struct fuse_mount *f, struct fuse_inode *i)
{
	if (i->prev)
		i->prev->next = i->next;
	else
		f->inodes = i->next;
	if (i->next)
		i->next->prev = i->prev;
}

/* Protects the inodes of all mounts. */
static pthread_mutex_t inodes_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the mount's inode of the directory is linked, or would be: the end of the list. Called with
 * inodes_lock held. */
static void **find_inode_link(struct fuse_mount *f, struct tree_node *n)
{
	void **at = tree_node_front(n);

	for (struct fuse_inode *i; (i = *at) && i->mount != f;)
		at = &i->of_others;
	return at;
}

/* Returns the mount's inode of the node, with one more look-up. Takes over the hold on the node. */
static struct fuse_inode *inode_for(struct fuse_mount *f, struct tree_node *n, bool dir)
{
	struct fuse_inode *i;
	void **place = NULL;

	pthread_mutex_lock(&inodes_lock);
	if (dir)
		place = find_inode_link(f, n);
	i = dir ? *place : NULL;
	if (!i) {
		i = mem_zalloc(sizeof(*i));
		i->node = n;
		i->mount = f;
		n = NULL;
		list_inode(f, i);
		if (dir)
			*place = i;
	}
	i->lookups++;
	pthread_mutex_unlock(&inodes_lock);
	if (n)
		tree_put(n);
	return i;
}

/* Drops `times` look-ups; the last frees the inode. */
static void forget_inode(struct fuse_mount *f, fuse_ino_t ino, uint64_t times)
{
	struct fuse_inode *i = fuse_inode_of(f, ino);
	void **place;
	bool last;

	if (i == &f->root)
		return;
	pthread_mutex_lock(&inodes_lock);
	/* The kernel's count cannot exceed ours, unless a hostile connection sends it. */
	i->lookups -= times < i->lookups ? times : i->lookups;
	last = !i->lookups;
	place = find_inode_link(f, i->node);
	if (last && *place == i)
		*place = i->of_others;
	if (last)
		unlist_inode(f, i);
	pthread_mutex_unlock(&inodes_lock);
	if (!last)
		return;
	tree_put(i->node);
	free(i);
}

/* Takes over the hold on the node. The look-up is counted before the answer, since a forget may
 * arrive on another thread as soon as the kernel has it. */
static void reply_entry(fuse_req_t req, struct tree_node *n)
{
	struct fuse_mount *f = mount_of(req);
	struct fuse_entry_param e = { 0 };

	tree_stat(n, &e.attr);
	e.ino = (fuse_ino_t)(uintptr_t)inode_for(f, n, S_ISDIR(e.attr.st_mode));
	/* the caller was interrupted, and does not know the inode */
	if (fuse_reply_entry(req, &e) == -ENOENT)
		forget_inode(f, e.ino, 1);
}

/* Called at the end, after the connection is gone. */
void fuse_nodes_forget_all(struct fuse_mount *f)
{
	while (f->inodes)
		forget_inode(f, (fuse_ino_t)(uintptr_t)f->inodes, f->inodes->lookups);
}

/* tree_lookup() holds the node; reply_entry() passes the hold on to the inode. */
static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree_node *n;

	if (!fuse_caller_ok(req))
		return;
	n = tree_lookup(node_of(req, parent), name);
	if (n)
		reply_entry(req, n);
	else
		fuse_reply_err(req, ENOENT);
}

/* The kernel waits for no answer to a forget; fuse_reply_none() only frees the request. */
static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times)
{
	forget_inode(mount_of(req), ino, times);
	fuse_reply_none(req);
}

static void do_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < n; i++)
		forget_inode(mount_of(req), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/* --- attributes --------------------------------------------------------------------- */

/* The timeout 0 lets the kernel ask again each time: modes and times may change through another
 * mount of the tree. */
static void reply_attr(fuse_req_t req, fuse_ino_t ino)
{
	struct fuse_inode *i = fuse_inode_of(mount_of(req), ino);
	struct stat st;

	tree_stat(i->node, &st);
	if (S_ISREG(st.st_mode))
		/* tree_stat says 0, like tracefs. Relaxed: the kernel asks after the open's reply,
		 * which orders them. */
		st.st_size = (off_t)atomic_load_explicit(&i->stored, memory_order_relaxed);
	fuse_reply_attr(req, &st, 0);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	reply_attr(req, ino);
}

/* Sets the times. chmod and chown are kept as well; sizes cannot be set. */
static void set_times(struct tree_node *n, const struct stat *st, int what)
{
	struct timespec now, accessed = st->st_atim, modified = st->st_mtim;

	clock_gettime(CLOCK_REALTIME, &now);
	if (what & FUSE_SET_ATTR_ATIME_NOW)
		accessed = now;
	if (what & FUSE_SET_ATTR_MTIME_NOW)
		modified = now;
	tree_utimes(n, what & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW) ? &accessed : NULL,
		    what & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW) ? &modified : NULL);
}

/* FUSE_SET_ATTR_SIZE is ignored: O_TRUNC arrives at open, where `truncate` of the operations
 * runs. */
static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
		       struct fuse_file_info *fi)
{
	struct tree_node *n = node_of(req, ino);

	if (!fuse_caller_ok(req))
		return;
	if (what & FUSE_SET_ATTR_MODE)
		tree_chmod(n, st->st_mode);
	tree_chown(n, what & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1,
		   what & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1);
	set_times(n, st, what);
	reply_attr(req, ino);
}

static void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };

	fuse_reply_statfs(req, &st);
}

/* --- directories -------------------------------------------------------------------- */

/* The mode is not taken: instance.c chooses one. ENOENT: somebody removed the new directory before
 * it was found again. */
static void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct tree_node *dir = node_of(req, parent), *n;
	int e;

	if (!fuse_caller_ok(req))
		return;
	e = tree_mkdir(dir, name, NULL);
	n = e ? NULL : tree_lookup(dir, name);
	if (n)
		reply_entry(req, n);
	else
		fuse_reply_err(req, e ? -e : ENOENT);
}

/* Removing an instance may stop the caller itself: answered early (fuse_call_begin). */
static void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree_node *dir = node_of(req, parent);
	struct fuse_call call;
	int e;

	if (!fuse_caller_ok(req))
		return;
	/* The early answer lets the kernel forget the directory. */
	tree_get(dir);
	fuse_call_begin(&call, req, fuse_answer_done, 0);
	e = tree_rmdir(dir, name, FUSE_PATIENCE_MS, NULL);
	if (!caller_end(e))
		fuse_reply_err(req, -e);
	tree_put(dir);
}

/* The list is fi->fh until releasedir, which does not come if the caller was interrupted
 * (ENOENT). */
static void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree_list *l;

	if (!fuse_caller_ok(req))
		return;
	l = mem_zalloc(sizeof(*l));
	tree_list(node_of(req, ino), l);
	fi->fh = (uintptr_t)l;
	if (fuse_reply_open(req, fi) == -ENOENT) {
		tree_list_free(l);
		free(l);
	}
}

/* Entry `at` of the list, behind "." and "..". False: there is none. */
static bool entry_at(const struct tree_list *l, size_t at, const char **name, struct stat *st)
{
	*st = (struct stat){ .st_mode = S_IFDIR, .st_ino = 1 };
	if (at < 2) {
		*name = at ? ".." : ".";
		return true;
	}
	if (at - 2 >= l->entries.n)
		return false;
	*name = l->entries.at[at - 2].name;
	st->st_mode = l->entries.at[at - 2].mode;
	st->st_ino = l->entries.at[at - 2].ino;
	return true;
}

/* Lists what opendir saw: entries made since do not shift offsets. */
static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	const struct tree_list *l = (const struct tree_list *)(uintptr_t)fi->fh;
	char *buf = mem_zalloc(size ? size : 1);
	size_t used = 0;
	const char *name;
	struct stat st;

	for (size_t at = (size_t)off; entry_at(l, at, &name, &st); at++) {
		size_t need =
			fuse_add_direntry(req, buf + used, size - used, name, &st, (off_t)at + 1);

		/* fuse_add_direntry writes nothing if the entry does not fit. */
		if (need > size - used)
			break;
		used += need;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

/* The list is a snapshot from opendir: directories may change while one is being read. */
static void do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree_list *l = (struct tree_list *)(uintptr_t)fi->fh;

	tree_list_free(l);
	free(l);
	fuse_reply_err(req, 0);
}

/* Operations that tracefs refuses, with its errors. */

/* The six below change names or make files, which only brace does. */
static void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

/* The tree's shape is given by what is traced. The error is the kernel's for a file system
 * without such an operation, so that scripts which test for it go the same way. */
static void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		      const char *new_name, unsigned int flags)
{
	fuse_reply_err(req, EPERM);
}

static void do_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

static void do_hard_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

static void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	fuse_reply_err(req, EPERM);
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	fuse_reply_err(req, EACCES);
}

void fuse_nodes_ops(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = do_lookup;
	ops->forget = do_forget;
	ops->forget_multi = do_forget_multi;
	ops->getattr = do_getattr;
	ops->setattr = do_setattr;
	ops->statfs = do_statfs;
	ops->mkdir = do_mkdir;
	ops->rmdir = do_rmdir;
	ops->opendir = do_opendir;
	ops->readdir = do_readdir;
	ops->releasedir = do_releasedir;
	ops->unlink = do_unlink;
	ops->rename = do_rename;
	ops->symlink = do_symlink;
	ops->link = do_hard_link;
	ops->mknod = do_mknod;
	ops->create = do_create;
}
