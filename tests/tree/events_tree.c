/* events_tree DIRECTORY: serves a tree with events of a kernel's on the directory until it is
 * unmounted, for tests that drive events/ by tools. */
#include <stdio.h>

#include "golden_events.h"
#include "tree/fuse_mount.h"

int main(int argc, char **argv)
{
	struct tree *t = instance_tree_new();
	struct fuse_mount *face;
	struct err err;

	golden_events(t);
	if (argc != 2 || fuse_mount_start(t, argv[1], &face, &err)) {
		fprintf(stderr, "events_tree: %s\n", argc != 2 ? "which directory?" : err.text);
		return 1;
	}
	fuse_mount_serve(face, &err);
	fuse_mount_free(face);
	instance_tree_free(t);
	return 0;
}
