/* SPDX-License-Identifier: MIT */
/* The kernel's records as a source of a session's (collect/producer.h), beside those of programs:
 * one timeline, because both are stamped by the TSC. */
#pragma once
#include "collect/producer.h"
#include "collect/thread_runs.h"
#include "kernel/source.h"

/* Adds an event of the kernel's as a record; what is missing before one becomes the loss of the run
 * that begins with it. Returns how many records the event says are missing: 0, unless it is such a
 * one. */
uint64_t kernel_record_add(struct thread_runs *runs, const struct event *e);

/* Adds the functions that the runs' records name to info, and gives them their ids there. The runs
 * were taken out (thread_runs_take()). */
void kernel_runs_renumber(thread_run_list *runs, struct kernel_used *used, struct trace_info *info);

/* Events of the kernel's have indices from here on in a trace that has programs, too. */
#define KERNEL_FIRST_EVENT 60000u

struct kernel_producer;

/* Settings are made, and recording has not begun. NULL and *err: the kernel's symbols or formats
 * cannot be read. Freed after the session that has the producer, and before the source is closed;
 * NULL is fine. */
struct kernel_producer *kernel_producer_new(struct kernel_source *source, struct err *err);
void kernel_producer_free(struct kernel_producer *k);
struct producer *kernel_producer_of(struct kernel_producer *k);
