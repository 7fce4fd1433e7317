// SPDX-License-Identifier: MIT
// node page_script.js PAGE: runs the script of a page of `brace html` without a document: its figures of the whole trace, and
// what must hold of them, as the page itself writes them with #selftest.
"use strict";
const fs = require("fs");
const vm = require("vm");
const zlib = require("zlib");
const crypto = require("crypto");

const page = fs.readFileSync(process.argv[2], "utf8");
const [about, columns, script] = [...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map(m => m[1]);
const context = vm.createContext({ TextDecoder, about: JSON.parse(about),
	bytes: new Uint8Array(zlib.inflateSync(Buffer.from(columns, "base64"))) });
vm.runInContext(script, context);
const told = vm.runInContext(`(() => {
	const trace = decodeTrace(about, bytes), lanes = trace.lanes, { last } = trace, results = {};
	const whole = { lanes, from: -1, to: last + 1 }, sums = sumFunctions(trace, whole);
	const calls = list => list.reduce((n, s) => n + s.calls, 0);
	const self = list => list.reduce((n, s) => n + s.self, 0);
	const begins = lanes.reduce((n, l) => n + l.n, 0);
	results.calls = calls(sums) === begins && begins === about.calls;
	results.levels = lanes.every(l => l.levels.reduce((n, x) => n + x.length, 0) === l.n &&
		l.levels.every(x => x.every((c, i) => !i || l.begin[x[i - 1]] <= l.begin[c] && l.end[x[i - 1]] <= l.begin[c])));
	results.parents = lanes.every(l => l.parent.every((p, i) => p < 0 ? l.depth[i] === 0
		: p < i && l.depth[p] === l.depth[i] - 1 && l.begin[p] <= l.begin[i] && l.end[p] >= l.end[i]));
	const tree = sumStacks(trace, whole), { nodes } = tree;
	results.stacks = calls(nodes) === about.calls && Math.abs(nodes.reduce((n, x) => n + Math.max(0, x.self), 0) - nodes[0].total) <= 1 || !tree.timed;
	const cut = last / 3, first = sumFunctions(trace, { lanes, from: -1, to: cut }), second = sumFunctions(trace, { lanes, from: cut, to: last + 1 });
	const plain = lanes.every(l => l.duration.every((v, i) => v === l.end[i] - l.begin[i] || l.flags[i] & UNFOLLOWED));
	results.halves = calls(first) + calls(second) >= about.calls && (!plain || Math.abs(self(first) + self(second) - self(sums)) <= 1 + about.calls / 1e6);
	const most = sums.reduce((a, b) => a.calls >= b.calls ? a : b, { fn: -1, calls: 0 });
	results.callsOf = callsOf(whole, most.fn).length === most.calls;
	results.histogram = histogram([0, 1, 1.5, 7, 1e9]).counts.reduce((a, b) => a + b, 0) === 5;
	results.percentile = percentile([1, 2, 3], .5) === 2 && percentile([1, 2, 3], .99) === 3 && percentile([], .5) === 0;
	results.times = timeText(0) === "0" && timeText(999) === "999 ns" && timeText(12345) === "12.3 µs" && timeText(2.5e9) === "2.50 s";
	results.controls = plainText("a\\u202eb\\n") === "a\\\\u202eb\\\\u000a";
	return { ready: 0, draw: 0, results, figures: figures({ trace, sums }), tree: treeFigures({ trace, scope: whole }), events: lanes.map(l => l.events.length), states: lanes.map(l => l.states.length),
		 losses: lanes.map(l => l.losses) };
})()`.replace("plainText(", "globalThis.plain("), context);
const policy = page.match(/script-src 'sha256-([^']*)'/);
told.results.policy = !!policy && policy[1] === crypto.createHash("sha256").update(script).digest("base64");
console.log(`<pre id="selftest">${JSON.stringify(told).replace(/&/g, "&amp;").replace(/</g, "&lt;")}</pre>`);
