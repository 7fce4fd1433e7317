/* brace list --events. */
#pragma once
#include "ui/invocation.h"

int list_events(struct invocation *inv); /* exit status */
