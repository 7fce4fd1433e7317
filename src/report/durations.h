/* SPDX-License-Identifier: MIT */
/* The durations of each function's calls, by powers of two: counted from a stream of events while
 * it comes, so that nothing is kept of a call. Each call counts, recursive ones too; what its
 * thread slept is left out if the stream tells it, as in all reports. Not locked. */
#pragma once
#include "base/out.h"
#include "trace/event.h"

struct durations;

/* info must outlive it, and may grow. durations_free() frees it. */
struct durations *durations_new(const struct trace_info *info);
void durations_free(struct durations *d);
/* Takes the stream's next event. */
void durations_event(struct durations *d, const struct event *e);
/* The stream has ended: calls that are open are counted as such, and have no duration. */
void durations_end(struct durations *d);
/* The least power of two, in ns, that at most `most` calls with an end lasted for; 0: all of them
 * are as few. *calls: how many they are. */
uint64_t durations_limit(const struct durations *d, uint64_t most, uint64_t *calls);
/* Print at most n functions (0: all), that with the most calls first: a heading, and a line for
 * each power of two in nanoseconds; or JSON, an object for each function and a last one that tells
 * the losses. */
void durations_print(const struct durations *d, size_t n, struct out *out);
void durations_print_json(const struct durations *d, size_t n, struct out *out);
