# shellcheck shell=bash
# brace tui in a terminal (tmux): every screen's numbers are those of brace report --json (tui_truth.py);
# keys, search, sizes, kinds of terminals, the editor, traces without a tree, names that a terminal would
# obey, and how it is left.
LIMIT=${LIMIT:-60}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tmux-lib.sh"
export PYTHONDONTWRITEBYTECODE=1
B=$BRACE
run_tui() { # FILE
	type_line clear
	until_is lacks 'left|status'
	type_line "stty -g >'$T/before'; '$B' tui '$1'; echo status=\$?; stty -g >'$T/after'; echo le''ft"
}
is_left() { # NAME [STATUS]
	shows '^left'
	grep -q "^status=${2:-0}\$" "$T/screen" && cmp -s "$T/before" "$T/after"
	result "$1: the terminal is as it was" $? "$T/screen"
}
# same_as SCREEN JSON NAME: the numbers that are seen. They come to be so: the screen may be drawn in
# parts, or be the one before still.
is_true() { look_at && python3 "$HERE/tui_truth.py" "$1" "$T/screen" "$2" >"$T/compared" 2>&1; }
same_as() {
	until_is is_true "$1" "$2"
	result "$3" $? "$T/compared"
}
# The program is compiled here: a compiler's cache may give an object whose source stood in a
# directory that is gone, and the editor needs the source.
mkdir "$T/program"
cp "$HERE/../targets/parts.c" "$T/program"
PARTS=$T/program/parts
CCACHE_DISABLE=1 gcc -D_GNU_SOURCE -g -O2 -pthread -o "$PARTS" "$PARTS.c" || { not_ok "the program"; finish; }

# --- numbers
record --mode block -- "$PARTS"
mv "$T/trace" "$T/parts"
for what in '' '--by thread' --tree '--callers leaf' '--callees round_of' '--histogram leaf'; do
	# shellcheck disable=SC2086 # words
	"$B" report --json $what "$T/parts" >"$T/json.${what//[ -]/}" 2>"$T/err" || not_ok "report $what"
done
terminal 160 60 TERM=screen-256color VISUAL= EDITOR="$T/editor"
run_tui "$T/parts"
shows 'FUNCTION' && shows ' leaf \[parts\]'
same_as functions "$T/json." "functions: the rows of brace report"
press '>' '>' '>' '>' '>' '>' '>'
screen "sorted by name" '^\? help'
press / l e a f Enter
screen "a search" '\? help .* leaf \[parts\]$'
press 3
shows ' CALLER$' && shows ' long_step \[parts\]'
same_as callers "$T/json.callersleaf" "callers of leaf: those of brace report --callers"
press 1 / r o u n d _ o f Enter
shows '\? help .* round_of \[parts\]$'
press 3
shows '^ +[0-9]+ .* fibonacci \[parts\]$'
same_as callees "$T/json.calleesround_of" "callees of round_of: those of brace report --callees"
press c Enter
screen "a callee is followed" '\? help .* (long_step|fibonacci|short_step) \[parts\]$'
press b
screen "... and back" '\? help .* round_of \[parts\]$'
press 2
shows ' \+ main \[parts\]$'
press Home '*' Down
for ((i = 0; i < 10; i++)); do press Down; done # to the other threads' rounds, below what was unfolded
press Home '*'
shows '^ +[0-9.]+ .* +round_of \[parts\]$|- round_of \[parts\]$'
same_as tree "$T/json.tree" "the tree: that of brace report --tree"
press Left
shows '\+ main \[parts\]$'
result "folded" $? "$T/screen"
press / f i b o Enter
shows '\? help .* fibonacci \[parts\]$'
result "a search unfolds the way" $? "$T/screen"
press 4
screen "the flame graph" '^[0-9.]+ %, .* calls: (main|rounds) \[parts\]$'
press Down
screen "... has callees below" '^[0-9.]+ %, .* calls: (pthread_(create|join) \[libc.so.6\]|rounds \[parts\]|round_of \[parts\])$'
press 6
shows ' THREAD$' && shows ' odd-[0-9]+$'
same_as threads "$T/json.bythread" "threads: those of brace report --by thread"
press 1 / l e a f Enter 7
shows 'calls, the slowest'
same_as histogram "$T/json.histogramleaf" "the histogram: that of brace report --histogram"
press / f i b o Enter
screen "another function's histogram, by a search" '^fibonacci \[parts\]$'
press / l e a f Enter
shows '^leaf \[parts\]$'
press s
shows 'wide' && shows '^\+[0-9.]+ [num]?s, .*: leaf$'
same_as slowest "$T/json." "the slowest call, in the timeline"
press + +
screen "closer" '^ +v?\+?.*wide'
press 0
# The cursor, a v, may stand on any of the letters.
screen "all of it" '^ +[+v][0v][ v][nv][sv][,v]'
press '?'
screen "help" 'the slowest call of the chosen function'
press x

