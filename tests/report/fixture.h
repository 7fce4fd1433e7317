/* A made-up trace for the printers' tests: one image, one module, functions of 64 KiB each,
 * a call site for every pair of caller and callee, a clock of one tick a nanosecond. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

struct fixture {
	struct trace_info *info;
	VEC(struct event) events;
	VEC(struct fixture_site { uint32_t caller; uint32_t callee; }) sites;
};

#define FIXTURE_OUTSIDE UINT32_MAX /* a caller that no function is around */

struct fixture *fixture_new(void);
void fixture_free(struct fixture *f);
/* The id of the function with this name; made when it is new. */
uint32_t fixture_function(struct fixture *f, const char *name, size_t n);
uint32_t fixture_thread(struct fixture *f, const char *comm, uint32_t tid);
uint32_t fixture_site(struct fixture *f, uint32_t caller, uint32_t callee);
/* Adds an event; its index. */
size_t fixture_event(struct fixture *f, struct event e);

/* A tiny language, blanks between words, one microsecond a word:
 *   f{ entry   f~ tail entry   f. entry only   }g.f exit of f called by g   } exit, site unknown
 *   }g.f@f2 the same, by another site   }g.f=-2 and it returned -2   *3 unwind 3   ?7 lost 7
 *                                       #2 thread 2 from here   %1 CPU 1 from here
 *   +500 time goes on by 500 ns   /300 the thread slept until now, for 300 ns
 * Functions are hooked, but for those whose names begin with "un". */
void fixture_parse(struct fixture *f, const char *text);

/* Text that a report writes. */
struct text { VEC(char) bytes; };
int text_flush(void *text, const char *bytes, size_t n);
const char *text_end(struct text *t); /* adds the NUL */
