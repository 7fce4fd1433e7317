/* SPDX-License-Identifier: MIT */
/* arch/probe_code.h for x86-64: the lead, the rest, and 40 bytes for the steps, the call and the
 * site. */
#pragma once

#define PROBE_CODE_MAX_BYTES (2 * RELOCATE_MAX_BYTES + 40)
