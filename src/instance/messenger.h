/* SPDX-License-Identifier: MIT */
/* Carries out what triggers reach outside with (event/outside.h): sends lines, begins commands. On
 * a thread of its own, which begins with the first message and ends with brace: a receiver, or the
 * file system of a path, may keep whoever waits for it as long as it likes, and the pump waits for
 * nobody. What finds no place among the messages on their way is dropped and counted, and so is
 * what its receiver does not take at once. Any thread. */
#pragma once
#include "event/outside.h"

#define MESSENGER_MS 2000u /* that a command waits at its end for messages on their way */

/* Takes over the line, n bytes with a newline at its end, for free(). */
void messenger_send(struct outside *to, char *line, size_t n);
/* Whether the command may begin now, by its rate: ten at once, then ten a second. If not, it is
 * counted as dropped. The pump's thread, or another one at a time. */
bool messenger_may_execute(struct outside *o);
/* Begins the command with brace's environment and these variables, "NAME=VALUE" and NULL at the
 * end, all of which it takes over for free(). At most four commands run at a time. */
void messenger_execute(struct outside *o, char **variables);
/* Waits until all messages so far have been carried out, at most so many milliseconds; commands may
 * still run. False: some were not. */
bool messenger_drain(unsigned ms);
