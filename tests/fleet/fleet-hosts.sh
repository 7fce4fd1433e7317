#!/bin/bash
# `brace fleet -H HOSTS record` with a real sshd on loopback, which stands for several hosts: traces, clocks, output, hosts that fail, are
# silent or say too much, an interrupt, and that nothing stays on a host.
. "$(dirname "$0")/../run/lib.sh"
. "$(dirname "$0")/silent.sh"
PATH=$PATH:/usr/sbin
need sshd ssh ssh-keygen python3
cd "$T" || exit 1
mkdir there
ssh-keygen -q -t ed25519 -N '' -f "$T/user" && ssh-keygen -q -t ed25519 -N '' -f "$T/host"
cp user.pub keys
PORT=$(python3 -c 'import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])')
cat >sshd_config <<X
Port $PORT
ListenAddress 127.0.0.1
HostKey $T/host
AuthorizedKeysFile $T/keys
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
MaxStartups 100
SetEnv TMPDIR=$T/there
X
# Root's sshd wants this folder of the system's.
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
"$(command -v sshd)" -D -f "$T/sshd_config" -E "$T/sshd.log" &
ON_EXIT+=("kill_ours $!")

# A host that says nothing: connections are taken, and that is all.
start_silent
cat >ssh_config <<X
Host one two
 Port $PORT
Host silent
 Port $SILENT_PORT
Host *
 HostName 127.0.0.1
 IdentityFile $T/user
 IdentitiesOnly yes
 UserKnownHostsFile /dev/null
 StrictHostKeyChecking no
 LogLevel ERROR
Host nobody
 Port 1
X
SSH="ssh -F $T/ssh_config"
reached() { $SSH -o BatchMode=yes one true 2>"$T/log"; }
if ! until_is reached; then
	not_ok 'sshd takes connections'
	diag "$T/log"
	diag "$T/sshd.log"
	finish
