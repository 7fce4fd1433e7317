#pragma once
#include <stdint.h>

uint64_t probe_subjects_run(void);
extern const char *const probe_subjects[]; /* their names; NULL at the end */
