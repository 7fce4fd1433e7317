#!/bin/bash
# start --ring: what a session in the background had recorded when it, and its programs, were killed is there for the next one. The
# counts are the program's own (tests/targets/ledger.h). record --rotate --ring: the same sums over several files.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ledger.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
LIMIT=120
victim=$FIXTURES/victim
ledger=$T/ledger
RING=$T/ring
case $(stat -f -c %T "$T") in
tmpfs | ext2/ext3 | xfs | f2fs) ;;
*)
	RING=/dev/shm/brace-test-start-ring.$$
	[ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ] || {
		echo '1..0 # SKIP neither the directory for temporary files nor /dev/shm can have a ring'
		exit 0
	}
	;;
esac
mkdir -m 700 "$T/run"
export XDG_RUNTIME_DIR=$T/run
ON_EXIT+=("rm -f '$RING' '$RING'.*")

# Of no process nothing: /proc//stat is the machine's, with numbers that the end of the test would kill.
parent_of() { [ -z "$1" ] || sed -E 's/.*\) . ([0-9]+).*/\1/' "/proc/$1/stat"; }

# adds_up NAME FILE...: kept and lost of the files together are what the ledger says.
adds_up() {
	local name=$1 kept=0 lost=0 all=$((2 * $(made))) f
	shift
	for f; do
		[ -e "$f" ] || { result "$name: $f is there" 1; return; }
		kept=$((kept + $(figure records "$f")))
		lost=$((lost + $(figure lost "$f")))
	done
	[ $((kept + lost)) -eq $all ] && [ "$kept" -gt 0 ]
	result "$name: $kept kept and $lost lost are the $all that were made" $? "$T/check.log"
}

# begin CALLS OPTION...: a session whose program stands still half way.
begin() {
	local calls=$1
	shift
	rm -f "$ledger"
	"$BRACE" start --ring "$RING" -t function_graph -l step "$@" -- "$victim" "$ledger" 4 "$calls" wait >"$T/out" 2>&1
	result "a session begins ($*)" $? "$T/out"
	until_is stands_still
	PROGRAM=$(field 0)
	SESSION=$(parent_of "$PROGRAM")
	ON_EXIT+=("kill -9 $PROGRAM $SESSION 2>/dev/null")
}

kill_both() {
	kill -9 "$SESSION" "$PROGRAM"
	until_is is_gone "$PROGRAM"
	until_is is_gone "$SESSION"
}

# refuses NAME WORDS COMMAND...: status 125 and the words.
refuses() {
	local name=$1 words=$2
	shift 2
	"$@" >"$T/check.log" 2>&1
	[ $? -eq 125 ] && grep -q -- "$words" "$T/check.log"
	result "$name" $? "$T/check.log"
}

# --- both are killed
begin 100000
"$BRACE" show last_boot_info >"$T/check.log" 2>&1
[ "$(cat "$T/check.log")" = '# Current' ]
result "last_boot_info of a session whose ring was new" $? "$T/check.log"
refuses "a living session's ring" 'of a session that runs' "$BRACE" start --session other --ring "$RING" -- true
kill_both
check "what was left becomes a trace" "$BRACE" start --ring "$RING"
grep -q "the session before left [0-9,]* records, [0-9,]* are lost; they are in $RING.last" "$T/check.log"
result "it is said" $? "$T/check.log"
adds_up "both killed" "$RING.last"
[ ! -e "$RING" ] && [ ! -e "$RING.trace" ]
result "the rest is gone" $?
"$BRACE" report --json "$RING.last" >"$T/report" 2>&1
grep -q '"name":"step","module":"victim"' "$T/report"
result "calls have the function's name" $? "$T/report"
refuses "nothing is left now" 'no session has left anything' "$BRACE" start --ring "$RING"

# --- the next session has what the one before left
begin 1000
kill_both
begin 1000
grep -q 'the session before left' "$T/out"
result "the next session says what was left" $? "$T/out"
"$BRACE" show last_boot_info >"$T/check.log" 2>&1
grep -q "^# [0-9]* records, [0-9]* lost, in $RING.last$" "$T/check.log" && grep -q "^[0-9a-f]*	$(readlink -f "$victim")$" "$T/check.log"
result "last_boot_info: where the program was" $? "$T/check.log"

