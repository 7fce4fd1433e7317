// SPDX-License-Identifier: MIT
// Search and zoom of a flame graph: every frame is a group with a title, a box and a text. Positions
// are in pixels of the whole picture; "data-at" keeps what they were before zooming.
"use strict";
(function () {
	var svg = document.documentElement;
	var frames = Array.from(svg.querySelectorAll("g.f"));
	var all = parseFloat(svg.getAttribute("data-width"));
	var info = svg.getElementById("info"), found = svg.getElementById("found");
	var back = svg.getElementById("back"), search = svg.getElementById("search");
	var zoomed = null;

	frames.forEach(function (g) {
		var box = g.querySelector("rect");
		g.at = { x: +box.getAttribute("x"), w: +box.getAttribute("width"),
			y: +box.getAttribute("y") };
		g.box = box;
		g.label = g.querySelector("text");
		g.title = g.querySelector("title").textContent;
		g.name = g.getAttribute("data-name");
	});

	function fit(g, x, w) {
		var room = Math.floor((w - 6) / 7);
		g.style.display = w < 0.1 ? "none" : "";
		g.box.setAttribute("x", x);
		g.box.setAttribute("width", w);
		g.label.setAttribute("x", x + 3);
		g.label.textContent = room < 3 ? "" : g.name.length <= room ? g.name
			: g.name.slice(0, room - 2) + "..";
	}

	function zoom(to) {
		zoomed = to;
		back.style.display = to ? "" : "none";
		frames.forEach(function (g) {
			var a = g.at, k;
			g.classList.remove("below");
			if (!to) {
				fit(g, a.x, a.w);
				return;
			}
			k = all / to.at.w;
			if (a.y > to.at.y && a.x <= to.at.x + 1e-6 && a.x + a.w >= to.at.x + to.at.w - 1e-6) {
				g.classList.add("below"); // its callers
				fit(g, 0, all);
			} else if (a.y <= to.at.y && a.x >= to.at.x - 1e-6 &&
				   a.x + a.w <= to.at.x + to.at.w + 1e-6) {
				fit(g, (a.x - to.at.x) * k, a.w * k);
			} else {
				g.style.display = "none";
			}
		});
	}

	// Of frames that lie in others that match, only the others count.
	function mark(text) {
		var re = null, sum = 0, spans = [];
		if (text) {
			try {
				re = new RegExp(text);
			} catch (e) {
				re = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
			}
		}
		frames.forEach(function (g) {
			var hit = re && re.test(g.name);
			g.classList.toggle("hit", !!hit);
			if (hit)
				spans.push([g.at.x, g.at.x + g.at.w]);
		});
		spans.sort(function (a, b) { return a[0] - b[0] || b[1] - a[1]; });
		spans.reduce(function (end, s) {
			if (s[1] > end)
				sum += s[1] - Math.max(s[0], end);
			return Math.max(end, s[1]);
		}, 0);
		found.textContent = re ? "matched: " + (100 * sum / all).toFixed(1) + " %" : "";
	}

	function ask() {
		var text = window.prompt("Function (a regular expression; empty: none)", "");
		if (text !== null)
			mark(text);
	}

	function frameOf(node) {
		while (node && !(node.classList && node.classList.contains("f")))
			node = node.parentNode;
		return node;
	}

	svg.addEventListener("click", function (e) {
		var g = frameOf(e.target);
		if (g)
			zoom(g);
		else if (e.target === back)
			zoom(null);
		else if (e.target === search)
			ask();
	});
	svg.addEventListener("mouseover", function (e) {
		var g = frameOf(e.target);
		info.textContent = g ? g.title : "";
	});
	window.addEventListener("keydown", function (e) {
		if (e.key === "/" || (e.key === "f" && (e.ctrlKey || e.metaKey))) {
			e.preventDefault();
			ask();
		} else if (e.key === "Escape") {
			zoom(null);
			mark("");
		}
	});
	// For tests, which have no mouse.
	svg.brace = { frames: frames, zoom: zoom, mark: mark };
})();
