#!/bin/bash
# kernel.sh KERNEL [OPERATIONS]: what a real kernel answers to the operations, on stdout.
#
#	apt-get download linux-image-6.12.107+deb13-cloud-amd64 (Debian 13), dpkg-deb -x FILE DIRECTORY
#	kernel.sh DIRECTORY/boot/vmlinuz-* >kernel-6.12
#
# The kernel, with ftrace and a serial console built in, as Debian's cloud kernels are, is booted in
# QEMU with an initramfs of busybox, the runner (operate.c, linked statically) and the operations;
# what the runner prints comes through the second serial port.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
KERNEL=$1 OPERATIONS=${2:-$HERE/operations}
for program in qemu-system-x86_64 busybox cc; do
	command -v "$program" >/dev/null || { echo "kernel.sh: $program is not installed" >&2; exit 2; }
done
D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT
mkdir -p "$D"/root/{bin,proc,sys,dev}
cc -O1 -std=gnu11 -D_GNU_SOURCE -static -o "$D/root/bin/operate" "$HERE/operate.c"
cp "$(command -v busybox)" "$D/root/bin/busybox"
cp "$OPERATIONS" "$D/root/operations"
cat >"$D/root/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t tracefs tracefs /sys/kernel/tracing
/bin/busybox stty -F /dev/ttyS1 raw 115200
/bin/busybox uname -rv | /bin/busybox sed 's/^/# /' >/dev/ttyS1
/bin/operate /sys/kernel/tracing /operations >/dev/ttyS1 2>&1
/bin/busybox poweroff -f
END
chmod +x "$D/root/init"
(cd "$D/root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$D/initramfs"
# QEMU 7.2's cmpxchg16b now and then spoils the flags, and the kernel dies of it: without; and tried
# again.
for _ in 1 2 3; do
	timeout "${LIMIT:-500}" qemu-system-x86_64 -accel "${ACCEL:-tcg}" -cpu qemu64,-cx16 -smp 2 -m 512 -nodefaults -display none -no-reboot \
		-kernel "$KERNEL" -initrd "$D/initramfs" -append "console=ttyS0 quiet panic=-1" \
		-serial "file:$D/console" -serial "file:$D/out" </dev/null >"$D/qemu" 2>&1 || true
	if grep -q '^# end' "$D/out"; then
		tr -d '\r' <"$D/out"
		exit 0
	fi
	tail -n 30 "$D/qemu" "$D/console" >&2
done
exit 1
