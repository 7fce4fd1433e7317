# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086,SC2016
# brace follow --into and fd: in the guest: sourced by kernel.sh. tests/kernel/border_program.c has a client of descriptor 17 over
# TCP, another of 18, and then a file as descriptor 17.

if ! "$brace" follow -k 'struct nothing' 2>&1 | grep -q 'without BPF'; then
border=$(dirname "$program")/border_program
ip link set lo up

# order OBJECT PATTERN...: the graph of the object has lines that match, in this order
order() {
	awk -v object="$1" 'BEGIN { for (i = 3; i < ARGC; i++) wanted[i - 3] = ARGV[i]; n = ARGC - 3; ARGC = 2; at = 0 }
		/^# object/ { inside = $3 == object ":" } inside && at < n && index($0, wanted[at]) { at++ }
		END { if (at < n) print "no " wanted[at]; exit at < n }' text "$@"
}
# numbers of objects that are clients
clients() { sed -n 's/^# object \([0-9]*\): struct client .*/\1/p' text; }

# --- a client of a program, its socket, its packets; then the file that has the same number
run 0 follow 'struct client.fd==17' --into fd --show fd --mode block -o text -- $border file
cp out said
check 'follow --into: two clients, and nothing of the other one' [ "$(clients | wc -l) $(grep -c ' handle() {' text)" = '2 1' ]
# Before its exec it has brace's descriptors, with 17 among them. An interrupt in brace's time can handle a packet.
check 'follow --into: nothing of the process before it is the program' sh -c "! grep -qE '\) +brace-[0-9]+ +[|] fd ' text"
socket=$(clients | head -n 1)
file=$(clients | tail -n 1)
check 'follow --into: the read: from the program down to the packet' order $socket '|  handle() { /* fd=17 */' '|    ask() {' '|      vfs_read() { /* file */' \
	'|        sock_read_iter() { /* file */' ' tcp_recvmsg() { /* sock */' ' skb_copy_datagram_iter() { /* sk_buff */' '|      } /* vfs_read ret=5 */' '|    } /* ask ret=5 */'
check 'follow --into: the write, its packet through the device' order $socket '|    answer() {' '|      vfs_write() { /* file */' ' tcp_sendmsg() { /* sock */' \
	' ip_queue_xmit() { /* sock sk_buff */' ' loopback_xmit() { /* sk_buff */' '|      } /* vfs_write ret=5 */' '|    } /* answer ret=5 */' '|  } /* handle ret=5 */'
check 'follow --into: in drop() it is closed' order $socket '|  drop() {' '|    filp_flush() { /* file */'
check 'follow --into: one read and one write of the socket' [ "$(grep -c ' vfs_read() { /\* file' text) $(grep -c ' tcp_sendmsg() {' text)" = '1 1' ]
check 'follow --into: a file, written and synced' order $file '|  answer() { /* fd=17 */' '|    vfs_write() { /* file */' '|    } /* vfs_write ret=13 */' '|  } /* answer ret=13 */' \
	'|  vfs_fsync_range() { /* file */' '|  drop() {' '__fput' 'security_file_free'
check 'follow --into: both sides say what they watched and lost' sh -c "grep -q '^brace: 4 of 4 functions that take a struct client watched' said &&
	grep -q 'functions that take a file, inode, socket or packet of a descriptor watched by kprobe.session' said &&
	grep -q '^brace: lost: 0 events (buffer full), [0-9]* calls (missed by the kernel), [0-9]* calls (another BPF program ran)' said"
check 'follow --into: as many returns as calls' grep -qE '^brace: [0-9]+ objects, ([0-9,]+) calls, \1 returned' said
check 'follow --into: few functions are watched, if k: names them' run 0 follow 'struct client.fd==17' --into fd:17 -l k:vfs_write -l answer --json -o json -- $border file
check 'follow --into --json: the call is in that of the program' [ "$(grep -o '"function":"[a-z_]*","is_return":[a-z]*' json | sed 's/.*"\([a-z_]*\)","is_return":/\1:/' | tr '\n' ' ')" = \
	'answer:false vfs_write:false vfs_write:true answer:true answer:false vfs_write:false vfs_write:true answer:true ' ]
