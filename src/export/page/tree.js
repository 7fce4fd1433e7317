// SPDX-License-Identifier: MIT
// The tree of calls of the scope: which calls lie in which, added up, with their parts of the time.
// It is the tree that the flame graph draws, as a list that mouse, touch and keys unfold.
"use strict";

const TREE_ROWS = 2000, TREE_OPEN = .5;

const TREE_HEAD = ["function", "%", "total", "self", "calls"];

class CallTree {
	constructor(app, root) {
		Object.assign(this, { app, root, tree: null, open: new Set(), at: 0, shown: [] });
		this.body = make("tbody");
		this.more = make("p", { class: "faint" });
		this.table = make("table", { role: "tree", tabindex: "0", "aria-label": "tree of calls" },
			make("thead", {}, make("tr", {}, ...TREE_HEAD.map(t => make("th", {}, t)))), this.body);
		this.table.addEventListener("keydown", e => this.key(e));
		root.append(this.table, this.more);
	}
	stale() { this.tree = null; }
	node(i) { return this.tree.nodes[i]; }
	// The scope's tree, with the way of most of the time unfolded.
	grow() {
		this.tree = sumStacks(this.app.trace, this.app.scope);
		this.open = new Set([0]);
		this.at = 0;
		const enough = this.node(0).total * TREE_OPEN;
		this.tree.nodes.forEach((x, i) => {
			if (i && x.total >= enough && x.depth < 40)
				this.open.add(i);
		});
	}
	// Nodes in their order on the screen: those whose callers are unfolded.
	visible() {
		const rows = [], left = [...this.node(0).children].reverse();
		while (left.length) {
			const i = left.pop();
			rows.push(i);
			if (this.open.has(i))
				left.push(...[...this.node(i).children].reverse());
		}
		return rows;
	}
	row(i, number) {
		const { app } = this, x = this.node(i), k = app.trace.nsPerTick, all = this.node(0).total || 1;
		const time = v => this.tree.timed ? timeText(v * k) : "";
		const sign = !x.children.length ? "" : this.open.has(i) ? "▾" : "▸";
		const fold = make("span", { class: "fold", onclick: e => { e.stopPropagation(); this.turn(i); } }, sign);
		const name = make("td", { class: "name", title: `${app.name(x.fn)} [${app.module(x.fn)}]` }, fold, app.details.swatch(x.fn),
				  app.name(x.fn), make("span", { class: "faint" }, ` ${app.module(x.fn)}`));
		name.style.paddingLeft = `${10 + 14 * Math.min(x.depth, 60)}px`;
		const share = make("td", { class: "bar" }, (x.total / all * 100).toFixed(2));
		share.style.backgroundSize = `${x.total / all * 100}% 100%`;
		return make("tr", { class: number === this.at ? "chosen" : app.marks[x.fn] ? "found" : "", role: "treeitem",
				    "aria-level": String(x.depth + 1), onclick: () => this.point(number) },
			    name, share, make("td", {}, time(x.total)), make("td", {}, time(Math.max(0, x.self))), make("td", {}, countText(x.calls)));
	}
	draw() {
		if (!this.tree)
			this.grow();
		this.shown = this.visible();
		this.at = Math.max(0, Math.min(this.at, this.shown.length - 1));
		const first = Math.max(0, Math.min(this.at - TREE_ROWS / 2, this.shown.length - TREE_ROWS));
		this.body.replaceChildren(...this.shown.slice(first, first + TREE_ROWS).map((i, n) => this.row(i, first + n)));
		this.more.textContent = this.shown.length > TREE_ROWS ? `${countText(this.shown.length)} rows, of which ${countText(TREE_ROWS)} are shown`
			: this.shown.length ? "" : "no call in this scope";
	}
	// Unfolds or folds.
	turn(i) {
		if (!this.open.delete(i) && this.node(i).children.length)
			this.open.add(i);
		this.draw();
	}
	// A row is chosen, and with it its function.
	point(number) {
		this.at = number;
		this.table.focus({ preventScroll: true });
		this.app.choose(this.node(this.shown[number]).fn);
	}
	move(number) {
		if (number < 0 || number >= this.shown.length)
			return;
		this.point(number);
		const row = this.body.querySelector(".chosen");
		if (row)
			row.scrollIntoView({ block: "nearest" });
	}
	key(e) {
		const i = this.shown[this.at], x = this.tree && i !== undefined ? this.node(i) : null;
		const acts = {
			ArrowDown: () => this.move(this.at + 1), ArrowUp: () => this.move(this.at - 1),
			ArrowRight: () => this.open.has(i) ? this.move(this.at + 1) : this.turn(i),
			ArrowLeft: () => this.open.has(i) ? this.turn(i) : this.move(this.shown.indexOf(x.parent)),
			Enter: () => this.turn(i), "*": () => this.unfold(i),
		};
		if (!x || !acts[e.key] || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		e.stopPropagation();
		acts[e.key]();
	}
	// All below, as far as the screen takes them.
	unfold(i) {
		const left = [i];
		for (let n = 0; left.length && n < TREE_ROWS; n++) {
			const at = left.pop();
			this.open.add(at);
			left.push(...this.node(at).children);
		}
		this.draw();
	}
}
