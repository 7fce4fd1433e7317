/* SPDX-License-Identifier: MIT */
/* kern.c calls kern_show.c, so that both functions of one name are there. */
#pragma once

long shown_elsewhere(long n);