# --- the editor
printf '#!/bin/sh\necho "$@" >"%s/edited"\n' "$T" >"$T/editor"
chmod 755 "$T/editor"
press 1 Home
until_is lacks '\? help .* leaf \[parts\]$'
press / l e a f Enter
shows '\? help .* leaf \[parts\]$'
press e
edited() { [ -s "$T/edited" ] && grep -qE '^\+[0-9]+ /.*/parts\.c$' "$T/edited"; }
until_is edited && sed -n "$(sed -E 's/^\+([0-9]+) .*/\1/' "$T/edited")p" "$(sed 's/^[^ ]* //' "$T/edited")" | grep -q leaf
result "the source of leaf, in the editor" $? <({ cat "$T/edited"; grep . "$T/screen"; } 2>&1)
screen "... and the screen is there again" '\? help .* leaf \[parts\]$'

# --- sizes
tm resize-window -t it -x 80 -y 24
screen "80x24" '^ +CALLS +TOTAL +SELF +P99  FUNCTION$'
tm resize-window -t it -x 12 -y 3
screen "12x3" '^1 functions'
press 2 3 4 5 6 7 1
tm resize-window -t it -x 300 -y 90
screen "300x90" ' MIN +MEAN +P50 +P99 +MAX +SELF%  FUNCTION$'
press q
is_left "q"
# The source has moved, and the terminal is where it went.
mkdir -p "$T/elsewhere/program"
mv "$PARTS.c" "$T/elsewhere/program"
rm -f "$T/edited"
type_line "cd '$T/elsewhere'"
run_tui "$T/parts"
shows ' leaf \[parts\]'
press / l e a f Enter e
moved() { [ -s "$T/edited" ] && grep -qE '^\+[0-9]+ \./program/parts\.c$' "$T/edited"; }
until_is moved
result "the source of a program that was built elsewhere" $? <({ cat "$T/edited"; grep . "$T/screen"; } 2>&1)
press q
is_left "q, after an editor"
rm "$T/elsewhere/program/parts.c"
run_tui "$T/parts"
shows ' leaf \[parts\]'
press / l e a f Enter e
screen "a source that is nowhere" 'parts\.c:[0-9]+ is neither here nor below the working directory$'
press C-c
is_left "Ctrl-C"
run_tui "$T/parts"
shows ' leaf \[parts\]'
kill -TERM "$(pgrep -f "^$B tui $T/parts" | head -n 1)"
is_left "SIGTERM" 143
run_tui "$T/parts"
shows ' leaf \[parts\]'
TUI=$(pgrep -f "^$B tui $T/parts" | head -n 1)
[ -n "$TUI" ] && tm kill-server
gone() { ! kill -0 "$TUI" 2>/dev/null; }
until_is gone
result "a terminal that is closed ends it" $?

# --- a part of the trace: the options of brace report, and its numbers
terminal 160 60 TERM=screen-256color
for options in '--thread odd --min-duration 300ns' '--from 30% --to 60%' '-l leaf -l fibonacci' '-g long_step -n leaf' '-l parts.c' '--callers-of short_step'; do
	# shellcheck disable=SC2086 # words
	"$B" report --json $options "$T/parts" >"$T/json.part" 2>"$T/err" || not_ok "report $options" "$T/err"
	type_line clear
	until_is lacks 'left|status|a part'
	type_line "'$B' tui $options '$T/parts'; echo le''ft"
	screen "tui $options says so" '\? help .*parts \(a part\)'
	same_as functions "$T/json.part" "tui $options: the rows of brace report"
	press q
	shows '^left'
done
type_line "clear; '$B' tui --from 30% --to 60% '$T/parts'; echo le''ft"
shows '\? help .*\(a part\)' && press 5
screen "the timeline is of the part" '^ +v0 ns, .*wide$'
press q
shows '^left'
type_line "clear; '$B' tui --min-duration 1h '$T/parts'; echo le''ft"
screen "nothing is chosen" 'nothing of the trace is chosen: of its calls .*shorter than --min-duration'
press q
shows '^left'
type_line "clear; '$B' tui -l nowhere '$T/parts'; echo status=\$?"
screen "no such function" '^status=125'
type_line "clear; '$B' tui --from 30% -- '$PARTS'; echo status=\$?"
screen "a part of a program that runs" '^brace: a part of a trace .* is of a file'

