// SPDX-License-Identifier: MIT
// The panels below the timeline: the selected call and its function, the table of functions, the
// flame graph.
"use strict";

const ROWS_SHOWN = 400, SLOWEST = 12;

function fact(name, value) {
	return value === undefined || value === null ? []
		: [make("dt", {}, name), make("dd", {}, value)];
}

// --- the selected call ---

class Details {
	constructor(app, root) { this.app = app; this.root = root; }

	link(lane, i, text) {
		return make("button", { class: "link", onclick: () => this.app.select(lane, i, true) }, text);
	}
	callFacts(lane, i) {
		const { app } = this, k = app.trace.nsPerTick, flags = lane.flags[i], notes = notesOf(lane, i);
		const timed = !(flags & UNFOLLOWED);
		const real = new Date(Number(BigInt(app.trace.about.real_ns) / 1000000n) + lane.begin[i] * k / 1e6);
		return make("dl", {},
			...fact("duration", timed ? timeText(lane.duration[i] * k) : "not followed"),
			...fact("self", timed && !app.cut ? timeText(lane.self[i] * k) : undefined),
			...fact("begins", placeText(lane.begin[i] * k, 1)),
			...fact("ends", timed ? placeText(lane.end[i] * k, 1) : undefined),
			...fact("clock", real.toISOString().slice(11, 23) + " UTC"),
			...fact("thread", `${plain(lane.about.name)} ${lane.about.tid}`),
			...fact("process", String(lane.home.about.pid || "kernel")),
			...fact("depth", String(lane.depth[i])),
			...fact("ended", flags & UNWOUND ? "unwound (longjmp, exception)"
				: flags & UNFINISHED ? "still open at the end" : undefined),
			...fact("arguments", notes.args && plain(notes.args)),
			...fact("returned", notes.returned && plain(notes.returned)));
	}
	callers(lane, i) {
		const { app } = this, chain = [];
		for (let up = lane.parent[i]; up >= 0 && chain.length < 200; up = lane.parent[up])
			chain.push(up);
		if (!chain.length)
			return [];
		return [make("h3", {}, "called by"),
			make("ol", { class: "chain" }, ...chain.map(up =>
				make("li", {}, this.link(lane, up, app.name(lane.fn[up])),
				     make("span", { class: "faint" }, timeText(lane.duration[up] * app.trace.nsPerTick)))))];
	}
	swatch(f) {
		const s = make("span", { class: "swatch" });
		s.style.background = this.app.colours.fill[f];
		return s;
	}
	// Its file, and its line in the source.
	places(f) {
		const { app } = this, place = app.place(f);
		return [make("p", { class: "faint" }, app.module(f)), ...(place ? [make("p", { class: "place" }, place)] : [])];
	}
	draw() {
		const { app, root } = this, s = app.selected, children = [];
		this.counts = null;
		if (s) {
			const f = s.lane.fn[s.i];
			children.push(make("h2", {}, this.swatch(f), app.name(f)),
				      ...this.places(f), this.callFacts(s.lane, s.i), ...this.callers(s.lane, s.i));
		}
		if (app.chosen !== null)
			children.push(...this.functionParts(app.chosen, !s));
		if (!children.length)
			children.push(make("p", { class: "hint" }, "Click a call in the timeline, or a function in the table."), keysHelp(), ...statesHelp(app));
		root.replaceChildren(...children);
		if (this.counts)
			drawHistogram(app, root.querySelector("canvas"), this.counts, this.durations);
	}
	functionParts(f, withName) {
		const { app } = this, k = app.trace.nsPerTick;
		const calls = callsOf(app.scope, f).filter(c => !(c.lane.flags[c.i] & UNFOLLOWED));
		const durations = calls.map(c => c.lane.duration[c.i] * k);
		const head = withName ? [make("h2", {}, this.swatch(f), app.name(f)), ...this.places(f)]
			: [make("h3", {}, `durations of ${app.name(f)}`)];
		if (!calls.length)
			return [...head, make("p", { class: "faint" }, "no call with a duration in this scope")];
		this.counts = histogram(durations);
		this.durations = Float64Array.from(durations).sort();
		calls.sort((a, b) => b.lane.duration[b.i] - a.lane.duration[a.i]);
		return [...head, make("canvas", { class: "histogram" }), make("h3", {}, "slowest"),
			make("ol", { class: "chain" }, ...calls.slice(0, SLOWEST).map(c =>
				make("li", {}, this.link(c.lane, c.i, timeText(c.lane.duration[c.i] * k)),
				     make("span", { class: "faint" },
					  `at ${timeText(c.lane.begin[c.i] * k, 5)}, ${plain(c.lane.about.name)} ${c.lane.about.tid}`))))];
	}
}

