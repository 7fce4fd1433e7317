// SPDX-License-Identifier: MIT
// Puts the page together: the head with search and theme, an overview, the timeline, the panels; and
// keeps what all of them share: the selected call and function, the range, the cursor.
"use strict";

const FONT = "11px ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
const BOLD = `600 ${FONT}`;

class App {
	constructor(trace) {
		this.trace = trace;
		this.cut = Number(trace.about.thresh_ns) > 0;
		this.order = trace.lanes.filter(l => !l.joined && (l.n || l.events.length || l.states.length || l.losses.length));
		// What a thread does in the kernel stands below what it does in its program: at its home.
		// Other tasks of the kernel's, which are a process 0, stand below all programs.
		const is = l => l.home.about;
		this.order.sort((a, b) => !is(a).pid - !is(b).pid || is(a).image - is(b).image || is(a).pid - is(b).pid ||
				(is(b).tid === is(b).pid) - (is(a).tid === is(a).pid) || a.home.first - b.home.first ||
				is(a).tid - is(b).tid || (a.home !== a) - (b.home !== b) || a.first - b.first);
		this.processes = new Set(this.order.map(l => `${is(l).pid}/${is(l).image}`)).size;
		for (const lane of this.order)
			lane.folded = lane.levels.length > 4 && this.order.length > 40;
		this.selected = this.chosen = this.range = this.cursor = this.found = null;
		this.chosenLanes = new Set();
		this.marks = new Uint8Array(trace.functions.length);
		this.marking = false;
		this.shown = trace.functions.map(f => plain(f.name));
		// The module stands beside it: "python3.11+0x514260" is "+0x514260" in narrow boxes.
		this.short = trace.functions.map((f, i) => {
			const module = trace.modules[f.module];
			return module && f.name.startsWith(`${module}+0x`) ? this.shown[i].slice(module.length) : this.shown[i];
		});
		this.sums = sumFunctions(trace, this.scope);
		this.colours = new Colours(trace, this.sums);
		this.build();
	}
	name(f) { return this.shown[f]; }
	// The line of its name in the source, where debug information tells it.
	place(f) { return this.trace.functions[f].place ? plain(this.trace.functions[f].place) : ""; }
	module(f) { return plain(this.trace.modules[this.trace.functions[f].module]) || "unknown module"; }

	// Figures are of these lanes and this time.
	get scope() {
		const lanes = this.chosenLanes.size ? this.order.filter(l => this.chosenLanes.has(l)) : this.order;
		const all = { from: -1, to: this.trace.last + 1 };
		return { lanes, ...(this.range || all) };
	}

	// --- the document ---

