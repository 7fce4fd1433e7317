#!/bin/bash
# `brace export --to callgrind`, opened by KCachegrind under Xvfb: the rows of its flat profile, read as a screen reader does, are
# `brace report`'s functions. Without KCachegrind or what reads its window all of it is skipped; `make soak` installs both.
. "$(dirname "$0")/lib.sh"
need cc kcachegrind Xvfb dbus-run-session /usr/bin/python3
/usr/bin/python3 -c 'import gi; gi.require_version("Atspi", "2.0")' 2>"$T/err" || { echo '1..0 # SKIP gir1.2-atspi-2.0 is not installed'; exit 0; }

cc -g -O1 -fno-optimize-sibling-calls -pthread -o "$T/nested-calls" "$WORK/nested.c"
timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/nested" -- "$T/nested-calls" >"$T/out" 2>"$T/err" </dev/null
"$BRACE" report --json "$T/nested" >"$T/report" 2>>"$T/err" && "$BRACE" export --to callgrind "$T/nested" -o "$T/callgrind.out.1" 2>>"$T/err"
result "a trace is exported" $? "$T/err"

# rows.py SECONDS: the flat profile's rows, when the window has them: inclusive, own, calls, function, place.
cat >"$T/rows.py" <<'P'
import gi, sys, time
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi

def all_of(o, role):
    if o is None:
        return
    if o.get_role_name() == role:
        yield o
    for i in range(o.get_child_count()):
        yield from all_of(o.get_child_at_index(i), role)

def rows():
    for frame in all_of(Atspi.get_desktop(0), "frame"):
        if frame.get_name() != "Flat Profile":
            continue
        for tree in list(all_of(frame, "tree")):
            cells = [tree.get_child_at_index(i) for i in range(tree.get_child_count())]
            head = [c.get_name() for c in cells if c.get_role_name() == "table column header"]
            texts = [c.get_name() for c in cells if c.get_role_name() == "table cell"]
            if head == ["Incl.", "Self", "Called", "Function", "Location"] and texts:
                return [texts[i:i + 5] for i in range(0, len(texts), 5)]

Atspi.init()
end, found = time.monotonic() + float(sys.argv[1]), None
while not found and time.monotonic() < end:
    try:
        found = rows()
    except gi.repository.GLib.Error:  # what it asked for is gone meanwhile
        pass
    found or time.sleep(0.2)
assert found, "the window shows no functions"
for row in found:
    print(*row, sep="\t")
P
cat >"$T/compare.py" <<'P'
"""compare.py ROWS REPORT: times to the nanosecond that each call is rounded by, calls exactly."""
import json, re, sys
number = lambda text: int(re.sub(r"\D", "", text))
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
shown = {row[3]: row for row in rows if not row[3].startswith("thread ")}
report = {r["name"]: r for r in map(json.loads, list(open(sys.argv[2]))[1:])}
assert set(shown) == set(report) and {"leaf", "middle", "outer", "again", "main"} <= set(shown), (set(shown) ^ set(report))
assert len(rows) == len(shown) + sum(row[3].startswith("thread ") for row in rows), rows
for name, (inclusive, own, called, _, place) in shown.items():
    r = report[name]
    assert number(called) == r["calls"], (name, called, r)
    assert abs(number(own) - (r["self_ns"] or 0)) <= 2 * r["calls"], (name, own, r)
    assert abs(number(inclusive) - (r["total_ns"] or 0)) <= 2 * report["leaf"]["calls"], (name, inclusive, r)
    assert r["module"] in place, (name, place, r)
assert "nested.c" in shown["leaf"][4], shown["leaf"]
P
export XDG_RUNTIME_DIR=$T/run XDG_CONFIG_HOME=$T/config XDG_CACHE_HOME=$T/cache HOME=$T
export QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 LC_ALL=C.UTF-8
mkdir -m 700 "$T/run" "$T/config"
printf '[GeneralSettings]\nShowPercentage=false\n' >"$T/config/kcachegrindrc"
# It chooses a free display, and tells its number.
Xvfb -displayfd 3 -screen 0 1400x900x24 3>"$T/display" >"$T/xvfb" 2>&1 &
XVFB=$!
ON_EXIT+=("kill $XVFB")
until_is test -s "$T/display"
export DISPLAY=:$(cat "$T/display")
cat >"$T/session.sh" <<SESSION
kcachegrind '$T/callgrind.out.1' >'$T/kcachegrind' 2>&1 </dev/null &
/usr/bin/python3 '$T/rows.py' $LIMIT >'$T/rows' 2>'$T/err'
status=\$?
kill \$!
wait
exit \$status
SESSION
timeout -k 5 $((LIMIT + 30)) dbus-run-session -- bash "$T/session.sh" >"$T/log" 2>&1
result "KCachegrind shows the profile" $? "$T/err"
check_that "its functions, their places, calls and times are report's" /usr/bin/python3 "$T/compare.py" "$T/rows" "$T/report"
finish
