/* SPDX-License-Identifier: MIT */
/* For assembly: what the templates of stubs (stub.S) and the unwind rule of their arena
 * (agent/entry.S) both know. */
#pragma once
#define STUB_RET 30 /* offset of every stub's `ret` */
