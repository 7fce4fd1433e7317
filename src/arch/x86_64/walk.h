/* SPDX-License-Identifier: MIT */
/* arch/walk.h for x86-64: an instruction has 15 bytes at most. */
#pragma once

#define WALK_BEFORE 15
