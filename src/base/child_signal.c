/* SPDX-License-Identifier: MIT */
/* main() takes SIGCHLD; children give it back between fork and exec. Nothing fails. Each is called
 * where its process has one thread. */
#include "base/child_signal.h"

#include <signal.h>
#include <stdbool.h>

static bool was_ignored; /* written before there are threads */

/* A handler and not SIG_IGN: an ignored signal stays ignored behind exec, and the program shall
 * not inherit that. */
static void do_nothing(int sig)
{
}

void child_signal_survive(int sig)
{
	struct sigaction now, act = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };

	if (!sigaction(sig, NULL, &now) && now.sa_handler == SIG_DFL)
		sigaction(sig, &act, NULL);
}

void child_signal_take(void)
{
	struct sigaction now;

	was_ignored = sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
	if (was_ignored)
		sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

void child_signal_give_back(void)
{
	if (was_ignored)
		sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}
