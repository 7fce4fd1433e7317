#!/bin/bash
# Where much of the code belongs to no known function, that is said, with how much: by the sizes
# that readelf tells.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need readelf strip python3
strip -o "$T/uncovered" "$FIXTURES/uncovered"
"$BRACE" list -f "$T/uncovered" --why >"$T/list" 2>&1
record -- "$T/uncovered"
cat >"$T/known.py" <<'end'
import re, subprocess, sys
# Sections with an X among their flags; ranges of FDEs. What brace says is between: short gaps are
# padding.
read = lambda *a: subprocess.run(["readelf", "-W", *a, sys.argv[1]], capture_output=True, text=True).stdout
code = sum(int(s, 16) for s, f in re.findall(r"PROGBITS +\w+ \w+ (\w+) \w+ +(\w*) ", read("-S")) if "X" in f)
known = sum(int(b, 16) - int(a, 16) for a, b in re.findall(r"pc=(\w+)\.\.(\w+)", read("--debug-dump=frames")))
said = [float(re.search(r"known functions are ([0-9.]+) % of the code", open(f).read())[1]) for f in sys.argv[2:]]
print(code, known, said)
sys.exit(not all(100 * known / code - 1 < s < 100 * known / code + 2 for s in said))
end
check "the share of the code that is known" python3 "$T/known.py" "$T/uncovered" "$T/list" "$T/summary"
"$BRACE" list -f "$FIXTURES/steady" --why >"$T/list" 2>&1
check_that "of a program that is known nothing is said" sh -c "! grep -q 'of the code' '$T/list'"
finish
