#!/bin/bash
# A session in which programs are executed over and over: what brace keeps of each image goes when
# no process has it any more.
. "$(dirname "$0")/lib.sh"

mkfifo "$T/go"
images() { grep -c brace-image "/proc/$TRACER/maps"; }
has_images() { [ "$(images)" -eq "$1" ]; }
mappings() { wc -l <"/proc/$TRACER/maps"; }

# begin SCRIPT: records bash with it, in the background; TRACER is brace. The script makes $T/ready,
# and ends with a read of $T/go.
begin() {
	rm -f "$T/ready"
	"$BRACE" record -o "$T/trace" -- bash -c "$1; : >'$T/ready'; read x <'$T/go'" >"$T/out" 2>"$T/summary" </dev/null &
	TRACER=$!
	ON_EXIT+=("kill -KILL $TRACER")
	until_is eval "[ -e '$T/ready' ] || ! kill -0 $TRACER 2>/dev/null"
	[ -e "$T/ready" ]
}
end() {
	echo >"$T/go"
	wait $TRACER
}

for n in 50 300; do
	begin "for ((i = 0; i < $n; i++)); do /bin/true; done"
	result "$n programs executed one after the other" $? "$T/summary"
	until_is has_images 1
	result "brace keeps the image memory of the shell alone" $? "/proc/$TRACER/maps"
	after[n]=$(mappings)
	end
	result "and the session ends as the shell does" $? "$T/summary"
	"$BRACE" info "$T/trace" >"$T/info" 2>&1
	check_that "all of them are in the trace" [ "$(grep -c '^program .*/bin/true$' "$T/info")" -eq $n ]
done
echo "# mappings of brace after 50 programs: ${after[50]}, after 300: ${after[300]}"
check_that "250 programs more cost less than a mapping for every two of them" [ $((after[300] - after[50])) -lt 125 ]

# The image's first process ends at once; the one that it forked lives on, and has it.
mkfifo "$T/fork"
begin "bash -c '(read x <\"$T/fork\") & :'; for ((i = 0; i < 5; i++)); do /bin/true; done"
# The kernel tells the ends in their order: when those of /bin/true are known, that process' end is,
# too.
until_is has_images 2
result "an image whose first process has ended is kept for the fork" $? "/proc/$TRACER/maps"
echo >"$T/fork"
until_is has_images 1
result "and no longer" $? "/proc/$TRACER/maps"
end
result "the session ends as the shell does" $? "$T/summary"
finish