	build() {
		const about = this.trace.about;
		document.title = `${about.title} – brace`;
		this.search = make("input", { type: "search", placeholder: "search functions (/)", "aria-label": "search functions",
					      spellcheck: "false", oninput: () => this.searchFor(this.search.value),
					      onkeydown: e => this.searchKey(e) });
		this.matches = make("span", { class: "faint matches" });
		this.themeButton = make("button", { title: "light or dark (T)", "aria-label": "theme", onclick: () => this.turnTheme() }, "◐");
		const step = (text, by, title) => make("button", { title, onclick: () => this.step(by) }, text);
		const head = make("header", {},
			make("strong", {}, "brace"), make("span", { class: "command", title: plain(about.cmdline || "") }, plain(about.cmdline || about.title)),
			...this.facts(), make("span", { class: "space" }), this.search, step("‹", -1, "previous match (P)"), step("›", 1, "next match (N)"),
			this.matches, this.themeButton);
		this.overview = make("canvas", { class: "overview" });
		this.canvas = make("canvas", { class: "lanes", tabindex: "0", "aria-label": "timeline" });
		this.spacer = make("div", { class: "spacer" });
		this.scroller = make("div", { class: "scroller" }, this.canvas, this.spacer);
		this.splitter = make("div", { class: "splitter", title: "drag" });
		this.detailsRoot = make("section", { class: "details" });
		this.tableRoot = make("div", { class: "tab functions" });
		this.treeRoot = make("div", { class: "tab tree" });
		this.flameCanvas = make("canvas", { class: "flame" });
		this.flameRoot = make("div", { class: "tab flames" }, this.flameCanvas);
		this.scopeText = make("span", { class: "faint" });
		this.legend = make("span", { class: "legend" });
		this.clearButton = make("button", { class: "small", hidden: "", onclick: () => this.clearScope() }, "whole trace");
		this.turnButton = make("button", { class: "small", onclick: () => { this.flame.icicle = !this.flame.icicle; this.flame.draw(); } }, "turn over");
		this.tabs = [["functions", this.tableRoot], ["tree", this.treeRoot], ["flame graph", this.flameRoot]].map(([name, root]) => ({ name, root,
			button: make("button", { class: "tab-name", onclick: () => this.showTab(name) }, name) }));
		const right = make("section", { class: "figures" },
			make("nav", {}, ...this.tabs.map(t => t.button), this.turnButton, this.scopeText, this.clearButton, make("span", { class: "space" }), this.legend),
			this.tableRoot, this.treeRoot, this.flameRoot);
		this.panels = make("div", { class: "panels" }, this.detailsRoot, right);
		this.tipRoot = make("div", { class: "tip", hidden: "" });
		document.body.replaceChildren(head, this.overview, this.scroller, this.splitter, this.panels, this.tipRoot);
		this.details = new Details(this, this.detailsRoot);
		this.table = new FunctionTable(this, this.tableRoot);
		this.tree = new CallTree(this, this.treeRoot);
		this.flame = new FlameGraph(this, this.flameRoot, this.flameCanvas);
		this.timeline = new Timeline(this, this.scroller, this.canvas);
		this.listen();
		this.useTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
		this.showTab("functions");
		this.sized();
		this.timeline.show(0, this.trace.last);
	}
	facts() {
		const { about } = this.trace, k = this.trace.nsPerTick, lost = Number(about.lost);
		const parts = [`${countText(about.calls)} calls`, `${countText(this.order.length)} thread${this.order.length === 1 ? "" : "s"}`,
			       timeText(this.trace.last * k), new Date(Number(BigInt(about.real_ns) / 1000000n)).toISOString().slice(0, 16).replace("T", " ")];
		if (about.host)
			parts.push(plain(about.host));
		const facts = make("span", { class: "warnings" });
		if (about.part)
			facts.append(make("span", { class: "warning" }, `a part of the trace${about.of_calls === "0" ? "" : `, which has ${countText(about.of_calls)} calls`}${about.min_ns === "0" ? "" : `: calls of ${timeText(Number(about.min_ns))} and more`}`));
		if (lost)
			facts.append(make("span", { class: "warning" }, `${countText(lost)} records were lost`));
		if (this.cut)
			facts.append(make("span", { class: "warning" }, `calls below ${timeText(Number(about.thresh_ns))} were not recorded`));
		return [make("span", { class: "faint" }, parts.join(" · ")), facts];
	}
	drawLegend() {
		const names = this.colours.order.slice(0, 6).map(m => {
			const swatch = make("span", { class: "swatch" });
			swatch.style.background = this.colours.ofModule(m);
			return make("span", {}, swatch, plain(this.trace.modules[m]) || "unknown");
		});
		this.legend.replaceChildren(...names);
	}
	useTheme(name) {
		document.documentElement.dataset.theme = name;
		this.colours.use(name);
		this.drawLegend();
		this.table.draw();
		this.redrawPanels();
		this.redraw();
	}
	turnTheme() { this.useTheme(this.colours.name === "dark" ? "light" : "dark"); }
	showTab(name) {
		this.tab = name;
		for (const t of this.tabs) {
			t.root.hidden = t.name !== name;
			t.button.classList.toggle("on", t.name === name);
		}
		this.turnButton.hidden = name !== "flame graph";
		this.drawTab();
	}
	drawTab() {
		if (this.tab === "flame graph")
			this.flame.draw();
		if (this.tab === "tree")
			this.tree.draw();
	}

