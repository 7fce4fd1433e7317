/* SPDX-License-Identifier: MIT */
/* brace umount: takes the tree away; its server ends by that. main() calls it, on brace's only
 * thread. Fails if the directory has no tree of brace's, or if files in it are open and --lazy is
 * not given. */
#include "tree/mount_point.h"
#include "ui/commands.h"
#include "ui/say.h"

int cmd_umount(struct invocation *inv)
{
	struct err err;

	return mount_point_leave(inv->operands[0], inv->lazy, &err) ? say_error(&err) : 0;
}
