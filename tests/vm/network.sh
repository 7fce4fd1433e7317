# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154,SC2086,SC2016
# brace follow -k in the guest, a TCP connection from one network namespace into another over a pair of veth devices: sourced by
# kernel.sh. What brace shows is compared with tests/kernel/sk_buff_rule.c, which is the rule of ipftrace2 and of pwru, and with the
# kernel's own probes.

rule=$(dirname "$program")/sk_buff_rule
if [ -e /vm/no-modules ] || [ ! -x "$rule" ]; then
	ok "follow: two namespaces # SKIP $(cat /vm/no-modules 2>/dev/null || echo 'brace without BPF')"
else
ip link set lo up
unshare -n sleep 10000 &
space=$!
until [ "$(readlink /proc/$space/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do usleep 20000; done
ip link add here type veth # the other end is veth0
ip link set veth0 netns $space
ip addr add 10.9.0.1/24 dev here
ip link set here up
nsenter -t $space -n sh -c 'ip addr add 10.9.0.2/24 dev veth0; ip link set veth0 up; exec nc -ll -p 5555 -e cat' &
server=$!
until cat /proc/$space/net/tcp* | grep -q ':15B3 .* 0A '; do usleep 20000; done
marked="$(dirname "$program")/marked_program 10.9.0.2 5555 0xbeef"
$marked >/dev/null # the address of the other end is known from here on

# The kernel's own probes: where a marked packet leaves, and each that comes to TCP.
probes=$tracing/instances/probes
mkdir $probes
$rule 0xbeef >theirs &
pid=$!
until grep -q watching theirs; do usleep 50000; done
mark="mark=+$(sed -n 's/watching .* the mark at //p' theirs)(%di):u32"
{ echo 'p:veth/leave veth_xmit packet=%di '"$mark"; echo 'p:veth/come tcp_v4_rcv packet=%di'; } >$tracing/kprobe_events
echo 'mark == 0xbeef' >$probes/events/veth/leave/filter
echo 1 >$probes/events/veth/enable
run 0 follow -k packet:0xbeef --json -o ours -- sh -c "$marked && while grep -q ':15B3 [0-9A-F]*:[0-9A-F]* 0[^A6] ' /proc/$space/net/tcp*; do usleep 20000; done"
echo 0 >$probes/events/veth/enable
kill -TERM $pid
wait $pid
# A memory is used again: a packet has come when its address comes next.
awk '/leave:/ { sub(/.*packet=/, ""); sub(/ .*/, ""); left[$0] = 1 }
	/come:/ { sub(/.*packet=/, ""); if ($0 in left) print; delete left[$0] }' $probes/trace | sort >came
rmdir $probes
echo >$tracing/kprobe_events
# Those that have the mark; others are made of them.
sed -n 's/.*"object":\([0-9]*\),.*"why":"field".*/\1/p' ours | sort -u >met
while read -r object; do grep "\"object\":$object," ours; done <met |
	sed -n 's/^{"packet_id":"\([^"]*\)",.*"function":"tcp_v4_rcv","is_return":false.*/\1/p' | sort >ours_came
lost=$(missed)
check 'follow: two namespaces: the data came back' has '^3000$'
check 'follow: two namespaces: as many returns as calls' whole ours $lost
# An interrupt can come into a BPF program on a CPU; brace counts what it misses then, and may lack as many calls.
sed -n 's/.*"module":"\([^"]*\)","function":"\([^"]*\)","is_return":false.*/\1:\2/p' ours | sort | uniq -c >counts
awk 'NR == FNR { ours[$2] = $1; next } !/^watching/ && ours[$1] < $2 { print $1, $2, "brace:", ours[$1] + 0 }' counts theirs >out
lacking=$(awk '{ n += $2 - $4 } END { print n + 0 }' out)
echo "missed: $lost" >>out
check "follow: two namespaces: each function that ipftrace2's rule shows, and pwru's with its tracking, as often at least" [ "$(grep -c . theirs)" -gt 60 -a "$lacking" -le $lost ]
grep -v '^vmlinux:' theirs >out
check "follow: two namespaces: that rule shows functions of modules, veth's and nf_conntrack's" sh -c 'grep -q ^veth:veth_xmit out && grep -q ^nf_conntrack:nf_conntrack_in out'
{ cat came; echo "brace, which missed $lost:"; cat ours_came; } >out
check "follow: two namespaces: every marked packet comes to TCP in the other one, as the kernel's probes tell" \
	[ -s came -a -s ours_came -a "$(only came ours_came | grep -c .)" -le $lost -a -z "$(only ours_came came)" ]
if [ $lost = 0 ]; then # with a call missing, these are not to be had
	check 'follow: two namespaces: the answer to the first one is its child, from tcp_make_synack() on' \
		sh -c 'child=$(sed -n "s/.*\"function\":\"tcp_make_synack\",\"is_return\":true,\"object\":1,.*\"child\":\([0-9]*\)}/\1/p" ours) && [ -n "$child" ] &&
			grep -q "\"function\":\"tcp_v4_rcv\",\"is_return\":false,\"object\":$child," ours'
	# Or to where the CPU that made it will free it, later.
	check 'follow: two namespaces: each to its end, in the other one' \
		[ "$(grep -cE '"function":"(kfree_skbmem|napi_skb_cache_put|skb_attempt_defer_free)","is_return":true' ours)" -ge "$(grep -c . came)" ]
	check 'follow: two namespaces: what the mark alone shows is less' [ "$(grep -c '"why":"identity"' ours)" -gt 100 ]
fi
kill $server $space
wait $server $space 2>/dev/null
fi
