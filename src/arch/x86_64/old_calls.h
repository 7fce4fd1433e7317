/* SPDX-License-Identifier: MIT */
/* arch/old_calls.h for x86-64, which has had all of them from the beginning. */
#pragma once

#define OLD_CALLS_FORKS(X) X(fork) X(vfork)
#define OLD_CALLS_WAITING __NR_epoll_wait, __NR_select, __NR_poll, __NR_pause,
#define OLD_CALLS_STARTING __NR_arch_prctl, __NR_readlink, __NR_poll,

#define OLD_CALL_STAT __NR_stat
#define OLD_CALL_STAT_ARGS(path, to) path, to
#define OLD_CALL_READLINK __NR_readlink
#define OLD_CALL_READLINK_ARGS(path, to, n) path, to, n
#define OLD_CALL_ACCESS __NR_access
#define OLD_CALL_ACCESS_ARGS(path, mode) path, mode

static inline bool old_calls_is_vfork(long number)
{
	return number == __NR_vfork;
}
