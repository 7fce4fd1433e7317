// SPDX-License-Identifier: MIT
// The timeline: a canvas that shows a part of all lanes. Drawing costs the pixels of the window, not
// the calls: of calls that share a pixel, one box is drawn whose strength is their share of it.
"use strict";

const WIDE_LABELS = 190, NARROW_LABELS = 96, RULER = 26, ROW = 16, THIN = 3, STATE = 5, EVENT = 8, GAP = 7, PROCESS = 22;

// The lanes' names take half of a telephone's width otherwise.
let LABELS = WIDE_LABELS;
function fitLabels() {
	LABELS = innerWidth <= 520 ? NARROW_LABELS : WIDE_LABELS;
}

class Timeline {
	constructor(app, scroller, canvas) {
		Object.assign(this, { app, scroller, canvas, g: canvas.getContext("2d") });
		this.from = 0;
		this.to = app.trace.last;
		this.mouse = null;
		this.layOut();
		this.listen();
	}

	// Places of processes and lanes, from the top.
	layOut() {
		const seen = new Set();
		let y = 4;
		this.places = [];
		this.heads = [];
		for (const lane of this.app.order) {
			const { pid, image } = lane.home.about, process = `${pid}/${image}`;
			if (this.app.processes > 1 && !seen.has(process)) {
				seen.add(process);
				this.heads.push({ lane: lane.home, y });
				y += PROCESS;
			}
			const head = (lane.states.length ? STATE + 2 : 0) + (lane.events.length ? EVENT + 1 : 0);
			const row = lane.folded ? THIN : ROW;
			const height = Math.max(head + lane.levels.length * row, ROW);
			this.places.push({ lane, y, head, row, height });
			y += height + GAP;
		}
		this.height = y;
	}

	get width() { return this.canvas.clientWidth - LABELS; }
	get scale() { return this.width / (this.to - this.from); }
	timeAt(x) { return this.from + (x - LABELS) / this.scale; }
	xOf(t) { return LABELS + (t - this.from) * this.scale; }

	show(from, to) {
		const last = this.app.trace.last, least = Math.max(20 / this.app.trace.nsPerTick, 2);
		let span = Math.min(Math.max(to - from, least), last * 1.05);
		let middle = (from + to) / 2;
		middle = Math.min(Math.max(middle, 0), last);
		this.from = middle - span / 2;
		this.to = middle + span / 2;
		const margin = span * 0.5;
		if (this.from < -margin) { this.from = -margin; this.to = this.from + span; }
		if (this.to > last + margin) { this.to = last + margin; this.from = this.to - span; }
		this.app.redraw();
	}
	zoom(factor, t) { this.show(t - (t - this.from) * factor, t + (this.to - t) * factor); }
	pan(pixels) { this.show(this.from + pixels / this.scale, this.to + pixels / this.scale); }

	// Brings a call into view: it keeps the zoom if the call is wide enough to be seen.
	reveal(lane, i) {
		const begin = lane.begin[i], end = Math.max(lane.end[i], begin + 1);
		const wide = (end - begin) * this.scale;
		if (wide < 24 || wide > this.width)
			this.show(begin - (end - begin) * 3 - 1, end + (end - begin) * 3 + 1);
		else if (begin < this.from || end > this.to)
			this.show((begin + end - (this.to - this.from)) / 2, (begin + end + (this.to - this.from)) / 2);
		this.revealRow(lane, lane.depth[i]);
	}
	revealRow(lane, depth) {
		const place = this.places.find(p => p.lane === lane);
		const y = place.y + place.head + depth * place.row;
		const top = this.scroller.scrollTop, room = this.scroller.clientHeight - RULER;
		if (y < top || y + ROW > top + room)
			this.scroller.scrollTop = Math.max(0, Math.min(y - room / 3, place.y - 4 + Math.max(0, y - place.y - room / 2)));
	}

	// --- drawing ---

