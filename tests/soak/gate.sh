#!/bin/bash
# The whole gate while every core is busy twice over, begun by nohup: a test that leans on time, on
# the order of things, or on SIGHUP's default shows itself. One that is flaky here is a fault, as one
# that fails.
: "${BUILD:=$(cd "$(dirname "$0")/../.." && pwd)/build}"
cd "$(dirname "$0")/../.." || exit 1
T=$(mktemp -d "${TMPDIR:-/tmp}/brace-soak.XXXXXX")
busy=()
trap 'kill "${busy[@]}"; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
for ((i = 2 * $(nproc); i > 0; i--)); do
	while :; do :; done &
	busy+=($!)
done
FUZZ_SECONDS=${FUZZ_SECONDS:-5} nohup tools/check "$BUILD" >"$T/out" 2>&1 </dev/null
status=$?
sed '1,/^== totals$/d' "$T/out" >"$T/totals"
sed 's/^/# /' "$T/totals"
failed=0
case $status in
0) echo "ok 1 - the gate passes with every core busy twice over, and SIGHUP ignored" ;;
*) echo "not ok 1 - the gate passes with every core busy twice over, and SIGHUP ignored" && failed=1 ;;
esac
if ! grep -q '^Flaky:$' "$T/totals"; then
	echo "ok 2 - and none of its tests is flaky"
else
	echo "not ok 2 - and none of its tests is flaky" && failed=1
fi
echo 1..2
exit $failed
