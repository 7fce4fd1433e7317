/* SPDX-License-Identifier: MIT The kernel's event kmem:kmalloc as far as its tests of ftrace ask
 * for it, of kern.c and kern_calls.c. */
#pragma once
#include <brace/event.h>

BRACE_EVENT(kmem, kmalloc, BRACE_PROTO(void *site, unsigned long n), BRACE_ARGS(site, n),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, call_site, (unsigned long)site), BRACE_FIELD(unsigned long, bytes_req, n),
		     BRACE_FIELD(unsigned long, bytes_alloc, (n + 7) & ~7ul)),
	BRACE_PRINT("call_site=%pS bytes_req=%lu bytes_alloc=%lu", (void *)REC->call_site, REC->bytes_req, REC->bytes_alloc))
