/* SPDX-License-Identifier: MIT */
/* The script of flame graphs, which src/export/meson.build makes a string of. */
#pragma once

static const char flamegraph_js[] =
#include "flamegraph_script.h"
;
