#!/bin/bash
# The types of fetch-args in uprobe_events: arrays, bit fields, characters, strings through
# pointers. What is listed and printed is what Linux 6.12 lists and prints of the same definition
# over the same values; but for symbols and constant strings, which the kernel does not read in user
# space.
. "$(dirname "$0")/lib.sh"
ANSWERS=values
. "$(dirname "$0")/answers-lib.sh"
need readelf nm
D=$T/tree
mkdir "$D"
E=$D/events/uprobes

# printed EVENT TEXT: the first record of the event has this text behind its place.
printed() {
	sed -n "s/.* $1: (0x[0-9a-f]*) //p" "$D/trace" | head -1 >"$T/text"
	[ "$(cat "$T/text")" = "$2" ]
}

start_program
[ "$SAID" = ready ] || not_ok "the program runs"
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
O=$(offset values_hit)
NUMBERS='u8=+0(%di):u8[4] x8=+0(%di):x8[4] s8=+8(%di):s8 s16=+10(%di):s16[3] s32=+16(%di):s32[2] s64=+24(%di):s64'
TEXTS='c=+32(%di):char name=+0(+40(%di)):string names=+48(%di):string[3] one=+48(%di):string[1] cc=+32(%di):char[1] com=$comm'
BITS='b=+72(%di):b8@4/32 bb=+72(%di):b4@4/8[2] r=%si:b1@0/8 n=%si:u64 neg=\-1:s8'
FAULTS='bad=+0(%si):string badn=+0(%si):u32 badv=+0(%si):u8[2] bads=+0(%si):string[2]'
BEYOND='f=%ip:symbol imm=\"hi" long=\"a-text-of-more-than-8-characters" none=\""'
for each in "numbers $NUMBERS" "texts $TEXTS" "bits $BITS" "faults $FAULTS" "beyond $BEYOND"; do
	echo "p:uprobes/${each%% *} $A:$O ${each#* }"
done >"$T/lines"
cat "$T/lines" >"$D/uprobe_events"
result "every type is taken" $? "$D/error_log"
check_that "and listed as it was written" cmp "$D/uprobe_events" "$T/lines"
check_that "an array's field is the kernel's" grep -qxF $'\tfield:s16 s16[];\toffset:25;\tsize:6;\tsigned:1;' "$E/numbers/format"
check_that "and one of strings" grep -qxF $'\tfield:__data_loc char[][3] names;\toffset:21;\tsize:12;\tsigned:1;' "$E/texts/format"
: >"$T/missing"
for _ in $(seq 20); do
	: >"$D/trace"
	echo 1 >"$E/enable"
	tell 1
	echo 0 >"$E/enable" # the program's records may not have been taken yet
	[ "$(grep -c 'faults: \|beyond: ' "$D/trace")" = 2 ] || cat "$D/trace" >>"$T/missing"
done
result "events disabled right after their hit have their records" "$([ ! -s "$T/missing" ]; echo $?)" "$T/missing"
check_that "numbers" printed numbers \
	'u8={1,2,3,250} x8={0x1,0x2,0x3,0xfa} s8=-3 s16={-1,300,-32768} s32={-5,7} s64=-9'
check_that "texts" printed texts "c='x' name=\"the \"name\"\" names={\"one\",\"\",\"three\"} one={\"one\"} cc={'x'} com=\"values\""
check_that "bits" printed bits 'b=238 bb={14,11} r=1 n=1 neg=-1'
check_that "what cannot be read" printed faults 'bad=(fault) badn=0 badv={0,0} bads={(fault),(fault)}'
check_that "symbols and constants" printed beyond 'f=values_hit imm="hi" long="a-text-of-more-than-8-characters" none=""'
"$BRACE" umount "$D" 2>"$T/err"
end_program
check_that "the program ends as ever" [ "$STATUS" = 0 ]
finish
