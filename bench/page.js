// SPDX-License-Identifier: MIT
// page.js PAGE [PICTURE]: how fast a page of `brace html` is in Chromium. Prints when it was shown, how long frames took while it
// was zoomed by the wheel, and the memory of its script. Needs chromium, and playwright-core of the npm registry in NODE_PATH.
const { chromium } = require("playwright-core");
const path = require("path");

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync"];

// In the page: 25 steps in, 15 larger ones out; ms from each event to the end of its frame.
async function zoom() {
	const area = c => c.clientWidth * c.clientHeight, times = [];
	const canvas = [...document.querySelectorAll("canvas")].sort((a, b) => area(b) - area(a))[0];
	const { left, width, top } = canvas.getBoundingClientRect();
	for (let i = 0; i < 40; i++) {
		const begin = performance.now();
		canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 25 ? -120 : 240, clientX: left + width * 0.6, clientY: top + 200,
			bubbles: true, cancelable: true }));
		await new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn, 0)));
		times.push(performance.now() - begin);
	}
	return times.sort((a, b) => a - b);
}

(async () => {
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags });
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	page.on("pageerror", e => console.log("error:", String(e)));
	const begin = Date.now();
	await page.goto(`file://${path.resolve(process.argv[2])}`, { timeout: 120000 });
	await page.waitForSelector("canvas", { timeout: 120000 });
	await page.evaluate(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))));
	console.log(`shown after ${Date.now() - begin} ms`);
	if (process.argv[3])
		await page.screenshot({ path: process.argv[3] });
	const times = await page.evaluate(zoom);
	console.log(`frames: median ${times[20].toFixed(1)} ms, longest ${times[39].toFixed(1)} ms`);
	console.log(`memory ${await page.evaluate("performance.memory.usedJSHeapSize / 1e6 | 0")} MB`);
	await browser.close();
})();
