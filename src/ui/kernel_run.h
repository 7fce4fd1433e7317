/* SPDX-License-Identifier: MIT */
/* The kernel under trace, as brace record -K and graph -K run it: until a program ends that was
 * started for it, or an interrupt, or --duration. */
#pragma once
#include "kernel/source.h"
#include "ui/invocation.h"

struct kernel_run;

/* Makes the instance and its settings, and starts recording and the program, if the command line
 * has one. stored: info gets functions when records name them (kernel_run_used()); otherwise it has
 * all, and the file of -o is made before, for screen_open_begun(). 0, or the exit status (said):
 * nothing is left then. */
int kernel_run_begin(struct invocation *inv, bool stored, struct kernel_run **out);
/* Both are the run's, and go with kernel_run_end(). */
struct trace_info *kernel_run_info(struct kernel_run *k);
struct kernel_used *kernel_run_used(struct kernel_run *k);
/* Completes what info says of the clock, at the end of the records. */
void kernel_run_describe_end(struct kernel_run *k);
/* Records that the kernel lost so far, by the pages or by its counters. */
uint64_t kernel_run_lost(struct kernel_run *k);
/* Says how the kernel's buffers are read. */
void kernel_run_say_way(const struct kernel_source *source);
/* Says how many records the kernel has made and lost. bytes: of the trace file; 0: not said.
 * option: by which the user makes the buffers larger. */
void kernel_run_say(struct kernel_source *source, uint64_t bytes, const char *option);
/* Gives the records to the sink as they come, and calls `after` when a reading is through (fresh:
 * it brought something) until the end, with all records given. Either may end it by -errno. 0, or
 * -errno and *err. */
int kernel_run_read(struct kernel_run *k, kernel_rings_sink *sink,
		    int (*after)(void *context, bool fresh, struct err *err), void *context,
		    struct err *err);
/* Puts the time of an event right that the sink is given, where the TSC is not steady. */
void kernel_run_place(const struct kernel_run *k, struct event *e);
/* Undoes all settings, says what was lost (`bytes`: of the trace file; 0: there is none), and frees
 * k. status: of brace so far. Returns the exit status: the program's, if there is nothing else. */
int kernel_run_end(struct kernel_run *k, uint64_t bytes, int status);