	// --- what is shared changes ---

	redraw() {
		if (this.asked)
			return;
		this.asked = true;
		requestAnimationFrame(() => this.drawNow());
	}
	drawNow() {
		this.asked = false;
		const begun = performance.now();
		this.timeline.draw();
		this.drawOverview();
		this.drawTime = performance.now() - begun;
	}
	redrawPanels() {
		this.details.draw();
		this.drawTab();
	}
	scopeChanged() {
		const s = this.scope, k = this.trace.nsPerTick;
		this.sums = sumFunctions(this.trace, s);
		const threads = this.chosenLanes.size ? `${s.lanes.length} of ${this.order.length} threads` : "";
		const range = this.range ? `${timeText((s.to - s.from) * k)} from ${timeText(s.from * k, 5)}` : "";
		this.scopeText.textContent = [range, threads].filter(Boolean).join(", ");
		this.clearButton.hidden = !this.range && !this.chosenLanes.size;
		this.flame.stale();
		this.tree.stale();
		this.table.draw();
		this.redrawPanels();
		this.redraw();
	}
	setRange(from, to) {
		this.range = { from: Math.max(from, 0), to: Math.min(to, this.trace.last) };
		if (this.range.to <= this.range.from)
			this.range = null;
		this.redraw();
	}
	rangeDone() { this.scopeChanged(); }
	clearScope() {
		this.range = null;
		this.chosenLanes.clear();
		this.scopeChanged();
	}
	chooseLane(lane) {
		if (!this.chosenLanes.delete(lane))
			this.chosenLanes.add(lane);
		this.scopeChanged();
	}
	fold(lane) {
		lane.folded = !lane.folded;
		this.timeline.layOut();
		this.sized();
	}
	// Selects a call, and with it its function.
	select(lane, i, reveal) {
		this.selected = { lane, i };
		if (lane.folded && reveal)
			this.fold(lane);
		this.cursor = lane.begin[i];
		this.choose(lane.fn[i], true);
		if (reveal)
			this.timeline.reveal(lane, i);
	}
	choose(f, keep) {
		this.chosen = f;
		if (!keep && this.selected && this.selected.lane.fn[this.selected.i] !== f)
			this.selected = null;
		this.mark();
		this.table.draw();
		this.redrawPanels();
		this.redraw();
	}
	clear() {
		this.selected = this.chosen = null;
		this.search.value = "";
		this.found = null;
		this.range = null;
		this.mark();
		this.scopeChanged();
		this.matches.textContent = "";
	}
	// Functions that are found or chosen stand out in all views: 2 is found, 1 chosen.
	mark() {
		this.marks.fill(0);
		if (this.chosen !== null)
			this.marks[this.chosen] = 1;
		if (this.found)
			for (const f of this.found)
				this.marks[f] = 2;
		this.marking = this.chosen !== null || !!this.found;
		// A call that is selected is seen by its frame; its neighbours stay readable.
		this.dimming = this.marking && (!this.selected || !!this.found);
	}

	// --- search ---

	searchFor(text) {
		const wanted = text.toLowerCase();
		this.found = wanted ? new Set(this.trace.functions.map((f, i) => i)
			.filter(i => this.trace.functions[i].name.toLowerCase().includes(wanted))) : null;
		this.mark();
		const calls = this.found ? this.sums.reduce((n, s) => n + (this.found.has(s.fn) ? s.calls : 0), 0) : 0;
		this.matches.textContent = this.found ? `${countText(calls)} calls` : "";
		this.table.draw();
		this.redrawPanels();
		this.redraw();
	}
	searchKey(e) {
		if (e.key === "Enter") {
			this.step(e.shiftKey ? -1 : 1);
			e.preventDefault();
		} else if (e.key === "Escape") {
			this.search.value = "";
			this.searchFor("");
			this.search.blur();
		}
		e.stopPropagation();
	}
	// The next call, or the one before, of what is found or chosen, by time.
	step(by) {
		if (!this.marking)
			return;
		const now = this.selected, lanes = this.scope.lanes, { from, to } = this.scope;
		const rank = new Map(lanes.map((l, i) => [l, i]));
		const at = now && rank.has(now.lane) ? [now.lane.begin[now.i], rank.get(now.lane), now.i] : by > 0 ? [-1, -1, -1] : [Infinity, 0, 0];
		const before = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
		let best = null;
		lanes.forEach((lane, l) => eachCall(lane, from, to, i => {
			const key = [lane.begin[i], l, i];
			if (this.marks[lane.fn[i]] && before(key, at) * by > 0 && (!best || before(key, best) * by < 0))
				best = key;
		}));
		if (!best)
			return;
		const chosen = this.chosen;
		this.select(lanes[best[1]], best[2], true);
		if (this.found && chosen === null)
			this.mark();
	}

