/* SPDX-License-Identifier: MIT */
#include "commit.h"
#include "ui/commands.h"
#include "ui/screen.h"

int cmd_version(struct invocation *inv)
{
	struct screen o;

	screen_open(&o, inv, SCREEN_PLAIN, NULL);
	out_printf(&o.text, "brace %s%s%s%s\n", BRACE_VERSION, *BRACE_COMMIT ? " (" : "", BRACE_COMMIT, *BRACE_COMMIT ? ")" : "");
	return screen_close(&o, 0);
}
