#!/bin/bash
# Boot configurations as settings of a run: the same trace as by the options, from the first call of the program; events, a probe with
# its filter and histogram, an instance; what is refused is told with its place; a session's settings saved, and applied to another.
. "$(dirname "$0")/lib.sh"
ANSWERS=values
. "$(dirname "$0")/answers-lib.sh"
SHAPES=$FIXTURES/shapes-O3
printf '%s\n' 1 2 m2 m1 q >"$T/in"

counted() { # FILE: name and calls of each function
	"$BRACE" report --json "$1" | sed -nE 's/^[{]"name":"([a-z]+)",.*"calls":([0-9]+),.*/\1 \2/p' | sort
}

cat >"$T/functions" <<'END'
ftrace {
	tracer = function_graph
	ftrace.filters = "leaf", tiny, re*
	ftrace.notraces = real
	options = nosleep-time
}
END
"$BRACE" record -q -o "$T/by-config" --config "$T/functions" -- "$SHAPES" >"$T/out" 2>"$T/err"
result "record --config" $? "$T/err"
check_that "without a word" [ ! -s "$T/err" ]
"$BRACE" record -q -o "$T/by-options" -l leaf -l tiny -l 're*' -n real -O nosleep-time -- "$SHAPES" >"$T/out" 2>"$T/err"
counted "$T/by-config" >"$T/a"
counted "$T/by-options" >"$T/b"
check_that "three functions" [ "$(wc -l <"$T/a")" = 3 ]
check_that "the calls that the options give" cmp "$T/a" "$T/b"
BRACE_CONFIG=$T/functions "$BRACE" record -q -o "$T/by-variable" -l looping -l real -- "$SHAPES" >"$T/out" 2>"$T/err"
counted "$T/by-variable" | cmp -s - <(echo looping 300)
result "BRACE_CONFIG: -l takes the place of its filters, and its notraces stay" $? "$T/err"
BRACE_CONFIG=- "$BRACE" record -q -o "$T/all" -- "$SHAPES" >"$T/out" 2>"$T/err"
check_that "BRACE_CONFIG=-: none" [ "$(counted "$T/all" | wc -l)" -gt 6 ]

# --- events, a probe, a histogram; the tree's way of recording
cat >"$T/events" <<'END'
ftrace.event.kprobes.hit {
	probes = "values_hit n=%si:u64"
	filter = n != 2
	hist { keys = n; sort = n }
	enable
}
ftrace.tracr = nop
ftrace.event.no.such.enable
END
"$BRACE" graph --config "$T/events" -o "$T/graph" -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
result "graph --config" $? "$T/err"
sed -n 's/.*hit: ([^)]*) //p' "$T/graph" >"$T/seen"
check_that "the probe's records, filtered" cmp "$T/seen" <(printf 'n=1\nn=5\n')
grep -qF "$T/events:7:8: no setting has the key ftrace.tracr; did you mean tracer?" "$T/err" &&
	grep -qF "$T/events:8:22: there is no file events/no/such/enable" "$T/err" &&
	grep -qF "$T/events:4:2: a trace file has no histogram" "$T/err"
result "keys that cannot be carried out are told, with their places" $? "$T/err"
"$BRACE" graph --strict --config "$T/events" -- "$A" <"$T/in" >"$T/out" 2>"$T/err"
[ $? = 125 ] && [ ! -s "$T/out" ] && grep -qF "$T/events:7:8: no setting" "$T/err"
result "--strict: the program does not run" $? "$T/err"

# Recording is off from the beginning: a graph with that, and without, tells it.
for on in 0 1; do
	printf 'ftrace { tracer = function_graph; ftrace.filters = leaf; tracing_on = %s }\n' $on >"$T/on"
	"$BRACE" graph --config "$T/on" -o "$T/graph.$on" -- "$SHAPES" >"$T/out" 2>"$T/err"
	"$BRACE" record --config "$T/on" -o "$T/record.$on" -- "$SHAPES" >"$T/out" 2>"$T/err"
	"$BRACE" replay --no-pager "$T/record.$on" >"$T/replay.$on" 2>>"$T/err"
	leaves[on]=$(grep -c 'leaf()' "$T/replay.$on")
done
check_that "graph --config heeds tracing_on" [ "$(grep -c 'leaf()' "$T/graph.0")" = 0 -a "$(grep -c 'leaf()' "$T/graph.1")" -gt 0 ]

check_that "record --config heeds tracing_on" [ "${leaves[0]}" = 0 -a "${leaves[1]}" -gt 0 ]
check_that "a record with recording off has none" [ "$("$BRACE" info "$T/record.0" | awk '$1 == "records" { print $2 }')" = 0 ]