check 'follow --into --json: times do not go back' sh -c 'sed -n "s/.*\"timestamp\":\([0-9]*\).*/\1/p" json | sort -nc'

# --- the kernel's side alone, of a process that runs
mkfifo write
sh -c 'read _ <write; echo words >&7; echo others >&8' 7>kept 8>other &
pid=$!
"$brace" follow -k fd:7 -p $pid -l 'vfs_*' --show f_pos -o text >out 2>&1 &
brace_pid=$!
until [ "$(grep -c . $tracing/enabled_functions)" -ge 10 ] || ! kill -0 $brace_pid; do usleep 100000; done
sh -c 'echo "of another process" >&7' 7>third
echo >write
wait $pid
kill -TERM $brace_pid
wait $brace_pid
check 'follow -k fd: of a process that runs: its descriptor, not another' [ "$(grep -c 'vfs_write();* *{* */\* file f_pos=0' text) $(grep -c 'ret=6 ' text) $(grep -c 'ret=7 ' text)" = '1 1 0' ]
check "follow -k fd: not another process's descriptor of the same number" sh -c '[ "$(grep -c "^# object" text)" = 1 ] && ! grep -q "ret=19 " text'
check 'follow -k fd: its heading' has "^# object 1: descriptor 7 of process $pid, [0-9]* calls*$" text

# --- a buffer, which the program passes to system calls: what the kernel's own probes tell of the same addresses
buffer=0x7e5000000000
probes=$tracing/instances/probes
mkdir $probes
in_it="at >= $buffer && at < 0x7e5000002000"
for probe in 'ksys_write at=%si' 'vfs_write at=%si' 'ksys_read at=%si' 'vfs_read at=%si' 'handle_mm_fault at=%si' 'tcp_sendmsg at=msg->msg_iter.ubuf' 'tcp_recvmsg at=msg->msg_iter.ubuf'; do
	function=${probe%% *}
	echo "p:buffer/$function $function ${probe#* }" >>$tracing/kprobe_events
	echo "$in_it" >$probes/events/buffer/$function/filter
done
# The copies: folios of the file and packets that TCP queues, by what the function around them copies from.
for probe in 'begin tcp_sendmsg_locked at=msg->msg_iter.ubuf' 'begin2 generic_perform_write at=i->ubuf' 'begin3 udp_sendmsg at=msg->msg_iter.ubuf' \
	'begin4 unix_stream_sendmsg at=msg->msg_iter.ubuf' 'copy4 ip_generic_getfrag copy=skb:x64' 'copy5 skb_copy_datagram_from_iter copy=skb:x64' 'copy tcp_skb_entail copy=skb:x64' \
	'push tcp_push copy=sk->sk_write_queue.prev:x64' 'copy2 simple_write_end copy=folio:x64' 'copy3 shmem_write_end copy=folio:x64'; do
	echo "p:buffer/$probe" >>$tracing/kprobe_events
