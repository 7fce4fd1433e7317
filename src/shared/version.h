/* SPDX-License-Identifier: MIT */
/* Raised with every change of the data that both sides share (memory.h, tls.h); they compare it.
 * For assembly, too. */
#ifndef BRACE_VERSION_H
#define BRACE_VERSION_H
#define PROTOCOL_VERSION 43
#endif
