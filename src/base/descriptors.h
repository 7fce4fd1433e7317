/* SPDX-License-Identifier: MIT */
/* How many descriptors this process may have open. */
#pragma once
#include <stdint.h>

/* Raises the soft limit to `needed`, as far as the hard one allows; programs that are started from
 * here on have it, too. Returns the soft limit then. Any thread. */
uint64_t descriptors_raise(uint64_t needed);
