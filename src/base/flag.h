/* SPDX-License-Identifier: MIT */
/* A flag that one thread, or a signal's handler, sets for others to see. The release of flag_set()
 * pairs with the acquire of flag_is_set(): whoever sees the flag sees what was written before it
 * was set. Neither waits nor wakes: who sleeps is woken by a condition or a descriptor of its own,
 * or looks again after a while. Any thread, and signal handlers. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

/* Pairs with flag_is_set(). */
static inline void flag_set(atomic_bool *flag)
{
	atomic_store_explicit(flag, true, memory_order_release);
}

/* Pairs with flag_set(). */
static inline bool flag_is_set(const atomic_bool *flag)
{
	return atomic_load_explicit(flag, memory_order_acquire);
}
