#!/bin/bash
# `brace fleet ... --html`, opened by Chromium: the figures in the table are those of --json, it sorts and is searched, it has
# light and dark colours, names with tags stay text, and the page asks for nothing. Without npm, a network or Chromium the rest is skipped.
. "$(dirname "$0")/../run/lib.sh"
. "$(dirname "$0")/clickhouse.sh"
need npm node chromium objcopy
mkdir "$T/npm" && cd "$T/npm" || exit 1
echo '{"private":true}' >package.json
if ! node -e "require('playwright-core')" 2>"$T/log" &&
	! timeout -k 5 300 npm install --no-audit --no-fund --loglevel=error playwright-core >"$T/log" 2>&1; then
	printf '1..0 # SKIP npm cannot install playwright-core\n'
	exit 0
fi
configure a
if ! start_server a; then
	not_ok 'a server starts'
	diag "$T/a/out"
	finish
fi
TO=http://127.0.0.1:${PORT[a]}

cat >"$T/evil.c" <<'C'
__attribute__((noinline, noclone)) int innocent(int n) { for (volatile int i = 0; i < 50; i++) n += i; return n; }
__attribute__((noinline, noclone)) int again(int n) { return n ? again(n - 1) + innocent(n) : 0; }
int main(int c, char **v) { int s = 0; for (int i = 0; i < 40 * c; i++) s += again(5); return s == 1; }
C
NAME='</script><script>document.title="owned"</script><!--"]]>&x'
cc -O1 -fno-optimize-sibling-calls -c -o "$T/evil.o" "$T/evil.c" && objcopy --redefine-sym innocent="$NAME" "$T/evil.o" && cc -o "$T/evil" "$T/evil.o"
push() { # NAME ARGUMENT...: a trace, and its run in $NAME
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/$1.trace" -- "$T/evil" "${@:2}" >"$T/out" 2>"$T/err" &&
		"$BRACE" push "$T/$1.trace" --calls --to "$TO" 2>"$T/err"
	result "$1 is pushed" $? "$T/err"
	printf -v "$1" '%s' "$(grep -o 'run [0-9a-f]\{16\}' "$T/err" | cut -d' ' -f2)"
}
"$BRACE" push --create --to "$TO"
push small
push large '<b>' 2

# open.js PAGE: what the page shows, as JSON.
cat >open.js <<'J'
const { chromium } = require("playwright-core");
(async () => {
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	const page = await browser.newPage();
	page.on("pageerror", (e) => console.error(String(e)));
	page.on("console", (m) => console.error(m.text()));
	page.on("request", (r) => r.url().startsWith("file:") || console.error("asks for", r.url()));
	await page.goto(`file://${process.argv[2]}`);
	const table = () => page.evaluate(() => [...document.querySelectorAll("tbody tr")].map((tr) => [...tr.children].map((td) => td.textContent)));
	const heads = () => page.evaluate(() => [...document.querySelectorAll("th")].map((th) => [th.textContent, th.getAttribute("aria-sort")]));
	const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const shown = { heads: await heads(), rows: await table() };
	shown.notes = await page.evaluate(() => [...document.querySelectorAll(".note")].map((p) => p.textContent));
	shown.title = await page.title();
	shown.scripts = await page.evaluate(() => document.querySelectorAll("script, b").length);
	// Widths of bars, as parts of their cells.
	shown.bars = await page.evaluate(() => [...document.querySelectorAll("tbody tr")].map((tr) =>
		[...tr.children].map((td) => (td.className === "number" ? td.style.getPropertyValue("--part") : null))));
	shown.sorted = {};
	for (let i = 0; i < shown.heads.length; i++) {
		await page.locator("th").nth(i).click();
		const first = (await table()).map((row) => row[i]), mark = (await heads())[i][1];
		await page.locator("th").nth(i).click();
		shown.sorted[shown.heads[i][0]] = { first, mark, second: (await table()).map((row) => row[i]), other: (await heads())[i][1] };
	}
	await page.fill("#search", "AGAIN");
	shown.searched = await table();
	await page.emulateMedia({ colorScheme: "light" });
	shown.light = await colour();
	await page.emulateMedia({ colorScheme: "dark" });
	shown.dark = await colour();
	console.log(JSON.stringify(shown));
	await browser.close();
})();
J
# compare.py SHOWN JSON EVIL: the table has the values of the lines, in their order; a second click turns the order.
cat >"$T/compare.py" <<'P'
import json, sys
shown = json.load(open(sys.argv[1]))
lines = [json.loads(line, parse_float=str, parse_int=str) for line in open(sys.argv[2])]
def flat(row, before=""):
    for name, value in row.items():
        if isinstance(value, dict):
            yield from flat(value, before + name + ".")
        else:
            yield before + name, value
