#!/bin/bash
# The session memory's protocol (src/shared/memory.pml), checked in every order its steps can take:
# in each of these worlds nothing is wrong; each of these faults is found; and every step of the
# model is taken in one world or another. LARGER=1 (tests/soak/spin.sh): larger worlds.
. "$(dirname "$0")/lib.sh"
need spin
need gcc
MODEL=$HERE/../../src/shared/memory.pml
JOBS=${JOBS:-$(nproc)}
export MODEL T

# explore NAME OPTION...: leaves $T/NAME/out, what pan has to say.
explore() {
	local dir=$T/$1 flags=()
	shift
	mkdir -p "$dir" && cp "$MODEL" "$dir" && cd "$dir" || return
	[[ "$* " != *"-DKILL "* ]] || flags=(-E) # whoever was killed has not ended
	{
		spin -a -o3 "$@" memory.pml &&
			$COMPILE -w -DSAFETY -DCOLLAPSE -DVECTORSZ=4096 -o pan pan.c &&
			./pan -d >states && timeout "${LIMIT_PAN:-120}" ./pan -m1000000 "${flags[@]}"
	} >out 2>&1 </dev/null
	rm -f pan pan.[chbmtp]
}
export -f explore

# Worlds and faults: a name, and what it is made of. A fault's name is its BUG_.
worlds() {
	cat <<-END
		handler -DLEVELS=2 -DRECORDS=2 -DUSED_BEFORE
		handler-death -DLEVELS=2 -DMOVES -DKILL -DBUFFERS=2 -DRECORDS=2
		handler-window -DLEVELS=2 -DBUFFERS=1 -DRECORDS=2 -DHANDLED=4 -DKILL
		handler-partial -DLEVELS=2 -DPARTIAL -DRECORDS=2 -DHANDLED=2 -DUSABLE=1
		two-words -DLEVELS=2 -DWORDS=2 -DUSABLE=3 -DSPARE=4 -DRECORDS=2 -DHANDLED=2 -DKILL -DUSED_BEFORE
		two-handlers -DLEVELS=3 -DSPARE=3 -DUSABLE=1 -DRECORDS=1 -DHANDLED=1
		two-threads -DTHREADS=2 -DBUFFERS=2 -DRECORDS=2 -DUSABLE=1
		block -DMODE=BLOCK -DBUG_ALONE -DBUFFERS=1 -DRECORDS=5
		block-handler -DMODE=BLOCK -DQUOTA=1 -DLEVELS=2 -DRECORDS=2
		block-threads -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=1 -DJOINS
		block-after -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=1 -DAFTER
		block-tracer -DMODE=BLOCK -DBUFFERS=1 -DRECORDS=5 -DKILL_TRACER
		overwrite -DMODE=OVERWRITE -DBUFFERS=2 -DRECORDS=6 -DKILL
		overwrite-handler -DMODE=OVERWRITE -DBUFFERS=2 -DLEVELS=2 -DRECORDS=2 -DHANDLED=5
		overwrite-threads -DMODE=OVERWRITE -DTHREADS=2 -DBUFFERS=2 -DRECORDS=1 -DUSABLE=1 -DKILL
		both-die -DBUFFERS=1 -DRECORDS=5 -DKILL -DKILL_TRACER
		partial-tracer -DBUFFERS=2 -DPARTIAL -DRECORDS=3 -DUSABLE=1 -DKILL_TRACER
		handler-tracer -DBUFFERS=2 -DLEVELS=2 -DRECORDS=1 -DHANDLED=2 -DUSABLE=1 -DKILL_TRACER
	END
}

larger() {
	cat <<-END
		handler -DLEVELS=2 -DPARTIAL -DMOVES -DUSED_BEFORE -DKILL
		two-handlers -DLEVELS=3 -DSPARE=3 -DRECORDS=1 -DHANDLED=2 -DKILL
		two-words -DLEVELS=2 -DWORDS=2 -DUSABLE=3 -DSPARE=4 -DHANDLED=4 -DKILL -DUSED_BEFORE
		two-threads -DTHREADS=2 -DBUFFERS=2 -DRECORDS=3 -DUSABLE=1
		two-threads-used -DTHREADS=2 -DBUFFERS=3 -DRECORDS=3 -DUSED_BEFORE
		two-threads-handlers -DTHREADS=2 -DLEVELS=2 -DBUFFERS=2 -DRECORDS=1 -DHANDLED=1 -DUSABLE=1
		block -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=2 -DRECORDS=4
		block-death -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=2 -DKILL
		overwrite-handler -DMODE=OVERWRITE -DBUFFERS=2 -DLEVELS=2 -DHANDLED=6 -DKILL
		overwrite-threads -DMODE=OVERWRITE -DTHREADS=2 -DBUFFERS=3 -DRECORDS=4 -DKILL
		both-die -DBUFFERS=2 -DRECORDS=7 -DKILL -DKILL_TRACER -DPARTIAL
		handler-tracer -DBUFFERS=3 -DLEVELS=2 -DRECORDS=2 -DHANDLED=4 -DKILL_TRACER
		tracer-threads -DTHREADS=2 -DBUFFERS=2 -DRECORDS=2 -DKILL_TRACER -DKILL
	END
}

