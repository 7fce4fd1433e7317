/* SPDX-License-Identifier: MIT */
/* SIGCHLD, where brace was started with it ignored (by a daemon, for one). The kernel then reaps
 * children by itself, and their status is lost, while brace waits for the program's. The programs
 * that brace executes find the signal as brace did. */
#pragma once

/* Has the kernel keep the status of children. Call it once, before there are threads. */
void child_signal_take(void);
/* In a child, before exec: ignores the signal again, if it was ignored. Async-signal-safe. */
void child_signal_give_back(void);
