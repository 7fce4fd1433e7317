/* SPDX-License-Identifier: MIT */
/* Keeps the cache small. Private to src/hook. */
#pragma once

/* Removes the files used longest ago while the directory holds more than half a gigabyte. */
void cache_prune(int dir);
