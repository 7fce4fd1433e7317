/* SPDX-License-Identifier: MIT */
/* The list of formats, each in a file of its own with its `struct exporter`: exporter.c makes its
 * table of it. Private to src/export.
 *
 * A new format is the last one: seeds of fuzz/seeds/export have a format's place in their first
 * byte. */
#pragma once
#include "export/exporter.h"

#define EXPORT_FORMATS(X) \
	X(folded) X(flamegraph) X(chrome) X(speedscope) X(callgrind) X(perfetto) X(ctf) \
	X(uftrace) X(trace_dat) X(pprof) X(dot) X(csv) X(sqlite) X(firefox) X(parquet) \
	X(trace_dat_v7)

#define EXPORT_DECLARATION(format) extern const struct exporter export_##format;
EXPORT_FORMATS(EXPORT_DECLARATION)
#undef EXPORT_DECLARATION
