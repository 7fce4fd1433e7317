/* SPDX-License-Identifier: MIT */
/* A wait that may have no end: for a file whose file system is served by a process, for a page that
 * one fills. The kernel lets a thread that waits there go for no signal, SIGKILL neither once the
 * server has read the request; and a process with such a thread does not end. So the call is made
 * in a process of its own, which is left behind when it takes too long. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ASIDE_MS 3000 /* for one file, all of its calls */

/* Runs f(work) in a copy of this process; `work`, of n bytes, goes there and comes back. f makes
 * raw system calls only: no lock that another thread held when the copy was made is ever free
 * there. 0; -ETIMEDOUT: not done within ms; -ECANCELED: aside_until's word came; or -errno: no such
 * process can be made. *work is as it was then, and a copy that was made is killed, now or when the
 * server lets it go. Any thread. */
int aside_run(void (*f)(void *work), void *work, size_t n, unsigned ms);

/* A copy that stays until aside_end(), or until the thread that began it ends. */
struct aside_copy { pid_t pid; int pidfd; };
/* Begins f(work) in such a copy, which ends when f returns; f as above, `work` as it was then. 0,
 * or -errno. Any thread. */
int aside_begin(void (*f)(void *work), void *work, struct aside_copy *out);
/* Kills it, now or when whom it waits for lets it go. */
void aside_end(const struct aside_copy *copy);

/* In this thread no wait begins or goes on once *over is true; NULL: they last as long as they may.
 * Nor does work that may take seconds, as the planning of a large file: it fails with -ECANCELED.
 * *over never becomes false again. */
void aside_until(const atomic_bool *over);
/* Whether the word has come, for waits of other kinds (base/apart.h), and work. */
bool aside_is_over(void);

/* Whether the process is an aside of this brace, which maps what brace maps. Any thread. */
bool aside_is(pid_t pid);