fi
fleet() { # ARGUMENT...: leaves out, err and STATUS
	timeout -k 5 "$LIMIT" "$BRACE" fleet --ssh "$SSH" "$@" >"$T/out" 2>"$T/err" </dev/null
	STATUS=$?
}
says() { grep -qF -- "$1" "$T/err"; }
refuses() { [ "$STATUS" = 125 ] && says "$1"; }
calls_of() { "$BRACE" report --json -l work "$1" 2>"$T/log" | python3 -c 'import json, sys
print(sum(json.loads(l).get("calls") or 0 for l in sys.stdin if "\"name\":" in l))'; }
empty_there() { [ -z "$(ls -A "$T/there")" ]; }

cat >work.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(int c, char **v) {
	int s = 0;
	for (int i = 0; i < 1000; i++) s = work(s);
	if (c < 3 || strcmp(v[2], "long")) printf("done %s\n", v[1]);
	fprintf(stderr, "\033[31mred\n");
	fflush(stdout);
	if (c > 2 && !strcmp(v[2], "leave")) {
		/* A static program, which is not traced: record waits for all others that record. It has
		 * been executed when the pipe is closed. */
		int ends[2], child = pipe2(ends, O_CLOEXEC) ? -1 : fork();
		if (!child && setsid() > 0) execl(v[4], v[4], NULL);
		close(ends[1]);
		if (read(ends[0], ends, 1) != 0) exit(9);
		fprintf(fopen(v[3], "w"), "%d\n", child);
		exit(0);
	}
	if (c > 2 && !strcmp(v[2], "long")) {
		for (int i = 0; i < 80000; i++) putchar('x');
		exit(0);
	}
	while (c > 2) pause();
	return atoi(v[1]);
}
C
need gcc
gcc -O1 -o work work.c
printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' >standing.c
gcc -O1 -static -o standing standing.c

# --- words -----------------------------------------------------------------------------------------

fleet record -- "$T/work" 0
check_that 'a recording without hosts says what it wants' refuses 'wants hosts before it'
fleet -H one record
check_that 'one without a program, too' refuses 'wants a program'
fleet -H one,-oProxyCommand=true record "$T/work" 0
check_that 'an option of ssh is no host' refuses 'a host is a name, or USER@NAME'
fleet -H one,two,one record "$T/work" 0
check_that 'a host that stands twice is refused' refuses 'twice'
fleet -H @nothing record "$T/work" 0
check_that 'a list that is not there, too' refuses 'a list of hosts'
fleet -H one record -o x "$T/work" 0
check_that 'and a file behind record' refuses 'no --output behind'
fleet -H one record -ox "$T/work" 0
check_that 'and one right behind its letter' refuses 'no --output behind'
fleet -H one record -qox "$T/work" 0
check_that 'with its name glued to it' refuses 'no --output behind'
fleet -H one record --mode stream --rotate=1M "$T/work" 0
check_that 'and behind an option with a value' refuses 'no --rotate behind'
printf 'one two\n' >list
fleet -H @list record "$T/work" 0
check_that 'two hosts in a line of a list are refused' refuses 'one host a line'
printf '# %600s nobody\n' x >list
fleet -H @list record "$T/work" 0
check_that 'a long comment is no host' refuses 'names no host'
fleet -H one -o list record -- "$T/work" 0
check_that 'a folder that is a file is refused before the recording' refuses 'a folder for the traces'
check_that 'so nothing ran' [ ! -s out ]

# --- hosts -----------------------------------------------------------------------------------------

fleet -H one,two -o both record -- "$T/work" 0
check_that 'two hosts record, with status 0' [ "$STATUS" = 0 ]
diag "$T/err"
check_that 'each trace has its calls' [ "$(calls_of both/one.brace) $(calls_of both/two.brace)" = '1000 1000' ]
check_that 'the output has the names of the hosts' [ "$(LC_ALL=C sort out)" = $'one: done 0\ntwo: done 0' ]
check_that 'no byte of theirs reaches a terminal as it is' [ -z "$(tr -d '\n -~' <err | tr -d '\302-\303')" ]
check_that 'clocks are compared' grep -Eq '^brace: one: .* its clock is [+-][0-9.]+ ms \(within [0-9.]+ ms\), it began [+-][0-9.]+ ms' err
# It is one machine: the difference is no more than what brace says.
cat >clocks.py <<'P'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert [r["host"] for r in rows] == sys.argv[2:], rows
for r in rows:
    assert abs(r["clock_offset_ns"]) <= r["clock_error_ns"] + 1000000, r
    assert r["began_ns"] > -1000000, r
P
check 'their difference is no more than brace says: it is one machine' python3 clocks.py both/hosts.json one two
check_that 'nothing stays on the hosts' until_is empty_there
printf '# hosts\none\n\ntwo # the second\n' >list
fleet -H @list -o listed record -- "$T/work" 4
check_that 'hosts come from a file' [ -s listed/one.brace -a -s listed/two.brace ]
check_that "a program's status is told, with status 1" says 'one: brace record ended with status 4'
check_that 'with status 1' [ "$STATUS" = 1 ]

# Longer than the third host needs under load. The silent one costs it once.
fleet -H one,nobody,silent --silence 60s -o some record -- "$T/work" 0
check_that 'a host that fails and one that is silent leave the third' [ "$(calls_of some/one.brace)" = 1000 ]
check_that 'with status 1, too' [ "$STATUS" = 1 ]
check_that 'the one that fails is told' grep -q '^brace: nobody: .*refused' err
check_that 'the one that is silent is told' says 'brace: silent: it is silent'
check_that 'and how many did' says '1 of 3 hosts gave a trace'
fleet -H nobody -o none record -- "$T/work" 0
check_that 'no host at all is a failure' refuses '0 of 1 hosts gave a trace'
printf '#!/bin/sh\nexec yes\n' >flood
chmod +x flood
timeout -k 5 "$LIMIT" "$BRACE" fleet --ssh "$T/flood" -H one -o none record -- "$T/work" 0 >out 2>err
STATUS=$?
check_that 'a host that says too much is left' refuses 'it says more than it was asked'

# A host whose ssh takes no more commands: its end of the pipe is closed before it answers.
cat >gone <<'X'
#!/bin/sh
case " $* " in *' gone '*) ;; *) exec $REAL "$@" ;; esac
read -r line
answer=$(eval "$line")
exec <&-
echo "$answer"
X
chmod +x gone
REAL=$SSH timeout -k 5 "$LIMIT" "$BRACE" fleet --ssh "$T/gone" -H one,gone -o gone.d record -- "$T/work" 0 >out 2>err </dev/null
STATUS=$?
check_that 'a host that takes no more commands leaves the other' [ "$STATUS $(calls_of gone.d/one.brace)" = '1 1000' ]
check_that 'and is told' says 'brace: gone: the connection has ended'

