#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/check-atomics finds what it forbids: each fault is planted in a small tree, so that
# clang is soon done, and must be named by file and line. The tree as it is has none.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the folder of the sources}"
mkdir -p "$T/tree/src/base" "$T/tree/fuzz" "$T/tree/bench"
cp -r "$SOURCE/include" "$T/tree/"
cp "$SOURCE/src/base/flag.h" "$T/tree/src/base/"
mkdir "$T/tree/src/shared"
# Its list of orderings would name functions that the copy does not have.
printf '/* Orderings.\n * * flag_set() releases. */\n' >"$T/tree/src/shared/memory.h"
printf '#include <stdatomic.h>\nextern atomic_uint planted_word;\n' >"$T/tree/src/base/planted.h"

# planted WHAT LINE...: the last line of a function with these lines is named, and what is wrong
planted() {
	local what=$1
	shift
	{
		printf '#include "base/planted.h"\n'
		printf '%s\n' 'static unsigned plain;' '' 'unsigned planted(void)' '{' "$@" '}'
	} >"$T/tree/src/base/planted.c"
	! "$SOURCE/tools/check-atomics" "$T/tree" >"$T/said" &&
		grep -q "^# src/base/planted.c:$((5 + $#)) .*$what" "$T/said"
}

unplanted() { # LINE...: nothing is said of them
	planted none "$@"
	! grep -q '^not ok\|^#' "$T/said"
}

without_function() { # a function that memory.h lists and no file has
	printf '/* Orderings.\n * * nobody_at_all() releases. */\n' >"$T/tree/src/shared/memory.h"
	rm "$T/tree/src/base/planted.c"
	! "$SOURCE/tools/check-atomics" "$T/tree" >"$T/said" &&
		grep -q '^# src/shared/memory.h lists nobody_at_all()' "$T/said"
}

check_that 'the tree as it is has no fault' "$SOURCE/tools/check-atomics"
plainly='uses an atomic like a plain variable'
check_that 'a plain read' planted "$plainly" '	return planted_word;'
check_that 'a plain write' planted "$plainly" '	planted_word = plain;'
check_that 'an increment' planted "$plainly" '	return planted_word++;'
check_that 'a read by a pointer' planted "$plainly" '	const atomic_uint *p = &planted_word;' '	return *p;'
check_that 'a function without its order' planted 'atomic_load does not say' '	return atomic_load(&planted_word);'
check_that 'a builtin without its order' planted '__sync_fetch_and_add does not say' \
	'	return __sync_fetch_and_add(&plain, 1);'
load='atomic_load_explicit(&planted_word, memory_order'
check_that 'an acquire without a reason' planted 'with whom its order pairs' "	return ${load}_acquire);"
check_that 'a builtin without a reason' planted 'with whom its order pairs' \
	'	return __atomic_load_n(&plain, __ATOMIC_SEQ_CST);'
check_that 'one with a reason is right' unplanted '	/* Pairs with planting(). */' "	return ${load}_acquire);"
check_that 'relaxed wants none' unplanted "	return ${load}_relaxed);"
check_that 'a listed function that is not there' without_function
finish
