#!/bin/bash
# --threshold: what is left reads from above, no time is made of what was left out, and it is said
# that something was.
. "$(dirname "$0")/lib.sh"
F=(-l 'slow_*' -l main)

record --threshold 1ms "${F[@]}" -- "$FIXTURES/slow"
nothing_lost "recorded" 13
"$BRACE" replay --no-pager -O nofuncgraph-cpu -O nofuncgraph-duration -O nofuncgraph-overhead "$T/trace" >"$T/replay" 2>&1

# The text is a tree: each } closes the nearest line that is open at its depth. Where the thread had
# changed its CPU, the line that closes has a name; a call that did not open has only that.
cat >"$T/nested.awk" <<'END'
/^#/ || NF == 0 || /-----/ || / => / { next }
{ depth = match($0, /[^ ]/) - 1; text = substr($0, depth + 1) }
text ~ /\(\) \{$/ { open[depth] = text; opened++; next }
text ~ /\(\);$/ { leaves++; next }
text == "}" { if (!(depth in open)) bad++; delete open[depth]; closed++; next }
text ~ /^\} \/\* [a-z_]+ \*\/$/ {
	if ((depth in open) && open[depth] == substr(text, 6, length(text) - 8) "() {") { delete open[depth]; closed++ } else named++
	next
}
{ bad++; print }
END { for (d in open) bad++; print opened + 0, leaves + 0, named + 0; exit bad > 0 }
END
awk -f "$T/nested.awk" "$T/replay" >"$T/counts"
status=$?
result "every line that closes belongs to one that opens ($(tail -n 1 "$T/counts") opened, leaves, by name)" $status "$T/replay"
read -r opened leaves named < <(tail -n 1 "$T/counts")
[ $((opened + leaves + named)) -eq 13 ] && [ $((opened + leaves)) -gt 0 ]
result "13 calls took so long, and begin where they began" $? "$T/replay"
[ "$(grep -vE '^#|^$|-----| => ' "$T/replay" | head -n 1 | tr -d ' ')" = "main(){" ]
result "main's beginning comes first" $? "$T/replay"

"$BRACE" report --no-pager "$T/trace" >"$T/report" 2>&1
"$BRACE" report --json "$T/trace" >"$T/report.json"
said="^# calls shorter than 1000 us were not recorded"
grep -q "$said" "$T/replay" && [ "$(grep -c "$said" "$T/report")" -eq 1 ] && head -n 1 "$T/report.json" | grep -q '"threshold_ns":1000000[,}]'
result "the heading says so: replay, report, JSON" $? "$T/report"
awk '/^#/ { next } $2 == "TOTAL" { next } { n++; if ($4 != "-") bad++ } END { exit bad || n != 4 }' "$T/report"
result "no self time" $? "$T/report"
[ "$(grep -c '"self_ns":null' "$T/report.json")" -eq 4 ] && ! grep -q '"self_ns":[0-9]' "$T/report.json"
result "no self time in JSON" $? "$T/report.json"
"$BRACE" report --no-pager -s self "$T/trace" >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -q "self time is not known" "$T/err"
result "nothing can be sorted by it" $? "$T/err"

# Without one all is as it was.
record "${F[@]}" -- "$FIXTURES/slow"
"$BRACE" report --no-pager "$T/trace" >"$T/report" 2>&1
"$BRACE" report --json "$T/trace" >"$T/report.json"
! grep -q "shorter" "$T/report" && head -n 1 "$T/report.json" | grep -q '"threshold_ns":0' && ! grep -q null "$T/report.json"
result "without a threshold there are self times, and no such heading" $? "$T/report"

# Sleeping calls are not in it, and some that were recorded are left out: their ends alone are told.
record --threshold 1ms -O nosleep-time "${F[@]}" -- "$FIXTURES/slow"
if [ "$(cat "$T/traced.status")" -eq 125 ]; then
	skip "without sleep: no line opens what is left out" "$(tail -n 1 "$T/summary")"
else
	"$BRACE" replay --no-pager -O nosleep-time "$T/trace" >"$T/replay" 2>&1
	! grep -qF '() {' "$T/replay" && ! grep -q slow_nap "$T/replay"
	result "without sleep: no line opens what is left out" $? "$T/replay"
fi

finish
