#!/bin/bash
# `brace export --to speedscope`, opened in speedscope's own page (of the npm registry) by Chromium: what its table of functions
# shows is `brace report`'s. Without npm, a network or Chromium all of it is skipped.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need npm node chromium
mkdir "$T/npm" && cd "$T/npm" || exit 1
echo '{"private":true}' >package.json
if ! node -e "require.resolve('speedscope/package.json'), require('playwright-core')" 2>"$T/log" &&
	! HOME=$T timeout -k 5 300 npm install --no-audit --no-fund --loglevel=error speedscope playwright-core >"$T/log" 2>&1; then
	printf '1..0 # SKIP npm cannot install speedscope and playwright-core\n'
	exit 0
fi
cat >open.js <<'J'
// open.js PROFILE: the text of speedscope's page with this profile, its view "Sandwich" chosen. The page and the profile come from
// a server on this machine; whatever else the page asks for is refused, and told.
const { chromium } = require("playwright-core"), http = require("http"), fs = require("fs"), path = require("path");
const root = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const server = http.createServer((request, answer) => {
	const name = request.url.split(/[?#]/)[0], file = name === "/profile" ? process.argv[2] : path.join(root, name === "/" ? "index.html" : name);
	fs.readFile(file, (error, data) => {
		answer.writeHead(error ? 404 : 200, { "content-type": types[path.extname(file)] || "application/octet-stream" });
		answer.end(data);
	});
}).listen(0, "127.0.0.1", async () => {
	const at = `http://127.0.0.1:${server.address().port}`;
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-angle=swiftshader",
		"--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"] });
	const page = await browser.newPage();
	page.on("pageerror", (e) => console.error(String(e)));
	page.on("request", (r) => r.url().startsWith(at) || /^(data|blob):/.test(r.url()) || console.error("asks for", r.url()));
	await page.goto(`${at}/#profileURL=${encodeURIComponent(`${at}/profile`)}`);
	await page.getByText("Sandwich").click({ timeout: 100000 });
	await page.getByText("leaf", { exact: true }).first().waitFor({ timeout: 100000 });
	console.log(await page.evaluate(() => document.body.innerText));
	await browser.close();
	server.close();
});
J
# The flame graph's script in a browser: a click makes a frame as wide as the picture, Escape undoes it.
cat >flame.js <<'J'
const { chromium } = require("playwright-core");
(async () => {
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-quic", "--no-first-run"] });
	const page = await browser.newPage();
	page.on("pageerror", (e) => console.error(String(e)));
	page.on("request", (r) => r.url().startsWith("file:") || console.error("asks for", r.url()));
	await page.goto(`file://${process.argv[2]}`);
	const width = () => page.evaluate(() => document.querySelector('g[data-name="leaf"] rect').getBBox().width);
	const back = () => page.evaluate(() => getComputedStyle(document.getElementById("back")).display);
	const first = [await width(), await back()];
	await page.evaluate(() => document.querySelector('g[data-name="leaf"]').dispatchEvent(new MouseEvent("click", { bubbles: true })));
	const zoomed = [await width(), await back()];
	await page.keyboard.press("Escape");
	const last = [await width(), await back()];
	const frames = await page.evaluate(() => document.querySelectorAll("g.f").length);
	console.log(JSON.stringify({ first, zoomed, last, frames }));
	await browser.close();
})();
J
cat >"$T/compare.py" <<'P'
"""compare.py SHOWN REPORT: each function's own time and its time with callees, as exact as the page shows them. Each call's
begin and end in the profile are whole nanoseconds: a sum may be off by one for each call that it is made of."""
import json, re, sys
unit = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
want = {r["name"]: r for r in map(json.loads, list(open(sys.argv[2]))[1:])}
time = r"([0-9.]+)(ns|µs|ms|s) \([^)]*\)\s+"
rows = re.findall(time + time + r"(\S.*)\n", open(sys.argv[1], encoding="utf-8").read())
assert len(rows) >= 4, rows
callees = {name: want[callee]["calls"] for name, callee in (("main", "outer"), ("outer", "middle"), ("middle", "leaf"))}
for total, total_unit, self, self_unit, name in rows:
    for shown, of, key in ((total, total_unit, "total_ns"), (self, self_unit, "self_ns")):
        ns = want[name][key] or 0
        calls = want[name]["calls"] + (key == "self_ns") * callees.get(name, 0)
        assert abs(float(shown) * unit[of] - ns) <= 0.006 * unit[of] + calls, (name, key, shown, of, ns)
P
cat >"$T/nested.c" <<'C'
__attribute__((noinline, noclone)) int leaf(int n) { for (volatile int i = 0; i < 2000; i++) n += i; return n; }
__attribute__((noinline, noclone)) int middle(int n) { return leaf(n) + leaf(n + 1) + 1; }
__attribute__((noinline, noclone)) int outer(int n) { int s = 0; for (int i = 0; i < n; i++) s += middle(i); return s + 1; }
int main(void) { return outer(50) == 1; }
C
cc -O1 -fno-optimize-sibling-calls -o "$T/nested-calls" "$T/nested.c"
timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/nested" -- "$T/nested-calls" >"$T/out" 2>"$T/err" </dev/null
"$BRACE" report --json "$T/nested" >"$T/report" 2>>"$T/err" && "$BRACE" export --to speedscope "$T/nested" -o "$T/profile" 2>>"$T/err"
result "a trace is exported" $? "$T/err"
timeout -k 5 200 node open.js "$T/profile" >"$T/shown" 2>"$T/err"
result "speedscope's page opens it" $? "$T/err"
check_that "the page has no error, and asks nobody else" test ! -s "$T/err"
check_that "its table of functions is report's" python3 "$T/compare.py" "$T/shown" "$T/report"
"$BRACE" export --to flamegraph --weight calls "$T/nested" -o "$T/flame.svg" 2>"$T/err" && timeout -k 5 200 node flame.js "$T/flame.svg" >"$T/flame" 2>"$T/err" && [ ! -s "$T/err" ]
result "Chromium opens the flame graph, which asks for nothing" $? "$T/err"
check_that "a click makes a frame as wide as the picture, Escape undoes it" python3 -c 'import json, re, sys
shown, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
assert shown["frames"] == text.count("<g class=\"f\"") > 3, shown
assert abs(shown["zoomed"][0] - 1200) < 2 and shown["zoomed"][1] != "none", shown
assert shown["first"] == shown["last"] and shown["first"][0] < 1190 and shown["first"][1] == "none", shown' "$T/flame" "$T/flame.svg"
finish
