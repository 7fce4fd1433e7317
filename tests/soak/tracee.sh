#!/bin/bash
# The tests of src/tracee, again and again beside each other: what happens rarely under load is
# found here. BRACE as for tests/run: the test programs are in its build.
set -u
cd "$(dirname "${BRACE:?path of brace}")/tests/tracee" || exit
rounds=${ROUNDS:-50} n=0 failed=0

for name in hold blocked edges rseq launch_stop; do
	n=$((n + 1)) bad=0 done=0
	while [ $done -lt "$rounds" ] && [ $bad = 0 ]; do
		timeout 300 "./${name}_test" "$PWD" >"soak-$name.1" 2>&1 & one=$!
		timeout 300 "./${name}_test" "$PWD" >"soak-$name.2" 2>&1 & two=$!
		wait $one && wait $two || bad=1
		wait
		done=$((done + 1))
	done
	if [ $bad = 0 ]; then
		echo "ok $n - $name, $done rounds of two"
	else
		echo "not ok $n - $name, in round $done"
		sed 's/^/# /' "soak-$name.1" "soak-$name.2"
		failed=1
	fi
done
echo "1..$n"
exit $failed
