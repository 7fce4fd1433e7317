#!/bin/bash
# Files that are another's by the path: in another mount namespace, replaced, deleted, without a
# path. What is traced is what the process runs; planned by the file at the path, elsewhere's loop
# jumps into the middle of a patch.
. "$(dirname "$0")/attach-lib.sh"
IN=$FIXTURES/elsewhere-inside OUT=$FIXTURES/elsewhere-outside
TIMES=20000
chmod 755 "$T" # another user executes what is here
cp "$OUT" "$T/prog"
cp "$OUT.so" "$T/lib.so"
if unshare -m mount --bind "$IN" "$T/prog" 2>/dev/null; then
	ENTER=(unshare -m)
elif unshare -rm mount --bind "$IN" "$T/prog" 2>/dev/null; then
	ENTER=(unshare -rm)
else
	echo '1..0 # SKIP this machine makes no mount namespaces'
	exit 0
fi
# shellcheck disable=SC2016 # for the shell inside: COMMAND... where $T/prog and $T/lib.so are the others
INSIDE=("${ENTER[@]}" bash -c 'mount --bind "$0" "$1/prog"; mount --bind "$0.so" "$1/lib.so"; shift; exec "$@"' "$IN" "$T")

# traced NAME WHICH: this one of the builds is in the trace, and the other is not.
traced() {
	local other=inside
	[ "$2" = inside ] && other=outside
	[ "$(json_calls "which_$2")" -ge 1 ] && [ "$(json_calls "which_$other")" -eq 0 ]
	result "$1: the names are those $2" $? "$T/summary"
}

# --- a process that runs
start in "${INSIDE[@]}" "$T/prog" 0
attach --duration 300ms
traced "attached, a program inside" inside
ends_right "attached, a program inside: it goes on" in "$PID"

start in "${INSIDE[@]}" "$OUT" 0 "$T/lib.so"
attach -L 'lib.so' --duration 300ms
traced "attached, a library inside" inside
ends_right "attached, a library inside: it goes on" in "$PID"

if [ "$(id -u)" -eq 0 ]; then
	start out "$T/prog" 0
	timeout -k 5 "$LIMIT" unshare -m bash -c "mount --bind '$IN' '$T/prog'; exec '$BRACE' record -p $PID -o '$T/trace' --duration 300ms" \
		>"$T/attach.out" 2>"$T/summary"
	rm -f "$T/json"
	traced "attached from inside, a program outside" outside
	ends_right "attached from inside, a program outside: it goes on" out "$PID"
fi

# --- launched
launched() { # NAME COMMAND...: it ends in the program inside, $TIMES times.
	local name=$1
	shift
	same "$name: same result" -L lib.so -- "$@"
	traced "$name" inside
	calls_are which_inside $TIMES
}
launched "launched, by unshare" "${INSIDE[@]}" "$T/prog" $TIMES
same "launched, by unshare, a library: same result" -L lib.so -- "${INSIDE[@]}" "$OUT" $TIMES "$T/lib.so"
calls_are which_inside $TIMES
if command -v bwrap >/dev/null && bwrap --dev-bind / / true 2>/dev/null; then
	launched "launched, by bwrap" bwrap --dev-bind / / --bind "$IN" "$T/prog" "$T/prog" $TIMES
	launched "launched, by bwrap, in another root" bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
		--symlink usr/bin /bin --proc /proc --dev /dev --bind "${BRACE%/*}" "${BRACE%/*}" --bind "$T" "$T" --bind "$IN" "$T/prog" "$T/prog" $TIMES
	same "launched, by bwrap, where the agent is not seen: same result" -- bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
		--symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp --bind "$IN" /tmp/prog /tmp/prog $TIMES
	grep -q '1 program ran untraced: 1 in a changed root (prog)' "$T/summary"
	result "launched, by bwrap, where the agent is not seen: brace says so" $? "$T/summary"
