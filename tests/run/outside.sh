#!/bin/bash
# The triggers `notify` and `exec` (docs/events.md): what a receiver reads and a command gets is what
# the program did, by its own account; nothing of what the program writes is executed; what is
# dropped is counted; and in the tree no command and no descriptor is taken that the command line
# did not allow. The program's hostile strings are names of files, of which one holds a newline.
. "$(dirname "$0")/lib.sh"
need python3
mkdir "$T/in"
cat >"$T/program" <<'END'
import os, sys
# Opens files whose names a shell would obey, as often as is said, and tells them.
names = ['evil $(touch pwned)', 'evil;touch pwned;', 'evil`touch pwned`', 'evil\ntouch pwned', 'evil -rf "x\' | touch pwned #']
for i in range(int(sys.argv[1])):
    name = names[i % len(names)]
    try: os.open(name, os.O_RDONLY)
    except FileNotFoundError: print(repr(name))
END
cat >"$T/command" <<'END'
#!/bin/bash
# One line for each run; arguments and one variable each within brackets. brace's descriptors would
# be further lines.
ls -l /proc/self/fd | grep -E 'memfd|socket|trace|fuse' >>"$OUT"
{ printf '[%s]' "$@" "$BRACE_FIELD___filename_val" "$BRACE_EVENT" "${BRACE_TID:+tid}"; echo; } >>"$OUT"
END
cat >"$T/receiver" <<'END'
import os, socket, sys
# Reads lines until one says that it is the last: of a stream, or of datagrams.
kind, path, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == 'stream' else socket.SOCK_DGRAM)
s.bind(path)
if kind == 'stream': s.listen()
open(path + '.ready', 'w').close()
f = s.accept()[0].makefile('rb') if kind == 'stream' else None
for i in range(most):
    sys.stdout.buffer.write(f.readline() if f else s.recv(65536))
    sys.stdout.flush()
END
chmod +x "$T/command"
cd "$T/in" || exit 9
export OUT=$T/ran
E=(-e syscalls:sys_enter_openat)
IF='if __filename_val ~ "evil*"'
traced() { timeout -k 5 "$LIMIT" "$BRACE" record -o "$T/t.brace" "$@" </dev/null >"$T/out" 2>"$T/err"; }

# --- receivers
for kind in stream datagram; do
	timeout -k 5 "$LIMIT" python3 "$T/receiver" $kind "$T/$kind" 60 >"$T/$kind.got" 2>"$T/$kind.err" &
	ON_EXIT+=("kill $! 2>/dev/null")
done
until_is test -e "$T/stream.ready" && until_is test -e "$T/datagram.ready" || not_ok "receivers wait"
traced "${E[@]}" -R "notify:json:unix=$T/stream $IF" -R "notify:unix=$T/datagram $IF" -R "notify:json:fd=9:7 $IF" -- \
	python3 "$T/program" 60 9>"$T/fd.got"
result "a program whose events are told runs" $? "$T/err"
cat >"$T/compare" <<'END'
import json, sys
T = sys.argv[1]
opened = [eval(l) for l in open(T + '/out')]
told = [json.loads(l) for l in open(T + '/stream.got')]
assert len(opened) == 60 and [t['fields']['__filename_val'] for t in told] == opened, told
assert all(t['event'] == 'sys_enter_openat' and t['system'] == 'syscalls' and t['comm'] == 'python3' for t in told)
assert all(a['time'] <= b['time'] for a, b in zip(told, told[1:]))
few = [json.loads(l) for l in open(T + '/fd.got')]
assert few == told[:7], few
lines = open(T + '/datagram.got').read().split('\n')
assert len(lines) == 61 and lines[-1] == '', lines
for line, t, name in zip(lines, told, opened):
    assert line.startswith(f"python3-{t['tid']} [") and 'sys_enter_openat: ' in line, line
    assert '"' + name.replace('\n', '.') + '"' in line, (line, name)
END
python3 "$T/compare" "$T" >"$T/compared" 2>&1
result "each receiver reads each record once, in order, and the count holds" $? "$T/compared"
check_that "the end says how many were sent" grep -q "notify:json:unix=$T/stream: 60 sent$" "$T/err"

