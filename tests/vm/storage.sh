# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086,SC2016
# brace follow -k in the guest: a file of ext4 that is written and synced, the block requests below it, and a task that is forked,
# each against the kernel's own probes: sourced by kernel.sh.

rule=$(dirname "$program")/sk_buff_rule
if [ -e /vm/no-modules ] || [ ! -x "$rule" ]; then
	ok "follow: a file, written and synced # SKIP $(cat /vm/no-modules 2>/dev/null || echo 'brace without BPF')"
else
/usr/sbin/mke2fs -q -t ext4 /dev/nullb0 && mkdir disk && mount -t ext4 /dev/nullb0 disk
echo words >disk/file
sync disk/file
probes=$tracing/instances/probes
mkdir $probes
write='dd if=/dev/zero of=disk/file bs=4096 count=3 conv=fsync,notrunc'
# same NAME OBJECT PROGRAM FUNCTION ARGUMENT...: brace has the calls of each function that the kernel's probe at it tells, for the
# same objects. A function stands before the probe's argument that is the object, and its filter. An interrupt can come into either's
# program on a CPU: both count what they miss then, and as many calls may be the other's alone.
same() {
	local name=$1 object=$2 command=$3
	shift 3
	echo 0 >$probes/tracing_on
	echo >$probes/trace
	while [ $# -gt 0 ]; do
		echo "p:same/$1 $1 object=$2 $3" >>$tracing/kprobe_events
		[ -z "$4" ] || echo "$4" >$probes/events/same/$1/filter
		shift 4
	done
	echo 1 >$probes/events/same/enable
	"$brace" follow -k "$object" --json -o ours -- sh -c "echo 1 >$probes/tracing_on; $command; echo 0 >$probes/tracing_on" >out 2>&1
	echo 0 >$probes/events/same/enable
	cat $probes/trace >told # which goes with the probes
	sed -n 's/.* \([a-z_0-9]*\): (.* object=\(0x[0-9a-f]*\).*/\1 \2/p' told | sort >theirs
	sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"\([^"]*\)","is_return":false.*/\2 \1/p' ours | sort >all
	cut -d' ' -f1 theirs | sort -u | while read -r function; do grep "^$function " all; done >ours_same
	ours_missed=$(missed)
	theirs_missed=$(awk '{ n += $3 } END { print n + 0 }' $tracing/kprobe_profile)
	echo >$tracing/kprobe_events
	only theirs ours_same >lacking
	only ours_same theirs >beyond
	{ cat out; echo "missed: brace $ours_missed, the probes $theirs_missed"; diff theirs ours_same; } >both 2>&1
	mv both out
	check "$name" [ "$(grep -c . theirs)" -gt "$(grep -c . lacking)" -a "$(grep -c . lacking)" -le "$ours_missed" -a "$(grep -c . beyond)" -le "$theirs_missed" ]
}

inode=$(stat -c %i disk/file)
same "follow: a file, written and synced: the calls that the kernel's probes tell" file:disk/file "$write" \
	__mark_inode_dirty '%di' 'ino=inode->i_ino' "ino == $inode" ext4_mark_iloc_dirty '%si' 'ino=inode->i_ino' "ino == $inode" \
	ext4_dirty_inode '%di' 'ino=inode->i_ino' "ino == $inode"
check 'follow: a file, written and synced: as many returns as calls' whole ours $ours_missed
check 'follow: a file: its sync is there, and its calls nest' grep -q '"function":"ext4_dirty_inode","is_return":false,"object":1,"depth":[1-9]' ours
same "follow: a descriptor's file: its inode's calls, as the kernel's probes tell" fd:9 'exec 9>>disk/file; echo words >&9' \
	__mark_inode_dirty '%di' 'ino=inode->i_ino' "ino == $inode" ext4_dirty_inode '%di' 'ino=inode->i_ino' "ino == $inode"
check "follow: a descriptor's file: they lie in the write" \
	sh -c '[ "$(grep -o "\"function\":\"[a-z_0-9]*\",\"is_return\":[a-z]*" ours | grep -E "\"(vfs_write|ext4_dirty_inode)\"" | head -n 2 | grep -c false)" = 2 ]'
# Direct I/O and the page cache: bios that end in these functions are of files' data, and no other file has any. A request is of the
# bio that it begins with, if that ends there later: memory is used again.
border=$(dirname "$program")/border_program
echo 'p:same/start blk_mq_start_request request=rq:x64 bio=rq->bio:x64' >>$tracing/kprobe_events
same "follow: a file's bios, of direct I/O and others: the calls that the kernel's probes tell" file:disk/file "$border disk/file direct" \
	iomap_dio_bio_end_io '%di' '' '' ext4_end_bio '%di' '' ''
check "follow: a file's bios: some of direct I/O, and some of the page cache" [ "$(grep -c ^iomap_dio_bio_end_io theirs)" -ge 2 -a "$(grep -c ^ext4_end_bio theirs)" -ge 1 ]
awk '/ start: / { bio = request = $0; sub(/.*bio=/, "", bio); sub(/.*request=/, "", request); sub(/ .*/, "", request); of[bio] = request }
	/ object=/ { bio = $0; sub(/.*object=/, "", bio); if (bio in of) print of[bio]; delete of[bio] }' told | sort >theirs
sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"blk_mq_start_request","is_return":false.*/\1/p' ours | sort >ours_same
{ cat out; diff theirs ours_same; } >both 2>&1
mv both out
check "follow: a file's bios: their requests, as the kernel's probe tells" [ "$(grep -c . theirs)" -ge 3 -a "$(only theirs ours_same | grep -c .)" -le "$ours_missed" -a -z "$(only ours_same theirs)" ]
check "follow: a file's bios: they are the inode's children, and the requests theirs" sh -c 'grep -q "\"function\":\"bio_iov_iter_get_pages\",\"is_return\":false,.*\"why\":\"data\",\"parent\":1,\"type\":\"bio\"" ours &&
	grep -q "\"why\":\"data\",\"parent\":[2-9][0-9]*,\"type\":\"request\"" ours'
check "follow: a file's bios: as many returns as calls" whole ours $ours_missed
same "follow: a struct bio: those that the kernel's probes tell" bio "$write" submit_bio_noacct '%di' '' '' bio_endio '%di' '' ''
check 'follow: a struct bio: as many returns as calls' whole ours $ours_missed
same "follow: a struct request: those that the kernel's probes tell" request "$write" blk_mq_start_request '%di' '' '' blk_mq_end_request '%di' '' '' null_complete_rq '%di' '' ''
check 'follow: a struct request: as many returns as calls' whole ours $ours_missed
check "follow: a struct request: through a module's function" grep -q '"module":"null_blk","function":"null_complete_rq"' ours
umount disk

# --- a task that forks: its child begins as a copy of it, with its number
mkfifo forks
sh -c 'read _ <forks; (exit 3); :' &
pid=$!
same "follow: a task that forks: the calls that the kernel's probes tell" task:$pid "echo >forks; while kill -0 $pid; do usleep 20000; done 2>/dev/null" \
	wake_up_new_task '%di' 'ppid=p->real_parent->pid' "ppid == $pid"
wait $pid
child=$(sed -n 's/.*"function":"wake_up_new_task","is_return":true,"object":\([0-9]*\),.*/\1/p' ours | head -n 1)
check "follow: a task that forks: the child is another object, to its end" \
	sh -c "[ ${child:-1} -gt 1 ] && grep -q '\"function\":\"free_task\",\"is_return\":true,\"object\":$child,' ours"
rmdir $probes
fi