# --- a session: an instance, saved and applied
cat >"$T/session" <<'END'
ftrace {
	tracer = nop
	event.kprobes.hit { probes = "values_hit n=%si:u64"; hist { keys = n; sort = n }; enable }
	instance.two { tracer = function_graph; ftrace.filters = values_many; options = sym-addr }
}
END
mkfifo "$T/fifo"
"$BRACE" start --config "$T/session" -- "$A" <"$T/fifo" >"$T/out" 2>"$T/err" &
exec 3>"$T/fifo"
wait $!
result "start --config" $? "$T/err"
printf '%s\n' 1 2 m2 >&3
has_three() { "$BRACE" show events/kprobes/hit/hist 2>/dev/null | grep -q 'Hits: 3$'; }
check_that "the histogram counts" until_is has_three
check_that "the instance's tracer" grep -qx function_graph <("$BRACE" show instances/two/current_tracer)
check_that "the instance's filter" grep -qx values_many <("$BRACE" show instances/two/set_ftrace_filter)
"$BRACE" config --save >"$T/saved" 2>"$T/err"
result "config --save" $? "$T/err"
check_that "it is a configuration" "$BRACE" config "$T/saved"
exec 3>&-
"$BRACE" reset 2>"$T/err"
mkfifo "$T/fifo2"
"$BRACE" start --config "$T/saved" -- "$A" <"$T/fifo2" >"$T/out" 2>"$T/err" &
exec 3>"$T/fifo2"
wait $!
result "a session from what was saved" $? "$T/err"
"$BRACE" config --save >"$T/again" 2>"$T/err"
check_that "saved again, it is the same" cmp "$T/saved" "$T/again"
printf 'ftrace { tracer = function_graph; ftrace.filters = values_outer }\n' >"$T/more"
"$BRACE" set --config "$T/more" 2>"$T/err"
grep -qx values_outer <("$BRACE" show set_ftrace_filter) && grep -qx function_graph <("$BRACE" show current_tracer)
result "set --config" $? "$T/err"
exec 3>&-
"$BRACE" reset 2>"$T/err"

# --- the command
printf 'a {\n  b = 1\n' >"$T/open"
"$BRACE" config "$T/open" >"$T/out" 2>"$T/err"
[ $? = 125 ] && printf 'brace: %s:1:1: Brace is not closed\n  a {\n  ^\n' "$T/open" | cmp -s - "$T/err"
result "a fault has its place and a caret" $? "$T/err"
"$BRACE" config --explain "$T/functions" >"$T/out" 2>"$T/err"
cmp -s "$T/out" - <<'END'
echo 'nosleep-time' >> trace_options
echo 'leaf' >> set_ftrace_filter
echo 'tiny' >> set_ftrace_filter
echo 're*' >> set_ftrace_filter
echo 'real' >> set_ftrace_notrace
echo 'function_graph' > current_tracer
END
result "--explain" $? "$T/out"
"$BRACE" config -l - <"$T/functions" >"$T/out" 2>"$T/err" && "$BRACE" config -l "$T/out" >"$T/again" 2>"$T/err" && cmp -s "$T/out" "$T/again"
result "a listing lists itself" $? "$T/err"
"$BRACE" config --json "$T/functions" | python3 -c 'import json, sys; assert json.load(sys.stdin)["ftrace"]["ftrace"]["filters"] == ["leaf", "tiny", "re*"]'
result "--json" $?
"$BRACE" config --json "$T/functions" | "$BRACE" config --list - 2>"$T/err" | cmp -s - <("$BRACE" config --list "$T/functions" 2>/dev/null)
result "--json is a configuration, too" $? "$T/err"

# --- profiles
export XDG_CONFIG_HOME=$T/home
mkdir -p "$T/home/brace" "$T/here"
"$BRACE" config --profiles >"$T/out" 2>"$T/err"
[ $? = 0 ] && [ ! -s "$T/out" ] && grep -q 'no profiles' "$T/err"
result "no profiles" $? "$T/err"
cp "$T/functions" "$T/home/brace/three.bconf"
"$BRACE" config --json "$T/functions" >"$T/home/brace/other.json"
touch "$T/home/brace/notes.txt" "$T/home/brace/.bconf"
"$BRACE" config --profiles >"$T/out" 2>"$T/err"
printf '%-16s%s\n' other "$T/home/brace/other.json" three "$T/home/brace/three.bconf" | cmp -s - "$T/out"
result "--profiles" $? "$T/out"
for name in three other; do
	(cd "$T/here" && "$BRACE" record -q -o "$T/by-profile" --config $name -- "$SHAPES") >"$T/out" 2>"$T/err"
	counted "$T/by-profile" | cmp -s - "$T/b"
	result "--config $name: a profile" $? "$T/err"
