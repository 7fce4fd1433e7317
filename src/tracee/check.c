/* Could a process be held, and if not, which rule stands in the way? */
#include <errno.h>
#include <string.h>

#include "tracee/proc_status.h"
#include "tracee/tracee.h"

int tracee_check(pid_t pid, struct err *err)
{
	struct proc_status status;
	int r = proc_status_read(pid, &status);

	if (r < 0)
		return err_set(err, ESRCH, "there is no process %d", (int)pid);
	return 0;
}
