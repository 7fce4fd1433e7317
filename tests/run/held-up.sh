#!/bin/bash
# Mode block, and a brace that gets no turn: after 0.9 s the program goes on without it. What it
# loses meanwhile is counted, and why is said; what it calls once brace goes on again is recorded.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
EACH=10000000 # calls of each of four threads

# has FILE BYTES: so much is written there.
has() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ]; }

"$BRACE" record --mode block -b 128K -l step -o "$T/trace" -- "$FIXTURES/crowd" 1 4 $EACH >"$T/out" 2>"$T/summary" &
brace=$!
ON_EXIT+=("kill -CONT $brace")
until_is has "$T/trace" 100000 && kill -STOP $brace # it records
until_is has "$T/out" 1
result "the program ends while brace is stopped" $? "$T/summary"
kill -CONT $brace
wait $brace
result "its status is the program's ($?)" $? "$T/summary"
figure() { "$BRACE" info --json "$T/trace" | sed -nE "s/.*\"type\":\"trace\".*\"$1\":([0-9]+).*/\1/p"; }
kept=$(figure records) lost=$(figure lost)
[ $((kept + lost)) -eq $((8 * EACH)) ] && [ "$kept" -gt 0 ] && [ "$lost" -gt 0 ]
result "$kept records kept and $lost lost are the $((8 * EACH)) that were made" $? "$T/summary"
grep -Eq '^brace: crowd went on without room [0-9]+ times?, and lost records: brace had no turn for 0.9 s, or was stopped$' "$T/summary"
result "and it says why" $? "$T/summary"
finish
