#!/bin/bash
# `brace html`: a page is decoded by its documented format (pages.py), and holds what `brace report` counts; its script is run
# without a document by node, and with all of it by Chromium, where the machine has them.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"

record() { # NAME ARGUMENT...: and its reports
	timeout -k 5 "$LIMIT" "$BRACE" record -q -o "$T/$1" "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	page "$1"
}
page() { # NAME [OPTION...]
	"$BRACE" report --json "${@:2}" "$T/$1" >"$T/$1.report" 2>>"$T/err"
	"$BRACE" report --json --by thread "${@:2}" "$T/$1" >"$T/$1.threads" 2>>"$T/err"
	"$BRACE" html "${@:2}" "$T/$1" -o "$T/$1.html" 2>"$T/$1.said"
}
agree() { # NAME [SELFTEST]
	python3 "$HERE/pages.py" "$T/$1.html" "$T/$1.report" "$T/$1.threads" "${@:2}" >"$T/log" 2>&1
}
# Where times are those of the steps, the page's tree is that of report --tree, too.
with_tree() {
	case $1 in
	threads | evil) "$BRACE" report --json --tree "$T/$1" >"$T/tree" 2>>"$T/log" && TREE=$T/tree agree "$@" ;;
	*) agree "$@" ;;
	esac
}
by_node() { # NAME
	if ! command -v node >/dev/null; then
		skip "$1: its script counts the same" "node is not installed"
		return
	fi
	node "$HERE/page_script.js" "$T/$1.html" >"$T/$1.node" 2>"$T/log" && with_tree "$1" "$T/$1.node"
	result "$1: its script counts the same" $? "$T/log"
}
by_browser() { # NAME [WIDTH,HEIGHT]
	if ! command -v chromium >/dev/null; then
		skip "$1: a browser counts the same, and mouse, keys, search, range work" "chromium is not installed"
		return
	fi
	timeout -k 5 "$LIMIT" chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$T/profile" --window-size="${2:-1400,900}" \
		--virtual-time-budget=60000 --dump-dom "file://$T/$1.html#selftest" >"$T/$1.dom" 2>"$T/log" && with_tree "$1" "$T/$1.dom"
	result "$1${2:+ in a window of $2}: a browser counts the same, and mouse, keys, search, range work" $? "$T/log"
}

cat >"$T/evil.c" <<'C'
#include <unistd.h>
#include <sys/prctl.h>
__attribute__((noinline, noclone)) int innocent(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline, noclone)) int again(int n) { __asm__ volatile(""); return n ? again(n - 1) + innocent(n) : 0; }
int main(void) { prctl(PR_SET_NAME, "</script><b>"); return again(20) == 1; }
C
NAME='</script><script>document.title="owned"</script><!--"]]>&x'
cc -O1 -fno-optimize-sibling-calls -c -o "$T/evil.o" "$T/evil.c" && objcopy --redefine-sym innocent="$NAME" "$T/evil.o" && cc -o "$T/bad" "$T/evil.o"
check_that "a program has a function of an evil name" test -x "$T/bad"

record threads --mode block -- "$FIXTURES/threads"
record recursion --mode block -- "$FIXTURES/recursion"
record exceptions --mode block -- "$FIXTURES/exceptions"
record evil --mode block -- "$T/bad" '</script><script>alert(1)</script>'
record events --mode block -t function_graph --args --retval -e 'truth:*' -- "$FIXTURES/events"
record calls -t function -- "$T/bad"
record short --mode block --threshold 2us -- "$FIXTURES/threads"
record lossy -b 64K --mode overwrite -- "$FIXTURES/recursion"
record killed --mode block -- bash -c 'exec bash -c "kill -9 \$\$"'
for name in threads recursion exceptions evil events calls short lossy killed; do
	agree $name
	result "$name: the page has what report counts" $? "$T/log"
done
for name in threads exceptions evil events lossy; do
	by_node $name
done
# Calls that are open at --from count with their part of the range, as in a report of it.
ln "$T/threads" "$T/range"
page range --from 30% --to 60%
agree range
result "a range: the page has what report counts" $? "$T/log"
by_node range
for name in evil; do
	by_browser $name
	by_browser $name 390,800
