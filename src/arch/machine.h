/* SPDX-License-Identifier: MIT */
/* The folder of the machine that this file is compiled for: #include MACHINE_HEADER(code.h) takes
 * the machine's part of arch/code.h. */
#pragma once

#if defined(__x86_64__)
#define MACHINE_PATH(file) arch/x86_64/file
#else
#error "brace has no folder for this machine in src/arch: CONTRIBUTING.md, Add a machine"
#endif

#define MACHINE_QUOTED_(path) #path
#define MACHINE_QUOTED(path) MACHINE_QUOTED_(path)
#define MACHINE_HEADER(file) MACHINE_QUOTED(MACHINE_PATH(file))