	// --- mouse and keys ---

	tip(e, lines) {
		this.tipRoot.hidden = !lines;
		if (!lines)
			return;
		this.tipRoot.replaceChildren(...lines.map((l, i) => make(i ? "div" : "b", {}, l)));
		const w = this.tipRoot.offsetWidth, h = this.tipRoot.offsetHeight;
		const x = e.clientX + 14 + w > innerWidth ? e.clientX - w - 10 : e.clientX + 14;
		this.tipRoot.style.left = `${Math.max(2, x)}px`;
		this.tipRoot.style.top = `${e.clientY + 18 + h > innerHeight ? e.clientY - h - 10 : e.clientY + 18}px`;
	}
	tipOf(hit) {
		const k = this.trace.nsPerTick;
		if (!hit)
			return null;
		if (hit.i !== undefined) {
			const { lane, i } = hit, timed = !(lane.flags[i] & UNFOLLOWED), notes = notesOf(lane, i);
			return [this.name(lane.fn[i]), this.module(lane.fn[i]),
				timed ? `${timeText(lane.duration[i] * k)}${this.cut ? "" : `, self ${timeText(lane.self[i] * k)}`}` : "return not followed",
				...(notes.args ? [plain(notes.args)] : []), ...(notes.returned ? [`= ${plain(notes.returned)}`] : [])];
		}
		if (hit.event)
			return [plain(hit.event.text), `at ${placeText(hit.event.t * k, 1)}, CPU ${hit.event.cpu}`];
		if (hit.state)
			return [this.stateText(hit.state), timeText((hit.state.to - hit.state.from) * k),
				...(hit.inside && hit.inside !== hit.state ? [this.stateText(hit.inside)] : [])];
		if (hit.loss)
			return [`${countText(hit.loss.count)} records of this thread are missing here`];
		if (hit.label)
			return [`${plain(hit.lane.about.name)} ${hit.lane.about.tid}`, `${countText(hit.lane.n)} calls`,
				...(Number(hit.lane.about.lost) ? [`${countText(hit.lane.about.lost)} records lost`] : [])];
		return null;
	}
	stateText(s) {
		if (s.state < 0)
			return "runs";
		if (s.state === WAITS)
			return "waits (off CPU)";
		if (s.state === PREEMPTED)
			return "preempted: could run";
		return `in system call ${plain((this.trace.events.get(s.state - SYSCALL) || "?").replace(/^syscalls:sys_enter_?/, ""))}`;
	}
	pointed(hit, e, t) {
		this.cursor = t;
		const lines = e && this.tipOf(hit);
		this.tip(e, lines);
		this.canvas.style.cursor = hit && (hit.i !== undefined || hit.label) ? "pointer" : "default";
		this.redraw();
	}
	clicked(hit, e) {
		this.canvas.focus({ preventScroll: true });
		if (hit && hit.i !== undefined)
			this.select(hit.lane, hit.i, false);
		else if (hit && hit.label)
			hit.fold ? this.fold(hit.lane) : this.chooseLane(hit.lane);
		else
			this.unselect();
	}
	unselect() {
		this.selected = this.chosen = null;
		this.mark();
		this.table.draw();
		this.redrawPanels();
		this.redraw();
	}
	zoomTo() {
		const s = this.selected;
		if (this.range)
			this.timeline.show(this.range.from, this.range.to);
		else if (s)
			this.timeline.show(s.lane.begin[s.i] - (s.lane.end[s.i] - s.lane.begin[s.i]) * .05,
					   s.lane.end[s.i] + (s.lane.end[s.i] - s.lane.begin[s.i]) * .05);
	}
	relative(up) {
		const s = this.selected;
		if (!s)
			return;
		if (up && s.lane.parent[s.i] >= 0)
			this.select(s.lane, s.lane.parent[s.i], true);
		else if (!up && s.i + 1 < s.lane.n && s.lane.parent[s.i + 1] === s.i)
			this.select(s.lane, s.i + 1, true);
	}
	key(e) {
		const t = this.timeline, middle = this.cursor !== null && this.cursor > t.from && this.cursor < t.to ? this.cursor : (t.from + t.to) / 2;
		const pixels = t.width * (e.shiftKey ? .5 : .12);
		const acts = {
			w: () => t.zoom(.75, middle), s: () => t.zoom(1 / .75, middle), "+": () => t.zoom(.75, middle), "-": () => t.zoom(1 / .75, middle),
			a: () => t.pan(-pixels), d: () => t.pan(pixels), arrowleft: () => t.pan(-pixels), arrowright: () => t.pan(pixels),
			arrowup: () => { this.scroller.scrollTop -= 48; }, arrowdown: () => { this.scroller.scrollTop += 48; },
			"/": () => this.search.focus(), n: () => this.step(1), p: () => this.step(-1), z: () => this.zoomTo(), f: () => this.zoomTo(),
			0: () => t.show(0, this.trace.last), home: () => t.show(0, this.trace.last), escape: () => this.clear(), t: () => this.turnTheme(),
			"[": () => this.relative(true), "]": () => this.relative(false),
		};
		const act = acts[e.key.toLowerCase()];
		if (!act || e.ctrlKey || e.metaKey || e.altKey || e.target === this.search)
			return;
		e.preventDefault();
		act();
	}
	listen() {
		document.addEventListener("keydown", e => this.key(e));
		addEventListener("resize", () => { this.sized(); this.redrawPanels(); });
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", e => this.useTheme(e.matches ? "dark" : "light"));
		let from = null;
		this.splitter.addEventListener("pointerdown", e => { from = e.clientY - this.panels.clientHeight * -1; this.splitter.setPointerCapture(e.pointerId); });
		this.splitter.addEventListener("pointermove", e => {
			if (from === null)
				return;
			this.panels.style.height = `${Math.max(80, Math.min(innerHeight - 200, from - e.clientY))}px`;
			this.sized();
		});
		this.splitter.addEventListener("pointerup", () => { from = null; this.redrawPanels(); });
		const look = e => {
			const r = this.overview.getBoundingClientRect(), t = this.timeline, half = (t.to - t.from) / 2;
			const at = (e.clientX - r.left - LABELS) / (r.width - LABELS) * this.trace.last;
			t.show(at - half, at + half);
		};
		this.overview.addEventListener("pointerdown", e => { this.overview.setPointerCapture(e.pointerId); look(e); });
		this.overview.addEventListener("pointermove", e => { if (e.buttons) look(e); });
	}
	sized() {
		fitLabels();
		const h = this.scroller.clientHeight;
		this.canvas.style.height = `${h}px`;
		this.spacer.style.height = `${Math.max(0, this.timeline.height + RULER - h)}px`;
		this.busy = null;
		this.redraw();
	}

