/* SPDX-License-Identifier: MIT */
/* Raised with every change of what both sides share (memory.h, tls.h): they compare. For assembly too. */
#ifndef BRACE_VERSION_H
#define BRACE_VERSION_H
#define PROTOCOL_VERSION 32
#endif
