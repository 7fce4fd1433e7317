// SPDX-License-Identifier: MIT
// Rows of an answer, which stand in the page as lines of JSON, as a table: it sorts, is searched, and has bars in its columns of
// numbers. Numbers keep the digits that the lines have: a script's own numbers have 53 bits.
"use strict";
const SHOWN = 2000; // rows at most: more are found by the search
const NUMBER = "\0"; // begins a number's digits, where a value is a text otherwise
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];

const byId = (id) => document.getElementById(id);
const isNumber = (value) => typeof value === "string" && value[0] === NUMBER;
const digitsOf = (value) => value.slice(1);

// A line of JSON, whose numbers become texts.
function read(line) {
	const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
	return JSON.parse(line.replace(token, (t) => (t[0] === '"' ? t : `"\\u0000${t}"`)));
}

// Objects within a row are columns of their own: {"a":{"calls":1}} is "a.calls". What is null lacks.
function flatten(from, to = Object.create(null), before = "") {
	for (const [name, value] of Object.entries(from)) {
		if (value !== null && typeof value === "object") flatten(value, to, `${before}${name}.`);
		else if (value !== null) to[before + name] = value;
	}
	return to;
}

function columnsOf(rows, names) {
	const columns = new Set(names);
	for (const row of rows) for (const name of Object.keys(row)) columns.add(name);
	return [...columns].map((name) => {
		const values = rows.map((row) => row[name]).filter((value) => value !== undefined);
		const numbers = values.length > 0 && values.every(isNumber);
		const most = numbers ? values.reduce((max, value) => Math.max(max, Math.abs(Number(digitsOf(value)))), 0) : 0;
		return { name, numbers, most };
	});
}

// Whole numbers are compared exactly.
function compareNumbers(a, b) {
	const x = digitsOf(a), y = digitsOf(b), whole = /^-?\d+$/;
	if (whole.test(x) && whole.test(y)) return BigInt(x) < BigInt(y) ? -1 : BigInt(x) > BigInt(y) ? 1 : 0;
	return Number(x) - Number(y);
}
function compareValues(a, b) {
	if (a === undefined || b === undefined) return (b === undefined) - (a === undefined);
	if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
	return a < b ? -1 : a > b ? 1 : 0;
}

// Digits by three, with narrow blanks between them.
const grouped = (digits) => digits.replace(/^(-?)(\d+)/, (all, sign, whole) => sign + whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

function readable(name, digits) {
	const ns = Number(digits), unit = UNITS.find(([of]) => Math.abs(ns) >= of);
	return /(^|[._])(ns|duration|durations|total|self|least|most)$/.test(name) && unit ? `${(ns / unit[0]).toPrecision(4)} ${unit[1]}` : "";
}

function cell(value, column) {
	const td = document.createElement("td");
	td.className = column.numbers ? "number" : "";
	if (value === undefined) return td;
	td.textContent = isNumber(value) ? grouped(digitsOf(value)) : value;
	if (!column.numbers) return td;
	td.title = readable(column.name, digitsOf(value));
	if (column.most > 0) td.style.setProperty("--part", `${(100 * Math.abs(Number(digitsOf(value)))) / column.most}%`);
	return td;
}

const page = { rows: [], columns: [], by: -1, falls: true };

function matches(row, words) {
	const text = Object.values(row).filter((value) => !isNumber(value)).join(" ").toLowerCase();
	return words.every((word) => text.includes(word));
}

function draw() {
	const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
	const found = page.rows.filter((row) => matches(row, words));
	const column = page.columns[page.by];
	if (column) found.sort((a, b) => compareValues(a[column.name], b[column.name]) * (page.falls ? -1 : 1));
	byId("body").replaceChildren(...found.slice(0, SHOWN).map((row) => {
		const tr = document.createElement("tr");
		tr.append(...page.columns.map((c) => cell(row[c.name], c)));
		return tr;
	}));
	[...byId("head").children].forEach((th, i) => {
		if (i === page.by) th.setAttribute("aria-sort", page.falls ? "descending" : "ascending");
		else th.removeAttribute("aria-sort");
	});
	byId("count").textContent = found.length > SHOWN ? `the first ${SHOWN} of ${found.length} rows` : `${found.length} rows`;
}

// A second time, the order is turned. Numbers begin with the greatest.
function sortBy(i) {
	page.falls = page.by === i ? !page.falls : page.columns[i].numbers;
	page.by = i;
	draw();
}

function heading(column, i) {
	const th = document.createElement("th");
	th.textContent = column.name;
	th.tabIndex = 0;
	th.className = column.numbers ? "number" : "";
	th.addEventListener("click", () => sortBy(i));
	th.addEventListener("keydown", (e) => e.key === "Enter" && sortBy(i));
	return th;
}

function paragraphs(texts, name) {
	return texts.map((text) => {
		const p = document.createElement("p");
		p.textContent = text;
		p.className = name;
		return p;
	});
}

function begin() {
	const lines = byId("lines").textContent.split("\n").filter((line) => line.trim());
	const about = JSON.parse(byId("about").textContent);
	const first = lines.length ? read(lines[0]) : {};
	page.rows = lines.slice(1).map((line) => flatten(read(line)));
	page.columns = columnsOf(page.rows, first.columns || []);
	document.title = about.title;
	byId("title").textContent = about.title;
	byId("about-text").append(...paragraphs((first.files || []).map((file, i) => `${"ab"[i]}: ${file}`), ""), ...paragraphs(about.notes, "note"));
	byId("head").append(...page.columns.map(heading));
	byId("search").addEventListener("input", draw);
	draw();
}
begin();