function drawHistogram(app, canvas, counts, sorted) {
	const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
	const g = canvas.getContext("2d"), theme = app.colours.theme, n = counts.counts.length;
	canvas.width = Math.round(w * ratio);
	canvas.height = Math.round(h * ratio);
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	const pad = 2, base = h - 18, shown = Math.max(n, 12), wide = (w - 2 * pad) / shown;
	const left = pad + (shown - n) * wide / 2, most = Math.max(...counts.counts);
	g.fillStyle = app.colours.fill[app.chosen];
	counts.counts.forEach((c, i) => {
		const tall = c ? Math.max(2, Math.sqrt(c / most) * (base - 16)) : 0;
		g.fillRect(left + i * wide, base - tall, Math.max(wide - 1, 1), tall);
	});
	g.fillStyle = theme.line;
	g.fillRect(pad, base, w - 2 * pad, 1);
	g.font = FONT;
	g.textBaseline = "middle";
	g.fillStyle = theme.faint;
	g.textAlign = "left";
	g.fillText(timeText(counts.from(counts.least)), left, h - 7);
	g.textAlign = "right";
	g.fillText(timeText(counts.from(counts.least + n)), left + n * wide, h - 7);
	const place = ns => left + wide * (ns < 1 ? 0 : 1 + 4 * Math.log2(ns) - counts.least);
	let free = -Infinity;
	for (const [name, share] of [["p50", .5], ["p99", .99]]) {
		const ns = percentile(sorted, share), x = Math.min(place(ns), w - 3), text = `${name} ${timeText(ns)}`;
		const room = g.measureText(text).width + 6;
		g.fillStyle = theme.cursor;
		g.fillRect(x, 14, 1, base - 14);
		g.fillStyle = theme.text;
		g.textAlign = "left";
		const at = Math.max(Math.min(x - 2, w - room), free);
		if (at + room <= w + 6)
			g.fillText(text, at, 6);
		free = at + room;
	}
	canvas.title = `${countText(sorted.length)} calls; heights by the square root of counts`;
}

// --- the table of functions ---

const TABLE = [
	["name", "function"], ["calls", "calls"], ["total", "total"], ["self", "self"], ["mean", "mean"],
	["p50", "p50"], ["p99", "p99"], ["max", "max"],
];

