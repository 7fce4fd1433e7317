// SPDX-License-Identifier: MIT
// With #selftest the page tries itself, and writes what it found into the document: figures of the
// whole trace, and what mouse, keys, search, range and theme did. Tests read it there.
"use strict";

// A number of ticks as whole nanoseconds, as brace rounds them.
function exactNs(ticks, hz) {
	return Number(BigInt(Math.round(ticks)) * 1000000000n / BigInt(hz));
}

function figures(app) {
	const hz = app.trace.about.hz, ns = t => exactNs(t, hz);
	return app.sums.map(s => ({ name: app.trace.functions[s.fn].name, module: app.trace.modules[app.trace.functions[s.fn].module],
				    calls: s.calls, timed: s.timed, total_ns: ns(s.total), self_ns: ns(s.self), min_ns: ns(s.min),
				    max_ns: ns(s.max), p50_ns: ns(s.p50), p99_ns: ns(s.p99) }));
}

// The tree as `brace report --tree --json` has it.
function treeFigures(app) {
	const { nodes } = sumStacks(app.trace, app.scope), ns = t => exactNs(t, app.trace.about.hz);
	return nodes.slice(1).map(x => ({ depth: x.depth, name: app.trace.functions[x.fn].name, module: app.trace.modules[app.trace.functions[x.fn].module],
					  calls: x.calls, total_ns: ns(x.total), self_ns: ns(Math.max(0, x.self)) }));
}

// Keys and clicks of the tree: what is unfolded has more rows, and a row chooses its function.
function tryTree(app, results) {
	const rows = () => document.querySelectorAll(".tree tbody tr"), { tree } = app;
	const key = k => tree.table.dispatchEvent(new KeyboardEvent("keydown", { key: k, cancelable: true, bubbles: true }));
	app.showTab("tree");
	tree.open = new Set([0]);
	tree.draw();
	const few = rows().length, at = tree.shown.findIndex(i => tree.node(i).children.length);
	results.treeRows = few === tree.node(0).children.length && few > 0;
	if (at >= 0) {
		rows()[at].querySelector(".fold").click();
		results.treeUnfolds = rows().length > few;
		rows()[at].click();
		results.treeChooses = app.chosen === tree.node(tree.shown[at]).fn;
		key("ArrowLeft");
		results.treeFolds = rows().length === few;
		key("ArrowRight");
		key("ArrowDown");
		results.treeMoves = tree.node(tree.shown[tree.at]).parent === tree.shown[at];
		key("ArrowLeft");
		key("*");
	}
	app.clear();
	app.showTab("functions");
}

function tryMouse(app, results) {
	const t = app.timeline, { canvas } = app, r = canvas.getBoundingClientRect();
	const mouse = (type, x, y, more = {}) => canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1,
		clientX: r.left + x, clientY: r.top + y, buttons: 1, ...more }));
	const lane = app.order.find(l => l.n), place = t.places.find(p => p.lane === lane);
	const span = t.to - t.from;

	canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -120, clientX: r.left + 500, clientY: r.top + 60, cancelable: true }));
	results.wheel = t.to - t.from < span;
	const from = t.from;
	mouse("pointerdown", 500, 60);
	mouse("pointermove", 400, 60);
	mouse("pointerup", 400, 60);
	results.drag = t.from > from;
	t.show(0, app.trace.last);
	app.scroller.scrollTop = place.y;
	const x = t.xOf((lane.begin[0] + lane.end[0]) / 2), y = place.y + place.head + 4 + RULER - app.scroller.scrollTop;
	mouse("pointerdown", x, y);
	mouse("pointerup", x, y);
	results.click = !!app.selected && app.selected.lane === lane && app.selected.i === 0;
	mouse("pointerdown", LABELS + 50, 10, { shiftKey: true });
	mouse("pointermove", LABELS + 250, 10, { shiftKey: true });
	mouse("pointerup", LABELS + 250, 10, { shiftKey: true });
	results.range = !!app.range && app.range.to > app.range.from;
	results.lower = app.sums.reduce((n, s) => n + s.calls, 0) <= app.trace.about.calls;
	app.clear();
}

function tryKeys(app, results) {
	const t = app.timeline, key = k => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, cancelable: true, bubbles: true }));
	let before = t.to - t.from;
	key("w");
	results.w = t.to - t.from < before;
	before = t.from;
	key("d");
	results.d = t.from > before;
	key("ArrowLeft");
	results.left = Math.abs(t.from - before) < (t.to - t.from) / 1e6;
	key("0");
	results.all = Math.abs(t.to - t.from - app.trace.last) < 1;
	const theme = app.colours.name;
	key("t");
	results.theme = app.colours.name !== theme && document.documentElement.dataset.theme === app.colours.name;
	key("t");
}

function trySearch(app, results) {
	const most = app.sums.reduce((a, b) => a.calls >= b.calls ? a : b), name = app.trace.functions[most.fn].name;
	app.search.value = name.toUpperCase();
	app.search.dispatchEvent(new Event("input"));
	results.search = app.found.has(most.fn);
	app.step(1);
	const first = app.selected;
	app.step(1);
	results.next = !!first && app.found.has(first.lane.fn[first.i]) && (most.calls < 2 || app.selected !== first);
	app.step(-1);
	results.back = app.selected.lane === first.lane && app.selected.i === first.i;
	app.clear();
	app.showTab("flame graph");
	const { tree } = app.flame, shown = app.flame.boxes.length;
	const self = tree.nodes.reduce((n, x) => n + Math.max(0, x.self), 0);
	results.flame = shown > 1 && (!tree.timed || Math.abs(self - tree.nodes[0].total) <= 1);
	app.showTab("functions");
	results.rows = document.querySelectorAll(".functions tbody tr").length === Math.min(app.sums.length, ROWS_SHOWN);
	results.resources = performance.getEntriesByType("resource").length === 0;
}

// Names stay readable, and the timeline has most of the window, on a telephone, too.
function tryRoom(app, results) {
	const name = document.querySelector(".functions td.name");
	results.room = app.timeline.width >= innerWidth * 0.7;
	results.names = !name || name.clientWidth >= 100;
}

function selftest(app) {
	const results = {};
	const told = { ready: app.ready, figures: figures(app), tree: treeFigures(app), results };
	try {
		app.drawNow();
		tryRoom(app, results);
		tryMouse(app, results);
		tryKeys(app, results);
		trySearch(app, results);
		tryTree(app, results);
		app.drawNow();
		told.draw = app.drawTime;
	} catch (e) {
		results[String(e && e.stack)] = false;
	}
	document.body.append(make("pre", { id: "selftest" }, JSON.stringify(told)));
}
