/* SPDX-License-Identifier: MIT */
/* The former names of base/number_map.h, for code that was begun with them. No new code uses
 * them. */
#pragma once
#include "base/number_map.h"

#define sp_map number_map
#define SP_NONE NUMBER_NONE
#define sp_map_get number_map_get
#define sp_map_set number_map_set
#define sp_map_free number_map_free