	// --- the overview: how deep the stacks of all threads are ---

	// Some of the calls of each level stand for all of them.
	findBusy(width) {
		const busy = new Float32Array(width), scale = width / this.trace.last;
		for (const lane of this.order.slice(0, 400))
			for (const level of lane.levels.slice(0, 300)) {
				const step = Math.max(1, Math.floor(level.length / (width * 2)));
				for (let i = 0; i < level.length; i += step)
					this.addBusy(busy, lane.begin[level[i]] * scale,
						     (lane.end[level[i]] - lane.begin[level[i]]) * scale, step);
			}
		return busy;
	}
	addBusy(busy, from, wide, weight) {
		const to = from + wide, x = Math.min(Math.floor(from), busy.length - 1);
		if (to < x + 1) {
			busy[x] += wide * weight;
			return;
		}
		for (let at = x; at < to && at < busy.length; at++)
			busy[at] += Math.min(to, at + 1) - Math.max(from, at);
	}
	drawOverview() {
		const c = this.overview, g = c.getContext("2d"), ratio = window.devicePixelRatio || 1, theme = this.colours.theme;
		const w = c.clientWidth, h = c.clientHeight, width = Math.max(10, Math.floor(w - LABELS)), { last, nsPerTick } = this.trace;
		if (!this.busy || this.busy.length !== width)
			this.busy = this.findBusy(width);
		c.width = Math.round(w * ratio);
		c.height = Math.round(h * ratio);
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = theme.lane;
		g.fillRect(0, 0, w, h);
		const most = Math.max(...this.busy, .001);
		g.fillStyle = theme.busy;
		this.busy.forEach((b, x) => {
			const tall = b / most * (h - 5);
			g.fillRect(LABELS + x, h - 1 - tall, 1, tall);
		});
		const x = LABELS + Math.max(0, this.timeline.from / last) * width, to = LABELS + Math.min(1, this.timeline.to / last) * width;
		g.fillStyle = theme.background;
		g.globalAlpha = .6;
		g.fillRect(LABELS, 0, x - LABELS, h);
		g.fillRect(to, 0, w - to, h);
		g.globalAlpha = 1;
		g.strokeStyle = theme.rangeEdge;
		g.lineWidth = 1.5;
		g.strokeRect(x + .5, 1, Math.max(to - x - 1, 2), h - 2);
		g.font = FONT;
		g.textBaseline = "middle";
		g.fillStyle = theme.faint;
		g.fillText(`all: ${timeText(last * nsPerTick)}`, 10, h / 2);
	}
}