# --- an ordinary end: all is there, too
let_go
until_is is_gone "$PROGRAM"
check "an ordinary end" "$BRACE" reset
until_is is_gone "$SESSION"
[ ! -e "$RING" ]
result "an ordinary end: no ring is left" $?
check "an ordinary end: then a start" "$BRACE" start --ring "$RING"
adds_up "an ordinary end" "$RING.last"
rm -f "$RING".*

# --- the program goes on without the session
begin 100000
kill -9 "$SESSION"
until_is is_gone "$SESSION"
let_go
until_is is_gone "$PROGRAM"
check "only the session was killed" "$BRACE" start --ring "$RING"
adds_up "what was recorded before and after the session's death" "$RING.last"
rm -f "$RING".*

# --- several files: none of their records is taken for a lost one. An extracted trace is apart.
# A machine's time stamps decide how far records are compressed: 19 million of them had 0.87 to 1.2 MB, and a third file
# would take the place of the first.
# Not RING.trace.next, which a turn makes before it names the files.
has_two() { compgen -G "$RING.trace.[0-9]*" >/dev/null; }
has_all() { "$BRACE" extract -o "$T/all" >"$T/out" 2>&1 && [ "$(figure records "$T/all")" -ge $((2 * $(made))) ]; }
has_two_or_all() { has_two || has_all; }
for calls in 2400000 4000000; do
	begin "$calls" --ring-size 1M --mode block
	until_is has_two_or_all
	has_two && break
	kill_both
	rm -f "$RING" "$RING".*
done
check_that 'a second file is begun' has_two
check "extract meanwhile" "$BRACE" extract -o "$T/extracted"
"$BRACE" info "$T/extracted" >"$T/info" 2>&1
! grep -q "$RING id\|ring-before\|files before" "$T/info"
result "an extracted trace names neither ring nor files before it" $? "$T/info"
kill_both
check "two files and a ring" "$BRACE" start --ring "$RING"
[ -e "$RING.last.1" ]
result "two files and a ring: both are there" $? "$T/check.log"
adds_up "two files and a ring" "$RING.last" "$RING.last.1"
rm -f "$RING".*

rm -f "$ledger"
"$BRACE" record -q --ring "$RING" --rotate 100K --mode block -l step -o "$T/trace" -- "$victim" "$ledger" 4 800000 wait >"$T/out" 2>&1 &
BRACE_PID=$!
until_is stands_still
PROGRAM=$(field 0)
turned() { [ -e "$T/trace.1" ]; }
until_is turned
kill -9 $BRACE_PID "$PROGRAM"
wait $BRACE_PID 2>/dev/null
until_is is_gone "$PROGRAM"
check "record --rotate: recover" "$BRACE" recover --ring "$RING" -o "$T/whole" "$T/trace"
adds_up "record --rotate" "$T/whole" "$T"/trace.[0-9]*
rm -f "$RING"

