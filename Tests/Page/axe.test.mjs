// Axe (axe-core, https://www.deque.com/axe/) finds nothing to complain about. AXE=axe.min.js says where it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { api, isDone, page, say, tool } from "./fixture.mjs";
import { stream } from "./server.mjs";
import { formulas, showcase } from "./texts.mjs";

const skip = !process.env.AXE && "AXE names no axe.min.js";
const axe = skip ? "" : readFileSync(process.env.AXE, "utf8");

async function check(what) {
  await page.send("Runtime.evaluate", { expression: axe });
  const found = await page.evaluate(async () => (await globalThis.axe.run()).violations.map(
    ({ id, nodes }) => [id, ...nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)}: ${failureSummary}`)]));
  assert.deepEqual(found, [], what);
}

test("axe finds nothing", { skip }, async () => {
  api.engines.push({ id: "upstream", available: false, reason: "It has failed several times.", models: ["dall-e"] });
  api.models.push({ id: "cloudy", object: "model" });
  await check("an empty page");
  api.reply = (response) => stream(response, [showcase, formulas], {
    thoughts: ["Hm."], calls: [{ index: 0, id: "a", function: { name: "weather", arguments: "{}" } }], finish: "tool_calls" });
  await say("Show me");
  await isDone();
  await tool(1, "Regenerate");
  await isDone();
  await page.evaluate(() => {
    for (const block of document.querySelectorAll("details")) block.open = true;
    window.dispatchEvent(new Event("focus"));
    document.querySelector("#search").value = "show";
    document.querySelector("#search").dispatchEvent(new Event("input"));
  });
  await page.until(() => !document.querySelector("#engines").hidden);
  for (const value of ["light", "dark"]) {
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
    await check(`a conversation, ${value}`);
  }
  await tool(0, "Edit");
  await check("editing");
  await page.press("Escape");
  await page.resize(390, 844, true);
  await check("a phone");
  await page.resize(1200, 800);
  for (const [name, dialog] of [["Settings", "settings"], ["Models", "models"], ["API key", "key"], ["Export and import", "files"], ["Shortcuts", "help"]]) {
    await page.click(name);
    await page.until((id) => document.getElementById(id).open, dialog);
    await page.evaluate(() => document.querySelectorAll("dialog[open] details").forEach((each) => (each.open = true)));
    await check(name);
    await page.press("Escape");
  }
  for (const file of ["images", "autocomplete"]) {
    await page.send("Page.navigate", { url: `${api.url}/page/${file}.html` });
    await page.until((file) => location.href.includes(file) && document.querySelector("form"), file);
    await check(file);
  }
});
