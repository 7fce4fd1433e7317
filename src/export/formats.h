/* SPDX-License-Identifier: MIT */
/* The rows of exporter.c's table, each in a file of its own. Private to src/export. */
#pragma once
#include "export/exporter.h"

extern const struct exporter export_callgrind, export_chrome, export_flamegraph, export_folded,
	export_speedscope, export_perfetto, export_uftrace, export_ctf,
	export_trace_dat, export_pprof, export_dot, export_csv, export_sqlite, export_firefox,
	export_parquet, export_trace_dat_v7;
