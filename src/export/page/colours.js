// SPDX-License-Identifier: MIT
// Colours of both themes. A module has a hue; its functions differ a little in lightness, by name.
"use strict";

const HUES = [212, 28, 152, 268, 350, 186, 48, 316, 98, 240, 12, 130];

const THEMES = {
	light: { background: "#ffffff", lane: "#f6f7f9", line: "#dfe3e8", text: "#1f2933", faint: "#68747f",
		 box: (h, d) => `hsl(${h} ${h < 0 ? 0 : 58}% ${79 + d}%)`, label: "#16202a",
		 edge: "rgba(0,0,0,.14)", cursor: "#d6336c", range: "rgba(66,133,244,.13)",
		 rangeEdge: "rgba(66,133,244,.7)", found: "#e8590c", chosen: "#111827", dim: .28,
		 waits: "#b6bec8", preempted: "#e8a33d", runs: "#69b578", syscall: "#8d7bd8",
		 busy: "#8fb6ea", event: "#c2255c", lost: "#d9480f" },
	dark: { background: "#16191d", lane: "#1c2025", line: "#2c323a", text: "#dde3ea", faint: "#8e99a6",
		box: (h, d) => `hsl(${h} ${h < 0 ? 0 : 34}% ${37 + d}%)`, label: "#f1f4f7",
		edge: "rgba(0,0,0,.35)", cursor: "#f783ac", range: "rgba(110,168,254,.16)",
		rangeEdge: "rgba(110,168,254,.8)", found: "#ffa94d", chosen: "#ffffff", dim: .3,
		waits: "#4b545f", preempted: "#b9802b", runs: "#3f7f50", syscall: "#7465b8",
		busy: "#46699c", event: "#f06595", lost: "#ff922b" },
};

class Colours {
	constructor(trace, sums) {
		const self = new Array(trace.modules.length).fill(0);
		for (const s of sums)
			self[trace.functions[s.fn].module] += s.self + s.calls / 1e6;
		const order = self.map((v, i) => i).sort((a, b) => self[b] - self[a]);
		this.order = order.filter(m => self[m] > 0);
		this.hue = [];
		order.forEach((m, i) => { this.hue[m] = HUES[i % HUES.length]; });
		this.shade = trace.functions.map(f => {
			let h = 2166136261;
			for (let i = 0; i < f.name.length; i++)
				h = Math.imul(h ^ f.name.charCodeAt(i), 16777619);
			return (h >>> 8) % 11 - 5;
		});
		this.module = trace.functions.map(f => f.module);
		this.use("light");
	}
	use(name) {
		this.name = name;
		this.theme = THEMES[name];
		this.fill = this.shade.map((d, f) => this.theme.box(this.hue[this.module[f]], d));
	}
	ofModule(m) { return this.theme.box(this.hue[m], 0); }
}