faults() {
	cat <<-END
		TAG -DTHREADS=2 -DBUFFERS=3 -DUSED_BEFORE -DUSABLE=1 -DSPARE=1 -DRECORDS=2
		UNUSED -DTHREADS=2 -DBUFFERS=2 -DRECORDS=2
		FIRST_SEQ -DMODE=OVERWRITE -DBUFFERS=2 -DRECORDS=5 -DKILL
		OLD_FIELDS -DMODE=OVERWRITE -DBUFFERS=2 -DRECORDS=5 -DKILL
		REUSE -DMODE=OVERWRITE -DBUFFERS=2 -DLEVELS=2 -DHANDLED=5
		RECYCLE -DMODE=OVERWRITE -DLEVELS=2 -DHANDLED=4 -DKILL
		WAKE -DMODE=BLOCK -DBUG_ALONE -DBUFFERS=1 -DRECORDS=5
		HEART -DMODE=BLOCK -DBUFFERS=1 -DRECORDS=5 -DKILL_TRACER
		ALONE -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=1 -DJOINS
		IMPATIENT -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=1 -DAFTER
		LOOK -DMODE=BLOCK -DTHREADS=2 -DBUFFERS=1 -DAFTER
		QUOTA -DMODE=BLOCK -DQUOTA=1 -DLEVELS=2 -DRECORDS=2
		USED -DBUFFERS=2 -DRECORDS=4
		LOST -DBUFFERS=1 -DRECORDS=5
		VOID_FROM -DBUFFERS=1 -DRECORDS=7 -DKILL
		ZERO -DBUFFERS=2 -DUSED_BEFORE -DPARTIAL
		LATE -DBUFFERS=1 -DRECORDS=7 -DKILL
		REPORTED -DBUFFERS=1 -DRECORDS=7 -DKILL
		TOLD -DBUFFERS=1 -DRECORDS=7 -DKILL -DKILL_TRACER
		HEADER -DWORDS=2 -DUSABLE=4 -DPARTIAL
		CLOSED -DLEVELS=2 -DRECORDS=2 -DUSED_BEFORE
		GIVE_UP -DLEVELS=2 -DRECORDS=2
		FIRST -DLEVELS=2 -DRECORDS=2
		SIGNALS -DLEVELS=2 -DRECORDS=2
		SPARE -DLEVELS=2 -DBUFFERS=2
		QUARANTINE -DLEVELS=2 -DRECORDS=2 -DUSED_BEFORE
		EXPECTED -DBUFFERS=3 -DRECORDS=7
		POSITION -DBUFFERS=2 -DPARTIAL -DKILL_TRACER
		TAKEN -DLEVELS=2 -DRECORDS=2 -DBUFFERS=2 -DKILL_TRACER
	END
}

# Handlers make three records, if nothing else is said.
with_handled() { sed 's/$/ /; /-DLEVELS/{/-DHANDLED/!s/$/-DHANDLED=3/}; s/ *$//'; }

# run_all PREFIX: the worlds of standard input.
run_all() {
	# shellcheck disable=SC2016 # for the shell that is started
	with_handled | xargs -P "$JOBS" -L1 bash -c 'name=$2; shift 2; explore "$0$name" "$@"' "$1" --
}

# A fault that stops nothing but the clock is not found: pan must say what is wrong, or where it
# stands still.
found() { grep -Eq '^pan:[0-9]*: (assertion violated|invalid end state)' "$1"; }
clean() { grep -q 'errors: 0' "$1" && ! grep -q 'error: max search depth\|^pan: reached\|out of memory' "$1"; }

states_of() { sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' "$1"; }

# The lines whose steps were taken in this world.
taken() {
	awk 'FNR == NR {
			if (/^unreached in proctype/) { p = $4; next }
			if (match($0, /state [0-9]+/)) never[p, substr($0, RSTART + 6, RLENGTH - 6) + 0] = 1
			next
		}
		/^proctype/ { p = $2; next }
		$1 == "state" && match($0, /memory\.pml:[0-9]+/) {
			line = substr($0, RSTART + 11, RLENGTH - 11)
			print line, !((p, $2 + 0) in never)
		}' "$1/out" "$1/states"
}

begin=$SECONDS
# Most are explored before gcc has compiled them.
COMPILE=$(command -v tcc) || COMPILE='gcc -O0'
if [ "${LARGER:-}" ]; then
	COMPILE='gcc -O2' LIMIT_PAN=${LIMIT_PAN:-1800}
	worlds() { larger; }
	faults() { :; }
fi
export COMPILE LIMIT_PAN
worlds | run_all w-
while read -r name _; do
	clean "$T/w-$name/out"
	status=$?
	result "$name: nothing is wrong in $(states_of "$T/w-$name/out") states" $status "$T/w-$name/out"
done < <(worlds)
faults | sed -E 's/^([A-Z_]+)/\1 -DBUG_\1/' | run_all bug-
while read -r name _; do
	found "$T/bug-$name/out"
	result "the fault $name is found" $? "$T/bug-$name/out"
done < <(faults)

if [ ! "${LARGER:-}" ]; then
	for name in $(worlds | cut -d' ' -f1); do taken "$T/w-$name"; done |
		awk '$2 { taken[$1] = 1 } { all[$1] = 1 } END { for (l in all) if (!taken[l]) print l; if (NR < 300) print 1 }' |
		sort -n | while read -r line; do sed -n "${line}{s/^/$line: /;p}" "$MODEL"; done >"$T/never"
	[ ! -s "$T/never" ]
	result "every step of the model is taken" $? "$T/never"
fi
printf '# %d s\n' $((SECONDS - begin))
finish
