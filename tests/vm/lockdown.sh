# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2086
# In a guest whose kernel is locked down (confidentiality): what brace says of it, a line each, "good" or "bad" and a name.
brace=$1
mount -t securityfs securityfs /sys/kernel/security
says() { # NAME ARGUMENT...: one sentence, which names lockdown
	local name=$1
	shift
	"$brace" "$@" >/tmp/said 2>&1
	[ $? = 125 ] && [ "$(wc -l </tmp/said)" = 1 ] && grep -q 'lock' /tmp/said && echo "good $name" && return
	echo "bad $name"
	sed 's/^/# /' /tmp/said
}
grep -q '\[confidentiality\]' /sys/kernel/security/lockdown || echo 'bad the kernel is locked down'
says 'locked down: graph -K' graph -K -l vfs_read -- true
says 'locked down: record -k' record -k -l k:vfs_read -- /bin/true
says 'locked down: follow -k' follow -k packet:1
