/* The kernel's own files: read, and compared byte for byte. */
#pragma once
#include <stddef.h>

#include "event/filter_error.h"
#include "event/format.h"

/* golden/<kernel>.<name>, NUL-terminated; free() it. Aborts if it is not there. */
char *golden_read(const char *kernel, const char *name);
/* Calls f with each file whose name holds `part`; how many. */
unsigned golden_each(const char *part, void (*f)(const char *name, const char *text));
/* Fails, and shows the line where they part, unless both are the same. */
void golden_same(const char *what, const char *got, const char *want);
/* An event of the golden format files, or of a text like them. Aborts if it does not parse. */
struct event_format *golden_event(const char *kernel, const char *system, const char *name);

/* The error_log's text of the fault; free() it. */
char *golden_log(const struct filter_fault *f, uint64_t ns);

extern const char *const golden_kernels[3];
