/* SPDX-License-Identifier: MIT */
/* A holder is a thread made for holding processes. ptrace lets a thread be let go only while it
 * stands, and only by the thread that seized it. A thread of a program may wait in the kernel
 * longer than brace has patience (a slow FUSE file system), and stop afterwards. So each hold is
 * done in a thread of its own: when brace gives up, that thread stays until the late threads stop,
 * and lets each go.
 *
 * If the calling thread works for a caller (base/caller.h), all its work until caller_end() is done
 * by one holder. When the caller's program is stopped, the caller gets its early answer, and then
 * stands until caller_end(), even while its program runs in between. */
#pragma once
#include "base/err.h"

/* Runs work(of) in a holder and returns its result; in a holder it runs at once. -EAGAIN and *err
 * if no thread can be started. */
int holder_run(int (*work)(void *of), void *of, struct err *err);
