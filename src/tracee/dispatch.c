/* SPDX-License-Identifier: MIT */
/* Whether a stopped process dispatches system calls itself (PR_SET_SYSCALL_USER_DISPATCH). Those
 * that brace and the agent make in it would come to its SIGSYS handler, so it is not entered:
 * -EPERM and a sentence. attach.c asks, on the process's holder's thread. */
#include <errno.h>
#include <stdint.h>
#include <sys/ptrace.h>

#include "tracee/internal.h"
#include "tracee/proc_status.h"

#define GET_CONFIG 0x4211 /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, since Linux 6.4 */

/* struct ptrace_sud_config */
struct config { uint64_t mode, selector, offset, bytes; };

/* A kernel that does not tell has never been asked: the thread then counts as one that does not. */
static bool dispatches(pid_t tid)
{
	struct config c = { 0 };

	return ptrace(GET_CONFIG, tid, (void *)sizeof(c), &c) == 0 && c.mode != 0;
}

int tracee_check_dispatch(const struct tracee *t, struct err *err)
{
	char name[16];

	for (size_t i = 0; i < tracee_threads(t); i++)
		if (dispatches(tracee_tid(t, i))) {
			proc_name(tracee_pid(t), name);
			return err_set(err, EPERM,
				       "process %d (%s) dispatches system calls itself "
				       "(PR_SET_SYSCALL_USER_DISPATCH, as Wine does): those that "
				       "brace needs in it would come to its handler",
				       (int)tracee_pid(t), name);
		}
	return 0;
}
