#include <asm/signal.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/sys.h"

uint64_t signals_block(void)
{
	uint64_t all = ~UINT64_C(0), old = 0;

	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(old));
	return old;
}

void signals_restore(uint64_t old)
{
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &old, 0, sizeof(old));
}
