#!/bin/bash
# tools/check itself: a scratch project whose tests pass, fail or crash as they are told, run after
# run. Which of them are repeated, which are flaky, what is counted, and the last line.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the folder of the sources}"
unset MAKEFLAGS MFLAGS MAKELEVEL
SCRATCH=$(dirname "$0")/scratch

# project DIR: brace's own tools over the scratch program. Its fuzzing passes.
project() {
	mkdir -p "$1/tools"
	cp "$SCRATCH"/* "$1/"
	cp "$SOURCE"/tools/{check,run-tests,count,setup-sanitized} "$1/tools/"
	printf '%s\n' "project('scratch', 'c')" "verdicts = executable('verdicts', 'verdicts.c')" >"$1/meson.build"
	echo "option('fuzz', type: 'boolean', value: false)" >"$1/meson_options.txt"
	printf '%s\n' '# NAME SANITIZERS SUITE...' 'asan address,undefined parts' >"$1/tools/sanitized"
	printf '%s\n' '#!/bin/sh' 'echo "ok 1 - fuzz one"' 'echo 1..1' >"$1/tools/fuzz"
	chmod +x "$1/tools/fuzz"
}

# told DIR NAME SUITE VERDICTS: a test, and what it says each time.
told() {
	echo "test('$2', verdicts, suite: '$3', args: [meson.current_build_dir() / '$2.runs', '$4'])" >>"$1/meson.build"
}

runs() { stat -c %s "$1" 2>/dev/null || echo 0; } # of a test, by its file

# totals FILE: what stands under the last heading.
totals() { sed '1,/^== totals$/d' "$1"; }

agree() { # agree NAME EXPECTED FILE
	diff "$2" "$3" >"$T/difference"
	result "$1" $? "$T/difference"
}

# --- by chance ----------------------------------------------------------------------------------
P=$T/chance
project "$P"
told "$P" good parts P
told "$P" whole others P
told "$P" once parts FPP
"$P/tools/check" >"$T/out" 2>&1
result "a test that fails once and then passes twice does not fail the gate" $? "$T/out"
totals "$T/out" >"$T/totals"
cat >"$T/expected" <<END
Flaky:
  scratch:parts / once: build/meson-logs/once.failed.txt, build/meson-logs/repeated-once.txt
      scratch:parts / once: by chance
      # told to fail in run 1
  scratch:parts / once: build-asan/meson-logs/once.failed.txt, build-asan/meson-logs/repeated-once.txt
      scratch:parts / once: by chance
      # told to fail in run 1
11 passed, 0 failed
END
agree "it is named, in each build, and its cases count once" "$T/expected" "$T/totals"
for build in build build-asan; do
	logs=$P/$build/meson-logs
	[ "$(runs "$P/$build/once.runs") $(runs "$P/$build/good.runs")" = '3 1' ]
	result "$build: what failed ran three times, what passed once" $? "$T/out"
	grep -q '^not ok 2 - by chance' "$logs/once.failed.txt" && grep -q '^this was run 1$' "$logs/once.failed.txt"
	result "$build: the log of the failure is kept" $? "$logs/once.failed.txt"
	grep -q '^ok 2 - by chance' "$logs/repeated-once.txt" && grep -q '^this was run 3$' "$logs/repeated-once.txt"
	result "$build: and that of the repetitions" $? "$logs/repeated-once.txt"
done

# --- not by chance ------------------------------------------------------------------------------
P=$T/faults
project "$P"
told "$P" good others P
told "$P" always parts FFF
told "$P" again parts FPF
told "$P" crash parts CPC
echo 'tsan thread threads' >>"$P/tools/sanitized"
sed -i '/^asan/d' "$P/tools/sanitized"
printf '%s\n' 'echo "not ok 2 - fuzz two"' >>"$P/tools/fuzz"
"$P/tools/check" >"$T/out" 2>&1
[ $? -eq 1 ]
result "a test that fails again fails the gate" $? "$T/out"
totals "$T/out" | grep -v '^      ' | sort >"$T/totals" # tests run at the same time
sort >"$T/expected" <<END
Failed:
  scratch:parts / always: by chance
  scratch:parts / again: by chance
  scratch:parts / crash: the program itself (FAIL)
  build-tsan/meson-logs/testlog.json: no log of it: No such file or directory
  build-fuzz/tap: fuzz two
5 passed, 5 failed
END
agree "so do a crash, a suite that has no test, and a fuzz target" "$T/expected" "$T/totals"
[ "$(tail -n 1 "$T/out")" = '5 passed, 5 failed' ]
result "the last line is the count" $? "$T/out"
below() { grep -A4 -F -- "$1" "$T/out" | sed '1d; /^  [^ ]/,$d; s/^ *//' | cmp -s - <(printf '%s\n' "${@:2}"); }
check_that "below a case stand its own words, and how it went again" below ' / always: by chance' \
	'# told to fail in run 1' 'repeated alone: FAIL (by chance)'
check_that "each time" below ' / again: by chance' '# told to fail in run 1' 'repeated alone: OK' 'repeated alone: FAIL (by chance)'
check_that "the suite without a test is named" grep -q 'no test of build-tsan is of suite threads' "$T/out"
[ "$(runs "$P/build/always.runs") $(runs "$P/build/again.runs") $(runs "$P/build/crash.runs")" = '2 3 3' ]
result "each was tried again, until it failed again" $? "$T/out"

# --- many ---------------------------------------------------------------------------------------
P=$T/many
project "$P"
for i in 1 2 3 4 5 6 7 8 9; do told "$P" "bad$i" parts FPP; done
(cd "$P" && make BUILD=build && ninja -C build --quiet && tools/run-tests build parts) >"$T/out" 2>&1
(cd "$P" && tools/count build/meson-logs/testlog.json) >"$T/totals"
[ "$(tail -n 1 "$T/totals")" = '9 passed, 9 failed' ] && [ "$(runs "$P/build/bad1.runs")" = 1 ]
result "where many fail, none is repeated, and all of them count" $? "$T/out"
finish
