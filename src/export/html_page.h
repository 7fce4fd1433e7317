/* SPDX-License-Identifier: MIT */
/* The style and the script of pages, and their hashes for the page's policy, which
 * src/export/meson.build makes strings of. */
#pragma once

static const char html_style[] =
#include "html_style_text.h"
;
static const char html_script[] =
#include "html_script_text.h"
;
#include "html_hashes.h"
