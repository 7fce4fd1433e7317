/* SPDX-License-Identifier: MIT */
/* The user whose process this is. One that becomes another user's goes on in that user's session memory. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct agent_tls;

/* When the session memory has just been mapped. */
void user_begin(void);
/* In a child, once: threads of its parent are not there. */
void user_after_fork(void);
/* In a slow path: has the process become another user's since? */
bool user_has_changed(void);
/* Then: the process has the new user's memories, and of the old ones nothing but addresses at which nothing of anybody's
 * stands; or it is let go. All that this thread recorded is closed. Signals blocked. Of several threads one does it. */
void user_move(void);
/* Does an address lie where a memory was that the process has left? */
bool user_left(uint64_t address);
