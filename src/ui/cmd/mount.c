/* SPDX-License-Identifier: MIT */
/* brace mount: serves ftrace's tree on a directory, from a process in the background
 * (background.h). main() calls it before brace has threads, so that it can fork. All that can fail
 * does so before the tree is served, and the process that waits tells it. */
#include <stdlib.h>

#include "instance/instances.h"
#include "instance/messenger.h"
#include "tree/fuse_mount.h"
#include "tree/instance.h"
#include "tree/unmount_watchdog.h"
#include "tree/mount_point.h"
#include "ui/background.h"
#include "ui/commands.h"
#include "ui/say.h"

static struct fuse_mount *served; /* for the signal handler */

/* fuse_mount_stop() only writes to an eventfd, so that a signal's handler may call it. */
static void on_signal(int sig)
{
	fuse_mount_stop(served);
}

/* The argument of serve_mount, which may run in another process: a copy of both is there by
 * fork. */
struct mount { const struct invocation *inv; const char *path; };

/* Mounts, and serves until the tree is unmounted. */
static int serve_mount(void *arg, int told, struct err *err)
{
	const struct invocation *inv = ((struct mount *)arg)->inv;
	const char *path = ((struct mount *)arg)->path;
	struct tree *tree = instance_tree_new();
	struct instances *instances = NULL;
	char *const *argv = inv->n_operands > 1 ? inv->operands + 1 : NULL;
	int e = background_set_up(inv, argv, tree, err);

	if (!e)
		/* The watchdog is a process of its own, made before brace has threads. */
		e = unmount_watchdog_start(path, err);
	if (!e)
		e = fuse_mount_start(tree, path, &served, err);
	if (!e)
		e = background_trace(inv, argv, tree, &instances, err);
	if (!e)
		background_signals(on_signal);
	if (background_begun(told, e ? err : NULL) && !e)
		e = fuse_mount_serve(served, err);
	messenger_drain(MESSENGER_MS);
	instances_stop(instances);
	if (served)
		fuse_mount_free(served);
	instance_tree_free(tree);
	return e;
}

/* Behind the directory a program may stand, which is started; with -p processes are attached. With
 * neither the tree has nothing to trace. */
int cmd_mount(struct invocation *inv)
{
	struct err err = { 0 };
	char *path;
	int e;

	if (inv->pids.n && inv->n_operands > 1) {
		say("brace: mount either runs a program or attaches with -p, not both\n");
		return EXIT_BRACE;
	}
	e = background_check(inv, inv->n_operands > 1 ? inv->operands + 1 : NULL);
	if (e)
		return e;
	e = mount_point_take(inv->operands[0], &path, &err);
	if (e)
		return say_error(&err);
	e = inv->foreground ? serve_mount(&(struct mount){ inv, path }, -1, &err)
			    : background_start(serve_mount, &(struct mount){ inv, path }, &err);
	free(path);
	return e ? say_error(&err) : 0;
}
