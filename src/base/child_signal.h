/* SPDX-License-Identifier: MIT */
/* Signals that brace needs otherwise than it found them, while the programs that it executes find
 * them as brace did. */
#pragma once

/* Catches the signal with a handler that does nothing, unless it is ignored or has a handler: the
 * call that raises it fails instead of ending brace, and an exec takes the handler away. */
void child_signal_survive(int sig);
/* SIGCHLD, where brace was started with it ignored (by a daemon, for one): the kernel then reaps
 * children by itself, and their status is lost, while brace waits for the program's. This has the
 * kernel keep the status of children. Call it once, before there are threads. */
void child_signal_take(void);
/* In a child, before exec: ignores the signal again, if it was ignored. Async-signal-safe. */
void child_signal_give_back(void);
