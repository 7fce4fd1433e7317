# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086,SC2012,SC2016,SC2005,SC2317
# brace follow -k in the guest: sourced by kernel.sh, in its boot and with its functions.

if ! "$brace" follow -k 'struct nothing' 2>&1 | grep -q 'without BPF'; then
calls() { grep -c '"is_return":false' "$1"; }
returns() { grep -c '"is_return":true' "$1"; }

# --- a packet with a mark, and its reply, which the kernel marks as the request: it comes to ping's raw socket as a clone.
# JSON for who comes from ipftrace2
ip link set lo up
echo 1 >/proc/sys/net/ipv4/fwmark_reflect
ping_once='/usr/bin/ping -q -c 1 -m 48879 127.0.0.1'
$ping_once >/dev/null
run 0 follow -k packet:0xbeef --json --show 'skb->len,skb->dev->name' -o session -- $ping_once
check 'follow: as many returns as calls' whole session "$(missed)"
# What the sentences say, the lines that end the JSON say, too.
told() { tr -d , <out | sed -n "$1"; }
{ told 's/^brace: \([0-9]*\) objects* \([0-9]*\) calls* \([0-9]*\) returned$/\1 \2 \3/p'
	told 's/^brace: \([0-9]*\) of \([0-9]*\) functions that take a struct sk_buff watched by kprobe.session .*: \([0-9]*\) not traceable \([0-9]*\) that take.* \([0-9]*\) whose name.*/\2 \1 \3 \4 \5/p'
	told 's/^brace: lost: \([0-9]*\) events .* \([0-9]*\) calls (missed.* \([0-9]*\) calls (another.*/\1 \2 \3/p'; } >sentences
tail -n 2 session | sed -E 's/^\{"summary":"objects",|^\{"summary":"kernel","type":"struct sk_buff","way":"kprobe.session",|"[a-z_]*":|\}$//g; s/,/ /g' |
	sed -E 's/^([0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+) 0 0 ([0-9]+ [0-9]+ [0-9]+) 0 0$/\1\n\2/' >lines
check 'follow --json: the last lines are the summary, with all counters' sh -c '[ $(grep -c . lines) = 3 ] && cmp sentences lines'
check "follow --json: ipftrace2's keys" has '^{"packet_id":"0x[0-9a-f]*","timestamp":[0-9]*,"processor_id":[0-9]*,"module":"vmlinux","function":"__ip_local_out","is_return":false,' session
check 'follow: a function that takes const struct sk_buff *' has '"function":"skb_copy_and_csum_bits",.*"object":1,.*"skb->dev->name":"lo"}' session
check 'follow: into the receiving side, to its end' has '"function":"kfree_skbmem","is_return":true,"object":1,' session
check 'follow: the reply is another object' has '"function":"__ip_local_out","is_return":false,"object":2,.*"why":"field"' session
check 'follow: a clone is a child' has '"function":"skb_clone","is_return":true,"object":2,.*"child":3}' session
check 'follow: three counters of losses' has '^brace: lost: 0 events (buffer full), [0-9,]* calls (missed by the kernel), [0-9,]* calls (another BPF program ran)$'
cp out lost
check 'follow: most functions are watched, the others counted' has 'functions that take a struct sk_buff watched by kprobe.session, .*; not watched: [0-9]* not traceable, '
# Whether a softirq comes at once or later changes their order.
functions() { grep '"object":1,' "$1" | grep -o '"function":"[^"]*","is_return":[a-z]*' | sort -u; }
run 0 follow -k packet:0xbeef --json -o multi --attach kprobe.multi -- $ping_once
check 'follow: kprobe.multi, as many returns as calls' whole multi "$(missed)"
echo 0 >/proc/sys/net/ipv4/fwmark_reflect
cat out >>lost
functions session >a
functions multi >b
# An interrupt can come into the BPF program, which is then left out on that CPU, and counts.
{ only a b; only b a; } >differs
{ cat differs lost; } >out
check 'follow: kprobe.multi tells the same calls and returns of the request as kprobe.session' [ "$(grep -c . differs)" -le "$(missed lost)" ]

