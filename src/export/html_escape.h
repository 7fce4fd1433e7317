/* SPDX-License-Identifier: MIT */
/* JSON that stands in an element of a page, whatever names of programs it has. */
#pragma once
#include "base/out.h"

/* A flush for out_init() whose arg is a struct out: hands JSON on to it with each "<" as an escape,
 * so that no text ends the element that it stands in. JSON needs no "<" outside of strings. */
int html_escape_json(void *arg, const char *bytes, size_t n);
