/* SPDX-License-Identifier: MIT */
/* Perfetto's function EXTRACT_ARG(arg_set_id, key). Private to src/query. */
#pragma once
#include "query/table.h"

/* Adds it to q->db. Returns SQLite's result. */
int extract_arg_create(struct query *q);
