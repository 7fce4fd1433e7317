/* SPDX-License-Identifier: MIT */
/* Covers /proc/sys/kernel by a small tmpfs with links to the kernel's files, whose own mount is
 * moved to VIEW_SYSCTL_OWN. Called by view.c in the process that will execute the user's command,
 * in its own mount namespace. A step that fails takes the tmpfs away again. That process has one
 * thread. */
#include "tree/view_sysctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* -errno and *err, from errno as the failed call left it. */
static int failed(const char *what, struct err *err)
{
	return err_set(err, errno, "%s: %s", what, strerror(errno));
}

/* The kernel's own names, from the directory where it is now. */
static int link_all(int dir, struct err *err)
{
	DIR *own = opendir(VIEW_SYSCTL_OWN);
	const struct dirent *e;
	char target[300];
	int r = 0;

	if (!own)
		return failed("cannot read " VIEW_SYSCTL_OWN, err);
	while (r == 0 && (e = readdir(own))) {
		snprintf(target, sizeof(target), ".kernel/%s", e->d_name);
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    symlinkat(target, dir, e->d_name))
			r = failed("cannot make a link in " VIEW_SYSCTL, err);
	}
	closedir(own);
	return r;
}

/* The kernel's own mount goes to a hidden directory in the tmpfs, where the links lead. `kernels`
 * is the copy of it, not attached yet. */
static int fill(const char *name, int kernels, struct err *err)
{
	int dir = open(VIEW_SYSCTL, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, r = 0;

	if (dir < 0 || mkdirat(dir, ".kernel", 0555) ||
	    syscall(SYS_move_mount, kernels, "", dir, ".kernel", MOVE_MOUNT_F_EMPTY_PATH))
		r = failed("cannot move " VIEW_SYSCTL, err);
	if (r == 0)
		r = link_all(dir, err);
	if (r == 0 && (fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0)
		r = failed("cannot make a file in " VIEW_SYSCTL, err);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return r;
}

/* The copy is made first: the tmpfs would hide what is to be copied. The remount to read-only may
 * fail, and nothing depends on it. */
int view_sysctl_add(const char *name, struct err *err)
{
	const int kernels = (int)syscall(SYS_open_tree, AT_FDCWD, VIEW_SYSCTL,
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	int r = 0;

	if (kernels < 0)
		return failed("cannot copy the mount of " VIEW_SYSCTL, err);
	if (mount("none", VIEW_SYSCTL, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=64k,nr_inodes=1k,mode=0555"))
		r = failed("cannot mount on " VIEW_SYSCTL, err);
	else if ((r = fill(name, kernels, err)))
		umount2(VIEW_SYSCTL, MNT_DETACH);
	else
		mount("none", VIEW_SYSCTL, NULL,
		      MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	close(kernels);
	return r;
}
