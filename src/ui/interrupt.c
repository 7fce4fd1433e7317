/* SPDX-License-Identifier: MIT */
/* Called by export, html, diff, tui, push and record --push, before they write: what stands there
 * half is taken away before brace ends. On the main thread. Nothing fails: a handler that cannot
 * be set leaves the signal's own way. */
#include "ui/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/monotonic.h"

#define AGAIN_NS 500000000

static struct stop interrupted, again;
static _Atomic uint64_t first_ns; /* 0: none came yet */

/* Any thread. The second signal is special for whoever asks for `again` alone. */
static void note_interrupt(int sig)
{
	const uint64_t now = monotonic_ns();
	uint64_t first = 0;

	/* Relaxed: the time is all that is told. */
	if (!atomic_compare_exchange_strong_explicit(&first_ns, &first, now, memory_order_relaxed,
						     memory_order_relaxed) &&
	    now - first >= AGAIN_NS && now > first)
		stop_ask(&again, sig);
	stop_ask(&interrupted, sig);
}

/* Signals that were ignored stay so (nohup). from_others: handlers that a session set are replaced,
 * too. */
static const struct stop *catch(bool from_others)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction act = { .sa_handler = note_interrupt };
	struct sigaction now;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &now) &&
		    (now.sa_handler == SIG_DFL || (from_others && now.sa_handler != SIG_IGN)))
			sigaction(signals[i], &act, NULL);
	return &interrupted;
}

const struct stop *interrupt_catch(void)
{
	return catch(false);
}

const struct stop *interrupt_take_over(void)
{
	return catch(true);
}

const struct stop *interrupt_again(void)
{
	return &again;
}
