/* SPDX-License-Identifier: MIT */
/* Swift's symbols as their programmers write them. */
#pragma once
#include <stdbool.h>

/* Whether the symbol looks like one of Swift: "$s4shop5priceyS2iF". */
bool demangle_is_swift(const char *symbol);
/* "$s4shop4ItemV5price5timesS2i_tF" -> "shop.Item.price", whole: "shop.Item.price(times:)", full:
 * "shop.Item.price(times: Swift.Int) -> Swift.Int". The result is the caller's; NULL: it is not
 * understood. */
char *demangle_swift(const char *symbol, bool whole, bool full);
