// SPDX-License-Identifier: MIT
// The trace of a page: what is told about it, and the columns of its lanes as typed arrays. Knows
// nothing of the document but the two elements that hold them. docs/html.md has the format.
"use strict";

const LOW = 0, HIGH = 1, WHAT = 2, MARKS = 3, NOTES = 4, EVENTS = 5, STATES = 6, COLUMNS = 7;
const END = 0, END_MARKED = 1, END_UNFOLLOWED = 2, LOST = 3, BEGIN = 4;
const UNWOUND = 1, UNFINISHED = 2, TIMES = 4;             // bits of a mark; the two first of a call
const RECURSIVE = 8, UNFOLLOWED = 16;                     // further bits of a call
const WAITS = 0, PREEMPTED = 1, SYSCALL = 2;

// Numbers of seven bits a byte, and texts behind their lengths.
class Bytes {
	constructor(bytes) { this.bytes = bytes; this.at = 0; }
	get more() { return this.at < this.bytes.length; }
	number() {
		let v = 0, scale = 1, b;
		do {
			b = this.bytes[this.at++];
			v += (b & 127) * scale;
			scale *= 128;
		} while (b & 128);
		return v;
	}
	signed() {
		const v = this.number();
		return v % 2 ? -(v - 1) / 2 : v / 2;
	}
	text() {
		const n = this.number(), from = this.at;
		this.at += n;
		return new TextDecoder().decode(this.bytes.subarray(from, this.at));
	}
}

// Calls are numbered as they begin. Times are in ticks from the trace's beginning.
function makeLane(about, columns, id) {
	const n = about.calls;
	return {
		id, about, columns, n, events: [], states: [], losses: [], levels: [], notes: null,
		begin: new Float64Array(n), end: new Float64Array(n),
		duration: new Float64Array(n),  // as `report` counts it: without handlers and sleeps
		self: new Float64Array(n), // its part that was not in calls it made
		fn: new Uint32Array(n), depth: new Uint32Array(n), parent: new Int32Array(n),
		flags: new Uint8Array(n),
		first: 0, last: 0,
	};
}

function decodeCalls(lane, rows, active) {
	const { begin, end, duration, self, fn, depth, parent, flags, columns } = lane;
	const low = columns[LOW], high = columns[HIGH], what = columns[WHAT];
	const marks = new Bytes(columns[MARKS]), stack = [];
	let t = 0, next = 0, h = 0, w = 0;

	for (let k = 0; k < low.length; k++) {
		let v = high[h++], before = t;
		if (v > 127) {
			let scale = 128;
			v -= 128;
			for (let b = 128; b & 128; scale *= 128)
				v += ((b = high[h++]) & 127) * scale;
		}
		t += v * 256 + low[k];
		let code = what[w++];
		if (code > 127) {
			let scale = 128;
			code -= 128;
			for (let b = 128; b & 128; scale *= 128)
				code += ((b = what[w++]) & 127) * scale;
		}
		if (code >= BEGIN) {
			const i = next++, f = rows[code - BEGIN];
			begin[i] = t;
			fn[i] = f;
			depth[i] = stack.length;
			parent[i] = stack.length ? stack[stack.length - 1] : -1;
			if (active[f]++)
				flags[i] = RECURSIVE;
			stack.push(i);
		} else if (code === LOST) {
			lane.losses.push({ from: before, to: t, count: marks.number() });
		} else {
			const i = stack.pop();
			active[fn[i]]--;
			end[i] = t;
			let ticks = t - begin[i], bits = 0;
			if (code === END_UNFOLLOWED) {
				ticks = 0;
				flags[i] |= UNFOLLOWED;
			} else if (code === END_MARKED) {
				bits = marks.number();
				flags[i] |= bits & (UNWOUND | UNFINISHED);
			}
			if (bits & TIMES) {
				ticks = marks.number();
				self[i] = marks.number();
			} else {
				self[i] = Math.max(0, ticks - self[i]);
			}
			duration[i] = ticks;
			if (parent[i] >= 0)
				self[parent[i]] += ticks;
		}
	}
	lane.first = next ? begin[0] : low.length ? t : Infinity;
	lane.last = t;
}

// The calls of each depth, which do not overlap.
function findLevels(lane) {
	const counts = [];
	for (let i = 0; i < lane.n; i++)
		counts[lane.depth[i]] = (counts[lane.depth[i]] || 0) + 1;
	lane.levels = counts.map(n => new Uint32Array(n));
	const filled = new Array(counts.length).fill(0);
	for (let i = 0; i < lane.n; i++)
		lane.levels[lane.depth[i]][filled[lane.depth[i]]++] = i;
}

