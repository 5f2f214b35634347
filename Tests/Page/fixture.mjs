// A browser with the page of the shim, and a scripted API behind it, for each test of a file.
//
// The environment says where things are: SHIM, MODEL, CHROMIUM; SCREENSHOTS=folder keeps images.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import { Browser } from "./browser.mjs";
import { ScriptedAPI, startShim } from "./server.mjs";

const [program, model, chromium] = ["SHIM", "MODEL", "CHROMIUM"].map((name) => process.env[name]);
export let shim, browser, api, page;
/** Addresses that the test lets the page call, besides its server. */
export const others = [];

before(async () => {
  shim = await startShim(program, model);
  browser = new Browser(chromium);
});
after(async () => {
  await browser?.close();
  await shim?.stop();
});
beforeEach(async () => {
  api = new ScriptedAPI();
  await api.start(shim.url);
  page = await browser.open(api.url);
});
afterEach(async () => {
  // A test that fails leaves no server behind either: the run would wait for it without end.
  await page.close();
  await api.stop();
  // Whatever a test does, the page has nothing to complain about and asks nobody but its server.
  assert.deepEqual(page.complaints, []);
  const known = [api.url, shim.url, ...others.splice(0)];
  assert.deepEqual(page.requests.filter((url) => !known.some((each) => url.startsWith(each))), []);
});

/** Waits until a function of the test returns something true; `page.until` runs its function in the page. */
export async function until(isTrue) {
  const deadline = Date.now() + 20_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`did not come true: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function say(text) {
  await page.evaluate(() => document.querySelector("#input").focus());
  await page.type(text);
  await page.press("Enter");
}

export const isDone = () => page.until(() => !document.querySelector(".live") && document.querySelector("#stop").hidden);
export const contents = () => page.evaluate(() =>
  [...document.querySelectorAll("#messages > li .body")].map((body) => body.textContent));
export const titles = () => page.evaluate(() =>
  [...document.querySelectorAll("#conversations .title")].map((title) => title.textContent));

/** Clicks a tool of a message. */
export const tool = (index, name) => page.evaluate((index, name) => {
  const item = document.querySelectorAll("#messages > li")[index];
  [...item.querySelectorAll(".tools button")].find((each) => each.textContent.startsWith(name)).click();
}, index, name);

/** What is stored of conversations, in the order of their titles. */
export const stored = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes(".conversation."))
  .map((key) => JSON.parse(localStorage[key])).sort((a, b) => (a.title < b.title ? -1 : 1)));

/** Goes on with another page instead, for the test's rest. */
export async function usePage(other) {
  await page.close();
  page = other;
}

/** Saves the dialog that is open. Its `close` event, which the page waits for, comes a moment later. */
export async function saveDialog() {
  await page.evaluate(() => {
    globalThis.isClosed = new Promise((resolve) => document.querySelector("dialog[open]").addEventListener("close", resolve));
  });
  await page.click("Save");
  await page.evaluate(() => globalThis.isClosed.then(() => {}));
}