else
	skip "launched, by bwrap" "bwrap cannot be used here"
fi

# --- a file system of layers, whose files have other devices in maps than for stat
mkdir -p "$T/low" "$T/up" "$T/work" "$T/layers"
cp "$IN" "$T/low/prog"
# shellcheck disable=SC2016
OVER='mount -t tmpfs none "$1/up" && mkdir "$1/up/up" "$1/up/work" && mount -t overlay -o "lowerdir=$1/low,upperdir=$1/up/up,workdir=$1/up/work" none "$1/layers"'
if "${ENTER[@]}" bash -c "$OVER" - "$T" 2>/dev/null; then
	# shellcheck disable=SC2016
	launched "launched, on an overlay" "${ENTER[@]}" bash -c "$OVER"'; exec "$1/layers/prog" "$2"' - "$T" $TIMES
	# shellcheck disable=SC2016
	start over "${ENTER[@]}" bash -c "$OVER"'; exec "$1/layers/prog" 0' - "$T"
	attach --duration 300ms
	traced "attached, on an overlay" inside
	ends_right "attached, on an overlay: it goes on" over "$PID"
else
	skip "an overlay" "it cannot be mounted here"
fi

# --- the debug file stands inside, too
mkdir "$T/there" "$T/stripped" "$T/stripped/.debug"
cp "$OUT" "$T/there/prog"
if command -v objcopy >/dev/null; then
	objcopy --only-keep-debug "$IN" "$T/stripped/.debug/prog.debug"
	objcopy --strip-all --add-gnu-debuglink="$T/stripped/.debug/prog.debug" "$IN" "$T/stripped/prog"
	# shellcheck disable=SC2016
	start debug "${ENTER[@]}" bash -c 'mount --bind "$0" "$1"; exec "$1/prog" 0' "$T/stripped" "$T/there"
	attach --duration 300ms
	traced "attached, a stripped program inside, with its debug file" inside
	ends_right "attached, a stripped program inside: it goes on" debug "$PID"
fi

# --- stacks are unwound by the file inside
if [ -e /dev/fuse ]; then
	. "$(dirname "$0")/answers-lib.sh"
	printf '#!/bin/bash\nexec %s bash -c '\''mount --bind "$0" "$1"; exec "$1"'\'' "%s" "%s"\n' "${ENTER[*]}" "$FIXTURES/kin" "$T/prog" >"$T/kin"
	chmod 755 "$T/kin"
	A=$T/kin
	start_program
	mkdir "$T/tree"
	"$BRACE" mount "$T/tree" -p "$PID" 2>"$T/err"
	result "mounted, for a program inside" $? "$T/err"
	ON_EXIT+=("$BRACE umount --lazy $T/tree")
	echo 1 >"$T/tree/events/kin/met/enable"
	echo 1 >"$T/tree/options/stacktrace"
	tell 1
	grep -q '^ => main$' "$T/tree/trace"
	result "an event's stack inside reaches main" $? "$T/tree/trace"
	"$BRACE" umount "$T/tree"
	end_program
	check_that "the program inside goes on" [ "$STATUS" -eq 0 ]
else
	skip "an event's stack inside" "there is no /dev/fuse"
fi

