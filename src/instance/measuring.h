/* SPDX-License-Identifier: MIT */
/* The tracers that measure (model/tracer.h): which instances have one, the threads that measure for
 * all of them (measure.h), and their records, which go into these instances' buffers directly. */
#pragma once
#include "base/err.h"

struct instances;
struct settings;
struct trace_array;

struct measuring;
/* No thread runs before measuring_update(). l outlives it. */
struct measuring *measuring_new(struct instances *l);
/* Ends the threads; the pump and the arrays are still there. NULL is fine. */
void measuring_free(struct measuring *m);
/* The next two: with l->changing held. Whether tr may get these settings: 0; -EBUSY and *err:
 * another instance measures something else. */
int measuring_check(const struct trace_array *tr, const struct settings *next, struct err *err);
/* The arrays' settings have changed: starts, changes or ends the threads. 0, or -errno and *err. */
int measuring_update(struct measuring *m, struct err *err);
