#!/bin/bash
# libtracefs's sample program sqlhist, as the manual page of tracefs_sql has it (Debian's package
# libtracefs-doc), compiled and run unmodified in `brace shell`, with the examples of its own manual
# page, but for -m lat, which this version of the library refuses itself ("No such device").
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3 cc
pkg-config --exists libtracefs || { echo '1..0 # SKIP libtracefs-dev is not installed'; exit 0; }
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP libtracefs looks at /sys/kernel/tracing, which brace shell gives root'; exit 0; }
PACKAGE=libtracefs-doc

mkdir -p "$SOURCES"
if [ ! -d "$SOURCES/$PACKAGE" ] && ! (cd "$SOURCES" && apt-get download -qq "$PACKAGE" && dpkg-deb -x "$PACKAGE"_*.deb "$PACKAGE.new" &&
	rm -f "$PACKAGE"_*.deb && mv "$PACKAGE.new" "$PACKAGE") >"$T/source.log" 2>&1; then
	diag "$T/source.log"
	printf '1..0 # SKIP the package %s could not be had\n' "$PACKAGE"
	exit 0
fi
/usr/bin/python3 - "$SOURCES/$PACKAGE/usr/share/doc/libtracefs-doc/libtracefs-sql.html" >"$T/sqlhist.c" <<'P'
import html, re, sys
page = open(sys.argv[1]).read()
examples = re.findall(r"<pre[^>]*>(.*?)</pre>", page[page.index("EXAMPLE"):], re.S)
print(html.unescape(re.sub(r"<[^>]*>", "", max(examples, key=len))))
P
# shellcheck disable=SC2046
cc -w -o "$T/sqlhist" "$T/sqlhist.c" $(pkg-config --cflags --libs libtracefs) 2>"$T/err"
result "the manual page's program compiles" $? "$T/err"

cat >"$T/session.sh" <<SESSION
cd /sys/kernel/tracing
'$T/sqlhist' -e 'SELECT CAST(call_site as SYM-OFFSET), bytes_req, CAST(bytes_alloc AS _COUNTER_) FROM kmalloc' >'$T/echos' || echo failed
'$T/sqlhist' -n wakeup_lat -e 'SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM ' \
	'sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid WHERE end.next_prio < 200 && end.next_comm != "none"' >>'$T/echos' || echo failed
cat synthetic_events
echo 1 >events/synthetic/wakeup_lat/enable
# until both have counted
for i in \$(seq 600); do
	grep -q 'Hits: [1-9]' events/kmem/kmalloc/hist && grep -q 'Hits: [1-9]' events/sched/sched_switch/hist && break
	sleep 0.05
done
sed 's/^/kmalloc: /' events/kmem/kmalloc/hist
sed 's/^/switch: /' events/sched/sched_switch/trigger events/sched/sched_switch/hist
echo 0 >tracing_on
sed 's/^/trace: /' trace
SESSION
timeout -k 5 120 "$BRACE" shell --run="$FIXTURES/kern" -- sh "$T/session.sh" >"$T/out" 2>"$T/err" </dev/null
! grep -q failed "$T/out" && [ "$(grep -c '^echo' "$T/echos")" = 4 ]
result "sqlhist -e carries out the manual page's statements" $? "$T/out"
grep -q 'call_site.sym-offset,bytes_req:vals=hitcount,bytes_alloc:' "$T/out" &&
	grep -qE '^kmalloc: \{ call_site: \[[0-9a-f]+\] [a-z_]+\+0x[0-9a-f]+/0x' "$T/out"
result "its histogram counts, with the callers' names" $? "$T/out"
grep -qx $'wakeup_lat\tchar\\[16\\] comm; u64 lat' "$T/out" && grep -q 'onmatch(sched.sched_waking).trace(wakeup_lat,' "$T/out"
result "its synthetic event is defined, and made of both" $? "$T/out"
finish
