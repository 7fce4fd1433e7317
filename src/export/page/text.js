// SPDX-License-Identifier: MIT
// Times and numbers as people read them, and elements. Text of the trace reaches the document as
// text nodes only.
"use strict";

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

function timeText(ns, digits = 3) {
	if (!ns)
		return "0";
	const [scale, unit] = UNITS.find(u => Math.abs(ns) >= u[0]) || UNITS[3];
	const v = ns / scale, whole = Math.floor(Math.log10(Math.abs(v))) + 1;
	return `${v.toFixed(unit === "ns" ? (v < 10 && v % 1 ? 1 : 0) : Math.max(0, digits - whole))} ${unit}`;
}

// A place in time, as exact as a step on the axis needs it.
function placeText(ns, step) {
	if (!ns)
		return "0";
	const [scale, unit] = UNITS.find(u => Math.abs(ns) >= u[0]) || UNITS[3];
	const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9)));
	return `${(ns / scale).toFixed(digits)} ${unit}`;
}

function countText(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

// Controls and what turns text around are shown as what they are.
function plain(text) {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
			    c => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function make(tag, properties = {}, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(properties)) {
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else if (key === "class")
			e.className = value;
		else
			e.setAttribute(key, value);
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}

// The middle of a long name is left out.
function fit(g, text, width) {
	if (g.measureText(text).width <= width)
		return text;
	const letter = g.measureText("n").width || 6;
	const n = Math.floor(width / letter) - 1;
	if (n < 3)
		return "";
	const head = n < 12 ? n : Math.ceil(n * 0.6);
	const short = text.slice(0, head) + "…" + text.slice(text.length - (n - head));
	return g.measureText(short).width <= width + letter ? short : "";
}
