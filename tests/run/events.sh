#!/bin/bash
# Events of a program's own (include/brace/event.h): what is recorded against the program's own
# account. Launched and attached; every width, strings, arrays; in threads, signal handlers, a
# forked child, a library, a plugin; filters; enabled and disabled while it runs; names that no
# event has.
. "$(dirname "$0")/lib.sh"
events=$FIXTURES/events

truth() { # WORD: what the program says of it
	sed -n "s/^$1: //p" "$T/truth"
}

lines() { # the trace's events alone, as text
	"$BRACE" replay --no-pager -O nocontext-info "$T/t.brace" 2>/dev/null
}

record() { # ARGUMENTS...: into $T/t.brace, the truth into $T/truth
	timeout 60 "$BRACE" record -b 64M -o "$T/t.brace" "$@" >"$T/truth" 2>"$T/err"
}

equal() { # NAME WANTED GOT
	if [ "$2" = "$3" ]; then ok "$1"; else
		not_ok "$1"
		printf '#   wanted %s, got %s\n' "$2" "$3" | head -c 600
		echo
		diag "$T/err" 4
	fi
}

decimal() { perl -pe 's/\{(0x[0-9a-fx,]+)\}/join " ", map { hex } split(",", $1)/ge'; } # libtraceevent 1.8 writes {0x1,0x2} for 1 2

# --- launched ---------------------------------------------------------------------------
record -e 'truth:*' -e 'custom:*' -e 'plugin:*' -- "$events" "$FIXTURES/events_plugin.so"
lines >"$T/lines"
equal "every width, signed and unsigned" "$(truth widths)" "$(sed -n 's/^widths: //p' "$T/lines")"
equal "strings and arrays, of any length" "$(truth texts)" "$(sed -n 's/^texts: //p' "$T/lines" | decimal)"
equal "in threads, handlers, a child and a library, to the last" "$(truth ticks)" "$(grep -c '^tick:' "$T/lines")"
equal "in signal handlers" "$(truth handled)" "$(grep -c '^tick:.* who=500$' "$T/lines")"
equal "in the forked child" 5000 "$(grep -c '^tick:.* who=77$' "$T/lines")"
equal "in the library" 50 "$(grep -c '^tick:.* who=1000$' "$T/lines")"
equal "in a plugin that came later" "$(truth plugin)" "$(grep -c '^opened: n=' "$T/lines")"
equal "a custom event at the same sites" "$(truth ticks)" "$(grep -c '^square:' "$T/lines")"
equal "with fields of its own" "$(seq 0 4999 | awk '{ s += $1 * $1 } END { printf "%d", s * 5 + 40425 }')" \
	"$(sed -n 's/^square: square=//p' "$T/lines" | awk -v h="$(truth handled)" \
		'{ s += $1 } END { for (i = 0; i < h; i++) s -= i * i; printf "%d", s }')"
equal "info names them" 5 "$("$BRACE" info "$T/t.brace" | grep -Ec '^event +(truth|custom|plugin):')"
equal "report counts them" "$(truth ticks)" \
	"$("$BRACE" report --json "$T/t.brace" | sed -n 's/.*"name":"truth:tick".*"calls":\([0-9]*\).*/\1/p')"

record -e truth:widths -- "$events"
equal "others cost their nop" "$(grep -c '^widths' "$T/truth")" "$(lines | grep -c '^[a-z]*: ')"

record -e truth:texts -t function_graph -l main -- "$events"
"$BRACE" replay --no-pager "$T/t.brace" >"$T/graph" 2>&1
equal "comments in the graph, inside of who emits them" 3 \
	"$(sed -n '/|  main() {/,/|  }/p' "$T/graph" | grep -c '|  /\* texts: n=')"

# --- filters ------------------------------------------------------------------------------
record -e truth:tick -f 'n < 100' -- "$events"
equal "a filter on a number" "$(truth small)" "$(lines | grep -c '^tick:')"
record -e truth:tick -f 'colour == -1 && who < 4 || who == 77 && n >= 4990' -- "$events"
equal "with && and ||, and a signed enum" $((4 * 1667 + 10)) "$(lines | grep -c '^tick:')"
record -e truth:texts -f 'a ~ "t*" || b ~ "*xx"' -- "$events"
equal "on strings" 2 "$(lines | grep -c '^texts:')"
record -e truth:tick -f 'common_pid != 1 && COMM ~ "event*" && n == 4999' -e truth:widths -f 's8 == -1 && s64 > 0' -- "$events"
equal "on the thread, each event with its own" "5 6" "$(lines | grep -c '^tick:') $(lines | grep -c '^widths:')"