# --- brace is killed before it enters one of the system calls by which a turn makes and names files: the ring is never without its file.
# The last of these calls is the next turn's.
turn_killed() { # CALL N
	rm -f "$ledger" "$RING" "$T"/turn "$T"/turn.* "$T/whole"
	timeout -k 5 "$LIMIT" strace -qq -o "$T/strace" -e trace=openat,renameat2 -P "$T/turn" -P "$T/turn.1" -P "$T/turn.next" \
		--inject="$1:signal=KILL:when=$2" "$BRACE" record -q --ring "$RING" --rotate 64K --mode block -l step -o "$T/turn" -- \
		"$victim" "$ledger" 4 800000 wait >"$T/out" 2>&1
	PROGRAM=$(field 0)
	ON_EXIT+=("kill -9 $PROGRAM 2>/dev/null")
	grep -q 'killed by SIGKILL' "$T/strace" && until_is stands_still && kill -9 "$PROGRAM" && until_is is_gone "$PROGRAM"
}
if strace -qq -o /dev/null true 2>/dev/null; then
	for at in "openat 2" "renameat2 1" "renameat2 2" "openat 3"; do
		turn_killed ${at% *} ${at#* }
		result "a turn of files, brace is killed at $at" $? "$T/strace"
		check "a turn of files, $at: recover" "$BRACE" recover --ring "$RING" -o "$T/whole" "$T/turn"
		parts=("$T"/turn.[0-9]*)
		[ -e "${parts[0]}" ] || parts=()
		adds_up "a turn of files, $at" "$T/whole" "${parts[@]}"
	done
else
	skip "a turn of files, brace is killed" "strace cannot trace here"
fi
rm -f "$RING"

# --- files of more accidents than are looked at: the session that died last is the newest one's
begin 1000
kill_both
mv "$RING.trace" "$RING.trace.4000000000"
for ((i = 1; i <= 300; i++)); do cp "$RING.trace.4000000000" "$RING.trace.$i"; done
check "300 older files" "$BRACE" start --ring "$RING"
adds_up "300 older files" "$RING.last"
[ ! -e "$RING.trace.4000000000" ] && [ -e "$RING.trace.1" ]
result "300 older files: the newest was taken" $?
rm -f "$RING".*

# --- a spoiled file among what was left
begin 1000
kill_both
echo spoiled >"$RING.trace"
refuses "a trace that is none" "$RING.trace" "$BRACE" start --ring "$RING"
[ -e "$RING" ]
result "the ring stays" $?
rm -f "$RING.trace"
refuses "a ring without its trace" 'is not there: remove it' "$BRACE" start --ring "$RING"
rm -f "$RING"

# --- what is no trace, and no ring beside it, takes no trace's name
echo kept >"$RING.last"
echo mine >"$RING.trace"
refuses "a file of another kind" 'is not a brace trace file' "$BRACE" start --ring "$RING"
[ "$(cat "$RING.last" "$RING.trace")" = $'kept\nmine' ]
result "a file of another kind: it and what was left before stay" $?
rm -f "$RING.trace"
mkfifo "$RING.trace"
refuses "a pipe" 'not a regular file' "$BRACE" start --ring "$RING"
[ -p "$RING.trace" ] && [ "$(cat "$RING.last")" = kept ]
result "a pipe: it and what was left before stay" $?
rm -f "$RING".*

# --- a full disk beside the ring: nothing is removed, and what could not be written is counted
if [ "$(id -u)" -eq 0 ] && mkdir "$T/disk" && mount -t tmpfs -o size=4m none "$T/disk" 2>/dev/null; then
	ON_EXIT+=("umount -l '$T/disk'")
	ordinary=$RING
	RING=$T/disk/ring
	begin 1500000 --ring-size 2M --mode block
	kill_both
	refuses "a full disk: it is said what to do" "brace recover --ring $RING -o FILE $RING.trace" "$BRACE" start --ring "$RING"
	[ -e "$RING" ] && [ -e "$RING.trace" ] && [ ! -e "$RING.last" ]
	result "a full disk: all stays" $?
	check "a full disk: recover elsewhere" "$BRACE" recover --ring "$RING" -o "$T/elsewhere" "$RING.trace"
	adds_up "a full disk" "$T/elsewhere"
	RING=$ordinary
else
	skip "a full disk" "no tmpfs can be mounted here"
fi

# --- what is refused
refuses "a size without a ring" 'name its file' "$BRACE" start --ring-size 4M -- true
refuses "a session that runs already" 'for the beginning of a session' "$BRACE" start --ring "$RING" -l step
refuses "the kernel alone" 'for the beginning of a session' "$BRACE" start -k --ring "$RING"
echo mine >"$T/mine"
refuses "a file that is no ring" 'is no ring\|is not there' "$BRACE" start --ring "$T/mine" -- true
[ "$(cat "$T/mine")" = mine ]
result "it stays as it was" $?

# --- files that another user put under the names of a session's
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$T"
	"$BRACE" record -q -o "$T/planted" -- true
	for planted in ring ring.trace; do
		rm -rf "$T/open"
		mkdir -m 1777 "$T/open"
		setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'cat >"$1"' - "$T/open/$planted" <"$T/planted"
		refuses "$planted of another user's is no session's" 'is no file of yours' "$BRACE" start --ring "$T/open/ring"
		[ "$(stat -c %u "$T/open/$planted")" = 65534 ]
		result "$planted stays as it is" $?
	done
	rm -rf "$T/open"
	mkdir -m 1777 "$T/open"
	setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'cat >"$1"' - "$T/open/ring.trace.4000000000" <"$T/planted"
	refuses "a part of another user's is none" 'no session has left anything' "$BRACE" start --ring "$T/open/ring"
else
	skip "files of another user's" "only root makes them, with setpriv"
fi
finish
