/* SPDX-License-Identifier: MIT */
/* Captures as text what other code prints on standard error: libfuse and fusermount3 explain
 * themselves there only. */
#pragma once

struct stderr_capture { int saved, file; };

/* Redirects standard error to a file in memory. No other thread may write there meanwhile. */
void stderr_capture_begin(struct stderr_capture *c);
/* Restores standard error. `text` gets the last line written meanwhile, without "fuse: " or
 * "fusermount3: " before it; "" if there was none. */
void stderr_capture_end(struct stderr_capture *c, char *text, unsigned size);