# --- refusals -----------------------------------------------------------------------------
refused() { # NAME SENTENCE ARGUMENTS...: nothing is run
	local name=$1 sentence=$2
	shift 2
	if ! record "$@" -- "$events" && grep -q "$sentence" "$T/err" && [ ! -s "$T/truth" ]; then ok "$name"; else
		not_ok "$name"
		diag "$T/err"
	fi
}
refused "a name that no event has: the nearest" "truth:tik; did you mean truth:tick?" -e truth:tik
refused "a filter with a field that is not there" "truth:tick\|nosuch" -e truth:tick -f 'nosuch == 1'
refused "a filter without an event" "name one before it" -f 'n == 1'
equal "list -e -f" "custom:square truth:texts truth:tick truth:widths" \
	"$("$BRACE" list -e -f "$events" | sort | xargs)"

# --- what a hand that writes an event does wrong --------------------------------------------
cat >"$T/by_hand.c" <<'END'
#include <brace/event.h>
BRACE_EVENT(shop, opened, BRACE_PROTO(void), BRACE_ARGS(), BRACE_FIELDS(), BRACE_PRINT("at last"))
BRACE_EVENT(shop, sale, BRACE_PROTO(int cents), BRACE_ARGS(cents), BRACE_FIELDS(BRACE_FIELD(int, cents, cents)),
	BRACE_PRINT("cents=%d", REC->price))
BRACE_CUSTOM_EVENT(shop, sale, audit, one, BRACE_PROTO(int cents), BRACE_ARGS(cents), BRACE_FIELDS(), BRACE_PRINT("one"))
int main(void)
{
	brace_shop_opened();
	brace_shop_sale(250);
	return 0;
}
END
for compiler in "${CC:-gcc} -std=gnu99" "${CXX:-g++} -x c++ -std=c++11"; do
	if ! command -v "${compiler%% *}" >/dev/null; then
		skip "events by hand, by ${compiler%% *}" "it is not installed"
		continue
	fi
	# shellcheck disable=SC2086 # words
	check "${compiler%% *}: an event without fields" $compiler -pedantic -Wall -Wextra -Werror -I "$HERE/../../include" \
		"$T/by_hand.c" -o "$T/by_hand"
	record -e 'shop:*' -e 'audit:*' -- "$T/by_hand"
	equal "${compiler%% *}: it is recorded" "opened: at last, one: one" "$(lines | sed -n 's/^opened.*/&, /p; /^one:/p' | tr -d '\n')"
	equal "${compiler%% *}: a name that no field has: by field" "sale: cents=0xfa (250)" "$(lines | grep '^sale')"
	equal "${compiler%% *}: and list -e tells" 'shop:sale (its print format names `price`, which is no field of it: records are shown field by field)' \
		"$("$BRACE" list -e -f "$T/by_hand" 'shop:sale')"
done

# --- attached -----------------------------------------------------------------------------
mkfifo "$T/in"
"$events" -s <"$T/in" >"$T/ticks" &
pid=$!
exec 9>"$T/in"
ON_EXIT+=("kill $pid")
until_is grep -q ready "$T/ticks"

numbers() { # of the ticks, in order: how many, and whether one is missing between the first and the last
	lines | sed -n 's/^tick: n=\([0-9]*\) .*/\1/p' |
		awk 'NR == 1 { first = $1 } { last = $1 } END { print (NR > 1000), (last - first + 1 == NR) }'
}
timeout 30 "$BRACE" record -p $pid --duration 300ms -b 64M -e truth:tick -o "$T/t.brace" >"$T/err" 2>&1
equal "attached: every tick of the while" "1 1" "$(numbers)"
timeout 30 "$BRACE" record -p $pid --duration 300ms -b 64M -e truth:tick -f 'n & 1 && who == 9' -o "$T/t.brace" >"$T/err" 2>&1
equal "attached again, with a filter" "1 0" "$(lines | sed -n 's/^tick: n=\([0-9]*\) .*/\1/p' |
	awk '{ even += $1 % 2 == 0 } END { print (NR > 1000), even }')"