done
cat >"$T/page1.py" <<'P'
import json, re, sys
about = json.loads(re.search(r'id="about">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
places = {f[0]: f[2] for f in about["functions"] if len(f) > 2}
assert re.search(r'(^|/)threads\.c:[0-9]+$', places["main"]), places
P
check_that "functions have their lines, where debug information tells them" python3 "$T/page1.py" "$T/threads.html"
check_that "the evil name is in the trace" grep -q 'document.title=' "$T/evil.report"
check_that "no name is markup" test "$(grep -c '</script>' "$T/evil.html")" = 3 -a "$(grep -ci '<script' "$T/evil.html")" = 3
check_that "the page may load nothing" grep -q "default-src 'none'" "$T/evil.html"
cat >"$T/page2.py" <<'P'
import json, re, sys
about = json.loads(re.search(r'id="about">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
assert any(lane["bytes"][4] for lane in about["lanes"]) and any(lane["events"] for lane in about["lanes"])
P
check_that "arguments and values are notes" python3 "$T/page2.py" "$T/events.html"
if grep -q '"lost":[1-9]' "$T/lossy.report"; then
	check_that "losses are told" grep -q 'records were lost' "$T/lossy.said"
else
	not_ok "nothing was lost"
fi

# A trace of a program and the kernel (record -k, of Debian's 6.12), whose reader for the truth is trace-cmd.
cp "$HERE/files/kernel.brace" "$T/kernel"
page kernel
"$BRACE" export --to trace.dat "$T/kernel" -o "$T/kernel.dat" 2>"$T/err" && trace-cmd report -t -i "$T/kernel.dat" >"$T/kernel.shown" 2>>"$T/err"
cat >"$T/page3.py" <<'P'
import re, sys
sys.path.insert(0, sys.argv[3])
from pages import Bytes, Page, STATES
off, want = {}, {}
for line in open(sys.argv[2]):
    m = re.search(r' ([0-9]+)\.([0-9]+): sched_switch: +\S.*:([0-9]+) \[[0-9]+\] (\S+) ==> .*:([0-9]+) \[', line)
    if m:
        now, prev, then = int(m[1] + m[2]), int(m[3]), int(m[5])
        if then in off:
            want.setdefault(then, []).append((off[then][1], now - off.pop(then)[0]))
        if prev:
            off[prev] = now, 1 if m[4].startswith("R") else 0
page = Page(sys.argv[1])
lanes, homes, compared = page.about["lanes"], 0, 0
for lane, columns in zip(lanes, page.columns):
    if "home" in lane:
        home = lanes[lane["home"]]
        assert home["tid"] == lane["tid"] and home["pid"] and not lane["pid"] and "home" not in home, (lane, home)
        homes += 1
    states, have = Bytes(columns[STATES]), []
    while states.more():
        states.signed()
        ticks = states.number()
        have.append((states.number(), page.ns(ticks)))
    # A thread that is off its CPU at the end has one state more, to its latest record.
    for (state, ns), (state2, ns2) in zip(want.get(lane["tid"], []) if not lane["pid"] else [], have):
        assert state == state2 and abs(ns - ns2) < 1000, (lane["name"], state, ns, state2, ns2)
        compared += 1
    if not lane["pid"]:
        assert 0 <= len(have) - len(want.get(lane["tid"], [])) <= 1, (lane["name"], len(have), want.get(lane["tid"]))
assert homes == 1 and compared > 40, (homes, compared)
P
check_that "the kernel's lane of a thread has its home, and the states that sched_switch tells" python3 "$T/page3.py" "$T/kernel.html" "$T/kernel.shown" "$HERE"
# The output.
check_that "the page says what it has" grep -qE '^brace: .*/threads.html has [0-9]+ calls of [0-9]+ threads' "$T/threads.said"
mkdir "$T/here"
(cd "$T/here" && "$BRACE" html -q "$T/threads" 2>"$T/err")
check_that "it is named after the trace" test -s "$T/here/threads.html" -a ! -s "$T/err"
check_that "a page is its user's alone" test "$(stat -c %a "$T/here/threads.html")" = 600
says() { # SENTENCE ARGUMENT...
	"$BRACE" html "${@:2}" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -q -- "$1" "$T/err" && [ ! -s "$T/out" ]
	result "html says: $1" $? "$T/err"
}
echo kept >"$T/kept" && ln -s kept "$T/link"
says 'symbolic link' "$T/threads" -o "$T/link"
says 'No such file' "$T/nothing" -o "$T/nothing.html"
says 'cannot write /dev/full' "$T/threads" -o /dev/full
echo old >"$T/old"
(ulimit -f 8; trap '' XFSZ; "$BRACE" html "$T/threads" -o "$T/old" 2>"$T/err")
check_that "what fails leaves the old file" test "$(cat "$T/old")" = old -a -z "$(find "$T" -name 'old.*')"
head -c 3000 "$T/threads" >"$T/cut"
page cut
agree cut
result "a trace that was cut is shown up to there" $? "$T/log"
check_that "and that is said" grep -q 'ends early' "$T/cut.said"
mkdir "$T/bin"
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s"\n' "$T/opened" >"$T/bin/xdg-open" && chmod +x "$T/bin/xdg-open"
PATH=$T/bin:$PATH "$BRACE" html --open "$T/threads" -o "$T/opened.html" 2>"$T/err"
check_that "--open gives the page to xdg-open" test "$(cat "$T/opened")" = "$T/opened.html"
PATH=$T/here "$BRACE" html --open "$T/threads" -o "$T/opened.html" 2>"$T/err"
check_that "and says when there is none" grep -q 'xdg-open (package xdg-utils) is not there; open the file in a browser' "$T/err"
finish