# --- nothing that the program names is executed by who attaches to it
mkdir "$T/loader"
LOADER=$(readelf -l "$OUT" | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
cp "$(readlink -f "$LOADER")" "$T/loader/ld.so"
SHORT=/tmp/ld.$$ # in no more bytes than the true one's
ln -s "$T/loader/ld.so" "$SHORT"
ON_EXIT+=("rm -f $SHORT")
python3 -c 'import sys
bytes = open(sys.argv[1], "rb").read()
new = sys.argv[4].encode()
old = sys.argv[3].encode()
open(sys.argv[2], "wb").write(bytes.replace(old, new.ljust(len(old), b"\0"), 1))' "$OUT" "$T/loaded" "$LOADER" "$SHORT"
chmod 755 "$T/loaded"
start loaded "$T/loaded" 0
printf '#!/bin/sh\necho "$@" >>"%s"\n' "$T/executed" >"$T/loader/other"
chmod 755 "$T/loader/other"
mv "$T/loader/other" "$T/loader/ld.so"
attach -L 'libc.so*' -l which_outside -l nosuch --duration 300ms
[ ! -e "$T/executed" ] && [ "$(json_calls which_outside)" -ge 1 ]
result "attached: the program's loader is not executed" $? "$T/summary"
ends_right "attached: the program goes on" loaded "$PID"

# --- replaced, deleted, without a path
replaced() { # NAME: $PID's program and library are the builds inside; root has the library, others have the program only
	attach -L 'old.so' --duration 300ms
	traced "$1" inside
	ends_right "$1: it goes on" old "$PID"
}
cp "$IN" "$T/old"
cp "$IN.so" "$T/old.so"
start old "$T/old" 0
cp "$OUT" "$T/new"
mv "$T/new" "$T/old"
replaced "attached, a program that was replaced"
cp "$IN" "$T/old.run"
start old "$T/old.run" 0
rm "$T/old.run"
replaced "attached, a program that was deleted"
start old python3 -c 'import os, sys
fd = os.memfd_create("elsewhere", 0)
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(fd, ["elsewhere", "0"], os.environ)' "$IN"
replaced "attached, a program in memory"

if [ "$(id -u)" -eq 0 ]; then
	AS_OTHER=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	start old "$OUT" 0 "$T/old.so"
	cp "$OUT.so" "$T/new.so"
	mv "$T/new.so" "$T/old.so"
	attach -L 'old.so' --duration 300ms
	traced "attached, a library that was replaced" inside
	ends_right "attached, a library that was replaced: it goes on" old "$PID"
	mkdir -m 777 "$T/others"
	cp "$IN.so" "$T/old.so"
	start old "${AS_OTHER[@]}" "$OUT" 0 "$T/old.so"
	cp "$OUT.so" "$T/new.so"
	mv "$T/new.so" "$T/old.so"
	XDG_RUNTIME_DIR=$T/others timeout -k 5 "$LIMIT" "${AS_OTHER[@]}" "$BRACE" record -p "$PID" -L old.so -o "$T/others/trace" --duration 300ms \
		>"$T/attach.out" 2>"$T/summary"
	cp "$T/others/trace" "$T/trace"
	rm -f "$T/json"
	grep -q "old.so is not traced: another file than the one that the process runs stands at its path" "$T/summary"
	result "attached by another user, a library that was replaced: brace says why not" $? "$T/summary"
	"$BRACE" report --json "$T/trace" | grep -q work
	result "attached by another user: no name of the new library's" $((1 - $?)) "$T/summary"
	ends_right "attached by another user: it goes on" old "$PID"
	rm -f "$T/others/trace"
	if "${AS_OTHER[@]}" unshare -rm true 2>/dev/null; then
		rm -f "$T/others/trace"
		# shellcheck disable=SC2016
		XDG_RUNTIME_DIR=$T/others timeout -k 5 "$LIMIT" "${AS_OTHER[@]}" "$BRACE" record --mode block -o "$T/others/trace" -- \
			unshare -rm bash -c 'mount --bind "$0" "$1"; exec "$1" "$2"' "$IN" "$T/prog" $TIMES >"$T/traced.out" 2>"$T/summary"
		cp "$T/others/trace" "$T/trace"
		rm -f "$T/json"
		check_that "launched by another user: it ran" [ "$(tail -n 1 "$T/traced.out")" = right ]
		traced "launched by another user" inside
		calls_are which_inside $TIMES
	else
		skip "launched by another user" "others may not make a mount namespace"
	fi
else
	skip "a library that was replaced" "only root has other users"
fi

finish