done
(cd "$T/here" && BRACE_CONFIG=three "$BRACE" record -q -o "$T/by-profile" -- "$SHAPES") >"$T/out" 2>"$T/err"
counted "$T/by-profile" | cmp -s - "$T/b"
result "BRACE_CONFIG: a profile" $? "$T/err"
echo 'ftrace.tracer = function' >"$T/here/three"
(cd "$T/here" && "$BRACE" config -l three) >"$T/out" 2>"$T/err"
grep -qx 'ftrace.tracer = "function"' "$T/out"
result "a file of this name goes before" $? "$T/out"
(cd "$T/here" && "$BRACE" config -l ./other) >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -q 'other' "$T/err"
result "with a slash it is a file" $? "$T/err"
(cd "$T/here" && "$BRACE" config -l nonesuch) >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -qF "no such file, and no profile $T/home/brace/nonesuch.bconf" "$T/err"
result "neither a file nor a profile" $? "$T/err"
"$BRACE" config --profiles x >"$T/out" 2>"$T/err"
check_that "--profiles takes no file" grep -q 'takes no file' "$T/err"

# --- attached to a program
cp "$SHAPES" "$T/program"
cp "$T/program" "$T/before"
"$BRACE" config -l "$T/program" >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -q 'is a program without a configuration' "$T/err"
result "a program without a configuration" $? "$T/err"
"$BRACE" config --attach "$T/functions" "$T/program" 2>"$T/err"
result "--attach" $? "$T/err"
readelf -SW "$T/program" >"$T/out" 2>"$T/err" && grep -q '\.brace\.config *PROGBITS' "$T/out" && [ ! -s "$T/err" ] &&
	[ -x "$T/program" ] && readelf -lW "$T/program" | cmp -s - <(readelf -lW "$T/before")
result "readelf has nothing to say, and what is loaded is the same" $? "$T/out"
check_that "the program does what it did" cmp <("$T/program") <("$T/before")
"$BRACE" config -l "$T/program" >"$T/out" 2>"$T/err"
cmp -s "$T/out" <("$BRACE" config -l "$T/functions" 2>/dev/null)
result "it is listed" $? "$T/out"
"$BRACE" record -q -o "$T/attached" --config "$T/program" -- "$T/program" >"$T/out" 2>"$T/err"
counted "$T/attached" | cmp -s - "$T/b"
result "it is obeyed" $? "$T/err"
"$BRACE" record -q -o "$T/attached" -- "$T/program" >"$T/out" 2>"$T/err"
check_that "but not without --config" [ "$(counted "$T/attached" | wc -l)" -gt 6 ]
echo 'ftrace.tracer = function' >"$T/second"
"$BRACE" config -a "$T/second" "$T/program" 2>"$T/err" && [ "$("$BRACE" config -l "$T/program")" = 'ftrace.tracer = "function"' ]
result "another one takes its place" $? "$T/err"
cp "$T/program" "$T/stripped"
"$BRACE" config --detach "$T/program" 2>"$T/err" && cmp "$T/program" "$T/before"
result "--detach: the file is what it was" $? "$T/err"
strip "$T/stripped" 2>"$T/err" && [ "$("$BRACE" config -l "$T/stripped")" = 'ftrace.tracer = "function"' ]
result "strip keeps it" $? "$T/err"
"$BRACE" config -a "$T/functions" "$T/stripped" 2>"$T/err" && "$BRACE" config -l "$T/stripped" | cmp -s - <("$BRACE" config -l "$T/functions")
result "it is replaced behind a strip" $? "$T/err"
"$BRACE" config -d "$T/stripped" 2>"$T/err" && ! "$BRACE" config -l "$T/stripped" >"$T/out" 2>&1 && "$T/stripped" >"$T/out" &&
	readelf -SW "$T/stripped" >"$T/out" 2>"$T/err" && [ ! -s "$T/err" ]
result "and removed" $? "$T/err"
for n in 3 40 63 64 200 5000; do
	head -c $n "$T/before" >"$T/cut"
	"$BRACE" config -a "$T/functions" "$T/cut" 2>&1 | grep -q '^brace: .*cut: its ' || echo "$n"
	cmp -s "$T/cut" <(head -c $n "$T/before") || echo "$n: changed"
done >"$T/out"
check_that "a damaged program is refused, and left as it was" [ ! -s "$T/out" ]
ln -s program "$T/link"
"$BRACE" config -a "$T/functions" "$T/link" 2>"$T/err"
[ $? = 125 ] && cmp -s "$T/program" "$T/before"
result "a symbolic link is refused" $? "$T/err"
"$BRACE" config -a "$T/functions" 2>"$T/err"
check_that "--attach without a program" grep -q 'which program' "$T/err"

"$BRACE" config --list --json "$T/functions" >"$T/out" 2>"$T/err"
check_that "two wishes are one too many" grep -qF 'not several' "$T/err"
"$BRACE" config "$T/none" >"$T/out" 2>"$T/err"
"$BRACE" config "$T" >"$T/out" 2>>"$T/err"
check_that "a directory" grep -qF 'is no regular file' "$T/err"
check_that "no such file" grep -qF "$T/none" "$T/err"
finish