// --- the beginning ---

function say(text) {
	document.body.append(make("p", { class: "hint" }, text));
}

async function begin() {
	const begun = performance.now();
	const about = JSON.parse(document.getElementById("about").textContent);
	const columns = document.getElementById("columns");
	if (typeof DecompressionStream === "undefined")
		return say("This browser is too old for the page: it needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4).");
	const trace = decodeTrace(about, await unpack(columns.textContent));
	columns.textContent = "";
	const app = new App(trace);
	app.ready = performance.now() - begun;
	obeyAddress(app);
	window.brace = app;
}

// The address's part behind # selects a view: view=FROM,TO in ns, function=NAME, call=LANE.NUMBER,
// tab, theme.
function obeyAddress(app) {
	const spec = new URLSearchParams(location.hash.slice(1)), k = app.trace.nsPerTick;
	const span = name => (spec.get(name) || "").split(",").map(v => Number(v) / k);
	if (spec.has("theme") && THEMES[spec.get("theme")])
		app.useTheme(spec.get("theme"));
	if (spec.has("search")) {
		app.search.value = spec.get("search");
		app.searchFor(spec.get("search"));
	}
	if (spec.has("function")) {
		const f = app.trace.functions.findIndex(x => x.name === spec.get("function"));
		if (f >= 0)
			app.choose(f);
	}
	if (spec.has("call")) {
		const [l, i] = spec.get("call").split(".").map(Number), lane = app.trace.lanes[l];
		if (lane && i < lane.n)
			app.select(lane, i, true);
	}
	if (spec.has("view") && span("view")[1] > span("view")[0])
		app.timeline.show(...span("view"));
	if (spec.has("range")) {
		app.setRange(...span("range"));
		app.rangeDone();
	}
	if (spec.has("tab"))
		app.showTab({ flame: "flame graph", tree: "tree" }[spec.get("tab")] || "functions");
	if (spec.has("selftest"))
		selftest(app);
}

if (typeof document !== "undefined")
	begin().catch(e => say(`This page cannot be shown: ${e && e.message}`));