# --- other traces, other terminals
record -t function -- "$PARTS"
mv "$T/trace" "$T/flat"
record --threshold 1us -- "$PARTS"
mv "$T/trace" "$T/cut"
terminal 80 24 TERM=vt100 LC_ALL=C
run_tui "$T/flat"
screen "-t function, without colours, in the C locale" ' leaf \[parts\]$'
press 2
screen "it has no tree, and says so" 'the ends of calls were not recorded'
press q
is_left "-t function"
run_tui "$T/cut"
screen "--threshold" ' main \[parts\]$'
press 5
screen "no tree either" 'short calls were not recorded'
press q
is_left "--threshold"
run_tui "$T/nothing"
screen "no such file" '^brace: .*nothing'
is_left "no such file" 125
for ((i = 0; i < 3; i++)); do printf 'xyz' >>"$T/garbage"; done
run_tui "$T/garbage"
is_left "no trace" 125
"$B" tui "$T/parts" >"$T/out" 2>"$T/err" </dev/null
[ $? -eq 125 ] && grep -q 'no terminal: brace report and brace replay print' "$T/err" && [ ! -s "$T/out" ]
result "without a terminal" $? "$T/err"

# --- a program that runs
terminal 160 60 TERM=screen-256color TMPDIR="$T"
type_line "stty -g >'$T/before'; '$B' tui --mode block -o '$T/live' -- '$PARTS'; echo status=\$?; stty -g >'$T/after'; echo le''ft"
screen "a program that ends" '\? help .*parts \(ended\)'
"$B" report --json "$T/live" >"$T/json.live" 2>"$T/err"
same_as functions "$T/json.live" "a program's functions: the rows of brace report of the file"
press 5
screen "its timeline" 'wide$'
press q
is_left "a program"
sleep 1000 &
sleeper=$!
type_line clear
until_is lacks 'left|status'
type_line "stty -g >'$T/before'; '$B' tui -p $sleeper; echo status=\$?; stty -g >'$T/after'; echo le''ft"
screen "a process" "\? help .*process $sleeper \(rec"
press q
is_left "a process"
check_that "it goes on" grep -q '^TracerPid:.0$' "/proc/$sleeper/status"
check_that "its trace is gone" [ -z "$(find "$T" -name 'brace-tui.*')" ]
kill "$sleeper"
type_line clear
until_is lacks 'left|status'
type_line "'$B' tui -- '$T/nothing'; echo status=\$?; stty -g >'$T/after'; echo le''ft"
is_left "no such program" 127

# --- a session in the background
cat >"$T/calm.c" <<'C'
#include <unistd.h>
__attribute__((noinline)) int step(int n) { volatile int kept = n; return kept; }
int main(void) { for (;;) { step(1); usleep(5000); } }
C
gcc -O1 -o "$T/calm" "$T/calm.c" || exit
"$T/calm" &
calm=$!
"$B" start --session looked -p $calm >"$T/out" 2>"$T/err"
result "a session in the background" $? "$T/err"
terminal 160 60 TERM=screen-256color TMPDIR="$T" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR"
type_line "stty -g >'$T/before'; '$B' tui --session looked; echo status=\$?; stty -g >'$T/after'; echo le''ft"
screen "its functions" ' step \[calm\]$'
screen "and its name" '\? help .*session looked \(rec'
calls_shown() { look_at; awk '/ step \[calm\]$/ { n += $1 } END { print n + 0 }' "$T/screen"; }
first=$(calls_shown)
more_is_shown() { [ "$(calls_shown)" -gt "$first" ]; }
check_that "more calls come by themselves" until_is more_is_shown
press 5
screen "its timeline" 'wide$'
press 1
"$B" reset --session looked >"$T/out" 2>"$T/err"
result "the session ends" $? "$T/err"
screen "which the screen says" '\? help .*session looked \(ended\)'
press q
is_left "a session"
check_that "its file is gone" [ -z "$(find "$T" -name 'brace-tui.*')" ]
check_that "its program goes on" kill -0 $calm
kill $calm
type_line clear
until_is lacks 'left|status'
type_line "'$B' tui --session nobody; echo status=\$?; stty -g >'$T/after'; echo le''ft"
screen "no such session" '^brace: no session named nobody runs'
is_left "no such session" 125

# --- names that would be obeyed
hostile_program || { not_ok "a program with such names"; finish; }
# Without libc's functions, which take more time and would fill the screen.
"$B" record -q -L '*' -l '*@named' -l '*@named_lib.so' -o "$T/evil" -- "$T/named" "$T/named_lib.so" >"$T/out" 2>"$T/err" </dev/null
for locale in C.UTF-8 C; do
	terminal 160 50 TERM=screen-256color LC_ALL=$locale
	run_tui "$T/evil"
	screen "hostile names, $locale" ' \\033\]52'
	for screen in 2 '*' 3 4 5 6 7; do press "$screen"; done
	shows 'histogram'
	press q
	is_left "hostile names, $locale"
	is_clean
	result "they are escaped, $locale" $? "$T/screen"
done
finish
