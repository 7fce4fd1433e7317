/* SPDX-License-Identifier: MIT */
/* CRC-32C (Castagnoli), the checksum of every header and packet of a trace file. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The checksum of n bytes. Any thread may call it. */
uint32_t crc32c(const void *bytes, size_t n);
