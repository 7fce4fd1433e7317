/* SPDX-License-Identifier: MIT */
/* Ctrl-C while an output is written that must be whole or not there. */
#pragma once
#include "base/stop.h"

/* From now on SIGINT, SIGTERM and SIGHUP ask the result to stop and end nothing. A signal
 * that is ignored stays so. */
const struct stop *interrupt_catch(void);
/* interrupt_catch() after a session, whose handlers are still set: they are replaced, too. */
const struct stop *interrupt_take_over(void);
/* A stop that a later signal asks for: half a second or more after the first, since timeout(1)
 * sends each twice. Behind interrupt_catch() or interrupt_take_over(). */
const struct stop *interrupt_again(void);
