/* SPDX-License-Identifier: MIT */
/* The holder is a thread that holds processes. ptrace lets a thread be let go only while it stands, and only by the thread
 * that seized it. A thread of a program may wait in the kernel for longer than brace has patience (a FUSE file system that is
 * slow), and stop afterwards. So whoever holds does so in a thread made for it: its work is over when brace gives up, and
 * it stays for the threads that did not come, and lets each go when it stops.
 *
 * If the calling thread works for a caller (base/caller.h), all its work until caller_end is one holder's. The caller, when
 * its program is held, is answered, and then stands until caller_end, also while its program runs in between. */
#pragma once
#include "base/err.h"

/* Runs work(of) in a holder, and returns its result; in a holder: at once. -EAGAIN and *err if there can be no thread. */
int holder_run(int (*work)(void *of), void *of, struct err *err);
