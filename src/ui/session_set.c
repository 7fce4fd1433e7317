/* SPDX-License-Identifier: MIT */
/* Called by the commands of sessions, on the only thread. Each write is one request to the session
 * (daemon/ask.h). Events come last, when all other settings stand. The first write that is refused
 * is said, and no further one is made. */
#include "ui/session_set.h"

#include "daemon/ask.h"
#include "ui/config_option.h"
#include "ui/event_writes.h"
#include "ui/kernel_session.h"

/* The way of event_writes() to the session's files. */
static int write_file(void *arg, const char *path, const char *text, bool append, struct err *err)
{
	return ask_echo(((const struct invocation *)arg)->session, path, text, append, err);
}

static int read_session_file(void *arg, const char *path, char **text, struct err *err)
{
	return ask_cat(((const struct invocation *)arg)->session, path, text, err);
}

int session_set(const struct invocation *inv, struct err *err)
{
	const struct event_files files = { write_file, read_session_file, NULL, (void *)inv };
	int e = 0;

	for (size_t i = 0; i < inv->writes.n && !e; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (event_write_is(w))
			continue;
		if (inv->verbose)
			invocation_show_write(w);
		e = ask_echo(inv->session, w->file, w->text, w->append, err);
		if (e)
			e = config_option_failed(inv, w, err);
	}
	return e ? e : event_writes(inv, &files, err);
}

/* The kernel's session has no process in the background: its files are tracefs's. */
int session_cat(const struct invocation *inv, const char *file, char **text, struct err *err)
{
	return inv->kernel ? kernel_session_cat(file, text, err)
			   : ask_cat(inv->session, file, text, err);
}