class FunctionTable {
	constructor(app, root) {
		Object.assign(this, { app, root, by: "self", up: false });
		this.head = make("thead", {}, make("tr", {}, ...TABLE.map(([key, title]) =>
			make("th", { "data-key": key, tabindex: "0", onclick: () => this.sortBy(key),
				     onkeydown: e => { if (e.key === "Enter") this.sortBy(key); } }, title))));
		this.body = make("tbody");
		this.more = make("p", { class: "faint" });
		root.append(make("table", {}, this.head, this.body), this.more);
	}
	sortBy(key) {
		this.up = this.by === key ? !this.up : key === "name";
		this.by = key;
		this.draw();
	}
	row(s, most) {
		const { app } = this, k = app.trace.nsPerTick, time = v => s.timed ? timeText(v * k) : "";
		const name = make("td", { class: "name", title: `${app.name(s.fn)} [${app.module(s.fn)}]` },
				  app.details.swatch(s.fn), app.name(s.fn),
				  make("span", { class: "faint" }, ` ${app.module(s.fn)}`));
		const self = make("td", { class: "bar" }, app.cut ? "" : time(s.self));
		self.style.backgroundSize = `${most ? Math.max(0, s.self / most * 100) : 0}% 100%`;
		return make("tr", { class: app.chosen === s.fn ? "chosen" : "", onclick: () => app.choose(s.fn) },
			    name, make("td", {}, countText(s.calls)), make("td", {}, time(s.total)), self,
			    ...[s.mean, s.p50, s.p99, s.max].map(v => make("td", {}, time(v))));
	}
	draw() {
		const { app, by } = this, sign = this.up ? 1 : -1;
		let rows = app.sums.filter(s => !app.found || app.found.has(s.fn));
		rows.sort((a, b) => (by === "name" ? sign * (app.name(a.fn) < app.name(b.fn) ? -1 : app.name(a.fn) > app.name(b.fn) ? 1 : 0)
			: sign * (a[by] - b[by])) || b.calls - a.calls || a.fn - b.fn);
		const most = rows.reduce((m, s) => Math.max(m, s.self), 0);
		for (const th of this.head.querySelectorAll("th"))
			th.className = th.dataset.key === by ? this.up ? "up" : "down" : "";
		this.body.replaceChildren(...rows.slice(0, ROWS_SHOWN).map(s => this.row(s, most)));
		this.more.textContent = rows.length > ROWS_SHOWN
			? `and ${countText(rows.length - ROWS_SHOWN)} more: search for a name, or sort by another column`
			: rows.length ? "" : "no function in this scope";
	}
}

// --- the flame graph ---

const FLAME_ROW = 17;