# Nobody reads: the pipe is full, the socket is not there.
mkfifo "$T/full"
exec 8<>"$T/full"
traced "${E[@]}" -R "notify:fd=8 $IF" -R "notify:unix=$T/nobody $IF" -- python3 "$T/program" 1500
result "no receiver reads, and the program runs" $? "$T/err"
[ "$(wc -l <"$T/out")" -eq 1500 ] && grep -qE "notify:unix=$T/nobody: 0 sent, 1500 dropped" "$T/err" &&
	[ $(($(sed -n 's/.*notify:fd=8: \([0-9]*\) sent, \([0-9]*\) dropped.*/\1 + \2/p' "$T/err"))) -eq 1500 ]
result "what they did not take is counted" $? "$T/err"
exec 8>&-

# --- commands
traced "${E[@]}" -R "exec:$T/command \$HOME \`id\` ; a:3 $IF" -- python3 "$T/program" 3
result "a program whose events begin a command runs" $? "$T/err"
three() { [ "$(wc -l <"$OUT")" -ge 3 ]; }
until_is three
sort "$OUT" >"$T/sorted"
sort >"$T/wanted" <<'END'
[$HOME][`id`][;][a][evil $(touch pwned)][syscalls:sys_enter_openat][tid]
[$HOME][`id`][;][a][evil;touch pwned;][syscalls:sys_enter_openat][tid]
[$HOME][`id`][;][a][evil`touch pwned`][syscalls:sys_enter_openat][tid]
END
cmp -s "$T/sorted" "$T/wanted"
result "words and values reach the command as they are, no shell reads them" $? "$T/sorted"
: >"$OUT"
traced "${E[@]}" -R "exec:$T/command $IF" -- python3 "$T/program" 1000
sums() { local r d; read -r r d < <(sed -n 's/.*command: \([0-9]*\) run, \([0-9]*\) dropped.*/\1 \2/p' "$T/err")
	[ $((r + d)) -eq 1000 ] && [ "$r" -ge 1 ] && [ "$r" -le $((10 + SECONDS * 10)) ]; }
check_that "commands of a storm are few, the others are counted" sums
check_that "nothing that the program wrote was executed" test -z "$(ls "$T/in")"
! traced "${E[@]}" -R "exec:$T/nosuch" -- true && grep -q 'no such program that you may execute' "$T/err" &&
	! traced "${E[@]}" -R 'notify:fd=77' -- true && grep -q 'was not given such a descriptor' "$T/err"
result "what is not there is refused before the program begins" $? "$T/err"

# --- the tree: whoever writes there may be the program
D=$T/tree
mkdir "$D"
"$BRACE" mount "$D" --allow-exec "$T/command x" -- tail --pid=$$ -f /dev/null 2>"$T/err" || no_mount
ON_EXIT+=("$BRACE umount --lazy $D")
F=$D/events/syscalls/sys_enter_openat/trigger
! echo "exec:$T/command y" 2>/dev/null >"$F" && ! echo 'exec:/bin/sh' 2>/dev/null >"$F" && ! echo 'notify:fd=3' 2>/dev/null >"$F" &&
	grep -q 'exec:syscalls:sys_enter_openat: error: The command was not allowed where brace began: --allow-exec COMMAND' "$D/error_log" &&
	grep -A2 'notify:syscalls:sys_enter_openat: error: The descriptor was not allowed' "$D/error_log" | grep -q '^                  ^$'
result "a command or descriptor that the command line does not name is refused, with a caret" $? "$D/error_log"
echo "exec:$T/command x:5 if dfd > 1" >"$F" && echo "notify:json:unix=$T/s" >>"$F" && ! echo "notify:json:unix=$T/s:2" 2>/dev/null >>"$F"
[ "$(cat "$F")" = "notify:json:unix=$T/s:unlimited [0 sent, 0 dropped]
exec:$T/command x:count=5 if dfd > 1 [0 run, 0 dropped]" ]
result "the file shows them; one for each receiver" $? "$F"
echo "!notify:json:unix=$T/s" >>"$F" && echo "!exec:$T/command x" >>"$F" && grep -q '^# Available' "$F"
result "they are removed" $? "$F"
check "umount" "$BRACE" umount "$D"
finish