# What a program leaves in the background has its output, so that ssh does not end.
fleet -H one -o left.d record -- "$T/work" 0 leave "$T/left" "$T/standing"
check_that 'a program leaves a process: brace does not wait for that' [ "$STATUS" = 0 ]
diag "$T/err"
check_that 'which is there' kill "$(cat left)"
check_that 'and its host keeps nothing else' until_is empty_there

# The answer comes in two parts, the first behind a line that is too long to be kept.
cat >parts <<'P'
#!/usr/bin/env python3
import array, fcntl, os, subprocess, sys, termios, time
shell = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdout=subprocess.PIPE)
def give(data):
    left = array.array("i", [1])
    os.write(1, data)
    while left[0]:
        fcntl.ioctl(1, termios.FIONREAD, left)
        time.sleep(0.001)
text = b""
while data := os.read(shell.stdout.fileno(), 65536):
    text += data
    if text.startswith(b"x") and not text.endswith(b"\n"):
        continue
    if text.startswith(b"x"):
        give(text[:40000])
        give(text[40000:-10])
        text = text[-10:]
    os.write(1, text)
    text = b""
P
chmod +x parts
timeout -k 5 "$LIMIT" "$BRACE" fleet --ssh "$T/parts" -H one -o parts.d record -- "$T/work" 0 long >out 2>err </dev/null
STATUS=$?
check_that 'an answer in two parts behind a long line is one' [ "$STATUS $(calls_of parts.d/one.brace)" = '0 1000' ]
check_that 'and no byte of the line is lost' [ "$(tr -dc x <out | wc -c)" = 80000 ]

# --- hosts that are slow, or give too much ------------------------------------------------------------

# Processes that hosts leave, and their folders.
: >left_over
mkdir hosts_left
ON_EXIT+=("xargs -r -a '$T/left_over' kill")
# What is kept without an end would be the machine's memory. A sanitizer's own takes more.
bounded() { grep -qa '__[at]san_init' "$BRACE" || ulimit -v 4000000; }
# hostile NAME HOSTS ARGUMENT...: ./NAME, which is sh, in place of ssh; the command is its last word.
hostile() {
	local name=$1 hosts=$2
	shift 2
	chmod +x "$name"
	TMPDIR=$T/hosts_left timeout -k 5 "$LIMIT" "$BRACE" fleet --ssh "$T/$name" -H "$hosts" -o "$name.d" "$@" record -- "$T/work" 0 >out 2>err </dev/null
	STATUS=$?
}
# It says something all the time, and answers nothing. The sleep is the host's.
printf '#!/bin/sh\nwhile sleep 0.1; do echo x >&2; done\n' >trickle
hostile trickle a --silence 2s
check_that 'words beside the answer are no answer' refuses 'a: it is silent, or too slow'
cat >greets <<'X'
#!/bin/sh
while sleep 0.1; do echo x; done
X
hostile greets a --silence 2s
check_that 'nor are greetings without an end' refuses 'a: it is silent, or too slow'
# A copy is not taken.
cat >full <<'X'
#!/bin/sh
for command; do :; done
case $command in cat*) exec sleep 1000 ;; esac
exec sh
X
hostile full a --silence 30s
check_that 'a host that takes no copy of brace is left' refuses 'too slow (--silence), while brace is copied there'
# The answer's line has no end: brace keeps no more of it than of others.
cat >endless <<'P'
#!/usr/bin/env python3
import os, re, subprocess, sys
shell = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdin=subprocess.PIPE) if "exec sh" in sys.argv[-1] else None
if not shell:
    os.execvp("sh", ["sh", "-c", sys.argv[-1]])
nonce = b""
while line := os.read(0, 65536):
    if found := re.search(rb"echo ([0-9a-f]{8})''([0-9a-f]{8}) hello", line):
        nonce = found[1] + found[2]
    if b"record -q" in line:
        os.write(1, nonce)
        while True:
            os.write(1, b"x" * 65536)
    shell.stdin.write(line)
    shell.stdin.flush()