rows = [dict(flat(line)) for line in lines[1:]]
names = [head[0] for head in shown["heads"]]
plain = lambda text: text.replace("\u202f", "")
assert rows and {key for row in rows for key, value in row.items() if value is not None} <= set(names), (names, rows[0])
got = [[plain(cell) for cell in row] for row in shown["rows"]]
want = [["" if row.get(name) is None else row[name] for name in names] for row in rows]
assert got == want, [pair for pair in zip(got, want) if pair[0] != pair[1]][:3]
assert shown["scripts"] == 3 and shown["title"].startswith("brace fleet"), shown["title"]
number = lambda text: float(text) if text else None
for i, name in enumerate(names):
    column = [row[i] for row in want]
    try:
        values = [number(text) for text in column]
        numbers = any(value is not None for value in values)
    except ValueError:
        numbers = False
    bars = [row[i] for row in shown["bars"]]
    order = shown["sorted"][name]
    first, second = ([plain(text) for text in order[key]] for key in ("first", "second"))
    assert sorted(first) == sorted(second) == sorted(column), (name, first)
    if not numbers or json.loads(open(sys.argv[2]).readlines()[1]).get(name).__class__ is str:
        assert (order["mark"], order["other"]) == ("ascending", "descending"), (name, order["mark"])
        continue
    assert (order["mark"], order["other"]) == ("descending", "ascending"), (name, order["mark"])
    falling = [value for value in map(number, first) if value is not None]
    assert falling == sorted(falling, reverse=True), (name, falling)
    rising = [value for value in map(number, second) if value is not None]
    assert rising == sorted(rising), (name, rising)
    most = max(abs(value) for value in values if value is not None)
    for bar, value in zip(bars, values):
        assert value is None or most == 0 or abs(float(bar.rstrip("%")) - 100 * abs(value) / most) < 0.01, (name, bar, value)
if "name" in names:
    at = names.index("name")
    assert any(row[at] == sys.argv[3] for row in shown["rows"]), "the evil name is not there"
    assert [row[at] for row in shown["searched"]] == ["again"] * [row[at] for row in want].count("again"), shown["searched"]
assert shown["light"] != shown["dark"], shown["light"]
P
page() { # TITLE ARGUMENT...
	"$BRACE" fleet "${@:2}" --to "$TO" --json >"$T/json" 2>"$T/err" && "$BRACE" fleet "${@:2}" --to "$TO" --html -o "$T/page.html" 2>>"$T/err" &&
		timeout -k 5 200 node open.js "$T/page.html" >"$T/shown" 2>"$T/err"
	result "$1: Chromium opens the page" $? "$T/err"
	check_that "$1: it has no error, and asks for nothing" [ ! -s "$T/err" ]
	check "$1: its table is --json's, sorts, has bars, is searched, is light and dark" python3 "$T/compare.py" "$T/shown" "$T/json" "$NAME"
}
page top top
page history history again
page outliers outliers again
page diff diff "$small" "$large"
page query query 'SELECT name, calls, run, 9007199254740993 AS large, toNullable(NULL) AS nothing FROM named_minutes ORDER BY name, run'
check_that 'whole numbers keep all digits' python3 -c 'import json, sys
assert any("9007199254740993" in [cell.replace("\u202f", "") for cell in row] for row in json.load(open(sys.argv[1]))["rows"])' "$T/shown"
"$BRACE" fleet top --to "$TO,127.0.0.1:1" --html >"$T/page.html" 2>"$T/err"
STATUS=$?
timeout -k 5 200 node open.js "$T/page.html" >"$T/shown" 2>"$T/log"
check_that 'a page tells which servers did not answer' python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["notes"][0].startswith("1 of 2 servers answered")' "$T/shown"
check_that 'and so does brace' [ "$STATUS$(grep -c '1 of 2 servers answered' "$T/err")" = 11 ]

# --- what is wrong ----------------------------------------------------------------------------------

refused() { # TEXT ARGUMENT...
	timeout -k 5 "$LIMIT" "$BRACE" fleet "${@:2}" >"$T/out" 2>"$T/err" </dev/null
	[ $? = 125 ] && grep -qF -- "$1" "$T/err" && [ ! -s "$T/out" ]
	result "refused: fleet ${*:2}" $? "$T/err"
}
refused 'a form of its own' top --html --json --to "$TO"
refused '-o names the page of --html' top -o "$T/page" --to "$TO"
refused 'are of questions' -H localhost --html record true
refused 'no call of nobody' history nobody --html -o "$T/nobody.html" --to "$TO"
rm -f "$T/away.html"
refused 'does not answer' top --html -o "$T/away.html" --to http://127.0.0.1:1
check_that 'a page that cannot be made leaves no file' [ ! -e "$T/away.html" ]
finish