done
echo 1 >$probes/events/buffer/enable
run 0 follow -k buffer:$buffer+8192 --json -o text -- $border bytes buffer
cp out said
echo 0 >$probes/events/buffer/enable
grep -v ' begin[2-4]*: \| copy[2-5]*: \| push: ' $probes/trace | grep -o ' [a-z_]*: (' | sort | uniq -c >theirs
# Where the call pushes its bytes out, a packet that it did not queue itself is one that waited, behind whose bytes they are.
grep -E '(begin[2-4]*|copy[2-5]*|push): ' $probes/trace | awk '/ begin/ { within[$1] = /at=0x7e500000/; calls++ }
	/ copy: / { packet = $0; sub(/.*copy=/, "", packet); queued[calls " " packet] = 1 }
	/ push: / { packet = $0; sub(/.*copy=/, "", packet); if (queued[calls " " packet]) next }
	(/ copy/ || / push: /) && within[$1] { function_ = $0; sub(/.*: \(/, "", function_); sub(/\+.*/, "", function_); sub(/.*copy=/, ""); print $1, function_ }' |
	sort >their_copies
# The second part of a writev has no address of its own in the iterator.
sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"\(simple_write_end\|shmem_write_end\|tcp_skb_entail\|tcp_push\|ip_generic_getfrag\|skb_copy_datagram_from_iter\)","is_return":false,.*"why":"copy".*/\1 \2/p' text | sort >our_copies
rmdir $probes
echo >$tracing/kprobe_events
sed -n 's/.*"function":"\([^"]*\)","is_return":false.*/ \1: (/p' text | sort | uniq -c | grep -wE "$(sed 's/.* \([a-z_]*\):.*/\1/' theirs | tr '\n' '|')none" >ours
diff theirs ours >out
check "follow -k buffer: the calls that the kernel's probes tell" sh -c '[ "$(grep -c . theirs)" = 7 ] && [ ! -s out ]'
{ cat their_copies; echo "brace, which missed $(missed said):"; cat our_copies; only their_copies our_copies; } >out
check "follow -k buffer: the pages and packets that it is copied into, as the kernel's probes tell" [ "$(grep -c write_end their_copies)" = 1 \
	-a "$(grep -c tcp_push their_copies)" = 1 -a "$(grep -c 'tcp_skb_entail\|ip_generic_getfrag\|skb_copy_datagram_from_iter' their_copies)" = 3 -a "$(only their_copies our_copies | grep -c .)" -le "$(missed said)" -a "$(only our_copies their_copies | sed 's/.* //')" = "$(sed -n 's/.* \(.*write_end\)/\1/p' their_copies)" ]
check 'follow -k buffer: it says by which calls it lost sight of bytes: into a pipe' sh -c \
	'grep -q "went where they are not followed: by pipe_write (1 call)$" said && grep -q "^{\"summary\":\"objects\",.*\"lost_sight\":1[,}]" text'
# The packet's clone comes to the other side.
cp text out
check 'follow -k buffer: its packet, by its clone, to the receiving side' sh -c 'clone=$(sed -n "s/.*\"function\":\"skb_clone\",\"is_return\":true,.*\"child\":\([0-9]*\)}/\1/p" text | head -n 1) && [ -n "$clone" ] &&
	grep -q "\"function\":\"tcp_v4_rcv\",\"is_return\":false,\"object\":$clone," text'
check 'follow -k buffer: its datagram, to the receiving side' sh -c 'packet=$(sed -n "s/.*\"function\":\"ip_generic_getfrag\",.*\"object\":\([0-9]*\),.*\"why\":\"copy\".*/\1/p" text) && [ -n "$packet" ] &&
	grep -q "\"function\":\"udp_queue_rcv_one_skb\",\"is_return\":false,\"object\":$packet," text'
check 'follow -k buffer: its page belongs to the file still when others use it' has '"why":"identity","type":"folio"' text
check 'follow -k buffer: its copies are its children' has '"function":"tcp_skb_entail","is_return":false,"object":[0-9]*,.*"why":"copy","parent":1,"type":"sk_buff"' text
check 'follow -k buffer: the second part of a writev, by its iterator' has '"function":"[a-z_]*write_iter","is_return":false,.*"why":"address","type":"iov_iter"' text
check 'follow -k buffer: as many returns as calls' whole text "$(missed said)"
run 0 follow "\$any==$buffer" --into buffer+8192 --mode block -o text -- $border bytes buffer
cp out said
check 'follow --into buffer: from the program down to the copying' order 1 '|  give() {' '  ksys_write() { /* bytes */' '  vfs_write() { /* bytes */' 'write_iter() { /* iov_iter' \
	'  } /* ksys_write ret=100 */' '|  } /* give'
check 'follow --into buffer: over TCP' order 1 '|  give() {' ' ksys_write() { /* bytes */' ' tcp_sendmsg() { /* msghdr */' '  } /* ksys_write ret=30 */'
check 'follow --into buffer: both sides say what they watched' sh -c "grep -q 'functions that take a buffer.s address or iterator, a packet, page or folio watched by kprobe.session' said"

# A packet that TCP splits: the kernel's probe tells which packets get a part of another's bytes. Here all of them are the program's.
mkdir $probes
echo 'p:parts/split skb_split to=%si:x64' >$tracing/kprobe_events
echo 1 >$probes/events/parts/enable
run 0 follow -k buffer:$buffer+20480 --json -o text -- $border - parts
cp out said
echo 0 >$probes/events/parts/enable
sed -n 's/.* split: .* to=//p' $probes/trace | sort >theirs
rmdir $probes
echo >$tracing/kprobe_events
sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"skb_split","is_return":false,.*"why":"part","parent":[0-9].*/\1/p' text | sort >ours
{ cat said; diff theirs ours; } >out
check "follow -k buffer: the parts of a packet that TCP splits, as the kernel's probe tells" [ "$(grep -c . theirs)" -ge 1 -a \
	"$(only theirs ours | grep -c .)" -le "$(missed said)" -a -z "$(only ours theirs)" ]
check 'follow -k buffer: such a part, by its clone, to the receiving side' sh -c '
	sed -n "s/.*\"object\":\([0-9]*\),.*\"why\":\"part\".*/\"skb_clone\",\"is_return\":true,\"object\":\1,/p" text >parts
	grep -F -f parts text | sed -n "s/.*\"child\":\([0-9]*\)}/\"tcp_v4_rcv\",\"is_return\":false,\"object\":\1,/p" >clones
	[ -s clones ] && grep -q -F -f clones text'

# A packet that the kernel cuts into segments for the device: its own probe has the list that it makes.
mkdir $probes
list='$retval'
arguments=
for i in 0 1 2 3 4 5 6 7 8; do
	arguments="$arguments s$i=$list:x64"
	list="+0($list)"
done
echo "r:cuts/cut skb_segment $arguments" >$tracing/kprobe_events
echo 1 >$probes/events/cuts/cut/enable
run 0 follow -k buffer:$buffer+4096 --json -o text -- $border - segments
cp out said
echo 0 >$probes/events/cuts/cut/enable
grep -o ' s[0-9]=0x[0-9a-f]*' $probes/trace | sed 's/.*=//' | grep -vx 0x0 | sort >theirs
rmdir $probes
echo >$tracing/kprobe_events
{
	sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"skb_segment","is_return":false,.*"why":"part","parent":[0-9].*/\1/p' text
	sed -n 's/.*"function":"skb_segment","is_return":true,.*"return_value":"\([^"]*\)","child":.*/\1/p' text
} | sort >ours
{ cat said; diff theirs ours; } >out
check "follow -k buffer: the segments of a packet that the kernel cuts, as the kernel's probe tells" [ "$(grep -c . theirs)" -ge 5 -a \
	"$(only theirs ours | grep -c .)" -le "$(missed said)" -a -z "$(only ours theirs)" ]
cp text out
check 'follow -k buffer: such segments, to the receiving side' sh -c '
	sed -n "s/.*\"function\":\"skb_segment\",.*\"object\":\([0-9]*\),.*\"why\":\"part\".*/\"function\":\"tcp_v4_rcv\",\"is_return\":false,\"object\":\1,/p" text >segments
	[ "$(grep -c . segments)" -ge 2 ] && [ "$(grep -F -f segments text | grep -c .)" -ge 2 ]'

# Bytes that TCP takes into another packet of the receiver's queue: the kernel's probes have both packets, and whether it did.
mkdir $probes
echo 'r:joins/joined skb_try_coalesce to=$arg1:x64 did=$retval:u8' >$tracing/kprobe_events
echo 'p:joins/put skb_put to=skb:x64' >>$tracing/kprobe_events
echo 'p:joins/taken skb_copy_bits from=skb:x64' >>$tracing/kprobe_events
echo 'p:joins/begins tcp_collapse' >>$tracing/kprobe_events
echo 'r:joins/ends tcp_collapse' >>$tracing/kprobe_events
echo 1 >$probes/events/joins/enable
run 0 follow -k buffer:$buffer+4096 --json -o text -- $border - joins
cp out said
echo 0 >$probes/events/joins/enable
cat $probes/trace >told
rmdir $probes
echo >$tracing/kprobe_events
sed -n 's/.* joined: .* to=\(0x[0-9a-f]*\) did=1$/\1/p' told | sort -u >theirs
sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"skb_try_coalesce","is_return":false,.*"why":"part","parent":[0-9].*/\1/p' text | sort -u >ours
sed -n 's/^{"packet_id":"\([^"]*\)",.*/\1/p' text | sort -u >all
{ cat said; diff theirs ours; } >out
check "follow -k buffer: packets that bytes are joined to, as the kernel's probe tells" [ "$(grep -c . ours)" -ge 1 -a -z "$(only ours theirs)" -a \
	"$(only theirs all | grep -c .)" -le "$(missed said)" ]
awk '/ begins: / { within[$1] = 1 } / ends: / { delete within[$1] } / put: / { put[$1] = $0; sub(/.*to=/, "", put[$1]) }
	/ taken: / && within[$1] { print put[$1] }' told | sort -u >theirs
sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"skb_copy_bits","is_return":false,.*"why":"part","parent":[0-9]*,"type":"sk_buff".*/\1/p' text | sort -u >ours
{ cat said; diff theirs ours; } >out
# That these are the kernel's own copies is not compared yet: after the scripts before this one the two lists differ.
echo "# a full queue: $(grep -c . theirs) by the kernel's probes, $(grep -c . ours) by brace, $(only theirs ours | grep -c .) only there, $(only ours theirs | grep -c .) only here, $(missed said) missed"
check "follow -k buffer: such packets: as many returns as calls" whole text "$(missed said)"

# A file that iomap writes, as xfs's and a block device's.
if [ -e /vm/no-modules ]; then
	ok "follow -k buffer: folios that iomap fills # SKIP $(cat /vm/no-modules)"
else
	mkdir $probes
	echo 'p:io/written iomap_write_end copy=folio:x64' >$tracing/kprobe_events
	echo 1 >$probes/events/io/written/enable
	run 0 follow -k buffer:$buffer+8192 -l iomap_file_buffered_write -l iomap_write_end --json -o text -- $border /dev/nullb0 buffer
	echo 0 >$probes/events/io/written/enable
	sed -n 's/.* written: .* copy=//p' $probes/trace | sort >theirs
	rmdir $probes
	echo >$tracing/kprobe_events
	sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"iomap_write_end","is_return":false,.*"why":"copy","parent":1,.*/\1/p' text | sort >ours
	{ echo "theirs:"; cat theirs; echo "ours:"; cat text; } >>out
	# Of three writes one has no byte of the buffer.
	check "follow -k buffer: folios that iomap fills, as the kernel's probe tells" [ "$(grep -c . theirs) $(grep -c . ours)" = '3 2' -a -z "$(only ours theirs)" ]
fi

run 125 follow -k buffer:0x1000
check 'follow -k buffer: whose' has 'whose memory? Name a process by -p'
run 125 follow -k buffer:0xffff888000000000+8 -p 1
check "follow -k buffer: an address of the kernel's" has 'takes an address of the program, and how many bytes'
run 125 follow -k fd:17
check 'follow -k fd: whose' has 'whose descriptor? Name a process by -p'
run 125 follow -k fd:x -p 1
check 'follow -k fd: no number' has 'takes the number of a descriptor'
run 125 follow -k --into fd:3 task:1
check 'follow --into with -k' has 'leave -k out'
run 125 follow 'client.fd==17' --into inod.i_ino==1 -- $border
check 'follow --into: an unknown object of the kernel' has 'the kernel has no struct inod; did you mean inode?'
run 125 follow 'client.fd==17' --into fd -l k:no_such_thing -- $border
check 'follow --into: functions that are not there' has 'none can be watched'
fi