P
(bounded; hostile endless a; echo $STATUS >status)
read -r STATUS <status
check_that 'an answer without an end is not kept' refuses 'a: it says more than it was asked'
# with TOOL in place of the host's own.
with() { # NAME TOOL
	mkdir -p "$1.bin"
	cat >"$1.bin/$2"
	chmod +x "$1.bin/$2"
	printf '#!/bin/sh\nfor command; do :; done\nPATH=%s:$PATH exec sh -c "$command"\n' "$T/$1.bin" >"$1"
}
printf '#!/bin/sh\necho 9223372036854775807\n' | with huge wc
hostile huge a
check_that 'a trace without an end is not taken' refuses 'and more than 17179869184 are not taken (--trace-max)'
printf '#!/bin/sh\necho -1\n' | with negative wc
hostile negative a
check_that 'a size that is none is no trace' refuses 'a: it wrote no trace'
hostile parts a --trace-max 1K
check_that 'a trace is not taken that is larger than it may be' refuses 'and more than 1024 are not taken (--trace-max)'
check_that 'and nothing of it is here' [ ! -e parts.d/a.brace ]
# A file of the trace that does not come: its beginning does.
cat <<X | with stops cat
#!/bin/sh
case \$1 in */trace) head -c 100 "\$1"; echo \$\$ >>"$T/left_over"; echo >"$T/comes"; exec sleep 1000 ;; esac
exec $(command -v cat) "\$@"
X
hostile stops a --silence 30s
check_that 'a trace that stops coming is given up' refuses 'too slow (--silence), while its trace comes'
check_that 'and nothing of it stays here, either' [ -z "$(ls -A stops.d)" ]
rm -f comes
TMPDIR=$T/hosts_left "$BRACE" fleet --ssh "$T/stops" -H a -o stops.d --silence 1h record -- "$T/work" 0 >out 2>err </dev/null &
recorder=$!
check_that 'a trace begins to come' until_is [ -e comes ]
ends() { kill_ours -TERM $recorder; [ ! -e /proc/$recorder/exe ]; }
check_that 'two interrupts end that, however long a host may be silent' until_is ends
wait $recorder
STATUS=$?
check_that 'which is said' refuses 'a: interrupted before its trace was here'
diag err
# Hosts that do not say that all is removed: brace waits for all of them at once.
cat <<X | with stays rm
#!/bin/sh
[ "\$1" != -rf ] || { echo \$\$ >>"$T/left_over"; exec sleep 1000; }
exec $(command -v rm) "\$@"
X
hostile stays "$(seq -s, -f 'h%g' 6)" --silence 30s
check_that 'hosts that stay are waited for at once' [ "$STATUS $(find stays.d -name '*.brace' | wc -l)" = '0 6' ]
diag err

# --- descriptors ---------------------------------------------------------------------------------------

cat >plain <<'X'
#!/bin/sh
for command; do :; done
exec sh -c "$command"
X
(ulimit -Sn 40; hostile plain "$(seq -s, -f 'h%g' 12)"; echo $STATUS >status)
read -r STATUS <status
check_that 'more hosts than the soft limit has descriptors for' [ "$STATUS $(find plain.d -name '*.brace' | wc -l)" = '0 12' ]
diag err
rm -r plain.d
(ulimit -n 64; hostile plain "$(seq -s, -f 'h%g' 12)"; echo $STATUS >status)
read -r STATUS <status
check_that 'more than the hard limit allows are refused' refuses '12 hosts need 104 descriptors, and this process may have 64'
check_that 'before anything is done' [ ! -e plain.d ]

# --- an interrupt ------------------------------------------------------------------------------------

timeout -k 5 "$LIMIT" "$BRACE" fleet --ssh "$SSH" -H one,two -o cut record -- "$T/work" 0 wait >out 2>err </dev/null &
recorder=$!
both_run() { [ "$(grep -c done out)" = 2 ]; }
check_that 'two programs run on' until_is both_run
kill_ours -TERM $recorder
wait $recorder
check_that 'an interrupt ends them, and their traces come' [ "$(calls_of cut/one.brace) $(calls_of cut/two.brace)" = '1000 1000' ]
check_that 'nothing stays on the hosts then' until_is empty_there

"$BRACE" fleet --ssh "$SSH" -H one,two -o killed record -- "$T/work" 0 wait >out 2>err </dev/null &
recorder=$!
check_that 'two programs run on again' until_is both_run
kill_ours -KILL $recorder
wait $recorder 2>/dev/null
check_that 'brace is killed: nothing stays on the hosts' until_is empty_there
none_runs() { ! grep -qsaF -- "$T/work" /proc/[0-9]*/cmdline; }
check_that 'and no program runs on' until_is none_runs
finish
