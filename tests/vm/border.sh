# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2086
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
	grep -q 'functions that take a file, socket or packet of a descriptor watched by kprobe.session' said &&
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
echo >write
wait $pid
kill -TERM $brace_pid
wait $brace_pid
check 'follow -k fd: of a process that runs: its descriptor, not another' [ "$(grep -c 'vfs_write();* *{* */\* file f_pos=0' text) $(grep -c 'ret=6 ' text) $(grep -c 'ret=7 ' text)" = '1 1 0' ]
check 'follow -k fd: its heading' has "^# object 1: descriptor 7 of process $pid, [0-9]* calls*$" text

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
