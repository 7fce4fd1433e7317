/* SPDX-License-Identifier: MIT */
/* The session memories as a source of records (producer.h): the threads that write into them. The
 * first source of a session: a thread's number is that of its slot. */
#pragma once
#include "collect/memories.h"
#include "collect/producer.h"

/* The memories have to outlive it, and may become more meanwhile. producers_free() frees it. */
struct producer *memory_producer_new(struct memories *memories);
