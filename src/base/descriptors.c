/* SPDX-License-Identifier: MIT */
/* ui/fleet_record.c calls it before it connects, on the main thread. Nothing fails: a limit that
 * cannot be raised stays as it is, and is returned. */
#include "base/descriptors.h"

#include <sys/resource.h>

uint64_t descriptors_raise(uint64_t needed)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return 0;
	if (l.rlim_cur < needed) {
		const rlim_t now = needed < l.rlim_max ? needed : l.rlim_max;
		const struct rlimit raised = { now, l.rlim_max };

		l = setrlimit(RLIMIT_NOFILE, &raised) ? l : raised;
	}
	return l.rlim_cur;
}
