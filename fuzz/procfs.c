/* SPDX-License-Identifier: MIT */
/* Any bytes as /proc/PID/status and /proc/PID/stat: names end, numbers fit. */
#include <stdlib.h>
#include <string.h>

#include "tracee/proc_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *bytes = malloc(n ? n : 1); /* exactly as long as the file: a read behind it is seen */
	struct proc_status status;
	struct proc_stat stat;

	if (n)
		memcpy(bytes, data, n);
	if (proc_status_parse(bytes, n, &status) == 0 && (status.tgid <= 0 || !status.state))
		abort();
	if (strnlen(status.name, sizeof(status.name)) == sizeof(status.name) || status.tgid < 0 || status.ppid < 0 ||
	    status.tracer < 0)
		abort();
	proc_stat_parse(bytes, n, &stat);
	if (stat.ppid < 0)
		abort();
	free(bytes);
	return 0;
}
