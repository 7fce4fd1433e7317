/* SPDX-License-Identifier: MIT */
/* A signal that asks a long work to end, and to leave nothing half done. Its handler writes the
 * number, whoever works reads it, on any thread. The release of stop_ask() pairs with the acquire
 * of stop_asked(): the one says nothing more than its number, so the pair is for readers, and for
 * ThreadSanitizer, to which a `sig_atomic_t` between two threads is a race. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>

struct stop { atomic_int signal; };

/* Pairs with stop_asked(). Fit for a signal's handler. */
static inline void stop_ask(struct stop *s, int signal)
{
	atomic_store_explicit(&s->signal, signal, memory_order_release);
}

/* The signal's number, 0: none came. NULL: none can. Pairs with stop_ask(). */
static inline int stop_asked(const struct stop *s)
{
	return s ? atomic_load_explicit(&s->signal, memory_order_acquire) : 0;
}
