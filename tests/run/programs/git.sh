#!/bin/bash
# Debian's git in a repository of its own: commands that exec other gits, threads in gc.
. "$(dirname "$0")/lib.sh"
need git
export HOME=$T GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

prepare() {
	git init -q -b trunk .
	for i in $(seq 30); do
		seq "$i" $((i * 40)) >"file$((i % 7))"
		git add . && git commit -q -m "change $i"
	done
	git checkout -q -b side HEAD~10 && seq 5 >side && git add side && git commit -q -m side
	git checkout -q trunk
}

program /usr/bin/git 1000 git log --stat --graph -p
for command in 'init -b main new' 'status' 'commit -q --allow-empty -m more' 'merge --no-edit side' \
	'gc -q' 'fsck --full' 'blame file3' 'grep -n 117' 'clone . copy'; do
	# shellcheck disable=SC2086 # words on purpose
	same "git $command" -- git $command
done
finish
