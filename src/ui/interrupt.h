/* SPDX-License-Identifier: MIT */
/* Ctrl-C while an output is written that must be whole or not there. */
#pragma once
#include <signal.h>

/* From now on SIGINT, SIGTERM and SIGHUP set the result to their number and end nothing. A signal
 * that is ignored stays so. */
const volatile sig_atomic_t *interrupt_catch(void);
/* interrupt_catch() after a session, whose handlers are still set: they are replaced, too. */
const volatile sig_atomic_t *interrupt_take_over(void);