equal "list -e -p" "custom:square truth:texts truth:tick truth:widths" \
	"$("$BRACE" list -e -p $pid | sort -u | xargs)"
timeout 30 "$BRACE" record -p $pid -e truth:tok -o "$T/t.brace" >"$T/err" 2>&1
if grep -q "did you mean truth:tick" "$T/err"; then ok "attaching for a name that no event has"; else
	not_ok "attaching for a name that no event has"
	diag "$T/err"
fi

# --- a tracer that dies: the next one takes its agent out, and what leads to it
for what in 'truth:*' 'raw_syscalls:*'; do
	"$BRACE" record -p $pid -b 64M -e "$what" -o "$T/t.brace" >"$T/err" 2>&1 &
	tracer=$!
	is_at_work() { # its text is another, and brace has let it go
		! "$FIXTURES/same_text" $pid >"$T/differences" && grep -qE '^TracerPid:.0$' /proc/$pid/status
	}
	until_is is_at_work
	result "a tracer of $what is at work" $? "$T/err"
	{ kill -KILL $tracer; wait $tracer; } 2>/dev/null
	timeout 30 "$BRACE" record -p $pid --duration 50ms -o "$T/t.brace" >"$T/err" 2>&1
	result "it was killed: the next one records" $? "$T/err"
	check "and leaves the program as it was" "$FIXTURES/same_text" $pid
done
timeout 30 "$BRACE" record -p $pid --duration 300ms -b 64M -e truth:tick -o "$T/t.brace" >"$T/err" 2>&1
equal "and its ticks go on" "1 1" "$(numbers)"

# --- enabled and disabled while it runs, in the tree ------------------------------------------
until_there() { # FILE PATTERN
	until_is grep -q "$2" "$1"
}
mkdir "$T/tree"
E=$T/tree/events/truth/tick
if "$BRACE" mount "$T/tree" -p $pid 2>"$T/err"; then
	ON_EXIT+=("$BRACE umount --lazy $T/tree")
	grep -q 'field:enum colour colour;' "$E/format" && echo 1 >"$E/enable" && until_there "$T/tree/trace" ' tick: n=[0-9]* colour=7 who=9$'
	result "enabled while it runs" $? "$T/tree/trace"
	echo 0 >"$E/enable"
	echo >"$T/tree/trace"
	echo 1 >"$T/tree/events/truth/widths/enable"
	equal "disabled, with another one enabled" 0 "$(grep -c ' tick: ' "$T/tree/trace")"
	echo 'n & 1' >"$E/filter"
	echo 1 >"$E/enable"
	until_there "$T/tree/trace" ' tick: n='
	equal "enabled again, with a filter" 0 "$(grep -c ' tick: n=[0-9]*[02468] ' "$T/tree/trace")"
	"$BRACE" umount "$T/tree"
else
	skip "enabled while it runs" "$(cut -d' ' -f2- "$T/err")"
fi
exec 9>&-
if wait $pid && grep -q '^ticks: [0-9]' "$T/ticks"; then ok "and the program ends as ever"; else not_ok "and the program ends as ever"; fi

# --- every compiler, every level -----------------------------------------------------------------
cat >"$T/small.c" <<'C'
#include "events_def.h"
int main(void)
{
	for (long i = 0; i < 100; i++)
		brace_truth_tick(i, GREEN, 3);
	brace_truth_widths(-2);
	return 0;
}
C
built() { # COMPILER FLAGS...
	local flags=("${@:2}") name="$*"
	if ! "$1" "${flags[@]}" -Wall -Wextra -Werror -I"$HERE/../../include" -I"$HERE/../targets" "$T/small.c" -o "$T/small" 2>"$T/err"; then
		not_ok "$name"
		diag "$T/err"
		return
	fi
	record -e 'truth:*' -e 'custom:*' -- "$T/small"
	equal "$name" "100 100 1" "$(lines >"$T/lines"; for w in tick square 'widths: s8=-2 u8=254 s16=-2'; do grep -c "^$w" "$T/lines"; done | xargs)"
}
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for level in -O0 -O1 -O2 -O3; do
		built $cc $level -fPIE -pie
		built $cc $level -x c++ -fno-pie -no-pie
	done
	built $cc -O2 -static
	built $cc -O2 -flto -s
	built $cc -Os -ffunction-sections -fdata-sections -Wl,--gc-sections
done

finish
