# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2086
# The guest's part of bench/kernel: lines "reads VARIANT NANOSECONDS" and "rings WAY RECORDS records NANOSECONDS". Variants
# take turns, and the least of the rounds counts. A trace of both is left in $OUT, and one of the kernel alone.
brace=$1
reads=$2
ring_ways=$3
batches=$4
rounds=$5
cd /tmp || exit 1

variant() {
	case $1 in
	untraced) $reads $batches ;;
	program) $brace record -q -o t.brace -l one_read -- $reads $batches ;;
	alone) $brace record -q -K -b 16M -o t.brace -l vfs_read -- $reads $batches ;;
	both) $brace record -q -k -b k:16M -o t.brace -l one_read -l k:vfs_read -- $reads $batches ;;
	both2) $brace record -q -k -b k:16M -o t.brace -l one_read -l k:vfs_read -l k:__x64_sys_read -- $reads $batches ;;
	event) $brace record -q -k -b k:16M -o t.brace -l one_read -e k:syscalls:sys_enter_read -- $reads $batches ;;
	esac
}
for name in untraced program alone both both2 event; do
	eval "least_$name="
done
for _ in 1 2 3; do
	for name in untraced program alone both both2 event; do
		ns=$(variant $name 2>err | tail -n 1)
		[ $name != both2 ] || cp t.brace "$OUT/both.brace"
		rm -f t.brace
		case $ns in
		'' | *[!0-9]*) echo "$name: $ns"; cat err; exit 1 ;;
		esac
		eval "least=\$least_$name"
		if [ -z "$least" ] || [ "$least" -gt "$ns" ]; then eval "least_$name=$ns"; fi
	done
done
for name in untraced program alone both both2 event; do
	eval "echo reads $name \$least_$name"
done
for way in raw text mmap splice read; do
	line=$($ring_ways bench $way 150000 $rounds) || { echo "$way: $line"; exit 1; }
	echo "rings ${line% ns}"
done
# Some 900,000 records: a call makes six.
$brace record -K -b 64M -o "$OUT/kernel.brace" -l ksys_read -l vfs_read -l rw_verify_area -- $reads 300 2>&1 | grep 'records of the kernel'