function decodeEvents(lane) {
	const from = new Bytes(lane.columns[EVENTS]);
	for (let t = 0; from.more;) {
		t += from.number();
		lane.events.push({ t, index: from.number(), cpu: from.number(), text: from.text() });
		lane.first = Math.min(lane.first, t);
		lane.last = Math.max(lane.last, t);
	}
}

function decodeStates(lane) {
	const from = new Bytes(lane.columns[STATES]);
	for (let t = 0; from.more;) {
		t += from.signed();
		const to = t + from.number();
		lane.states.push({ from: t, to, state: from.number() });
		lane.first = Math.min(lane.first, t);
		lane.last = Math.max(lane.last, to);
	}
}

// The kernel's records of a thread come as a lane of their own: it joins the lane of its calls.
function joinLanes(lanes) {
	const homes = new Map(), key = l => `${l.about.pid} ${l.about.tid} ${l.about.image}`;
	for (const lane of lanes)
		if (!lane.about.coroutine && (!homes.has(key(lane)) || !homes.get(key(lane)).n))
			homes.set(key(lane), lane);
	for (const lane of lanes) {
		const home = homes.get(key(lane));
		if (lane.about.coroutine || home === lane || lane.n || lane.losses.length)
			continue;
		for (const e of lane.events)
			home.events.push(e);
		for (const s of lane.states)
			home.states.push(s);
		home.first = Math.min(home.first, lane.first);
		home.last = Math.max(home.last, lane.last);
		lane.joined = true;
		lane.events = [];
		lane.states = [];
	}
	for (const lane of lanes) {
		lane.events.sort((a, b) => a.t - b.t);
		// System calls come first: what the thread did in them is drawn over them.
		lane.states.sort((a, b) => Math.min(b.state, SYSCALL) - Math.min(a.state, SYSCALL) || a.from - b.from);
	}
}

// Arguments and returned value of a call, as texts. They are looked for when first asked for.
function notesOf(lane, call) {
	if (!lane.notes) {
		const from = new Bytes(lane.columns[NOTES]);
		lane.notes = new Map();
		for (let i = 0; from.more;) {
			i += from.signed();
			lane.notes.set(i, from.at);
			const has = from.number();
			for (let k = has & 1 ? has & 2 ? 2 : 1 : has & 2 ? 1 : 0; k; k--) {
				const n = from.number();
				from.at += n;
			}
		}
	}
	if (!lane.notes.has(call))
		return {};
	const from = new Bytes(lane.columns[NOTES]);
	from.at = lane.notes.get(call);
	const has = from.number();
	return { args: has & 1 ? from.text() : undefined,
		 returned: has & 2 ? from.text() : undefined };
}

async function unpack(base64) {
	const text = atob(base64), packed = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Columns stand one behind the other, each of all lanes.
function splitColumns(about, bytes) {
	const columns = about.lanes.map(() => []);
	let at = 0;
	for (let c = 0; c < COLUMNS; c++)
		about.lanes.forEach((lane, i) => {
			columns[i].push(bytes.subarray(at, at + lane.bytes[c]));
			at += lane.bytes[c];
		});
	return columns;
}

// The whole trace: about, lanes, functions {name, module, place}, modules, first and last time.
function decodeTrace(about, bytes) {
	const columns = splitColumns(about, bytes);
	const active = new Int32Array(about.functions.length);
	const rows = Uint32Array.from(about.rows);
	const lanes = about.lanes.map((l, i) => {
		const lane = makeLane(l, columns[i], i);
		active.fill(0);
		decodeCalls(lane, rows, active);
		findLevels(lane);
		decodeEvents(lane);
		decodeStates(lane);
		return lane;
	});
	for (const lane of lanes)
		lane.home = lanes[lane.about.home] || lane;
	joinLanes(lanes);
	const modules = [...new Set(about.functions.map(f => f[1]))];
	const number = new Map(modules.map((m, i) => [m, i]));
	const functions = about.functions.map(f => ({ name: f[0], module: number.get(f[1]), place: f[2] }));
	const last = lanes.reduce((t, l) => Math.max(t, l.last), 1);
	return { about, lanes, modules, functions, last, nsPerTick: 1e9 / Number(about.hz),
		 events: new Map(about.events.map(e => [e.index, `${e.system}:${e.name}`])) };
}
