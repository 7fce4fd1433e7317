// SPDX-License-Identifier: MIT
// node flamegraph_script.js PICTURE FUNCTION: runs the script of a flame graph over a document that is as little of a
// browser's as the script needs; searches for the function, zooms to it and back.
"use strict";
const fs = require("fs");
const assert = require("assert");
const text = fs.readFileSync(process.argv[2], "utf8");
const wanted = process.argv[3];

const plain = (s) => s.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&#39;/g, "'")
	.replace(/&amp;/g, "&");
function element(attributes, children, content) {
	const classes = new Set((attributes.class || "").split(" "));
	return {
		attributes, style: {}, textContent: content || "", parentNode: null, listeners: {},
		classList: {
			contains: (c) => classes.has(c), add: (c) => classes.add(c), remove: (c) => classes.delete(c),
			toggle: (c, on) => { if (on) classes.add(c); else classes.delete(c); },
		},
		getAttribute(name) { return this.attributes[name]; },
		setAttribute(name, value) { this.attributes[name] = String(value); },
		querySelector: (name) => children && children[name],
		addEventListener(name, f) { this.listeners[name] = f; },
	};
}
function attributesOf(tag) {
	const found = {};
	for (const m of tag.matchAll(/([a-z-]+)="([^"]*)"/g))
		found[m[1]] = plain(m[2]);
	return found;
}
const frames = [...text.matchAll(/<g ([^>]*)><title>([^<]*)<\/title><rect ([^>]*)\/><text ([^>]*)>([^<]*)<\/text><\/g>/g)]
	.map((m) => element(attributesOf(m[1]), {
		title: element({}, null, plain(m[2])), rect: element(attributesOf(m[3])),
		text: element(attributesOf(m[4]), null, plain(m[5])),
	}));
const named = {};
for (const m of text.matchAll(/<text ([^>]*id="([a-z]+)"[^>]*)>/g))
	named[m[2]] = element(attributesOf(m[1]));
const svg = element(attributesOf(text.match(/<svg [^>]*>/)[0]));
svg.querySelectorAll = () => frames;
svg.getElementById = (id) => named[id];
global.document = { documentElement: svg };
global.window = element({});
global.window.prompt = () => "^" + wanted + "$";
(0, eval)(text.match(/<script><!\[CDATA\[([^]*)\]\]><\/script>/)[1]);

const mine = frames.filter((g) => g.getAttribute("data-name") === wanted);
assert(mine.length, "the function is not in the picture");
svg.listeners.click({ target: named.search });
assert.deepStrictEqual(frames.filter((g) => g.classList.contains("hit")), mine);
assert(/matched: [0-9.]+ %/.test(named.found.textContent));
svg.listeners.mouseover({ target: mine[0] });
assert(named.info.textContent.startsWith(wanted + " ("));
const width = mine[0].box.getAttribute("width");
svg.listeners.click({ target: mine[0] });
assert(Math.abs(mine[0].box.getAttribute("width") - svg.getAttribute("data-width")) < 0.01);
assert(frames.every((g) => g.style.display === "none" || (+g.box.getAttribute("x") >= -0.1 &&
	+g.box.getAttribute("x") + +g.box.getAttribute("width") <= +svg.getAttribute("data-width") + 0.1)));
assert(frames.some((g) => g.classList.contains("below")));
svg.listeners.click({ target: named.back });
assert.strictEqual(+mine[0].box.getAttribute("width"), +width);
assert(frames.every((g) => g.style.display !== "none" && !g.classList.contains("below")));
console.log(frames.length + " frames");
