#!/bin/bash
# sshd under its own sandbox: the process that speaks to strangers binds itself by seccomp, changes
# its root and its user. All of it traced, fifty logins, each with its right answer, and nothing
# lost.
. "$(dirname "$0")/../run/lib.sh"
LOGINS=50
PORT=$((20000 + $$ % 20000))
SSHD=$(PATH=$PATH:/usr/sbin command -v sshd)

need ssh
need ssh-keygen
if [ -z "$SSHD" ] || [ "$(id -u)" -ne 0 ]; then
	printf '1..0 # SKIP sshd is not installed, or not run by root\n'
	exit 0
fi
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$T/host" && ssh-keygen -q -t ed25519 -N '' -f "$T/user"
cat >"$T/config" <<END
Port $PORT
ListenAddress 127.0.0.1
HostKey $T/host
AuthorizedKeysFile $T/user.pub
PidFile $T/pid
UsePAM no
StrictModes no
PermitRootLogin yes
MaxStartups 100
END

login() { # NUMBER
	timeout 20 ssh -F none -p "$PORT" -i "$T/user" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o LogLevel=ERROR -o ConnectionAttempts=30 root@127.0.0.1 "echo \$(($1 * $1)); id -u" </dev/null 2>>"$T/ssh.err"
}

timeout -k 5 600 "$BRACE" record --mode block -o "$T/trace" -- "$SSHD" -D -e -f "$T/config" >"$T/out" 2>"$T/summary" &
brace=$!
ON_EXIT+=("kill \$(cat $T/pid); kill $brace")
right=0
for ((i = 1; i <= LOGINS; i++)); do
	[ "$(login $i)" = "$((i * i))"$'\n0' ] && right=$((right + 1))
done
[ $right -eq $LOGINS ]
result "$right of $LOGINS logins had the right answer" $? "$T/ssh.err"
kill "$(cat "$T/pid")"
wait $brace
result "brace ended with the daemon (status $?)" 0
nothing_lost "sshd: nothing lost" 1000000
grep -q 'stopped recording' "$T/summary" && stopped=1 || stopped=0
result "its sandbox leaves the agent what it needs" $stopped "$T/summary"
finish
