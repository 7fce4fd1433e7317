#!/bin/bash
# brace in fresh installations of Debian 12 and 13, by an ordinary user: the package is built from
# what Build-Depends names, is without fault for lintian, and what it installs works; `make demo`
# and some tests pass. SOAK_PARTS=brief leaves the package out, and most of the tests: tools/check
# asks for that.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit
read -ra RELEASES <<<"${SOAK_RELEASES:-bookworm trixie}"
read -ra PARTS <<<"${SOAK_PARTS:-package installed sources}"
ROOTS=$SOURCES/debian # one folder a release, and the downloaded packages in `packages`
need debootstrap
need unshare
if [ "$(id -u)" -ne 0 ]; then
	printf '1..0 # SKIP only root can make an installation of its own\n'
	exit 0
fi

# The tests that say most of what another libc, kernel interface or compiler changes.
TESTS=(launch object base layers cli install nesting options files stacks attach mount tree-live sessions
	events usdt counts death handlers losses namespaces profile switches triggers vforks units)
BRIEF=(launch object install nesting options stacks attach events namespaces units)
TEST_PACKAGES=(binutils file fuse3 g++ gawk gdb git mandoc procps python3)

mirror() { # this machine's own
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$'
}

installation() { # RELEASE: a new one in $ROOT, with a user who may become root
	rm -rf --one-file-system "$ROOT" && mkdir -p "$ROOTS/packages" &&
		unshare --mount --propagation private debootstrap --variant=minbase --cache-dir="$ROOTS/packages" "$1" "$ROOT" "$(mirror)" &&
		cp /etc/resolv.conf /etc/hosts "$ROOT/etc/" && ln -sf ../proc/self/mounts "$ROOT/etc/mtab" &&
		as_root 'apt-get update && apt-get install -y --no-install-recommends sudo make dpkg-dev lintian' &&
		as_root 'useradd --create-home --shell /bin/bash user && echo "user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/user' &&
		git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read |
		tar -x -C "$ROOT/home/user" --one-top-level=brace && as_root 'chown -R user: /home/user'
}

# as_root, as_user COMMAND: a shell's, in $ROOT. The mounts are in a namespace of their own, and go
# with it. $ROOT becomes its root, not chroot's: the kernel gives nobody a user namespace beneath
# chroot. /dev/fuse is open to all, as Debian has it.
as_root() {
	unshare --mount --propagation private bash -c '
		mount --rbind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev &&
			mount --bind "$2" var/cache/apt/archives || exit
		[ -e fuse ] || mknod -m 666 fuse c 10 229
		mount --bind fuse dev/fuse
		hash pivot_root umount env && pivot_root . . && umount -l . && cd / || exit
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive bash -o pipefail -c "$3"' - "$ROOT" "$ROOTS/packages" "$1"
}
as_user() {
	as_root "cd /home/user/brace && exec setpriv --reuid=user --regid=user --init-groups env HOME=/home/user \
		bash -o pipefail -c $(printf %q "$1")"
}

package() { # RELEASE
	check_that "$1: Build-Depends can be had" as_root 'cd /home/user/brace && apt-get build-dep -y --no-install-recommends ./'
	check_that "$1: the package is built" as_user 'dpkg-buildpackage -us -uc -b'
	check_that "$1: lintian finds no fault" as_user 'lintian --fail-on error,warning ../*.changes'
	check_that "$1: it is of brace's version" as_user \
		'[ "$(dpkg-parsechangelog -S Version)" = "$(sed -n "s/^  version: .\([^,]*\).,/\1/p" meson.build)" ]'
	check_that "$1: it can be installed" as_root \
		'apt-get install -y --no-install-recommends fuse3 man-db bash-completion pkg-config gcc libc6-dev /home/user/*.deb'
}

installed() { # RELEASE
	check_that "$1: record and report" as_user 'cd && brace record -- true && brace report | grep -w __cxa_finalize'
	check_that "$1: attach" as_user 'cd && { sleep 600 & } && brace record -p $! --duration 0.2s; s=$?; kill $!; exit $s'
	check_that "$1: mount" as_user \
		'cd && mkdir -p tree && brace mount tree && grep nop tree/current_tracer && brace umount tree'
	check_that "$1: manual pages" as_root 'for page in $(brace help | sed -nE "s/^  ([a-z]+) .*/\1/p" | grep -vx -e help -e version); do
		man brace-$page >/dev/null || exit; done; man brace | grep -w brace'
	check_that "$1: completion" as_root '. /usr/share/bash-completion/bash_completion && _load_comp brace 2>/dev/null ||
		_completion_loader brace; complete -p brace'
	check_that "$1: pkg-config, the header, and an event" as_user 'cd && cat >tea.c <<-END && gcc tea.c $(pkg-config --cflags brace) -o tea &&
		#include <brace/event.h>
		BRACE_EVENT(shop, sale, BRACE_PROTO(int cents), BRACE_ARGS(cents), BRACE_FIELDS(BRACE_FIELD(int, cents, cents)),
			BRACE_PRINT("cents=%d", REC->cents))
		int main(void) { brace_shop_sale(250); return 0; }
		END
		brace record -e shop:sale -- ./tea && brace replay | grep "cents=250"'
	check_that "$1: it can be removed" as_root 'files=$(dpkg -L brace libbrace-agent brace-dev) &&
		apt-get purge -y "brace*" "libbrace*" && for file in $files; do [ -d "$file" ] || [ ! -e "$file" ] || exit 1; done'
}

tests() { # RELEASE NAME...
	local release=$1
	shift
	check_that "$release: what the tests need" as_root "apt-get install -y --no-install-recommends ${TEST_PACKAGES[*]}"
	# make configured the build without them, a compiler for C++ for one.
	if ! as_user 'meson setup --wipe build && ninja -C build --quiet' >"$T/check.log" 2>&1; then
		not_ok "$release: the tests are built"
		diag "$T/check.log"
		return
	fi
	for name; do one_test "$release: $name" "$name"; done
}

# one_test CASE NAME: a test that skips itself whole is skipped here, too, with its reason.
one_test() {
	local status
	as_user "meson test -C build --no-rebuild $2; status=\$?
		grep -a -A4 '^not ok\|^1\.\.0 # SKIP' build/meson-logs/testlog.txt; exit \$status" >"$T/check.log" 2>&1
	status=$?
	if grep -aq '^1\.\.0 # SKIP' "$T/check.log"; then
		skip "$1" "$(sed -n 's/^1\.\.0 # SKIP //p' "$T/check.log")"
	else
		result "$1" $status "$T/check.log"
	fi
}

sources() { # RELEASE
	check_that "$1: make demo" as_user 'make demo | grep "_PyEval_EvalFrameDefault\|PyObject"'
	tests "$1" "${TESTS[@]}"
}

# `make` reports warnings as errors (meson.build).
brief() { # RELEASE
	check_that "$1: make" as_user 'tools/deps build && make'
	tests "$1" "${BRIEF[@]}"
}

for release in "${RELEASES[@]}"; do
	ROOT=$ROOTS/$release
	ON_EXIT+=("rm -rf --one-file-system $ROOT")
	if ! installation "$release" >"$T/check.log" 2>&1; then
		diag "$T/check.log"
		skip "$release" 'no installation could be had'
		continue
	fi
	for part in "${PARTS[@]}"; do $part "$release"; done
	rm -rf --one-file-system "$ROOT"
done
finish
