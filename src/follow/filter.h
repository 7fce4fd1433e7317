/* SPDX-License-Identifier: MIT */
/* Expressions of pcap (pcap-filter(7)), by libpcap, which is loaded when one is given. */
#pragma once
#include "base/err.h"
#include "follow/wire.h"

/* Fills in n and insns. 0, or -errno and *err: libpcap is not there, or its sentence of what is
 * wrong. */
int follow_filter_compile(const char *text, struct follow_filter *out, struct err *err);
