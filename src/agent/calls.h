/* System calls that are led past the agent. */
#pragma once
#include "shared/probe.h"

/* At a site of kind PROBE_CALL. */
void call_hit(const struct probe_regs *regs, const struct probe_site *site);
