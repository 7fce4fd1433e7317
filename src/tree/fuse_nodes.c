/* SPDX-License-Identifier: MIT */
/* Names, attributes, directories. Nothing is cached by the kernel: writes to one file let others come and go. */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "tree/fuse_internal.h"

static struct fuse_face *face_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

struct fuse_inode *fuse_inode_of(struct fuse_face *f, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &f->root : (struct fuse_inode *)(uintptr_t)ino;
}

bool fuse_caller_ok(fuse_req_t req)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	if (!uid || uid == face_of(req)->uid)
		return true;
	fuse_reply_err(req, EACCES);
	return false;
}

static struct tree_node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	return fuse_inode_of(face_of(req), ino)->node;
}

/* --- looking up and forgetting ------------------------------------------------------- */

static void list_inode(struct fuse_face *f, struct fuse_inode *i)
{
	i->next = f->inodes;
	if (i->next)
		i->next->prev = i;
	f->inodes = i;
}

static void unlist_inode(struct fuse_face *f, struct fuse_inode *i)
{
	if (i->prev)
		i->prev->next = i->next;
	else
		f->inodes = i->next;
	if (i->next)
		i->next->prev = i->prev;
}

/* Of all faces' inodes. */
static pthread_mutex_t inodes_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the face's inode of the directory is linked, or would be: at the end. */
static void **place_of(struct fuse_face *f, struct tree_node *n)
{
	void **at = tree_node_front(n);

	for (struct fuse_inode *i; (i = *at) && i->face != f;)
		at = &i->of_others;
	return at;
}

/* Takes over the hold on the node. */
static struct fuse_inode *inode_for(struct fuse_face *f, struct tree_node *n, bool dir)
{
	struct fuse_inode *i;
	void **place = NULL;

	pthread_mutex_lock(&inodes_lock);
	if (dir)
		place = place_of(f, n);
	i = dir ? *place : NULL;
	if (!i) {
		i = mem_zalloc(sizeof(*i));
		i->node = n;
		i->face = f;
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

static void forget(struct fuse_face *f, fuse_ino_t ino, uint64_t times)
{
	struct fuse_inode *i = fuse_inode_of(f, ino);
	void **place;
	bool last;

	if (i == &f->root)
		return;
	pthread_mutex_lock(&inodes_lock);
	i->lookups -= times < i->lookups ? times : i->lookups;
	last = !i->lookups;
	place = place_of(f, i->node);
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

static void reply_entry(fuse_req_t req, struct tree_node *n)
{
	struct fuse_face *f = face_of(req);
	struct fuse_entry_param e = { 0 };

	tree_stat(n, &e.attr);
	e.ino = (fuse_ino_t)(uintptr_t)inode_for(f, n, S_ISDIR(e.attr.st_mode));
	if (fuse_reply_entry(req, &e) == -ENOENT) /* the caller was interrupted: it knows of nothing */
		forget(f, e.ino, 1);
}

/* At the end: the kernel does not say it of each. */
void fuse_nodes_forget_all(struct fuse_face *f)
{
	while (f->inodes)
		forget(f, (fuse_ino_t)(uintptr_t)f->inodes, f->inodes->lookups);
}

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

static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times)
{
	forget(face_of(req), ino, times);
	fuse_reply_none(req);
}

static void do_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < n; i++)
		forget(face_of(req), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/* --- attributes --------------------------------------------------------------------- */

static void reply_attr(fuse_req_t req, fuse_ino_t ino)
{
	struct fuse_inode *i = fuse_inode_of(face_of(req), ino);
	struct stat st;

	tree_stat(i->node, &st);
	if (S_ISREG(st.st_mode))
		st.st_size = (off_t)atomic_load(&i->stored);
	fuse_reply_attr(req, &st, 0);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	reply_attr(req, ino);
}

/* chmod and chown are kept; a size or a time is nothing that these files have. */
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

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what, struct fuse_file_info *fi)
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

static void do_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const char *target = tree_link_target(node_of(req, ino));

	if (target)
		fuse_reply_readlink(req, target);
	else
		fuse_reply_err(req, EINVAL);
}

static void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };

	fuse_reply_statfs(req, &st);
}

/* --- directories -------------------------------------------------------------------- */

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

static void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree_node *dir = node_of(req, parent);
	struct fuse_call call;
	int e;

	if (!fuse_caller_ok(req))
		return;
	tree_get(dir);
	fuse_call_begin(&call, req, fuse_answer_done, 0);
	e = tree_rmdir(dir, name, FUSE_PATIENCE_MS, NULL);
	if (!caller_end(e))
		fuse_reply_err(req, -e);
	tree_put(dir);
}

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

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	const struct tree_list *l = (const struct tree_list *)(uintptr_t)fi->fh;
	char *buf = mem_zalloc(size ? size : 1);
	size_t used = 0;
	const char *name;
	struct stat st;

	for (size_t at = (size_t)off; entry_at(l, at, &name, &st); at++) {
		size_t need = fuse_add_direntry(req, buf + used, size - used, name, &st, (off_t)at + 1);

		if (need > size - used)
			break;
		used += need;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree_list *l = (struct tree_list *)(uintptr_t)fi->fh;

	tree_list_free(l);
	free(l);
	fuse_reply_err(req, 0);
}

/* --- what tracefs does not let one do -------------------------------------------------- */

static void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

static void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new_name,
		      unsigned int flags)
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

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
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
	ops->readlink = do_readlink;
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
