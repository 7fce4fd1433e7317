/* SPDX-License-Identifier: MIT */
/* What other code prints on standard error, as text: libfuse and fusermount3 explain themselves there. */
#pragma once

struct captured { int saved, file; };

/* From here on standard error goes into a file in memory; no other thread may be writing there. */
void captured_begin(struct captured *c);
/* Standard error is what it was; `text` gets the last line written meanwhile, without "fuse: " or
 * "fusermount3: " before it. "" if there was none. */
void captured_end(struct captured *c, char *text, unsigned size);
