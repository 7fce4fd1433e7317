#!/bin/bash
# Functions in events: filters on `field.function`, by name and by address, in a tree over two
# processes of one program, which have them at different addresses; and print formats with %pS
# behind a cast, as the kernel's.
. "$(dirname "$0")/lib.sh"
D=$T/tree
mkdir "$D"
TO=() FROM=() PIDS=()
for i in 0 1; do
	mkfifo "$T/to$i" "$T/from$i"
	"$FIXTURES/kern" lone <"$T/to$i" >"$T/from$i" &
	PIDS+=($!)
	exec {to}>"$T/to$i" {from}<"$T/from$i"
	TO+=("$to") FROM+=("$from")
	read -rt "$LIMIT" -u "$from" _
done
tick() { # PROCESS
	echo >&"${TO[$1]}"
	read -rt "$LIMIT" -u "${FROM[$1]}" _
}
# one tick of each: three calls of kmem_cache_free, from free_task twice
ticks() {
	echo >"$D/trace"
	tick 0
	tick 1
}
lines() { [ "$(grep -c " kmem_cache_free: $1" "$D/trace")" = "$2" ]; }

"$BRACE" mount "$D" -p "${PIDS[0]},${PIDS[1]}" 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D" "kill ${PIDS[*]}")
E=$D/events/kmem/kmem_cache_free
echo 1 >"$E/enable"
echo 1 >"$D/events/kmem/kmalloc/enable"
ticks
check_that "%pS is the function, and how far in it" lines 'call_site=free_task+0x[0-9a-f]* ptr=0x[0-9a-f]* name=task_struct$' 4
address=$(awk '$3 == "free_task" { print $1 }' "$D/kallsyms")
for function in free_task "0x$address" "0x$(sed 's/^0*//' <<<"$address")"; do
	echo 'call_site.function == vfs_read' >"$E/filter"
	ticks
	check_that "another function's: none" lines call_site 0
	echo "call_site.function == $function" >"$E/filter"
	result "filter on the function $function" $?
	ticks
	check_that "of each process, its calls" lines call_site=free_task 4
done
echo "call_site.function != free_task" >"$E/filter"
ticks
check_that "all but its" lines call_site 0
echo 'call_site.function == vfs_read' >"$D/events/kmem/kmalloc/filter"
ticks
[ "$(grep -c ' kmalloc: call_site=vfs_read' "$D/trace")" = 2 ]
result "two events' filters" $? "$D/trace"
echo 'snapshot:3 if call_site.function == free_task' >"$E/trigger"
ticks # the third is the second process's first, behind what the first one allocated
check_that "a trigger's filter" grep -q ' kmalloc: ' "$D/snapshot"
echo '!snapshot:3' >"$E/trigger"
for function in nosuch 0x10; do
	echo >"$D/error_log"
	! echo "call_site.function == $function" 2>/dev/null >"$E/filter" && grep -q 'Function not found' "$D/error_log"
	result "no function: $function" $? "$D/error_log"
done
check "umount" "$BRACE" umount "$D"
finish