	draw() {
		const { canvas, g, app } = this, ratio = window.devicePixelRatio || 1;
		const w = canvas.clientWidth, h = canvas.clientHeight, theme = app.colours.theme;
		if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
		}
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = theme.background;
		g.fillRect(0, 0, w, h);
		this.hits = [];
		const top = this.scroller.scrollTop - RULER;
		g.save();
		g.beginPath();
		g.rect(0, RULER, w, h - RULER);
		g.clip();
		this.drawGrid(w, h);
		for (const head of this.heads)
			if (head.y - top < h && head.y + PROCESS - top > RULER)
				this.drawProcess(head, head.y - top, w);
		for (const place of this.places) {
			const y = place.y - top;
			if (y < h && y + place.height > RULER)
				this.drawLane(place, y, h);
		}
		this.drawRange(h);
		g.restore();
		this.drawRuler(w);
		this.drawCursor(h);
	}

	ticks() {
		const k = this.app.trace.nsPerTick, span = (this.to - this.from) * k;
		const rough = span / Math.max(2, this.width / 130), power = 10 ** Math.floor(Math.log10(rough));
		const step = power * ([1, 2, 5].find(f => f * power >= rough) || 10);
		const list = [];
		for (let ns = Math.ceil(Math.max(this.from, 0) * k / step) * step; ns <= this.to * k; ns += step)
			list.push(ns);
		return { step, list };
	}
	drawGrid(w, h) {
		const { g } = this, theme = this.app.colours.theme, k = this.app.trace.nsPerTick;
		g.fillStyle = theme.line;
		for (const ns of this.ticks().list)
			g.fillRect(Math.round(this.xOf(ns / k)), RULER, 1, h);
	}
	drawRuler(w) {
		const { g } = this, theme = this.app.colours.theme, k = this.app.trace.nsPerTick;
		const { step, list } = this.ticks();
		g.fillStyle = theme.lane;
		g.fillRect(0, 0, w, RULER);
		g.fillStyle = theme.line;
		g.fillRect(0, RULER - 1, w, 1);
		g.font = FONT;
		g.textBaseline = "middle";
		g.textAlign = "left";
		for (const ns of list) {
			const x = Math.round(this.xOf(ns / k)), text = placeText(ns, step);
			if (x < LABELS)
				continue;
			g.fillStyle = theme.line;
			g.fillRect(x, RULER - 8, 1, 8);
			g.fillStyle = theme.faint;
			if (x + g.measureText(text).width < w)
				g.fillText(text, x + 4, RULER / 2);
		}
		g.fillStyle = theme.lane;
		g.fillRect(0, 0, LABELS, RULER - 1);
		g.fillStyle = theme.faint;
		g.fillText(`${timeText((this.to - this.from) * k)} shown`, 10, RULER / 2);
	}
	drawProcess(head, y, w) {
		const { g } = this, theme = this.app.colours.theme;
		const image = this.app.trace.about.images[head.lane.about.image];
		g.fillStyle = theme.lane;
		g.fillRect(0, y, w, PROCESS - 3);
		g.fillStyle = theme.text;
		g.font = BOLD;
		g.textBaseline = "middle";
		g.textAlign = "left";
		const text = plain(image ? image.cmdline || image.exe : "?");
		g.fillText(fit(g, `${head.lane.about.pid}  ${text}`, w - 24), 10, y + PROCESS / 2 - 1);
	}

	drawLane(place, y, h) {
		const { g, app } = this, { lane } = place, theme = app.colours.theme;
		g.fillStyle = theme.lane;
		g.fillRect(0, y, LABELS - 6, place.height);
		if (app.chosenLanes.has(lane)) {
			g.fillStyle = theme.rangeEdge;
			g.fillRect(0, y, 3, place.height);
		}
		g.fillStyle = theme.faint;
		g.font = FONT;
		g.textBaseline = "middle";
		g.textAlign = "left";
		g.fillText(lane.folded ? "▸" : "▾", 8, Math.max(y, RULER - 2 > y + place.height - ROW ? y : Math.max(y, RULER)) + ROW / 2);
		const middle = Math.max(y, Math.min(RULER, y + place.height - ROW)) + ROW / 2;
		const id = `${lane.about.coroutine ? "" : lane.about.tid}`, room = LABELS - 36;
		// Where there is no room beside the name, the number stands below it, or nowhere.
		const wide = LABELS === WIDE_LABELS ? g.measureText(id).width : 0;
		if (wide)
			g.fillText(id, LABELS - 14 - wide, middle);
		else if (middle + ROW * 1.5 <= y + place.height)
			g.fillText(id, 22, middle + ROW);
		g.fillStyle = theme.text;
		const below = LABELS === WIDE_LABELS ? "in the kernel" : "kernel";
		g.fillText(fit(g, lane.home === lane ? plain(lane.about.name) : below, room - wide - 6), 22, middle);
		this.hits.push({ lane, label: true, x: 0, y, w: LABELS - 6, h: place.height });
		g.save();
		g.beginPath();
		g.rect(LABELS, RULER, this.width, h);
		g.clip();
		let at = y;
		if (lane.states.length) {
			this.drawStates(lane, at);
			at += STATE + 2;
		}
		if (lane.events.length) {
			this.drawEvents(lane, at);
			at += EVENT + 1;
		}
		lane.levels.forEach((level, depth) => {
			const top = at + depth * place.row;
			if (top < h && top + place.row > RULER)
				this.drawLevel(lane, level, top, place.row);
		});
		this.drawLosses(lane, y, place.height);
		g.restore();
	}

	// First of a level's calls that does not end before t, and first that begins after t.
	firstEnding(lane, level, t, low = 0) {
		let high = level.length;
		while (low < high) {
			const m = (low + high) >> 1;
			if (lane.end[level[m]] < t) low = m + 1; else high = m;
		}
		return low;
	}
	firstBeginning(lane, level, t, low) {
		let step = 1, high = low;
		while (high < level.length && lane.begin[level[high]] < t) {
			low = high + 1;
			high += step;
			step *= 2;
		}
		high = Math.min(high, level.length);
		while (low < high) {
			const m = (low + high) >> 1;
			if (lane.begin[level[m]] < t) low = m + 1; else high = m;
		}
		return low;
	}

	drawLevel(lane, level, y, row) {
		const { app } = this, scale = this.scale, h = row - 1;
		const narrow = { x: -1, w: 0, fill: "", strength: 0 };
		let i = this.firstEnding(lane, level, this.from);
		while (i < level.length && lane.begin[level[i]] <= this.to) {
			const call = level[i], x = this.xOf(lane.begin[call]);
			const w = (lane.end[call] - lane.begin[call]) * scale;
			if (w >= 1.5) {
				this.flush(narrow, y, h);
				this.drawBox(lane, call, x, w, y, row);
				i++;
				continue;
			}
			const pixel = Math.floor(x);
			let next = this.firstBeginning(lane, level, this.from + (pixel + 1 - LABELS) / scale, i);
			if (next <= i)
				next = i + 1;
			const end = level[next - 1];
			if (next - 1 > i && (lane.end[end] - lane.begin[end]) * scale >= 1.5)
				next--;
			this.addNarrow(narrow, lane, level, i, next, pixel, y, h);
			i = next;
		}
		this.flush(narrow, y, h);
	}
	// Some of the calls stand for all that share the pixel.
	addNarrow(narrow, lane, level, from, to, x, y, h) {
		const { app } = this, step = Math.max(1, Math.floor((to - from) / 16));
		let ticks = 0, n = 0, longest = -1, call = level[from], marked = -1;
		for (let i = from; i < to; i += step, n++) {
			const c = level[i], d = lane.end[c] - lane.begin[c];
			ticks += d;
			if (d > longest) { longest = d; call = c; }
			if (app.marks[lane.fn[c]]) marked = c;
		}
		if (marked >= 0)
			call = marked;
		const share = Math.min(1, ticks * (to - from) / n * this.scale);
		const strength = Math.max(2, Math.ceil(share * 5)) / 5;
		const fill = this.fillOf(lane, call);
		if (narrow.fill === fill && narrow.strength === strength && narrow.x + narrow.w === x) {
			narrow.w++;
			return;
		}
		this.flush(narrow, y, h);
		Object.assign(narrow, { x, w: 1, fill, strength });
	}
	flush(narrow, y, h) {
		if (narrow.w) {
			this.g.globalAlpha = narrow.strength;
			this.g.fillStyle = narrow.fill;
			this.g.fillRect(narrow.x, y, narrow.w, h);
			this.g.globalAlpha = 1;
		}
		narrow.w = 0;
		narrow.x = -1;
	}
	fillOf(lane, call) {
		const { app } = this;
		return app.marks[lane.fn[call]] === 2 ? app.colours.theme.found : app.colours.fill[lane.fn[call]];
	}
	drawBox(lane, call, x, w, y, row) {
		const { g, app } = this, theme = app.colours.theme, h = row - 1, f = lane.fn[call];
		const left = Math.max(x, LABELS - 2), right = Math.min(x + w, LABELS + this.width + 2);
		const dim = app.dimming && !app.marks[f];
		g.globalAlpha = dim ? theme.dim : 1;
		g.fillStyle = app.colours.fill[f];
		g.fillRect(left, y, Math.max(right - left - (w > 3 ? .75 : 0), 1), h);
		if (lane.flags[call] & (UNFINISHED | UNWOUND) && w > 8 && row === ROW) {
			g.fillStyle = theme.edge;
			for (let s = 0; s < 3; s++)
				g.fillRect(right - 3 - 2 * s, y, 1, h);
		}
		if (app.marks[f] && app.marking) {
			g.fillStyle = theme.found;
			g.fillRect(left, y + h - 2, Math.max(right - left, 1), 2);
		}
		if (row === ROW && right - left > 24) {
			g.font = FONT;
			g.textBaseline = "middle";
			g.textAlign = "left";
			g.fillStyle = theme.label;
			g.fillText(fit(g, app.short[f], right - left - 8), left + 4, y + h / 2 + .5);
		}
		g.globalAlpha = 1;
		const s = app.selected;
		if (s && s.lane === lane && s.i === call) {
			g.strokeStyle = theme.chosen;
			g.lineWidth = 2;
			g.strokeRect(left + 1, y + 1, Math.max(right - left - 2, 1), h - 2);
		}
	}

	drawStates(lane, y) {
		const { g } = this, theme = this.app.colours.theme;
		const from = Math.max(this.xOf(lane.first), LABELS);
		g.fillStyle = theme.runs;
		g.fillRect(from, y, Math.max(this.xOf(lane.last) - from, 0), STATE);
		let last = -1;
		for (const s of lane.states) {
			if (s.to < this.from || s.from > this.to)
				continue;
			const x = this.xOf(s.from), w = (s.to - s.from) * this.scale;
			if (w < 1 && Math.floor(x) === last && s.state < SYSCALL)
				continue;
			last = Math.floor(x);
			g.fillStyle = s.state === WAITS ? theme.waits : s.state === PREEMPTED ? theme.preempted : theme.syscall;
			g.fillRect(x, y, Math.max(w, 1), STATE);
		}
	}
	drawEvents(lane, y) {
		const { g } = this, { events } = lane, theme = this.app.colours.theme;
		let low = 0, high = events.length, last = -1;
		while (low < high) {
			const m = (low + high) >> 1;
			if (events[m].t < this.from) low = m + 1; else high = m;
		}
		g.fillStyle = theme.event;
		for (let i = low; i < events.length && events[i].t <= this.to; i++) {
			const x = Math.round(this.xOf(events[i].t));
			if (x > last + 1) {
				g.fillRect(x, y, 1.5, EVENT);
				last = x;
			}
		}
	}
	drawLosses(lane, y, h) {
		const { g } = this, theme = this.app.colours.theme;
		for (const loss of lane.losses) {
			if (loss.to < this.from || loss.from > this.to)
				continue;
			const x = Math.max(this.xOf(loss.from), LABELS);
			const w = Math.max(Math.min(this.xOf(loss.to), LABELS + this.width) - x, 4);
			g.save();
			g.beginPath();
			g.rect(x, y, w, h);
			g.clip();
			g.globalAlpha = .16;
			g.fillStyle = theme.lost;
			g.fillRect(x, y, w, h);
			g.globalAlpha = .8;
			g.strokeStyle = theme.lost;
			g.lineWidth = 1;
			g.beginPath();
			for (let s = -h; s < w; s += 7) {
				g.moveTo(x + s, y + h);
				g.lineTo(x + s + h, y);
			}
			g.stroke();
			g.restore();
		}
	}
	drawRange(h) {
		const { g, app } = this, theme = app.colours.theme;
		if (!app.range)
			return;
		const x = Math.max(this.xOf(app.range.from), LABELS), to = Math.max(this.xOf(app.range.to), LABELS);
		g.fillStyle = theme.range;
		g.fillRect(x, RULER, to - x, h);
		g.fillStyle = theme.rangeEdge;
		g.fillRect(x, RULER, 1, h);
		g.fillRect(to, RULER, 1, h);
	}
	drawCursor(h) {
		const { g, app } = this, theme = app.colours.theme;
		if (app.cursor === null || app.cursor < this.from || app.cursor > this.to)
			return;
		const x = Math.round(this.xOf(app.cursor)), k = app.trace.nsPerTick;
		const text = placeText(app.cursor * k, (this.to - this.from) * k / 2000);
		g.globalAlpha = .7;
		g.fillStyle = theme.cursor;
		g.fillRect(x, 0, 1, h);
		g.globalAlpha = 1;
		g.font = FONT;
		const w = g.measureText(text).width + 8, left = Math.min(x + 1, LABELS + this.width - w);
		g.fillRect(left, 0, w, 15);
		g.fillStyle = theme.background;
		g.textAlign = "left";
		g.textBaseline = "middle";
		g.fillText(text, left + 4, 8);
	}

	// --- what is under the mouse ---

	find(x, y) {
		const top = this.scroller.scrollTop - RULER;
		if (y < RULER)
			return null;
		const place = this.places.find(p => y + top >= p.y && y + top < p.y + p.height + 2);
		if (!place)
			return null;
		const { lane } = place;
		if (x < LABELS)
			return { lane, label: true, fold: x < 20 };
		const t = this.timeAt(x), slack = 3 / this.scale;
		let at = y + top - place.y;
		if (lane.states.length) {
			if (at < STATE + 1) {
				const hits = lane.states.filter(s => s.from <= t + slack && s.to >= t - slack);
				return { lane, inside: hits[0], state: hits.pop() || { from: lane.first, to: lane.last, state: -1 } };
			}
			at -= STATE + 2;
		}
		if (lane.events.length) {
			if (at < EVENT + 1) {
				let best = null;
				for (const e of lane.events)
					if (Math.abs(e.t - t) <= slack && (!best || Math.abs(e.t - t) < Math.abs(best.t - t)))
						best = e;
				return { lane, event: best };
			}
			at -= EVENT + 1;
		}
		return this.findCall(lane, Math.floor(at / place.row), t, slack);
	}
	findCall(lane, depth, t, slack) {
		const level = lane.levels[depth];
		const loss = lane.losses.find(l => l.from <= t + slack && l.to >= t - slack);
		if (level) {
			const i = this.firstEnding(lane, level, t - slack);
			if (i < level.length && lane.begin[level[i]] <= t + slack)
				return { lane, i: level[i] };
		}
		return loss ? { lane, loss } : { lane };
	}

	// --- mouse, touch ---

	listen() {
		const { canvas, app } = this, touches = new Map();
		let drag = null, pinch = null;
		const at = e => {
			const r = canvas.getBoundingClientRect();
			return { x: e.clientX - r.left, y: e.clientY - r.top };
		};
		canvas.addEventListener("wheel", e => {
			const p = at(e);
			if (p.x < LABELS && !e.shiftKey)
				return;
			e.preventDefault();
			const scale = e.deltaMode === 1 ? 16 : 1;
			if (e.shiftKey)
				this.pan((e.deltaX || e.deltaY) * scale);
			else if (Math.abs(e.deltaX) > Math.abs(e.deltaY))
				this.pan(e.deltaX * scale);
			else
				this.zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY * scale)) * .0025), this.timeAt(p.x));
		}, { passive: false });
		canvas.addEventListener("pointerdown", e => {
			const p = at(e);
			touches.set(e.pointerId, p);
			try { canvas.setPointerCapture(e.pointerId); } catch (error) { /* it has gone */ }
			if (touches.size === 2) {
				const [a, b] = [...touches.values()];
				pinch = { wide: Math.max(20, Math.abs(a.x - b.x)), from: this.from, to: this.to,
					  t: this.timeAt((a.x + b.x) / 2) };
				drag = null;
				return;
			}
			drag = { x: p.x, y: p.y, from: this.from, to: this.to, top: this.scroller.scrollTop, moved: false,
				 range: p.x >= LABELS && (e.shiftKey || p.y < RULER), t: this.timeAt(p.x) };
		});
		canvas.addEventListener("pointermove", e => {
			const p = at(e);
			if (touches.has(e.pointerId))
				touches.set(e.pointerId, p);
			if (pinch && touches.size === 2) {
				const [a, b] = [...touches.values()], f = pinch.wide / Math.max(20, Math.abs(a.x - b.x));
				this.show(pinch.t - (pinch.t - pinch.from) * f, pinch.t + (pinch.to - pinch.t) * f);
				return;
			}
			if (drag)
				this.dragged(drag, p);
			this.mouse = p;
			app.pointed(drag && drag.moved ? null : this.find(p.x, p.y), e,
				    p.x >= LABELS ? this.timeAt(p.x) : null);
		});
		const up = e => {
			const p = at(e);
			touches.delete(e.pointerId);
			if (touches.size < 2)
				pinch = null;
			if (drag && !drag.moved && e.type === "pointerup")
				app.clicked(this.find(drag.x, drag.y), e);
			if (drag && drag.range && drag.moved)
				app.rangeDone();
			drag = null;
		};
		canvas.addEventListener("pointerup", up);
		canvas.addEventListener("pointercancel", up);
		canvas.addEventListener("pointerleave", () => app.pointed(null, null, null));
		canvas.addEventListener("dblclick", e => {
			const hit = this.find(at(e).x, at(e).y);
			if (hit && hit.i !== undefined)
				this.show(hit.lane.begin[hit.i] - (hit.lane.end[hit.i] - hit.lane.begin[hit.i]) * .05,
					  hit.lane.end[hit.i] + (hit.lane.end[hit.i] - hit.lane.begin[hit.i]) * .05);
		});
		this.scroller.addEventListener("scroll", () => app.redraw());
	}
	dragged(drag, p) {
		if (Math.abs(p.x - drag.x) + Math.abs(p.y - drag.y) > 3)
			drag.moved = true;
		if (!drag.moved)
			return;
		if (drag.range) {
			const t = this.timeAt(Math.max(p.x, LABELS));
			this.app.setRange(Math.min(t, drag.t), Math.max(t, drag.t));
			return;
		}
		this.scroller.scrollTop = drag.top - (p.y - drag.y);
		const d = (p.x - drag.x) / this.width * (drag.to - drag.from);
		this.show(drag.from - d, drag.to - d);
	}
}
