/* SPDX-License-Identifier: MIT */
/* Any bytes as /proc/PID/status and /proc/PID/stat, and as the accounts of threads: names end,
 * numbers fit. */
#include <stdlib.h>
#include <string.h>

#include "base/cpu_interrupts.h"
#include "base/thread_account.h"
#include "tracee/proc_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *bytes = malloc(n ? n : 1); /* exactly as long as the file: a read behind it is seen */
	struct proc_status status;
	struct proc_stat stat;
	struct thread_account account = { 0 };
	struct machine_account machine;

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
	/* Whoever parses is told whether there was anything: what a file lacks stays 0. */
	if (thread_account_schedstat(bytes, n, &account) == 0 && !account.has_delay)
		abort();
	thread_account_status(bytes, n, &account);
	thread_account_stat(bytes, n, &account);
	thread_account_parse_machine(bytes, n, &machine);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		cpu_interrupts_column(bytes, n, cpu, cpu ? "NMI:" : NULL, cpu ? NULL : "NMI:");
	free(bytes);
	return 0;
}
