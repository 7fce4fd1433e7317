/* SPDX-License-Identifier: MIT */
/* Lists of CPUs as people write them: "0-3,8,10-20:1/2". */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the n characters of text into a mask of `cpus` CPUs (bit i % 8 of byte i / 8; (cpus + 7) /
 * 8 bytes). Numbers and ranges are separated by commas or blanks; A-B:USED/GROUP takes the first
 * USED of every GROUP; `N` is the last CPU, `all` are all. False: malformed, or a CPU that does not
 * exist. */
bool cpu_list_parse(const char *text, size_t n, uint32_t cpus, uint8_t *mask);
