/* SPDX-License-Identifier: MIT */
/* brace version: the release, and the commit if the build knew it. main() calls it, on brace's only
 * thread. Only writing the line can fail. */
#include <string.h>

#include "commit.h"
#include "ui/commands.h"
#include "ui/screen.h"

/* A build outside of a git tree has no commit to name. */
int cmd_version(struct invocation *inv)
{
	bool known = strcmp(BRACE_COMMIT, "none") != 0;
	struct screen o;

	screen_open(&o, inv, SCREEN_PLAIN, NULL);
	out_printf(&o.text, "brace %s%s%s%s\n", BRACE_VERSION, known ? " (" : "",
		   known ? BRACE_COMMIT : "", known ? ")" : "");
	return screen_close(&o, 0);
}