class FlameGraph {
	constructor(app, root, canvas) {
		Object.assign(this, { app, root, canvas, g: canvas.getContext("2d"), icicle: true, top: 0, tree: null });
		canvas.addEventListener("pointermove", e => this.pointed(e));
		canvas.addEventListener("pointerleave", () => app.tip(null));
		canvas.addEventListener("click", e => {
			const box = this.find(e);
			if (box)
				this.clicked(box.node);
		});
	}
	stale() { this.tree = null; this.top = 0; }
	clicked(node) {
		this.top = node === this.top && node ? this.tree.nodes[node].parent : node;
		if (this.tree.nodes[node].fn >= 0)
			this.app.choose(this.tree.nodes[node].fn);
		this.draw();
	}
	// Boxes of half a pixel and more, from the node that is shown whole.
	layOut(width) {
		const { nodes } = this.tree, boxes = [], top = nodes[this.top];
		const path = [];
		for (let i = this.top; i > 0; i = nodes[i].parent)
			path.unshift(nodes[i].parent);
		path.forEach((node, row) => boxes.push({ node, x: 0, w: width, row, above: true }));
		const first = path.length;
		const open = [{ node: this.top, x: 0, w: width, row: first }];
		while (open.length) {
			const box = open.pop();
			boxes.push(box);
			let x = box.x;
			for (const child of nodes[box.node].children) {
				const w = nodes[child].total / top.total * width;
				if (w >= .5)
					open.push({ node: child, x, w, row: box.row + 1 });
				x += w;
			}
		}
		return boxes;
	}
	draw() {
		const { app, canvas, g } = this, theme = app.colours.theme, ratio = window.devicePixelRatio || 1;
		if (!this.tree)
			this.tree = sumStacks(app.trace, app.scope);
		const w = this.root.clientWidth - 12;
		this.boxes = this.layOut(w);
		this.rows = this.boxes.reduce((m, b) => Math.max(m, b.row), 0) + 1;
		const h = Math.max(this.rows * FLAME_ROW, this.root.clientHeight - 8);
		canvas.style.height = `${h}px`;
		canvas.width = Math.round(w * ratio);
		canvas.height = Math.round(h * ratio);
		canvas.style.width = `${w}px`;
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.font = FONT;
		g.textBaseline = "middle";
		this.bottom = h;
		for (const box of this.boxes)
			this.drawBox(box, theme);
	}
	yOf(row) { return this.icicle ? row * FLAME_ROW : this.bottom - (row + 1) * FLAME_ROW; }
	label(node) {
		const { app } = this, x = this.tree.nodes[node];
		if (x.fn >= 0)
			return app.short[x.fn];
		return app.scope.lanes.length === 1 ? plain(`${app.scope.lanes[0].about.name} ${app.scope.lanes[0].about.tid}`)
			: `${app.scope.lanes.length} threads`;
	}
	drawBox(box, theme) {
		const { app, g } = this, f = this.tree.nodes[box.node].fn, y = this.yOf(box.row);
		g.globalAlpha = box.above ? .55 : app.dimming && !app.marks[f] && f >= 0 ? theme.dim : 1;
		g.fillStyle = f < 0 ? theme.line : app.colours.fill[f];
		g.fillRect(box.x, y, Math.max(box.w - (box.w > 3 ? .75 : 0), .5), FLAME_ROW - 1);
		if (f >= 0 && app.marks[f]) {
			g.fillStyle = theme.found;
			g.fillRect(box.x, y + FLAME_ROW - 3, Math.max(box.w - 1, 1), 2);
		}
		if (box.w > 22) {
			g.fillStyle = f < 0 ? theme.text : theme.label;
			g.textAlign = "left";
			g.fillText(fit(g, this.label(box.node), box.w - 8), box.x + 4, y + FLAME_ROW / 2);
		}
		g.globalAlpha = 1;
	}
	find(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
		return this.boxes && this.boxes.find(b => {
			const top = this.yOf(b.row);
			return y >= top && y < top + FLAME_ROW && x >= b.x && x < b.x + Math.max(b.w, 1);
		});
	}
	pointed(e) {
		const { app } = this, box = this.find(e);
		if (!box)
			return app.tip(null);
		const node = this.tree.nodes[box.node], all = this.tree.nodes[0].total || 1;
		const much = this.tree.timed ? timeText(node.total * app.trace.nsPerTick) : `${countText(node.total)} calls`;
		const lines = [node.fn >= 0 ? app.name(node.fn) : this.label(box.node)];
		if (node.fn >= 0)
			lines.push(app.module(node.fn));
		lines.push(`${much}, ${(node.total / all * 100).toFixed(2)} % of the scope`);
		if (this.tree.timed && node.fn >= 0)
			lines.push(`self ${timeText(Math.max(0, node.self) * app.trace.nsPerTick)}, ${countText(node.calls)} calls`);
		app.tip(e, lines);
	}
}

function keysHelp() {
	const keys = [
		["wheel, W S", "zoom"], ["drag, A D, arrows", "move"], ["shift+drag, drag on the axis", "select a range of time"],
		["click", "select a call"], ["double click, Z", "zoom to the call or range"], ["name of a thread", "choose it; triangle: fold"],
		["/", "search"], ["N, P", "next, previous match"], ["[ ]", "caller, first callee"], ["0", "all"], ["Esc", "clear"],
	];
	return make("dl", { class: "keys" }, ...keys.flatMap(([k, what]) => fact(k, what)));
}

// The legend of the state line above a thread's calls, where there is one.
function statesHelp(app) {
	if (!app.order.some(l => l.states.length))
		return [];
	const states = [["runs", "runs"], ["waits", "waits"], ["preempted", "could run, does not"], ["syscall", "in a system call"]];
	return [make("h3", {}, "line above a thread's calls"), make("p", {}, ...states.map(([key, text]) => {
		const swatch = make("span", { class: "swatch" });
		swatch.style.background = app.colours.theme[key];
		return make("span", { class: "state" }, swatch, text);
	}))];
}
