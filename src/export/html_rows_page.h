/* SPDX-License-Identifier: MIT */
/* The style and the script of pages of rows, and their hashes, as html_page.h has those of
 * traces. */
#pragma once

static const char html_rows_style[] =
#include "html_rows_style_text.h"
;
static const char html_rows_script[] =
#include "html_rows_script_text.h"
;
#include "html_rows_hashes.h"
