# shellcheck shell=bash
# Additions of the long tests to tests/run/suites/lib.sh: Debian's source packages, which bring the test
# suites that binary packages leave out. They are kept, with what was built of them, for the next
# run.
. "$(dirname "${BASH_SOURCE[0]}")/../run/suites/lib.sh"
export LIMIT=${SOAK_SUITE_LIMIT:-1500}
SOURCES=${SOAK_SOURCES:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/brace-soak}

# The machine's own mirrors, asked for sources, in lists beside the system's.
apt_sources() {
	local file lists=$SOURCES/lists parts=$SOURCES/parts
	mkdir -p "$lists/partial" "$parts"
	for file in /etc/apt/sources.list.d/debian*.sources; do
		[ ! -e "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$parts/$(basename "$file")"
	done
	[ ! -e /etc/apt/sources.list ] ||
		sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$parts/debian.list"
	apt_there update
}

apt_there() {
	(cd "$SOURCES" && apt-get -q -o Dir::Etc::sourcelist=/nonexistent -o "Dir::Etc::sourceparts=$SOURCES/parts" \
		-o "Dir::State::lists=$SOURCES/lists" -o APT::Sandbox::User=root "$@")
}

# source_of PACKAGE: leaves its source in $SOURCES/PACKAGE, or skips the script.
source_of() {
	[ ! -d "$SOURCES/$1" ] || return 0
	mkdir -p "$SOURCES"
	if ! { { [ -d "$SOURCES/parts" ] || apt_sources; } && apt_there source --download-only "$1" &&
		rm -rf "$SOURCES/$1.new" &&
		dpkg-source -q --no-check -x "$(newest "$SOURCES/$1"_*.dsc)" "$SOURCES/$1.new" &&
		mv "$SOURCES/$1.new" "$SOURCES/$1"; } >"$T/source.log" 2>&1; then
		diag "$T/source.log"
		printf '1..0 # SKIP the source package %s could not be had\n' "$1"
		exit 0
	fi
}

# original_of PACKAGE: the same without Debian's changes, which are not needed for what is only
# data.
original_of() {
	[ ! -d "$SOURCES/$1" ] || return 0
	mkdir -p "$SOURCES/$1.new"
	{ [ -d "$SOURCES/parts" ] || apt_sources; apt_there source --download-only "$1"; } >"$T/source.log" 2>&1
	if ! { tar -x --strip-components=1 -C "$SOURCES/$1.new" -f "$(newest "$SOURCES/$1"_*.orig.tar.*)" &&
		mv "$SOURCES/$1.new" "$SOURCES/$1"; } >>"$T/source.log" 2>&1; then
		diag "$T/source.log"
		printf '1..0 # SKIP the source package %s could not be had\n' "$1"
		exit 0
	fi
}

newest() { printf '%s\n' "$@" | sort -V | tail -n 1; }

# built DIRECTORY PRODUCT COMMAND...: runs COMMAND in it unless PRODUCT is there.
built() {
	local directory=$1 product=$2
	shift 2
	[ -e "$directory/$product" ] || (cd "$directory" && "$@") >"$T/built.log" 2>&1
	[ -e "$directory/$product" ] && return
	not_ok "$product could be built"
	diag "$T/built.log"
	finish
}
