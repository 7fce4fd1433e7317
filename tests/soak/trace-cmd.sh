#!/bin/bash
# Arguments in a trace.dat, printed by the first trace-cmd that knows of BTF, version 3.4: Debian's next release has it. Its packages, and
# the C library and loader that they want, are unpacked beside this machine's own.
. "$(dirname "$0")/lib.sh"
RELEASE=${SOAK_TRACE_CMD:-forky}
ROOT=$SOURCES/trace-cmd-$RELEASE

packages() { # into $ROOT.new
	local lists=$SOURCES/$RELEASE.lists mirror
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$') &&
		mkdir -p "$lists/partial" "$ROOT.new" &&
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $RELEASE main" >"$SOURCES/$RELEASE.list" &&
		cd "$ROOT.new" || return
	set -- -q -o "Dir::Etc::sourcelist=$SOURCES/$RELEASE.list" -o Dir::Etc::sourceparts=/nonexistent -o "Dir::State::lists=$lists" \
		-o APT::Sandbox::User=root
	apt-get "$@" update &&
		apt-get "$@" download trace-cmd libtracecmd1 libtraceevent1 libtracefs1 libc6 libzstd1 zlib1g libaudit1 libcap-ng0 || return
	for one in *.deb; do dpkg-deb -x "$one" . && rm "$one" || return; done
}
if [ ! -d "$ROOT" ] && ! { rm -rf "$ROOT.new" && (packages) && mv "$ROOT.new" "$ROOT"; } >"$T/packages.log" 2>&1; then
	diag "$T/packages.log"
	printf '1..0 # SKIP the packages of trace-cmd in %s could not be had\n' "$RELEASE"
	exit 0
fi
libraries=$(dirname "$(find "$ROOT" -name libtracecmd.so.1)")
loader=$(find "$ROOT" -name 'ld-linux*' | head -n 1)
TRACE_CMD="$loader --library-path $libraries $(find "$ROOT" -name trace-cmd -type f -perm -u+x | head -n 1)" exec bash "$(dirname "$0")/../run/export-btf.sh"