# --- packets by an expression of pcap: the request alone, and of its bytes. libpcap is found by its short name
library=$(ls /usr/lib/*/libpcap.so.1.* /lib/*/libpcap.so.1.* 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
	run 125 follow -k 'packet:icmp'
	check 'follow packet:EXPRESSION without libpcap: one sentence' has 'install libpcap0.8'
	ln -s "$library" "$(dirname "$library")/libpcap.so.0.8"
	run 0 follow -k 'packet:icmp and icmp[icmptype] == icmp-echo and dst host 127.0.0.1' --json -o pcap -- /usr/bin/ping -q -c 1 127.0.0.1
	functions pcap | sort -u >c
	check 'follow packet:EXPRESSION: the request, to its end' sh -c '[ "$(grep "\"first\|\"why\":\"field\"" pcap | grep -c __ip_local_out)" = 1 ] && grep -q "kfree_skbmem\",\"is_return\":true,\"object\":1," pcap'
	# The same functions as by its mark, but for those before its IP header is whole.
	grep -v '__ip_local_out' a | grep -vxFf c >missed
	check 'follow packet:EXPRESSION: all functions from there on that the mark has' [ ! -s missed ]
	run 0 follow -k 'packet:icmp and ip[8] == 3 or tcp port 80' --json -o pcap -- /usr/bin/ping -q -c 1 127.0.0.1
	check 'follow packet:EXPRESSION: no other packet' has '^brace: 0 objects, 0 calls, 0 returned$'
	run 0 follow -k 'packet:udp or icmp and ip[2:2] & 0xff == 20 + 8 + 56' --json -o pcap -- /usr/bin/ping -q -c 1 -s 56 127.0.0.1
	check 'follow packet:EXPRESSION: calculated from its bytes' [ "$(calls pcap)" -ge 40 ]
	run 125 follow -k 'packet:tcp prot 80'
	check "follow packet:EXPRESSION: libpcap's sentence" has 'syntax error'
fi

# --- tasks that a task forks: they begin as copies of it, with its number
mkfifo go ended
sh -c 'read _ <go; (:); (:); echo >ended' &
pid=$!
run 0 follow -k task:$pid --attach kprobe --json -o task -l wake_up_new_task -l sched_fork -- sh -c 'echo >go; read _ <ended'
wait $pid
check 'follow: single kprobes tell calls and returns' [ "$(returns task)" -ge 2 ]
check 'follow: by identity, when the field has changed' has '"function":"wake_up_new_task","is_return":false,.*"why":"identity"}' task
run 125 follow -k task:1 --attach kprobe
check 'follow: too many functions for single kprobes' has 'attaches to one function after another, and .* would take .* s or more: .* --limit '

# --- a file by its path, as text
echo words >file # border.sh writes another one of this name
run 0 follow -k file:file -l 'inode_permission' -l 'security_inode_*' --show i_ino,i_size -- sh -c 'cat file >/dev/null'
check 'follow: a file has its own graph' has '^# object 1: struct inode at 0x[0-9a-f]*, [0-9]* calls$'
check 'follow: calls, with fields and results' has "| field    | .*  [a-z_]*(); /\* i_ino=$(stat -c %i file) i_size=6 ret=0 \*/$"

# stat() tells another device of a file on layers of two file systems than its superblock has.
if [ -e /vm/no-modules ]; then
	ok "follow: a file of overlayfs # SKIP $(cat /vm/no-modules)"
else
	mkdir lower upper overlaid && mount -t tmpfs lower lower && mount -t tmpfs upper upper && mkdir upper/up upper/work && echo words >lower/file &&
		mount -t overlay -o lowerdir=lower,upperdir=upper/up,workdir=upper/work overlaid overlaid
	run 0 follow -k file:overlaid/file -l 'ovl_*' --json -o overlay -- cat overlaid/file
	{ echo "stat: $(stat -c %d overlaid/file), mounted: $(grep " $PWD/overlaid " /proc/self/mountinfo)"; cat overlay; } >>out
	check 'follow: a file of overlayfs, by the device of what is mounted' sh -c '[ "$(stat -c %d overlaid/file)" != "$(sed -n "s/.* 0:\([0-9]*\) .*\/overlaid .*/\1/p" /proc/self/mountinfo)" ] &&
		grep -q "\"function\":\"ovl_open\",\"is_return\":false,.*\"why\":\"field\"" overlay'
	umount overlaid upper lower
fi

# timestamp_truncate(struct timespec64, struct inode *): the inode is in the third register.
run 0 follow -k file:file -l timestamp_truncate --show i_ino -- touch -d '2020-01-01 00:00' file
check 'follow: behind a structure by value' has "  timestamp_truncate(); /\* i_ino=$(stat -c %i file) "

# --- a connection by its local port
sh -c 'echo hello | nc -l -p 5555' >got 2>&1 &
until netstat -ltn 2>/dev/null | grep -q ':5555 '; do usleep 100000; done
run 0 follow -k connection:5555 -l 'tcp_*' -l 'inet_csk_*' --json -o tcp -- sh -c 'nc 127.0.0.1 5555 </dev/null >answer'
check 'follow connection: the data came' grep -qx hello answer
check 'follow connection: its data are sent, by its local port' sh -c 'grep -q "\"function\":\"tcp_sendmsg\"" tcp && grep -q "\"function\":\"tcp_v4_do_rcv\"" tcp'
check 'follow connection: as many returns as calls, but for those that wait still' [ $(($(calls tcp) - $(returns tcp))) -le 2 ]

# --- a kernel without types, as brace sees it
mount --bind /dev/null /sys/kernel/btf/vmlinux
run 125 follow -k packet:1
check 'follow: no BTF: one sentence' sh -c '[ $(wc -l <out) = 1 ] && grep -q "it takes a kernel with CONFIG_DEBUG_INFO_BTF" out'
umount /sys/kernel/btf/vmlinux

# --- a function that the kernel refuses, since its address is another: one link would be refused whole
awk '$3 == "ip_output" { $1 = substr($1, 1, 15) "1" } { print }' /proc/kallsyms >kallsyms
mount --bind kallsyms /proc/kallsyms
run 0 follow -k packet --json -o halves -l 'ip_*' -- /usr/bin/ping -q -c 1 127.0.0.1
umount /proc/kallsyms
check 'follow: a function that the kernel refuses is counted' has ', 1 refused by the kernel'
check 'follow: and the others are watched, by halves' sh -c 'grep -q "\"function\":\"ip_rcv\"" halves && ! grep -q "\"function\":\"ip_output\"" halves'

# --- kill -9 at several moments, beside another's probe at functions that brace watches, too
other=$tracing/instances/other
mkdir $other
{ echo 'p:other/receive __netif_receive_skb'; echo 'p:other/read vfs_read'; } >$tracing/kprobe_events
echo 1 >$other/events/other/enable
watched() { cut -d' ' -f1 $tracing/enabled_functions | sort -u; }
# The kernel's own lists: functions of ftrace, kprobes, and how many programs and links of BPF.
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
attached() { watched; cut -d' ' -f3- /sys/kernel/debug/kprobes/list | sort; "$(dirname "$program")/sk_buff_rule" count; }
watched >before
attached >attached_before
# Whether all is as before, at last: the kernel takes the program out when the last descriptor is closed, a moment after the process
# is reaped.
is_as_before() {
	local turns=0
	until attached | cmp -s attached_before -; do
		[ $turns -lt 300 ] || { attached | diff attached_before - | head >out; return 1; }
		usleep 200000
		turns=$((turns + 1))
	done
}
# killed MOMENT COMMAND ARGUMENT...: brace with these arguments is killed when the command succeeds.
killed() {
	local moment=$1 when=$2 pid
	shift 2
	"$brace" "$@" >out 2>&1 &
	pid=$!
	while kill -0 $pid && ! $when $pid; do usleep 10000; done 2>/dev/null
	kill -9 $pid
	wait $pid 2>/dev/null
	check "follow: kill -9 $moment: it was that far" [ $? = 137 ]
	check "follow: kill -9 $moment: only the other's probes are left" is_as_before
	cat $tracing/kprobe_events >out
	check "follow: kill -9 $moment: both of these are there" [ "$(grep -c other/ out) $(grep -c . out)" = '2 2' ]
}
loads() { for fd in "/proc/$1/fd"/*; do case $(readlink "$fd") in anon_inode:bpf-*) return 0 ;; esac; done; return 1; }
attaches() { [ "$(watched | wc -l)" -gt 10 ]; }
watches() { [ "$(watched | wc -l)" -gt 1000 ]; }
one_by_one='--attach kprobe -l tcp_[a-m]* -l udp_*'
killed 'while it loads its program' loads follow -k 'struct sk_buff'
killed 'while it attaches to one function after another' attaches follow -k 'struct sock' $one_by_one
killed 'while it watches' watches follow -k 'struct sk_buff'
sh -c 'read _ <go; echo goes on >went' &
pid=$!
killed 'while it follows a process into the kernel' watches follow '$any==7' --into fd -p $pid
echo >go
wait $pid
check 'follow: kill -9: the process goes on' grep -qx 'goes on' went
# While it detaches from one function after another: fewer are watched than when its program began.
mkfifo began
"$brace" follow -k 'struct sock' --attach kprobe -l 'udp_[l-s]*' -- sh -c 'echo $$ >began; exec sleep 10000' >out 2>&1 &
pid=$!
read -r child <began
most=$(watched | wc -l)
kill $child
until [ "$(watched | wc -l)" -lt "$most" ] || ! kill -0 $pid 2>/dev/null; do usleep 10000; done
kill -9 $pid
wait $pid 2>/dev/null
check 'follow: kill -9 while it detaches: it was that far' [ $? = 137 -a "$most" -gt "$(($(grep -c . before) + 10))" ]
check "follow: kill -9 while it detaches: only the other's probes are left" is_as_before
# And at moments from its beginning to its end, whatever it does there.
now() { awk '{ printf "%d\n", $1 * 1000000 }' /proc/uptime; }
start=$(now)
run 0 follow -k packet:0xbeef --duration 200ms
whole_run=$(($(now) - start))
killed=0
for moment in 1 2 3 4 5 6 7 8 9; do
	"$brace" follow -k packet:0xbeef --duration 200ms >out 2>&1 &
	pid=$!
	usleep $((whole_run * moment / 10))
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ $? != 137 ] || killed=$((killed + 1))
	is_as_before || break
done
check "follow: kill -9 at nine moments of a run: nothing is left" [ $moment = 9 -a $killed -ge 1 ]
umount -l /sys/kernel/debug # it would be one more place of tracefs
cat file >/dev/null
check "follow: kill -9: the other's probe tells still" grep -q 'read: (vfs_read' $other/trace
echo 0 >$other/events/other/enable
rmdir $other
echo >$tracing/kprobe_events

# --- bad input
run 125 follow -k 'struct sk_buf.mark==1'
check 'follow: an unknown type' has 'the kernel has no struct sk_buf; did you mean sk_buff?'
run 125 follow -k 'struct sk_buff.mrk==1'
check 'follow: an unknown field' has 'struct sk_buff has no field mrk; did you mean mark?'
run 125 follow -k 'struct sk_buff.cb==1'
check 'follow: a field that is no integer' has 'the field is no integer'
run 125 follow -k 'struct sk_buff.mark==0x100000000'
check 'follow: a value that the field never has' has 'the field has 32 bits, and is never 0x100000000'
run 125 follow -k connection:70000
check 'follow: such a value in a preset: what the user typed, the caret at it' sh -c 'grep -q "the field has 16 bits" out && ! grep -q skc_num out &&
	[ "$(sed -n "s/^\( *\)\^.*/\1/p" out | wc -c)" = "$(sed -n "s/^\(.*connection:\)70000.*/\1/p" out | wc -c)" ]'
run 125 follow -k packet:1 --end kfree_skbmen
check 'follow: an unknown end' has 'did you mean kfree_skbmem?'
setuidgid_nobody follow -k packet:1 >out 2>&1
check 'follow: an ordinary user: one sentence' has 'only root may trace the kernel'
else
	ok 'follow: # SKIP this brace was built without BPF'
fi
