/* SPDX-License-Identifier: MIT */
/* The user whose process this is. A process that becomes another user's goes on in that user's
 * session memory. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct agent_tls;

/* Call when the session memory has just been mapped. */
void user_begin(void);
/* Call once in a child: its parent's threads are not there. */
void user_after_fork(void);
/* In a slow path: true if the process has become another user's since. */
bool user_has_changed(void);
/* Moves the process to the new user's memories. Of the old ones only the address ranges stay, as
 * empty private memory; without new memories the process goes on untraced. The calling thread's
 * records are closed already. Signals blocked. Of several threads one does it, and the others
 * wait. */
void user_move(void);
/* True if the address lies where a memory was that the process has left. */
bool user_left(uint64_t address);
