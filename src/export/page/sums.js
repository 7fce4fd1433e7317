// SPDX-License-Identifier: MIT
// Figures of a scope: some lanes, and a range of time. A call counts if it touches the range, and its
// times as far as they lie in it; over the whole trace they are those of `brace report`.
"use strict";

// The calls of a lane that may touch a range are neighbours but for the open ones before them.
function eachCall(lane, from, to, take) {
	const { begin, end, n } = lane;
	for (let i = 0; i < n && begin[i] <= to; i++)
		if (end[i] >= from)
			take(i, begin[i] >= from && end[i] <= to);
}

// The part of a call's duration that lies in a range, in ticks. A whole call's is without the
// handlers and sleeps inside of it, as `report` counts.
function ticksIn(lane, i, from, to) {
	if (lane.begin[i] >= from && lane.end[i] <= to)
		return lane.duration[i];
	return lane.flags[i] & UNFOLLOWED ? 0
		: Math.max(0, Math.min(lane.end[i], to) - Math.max(lane.begin[i], from));
}

// Sums by function: calls, timed, total, self, least, most, and the durations, sorted.
function sumFunctions(trace, scope) {
	const sums = new Map(), { from, to } = scope;
	for (const lane of scope.lanes) {
		eachCall(lane, from, to, (i, whole) => {
			const f = lane.fn[i];
			let s = sums.get(f);
			if (!s)
				sums.set(f, s = { fn: f, calls: 0, timed: 0, total: 0, self: 0,
						  durations: [] });
			s.calls++;
			if (lane.flags[i] & UNFOLLOWED)
				return;
			const ticks = ticksIn(lane, i, from, to), parent = lane.parent[i];
			s.timed++;
			s.durations.push(lane.duration[i]);
			if (!(lane.flags[i] & RECURSIVE))
				s.total += ticks;
			s.self += whole ? lane.self[i] : ticks;
			// Parents that are cut by the range stand in the sums already.
			if (parent >= 0 && !(lane.begin[parent] >= from && lane.end[parent] <= to))
				sums.get(lane.fn[parent]).self -= ticks;
		});
	}
	for (const s of sums.values())
		finishSum(s);
	return [...sums.values()];
}

// The value of rank ceil(n * share), as `report` takes it.
function percentile(sorted, share) {
	return sorted.length ? sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] : 0;
}

function finishSum(s) {
	const d = Float64Array.from(s.durations).sort();
	s.durations = null;
	s.self = Math.max(0, s.self);
	s.min = d.length ? d[0] : 0;
	s.max = d.length ? d[d.length - 1] : 0;
	s.mean = d.length ? d.reduce((a, b) => a + b, 0) / d.length : 0;
	s.p50 = percentile(d, 0.5);
	s.p99 = percentile(d, 0.99);
}

// A tree of stacks: node 0 is all. Parents come before their children.
function sumStacks(trace, scope) {
	const nodes = [{ fn: -1, parent: -1, depth: -1, self: 0, total: 0, calls: 0, children: [] }];
	const known = new Map(), n = trace.functions.length, { from, to } = scope;
	for (const lane of scope.lanes) {
		const path = [];
		eachCall(lane, from, to, i => {
			const depth = lane.depth[i], up = depth ? path[depth - 1] : 0;
			const key = up * n + lane.fn[i];
			let node = known.get(key);
			if (node === undefined) {
				node = nodes.length;
				known.set(key, node);
				nodes[up].children.push(node);
				nodes.push({ fn: lane.fn[i], parent: up, depth: nodes[up].depth + 1,
					     self: 0, total: 0, calls: 0, children: [] });
			}
			path[depth] = node;
			const ticks = ticksIn(lane, i, from, to);
			nodes[node].calls++;
			nodes[node].self += ticks;
			nodes[up].self -= ticks;
		});
	}
	nodes[0].self = 0;
	const timed = nodes.some(x => x.self > 0);
	for (let i = nodes.length - 1; i >= 0; i--) {
		const node = nodes[i];
		node.total += timed ? Math.max(0, node.self) : node.calls;
		if (i)
			nodes[node.parent].total += node.total;
	}
	for (const node of nodes)
		node.children.sort((a, b) => nodes[b].total - nodes[a].total);
	return { nodes, timed };
}

// All calls of a function in a scope, as {lane, i}.
function callsOf(scope, fn) {
	const found = [];
	for (const lane of scope.lanes)
		eachCall(lane, scope.from, scope.to, i => {
			if (lane.fn[i] === fn)
				found.push({ lane, i });
		});
	return found;
}

// Counts of durations in four buckets for each doubling; the first one is of durations below 1 ns.
function histogram(durations) {
	const bucket = ns => ns < 1 ? 0 : 1 + Math.floor(4 * Math.log2(ns));
	let least = Infinity, most = 0;
	for (const d of durations) {
		least = Math.min(least, bucket(d));
		most = Math.max(most, bucket(d));
	}
	if (!durations.length)
		return { least: 0, counts: [] };
	const counts = new Array(most - least + 1).fill(0);
	for (const d of durations)
		counts[bucket(d) - least]++;
	return { least, counts, from: b => b ? 2 ** ((b - 1) / 4) : 0 };
}
