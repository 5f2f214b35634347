// The first visit: what an empty conversation shows, and the titles that conversations get.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, isDone, page, say, titles, until, usePage } from "./fixture.mjs";
import { json, stream } from "./server.mjs";

const card = (count) => ({ id: "tiny", object: "model", owned_by: "local", state: "loaded", capabilities: ["completion"],
  meta: { n_params: count, size: 491_400_064, n_ctx_train: 32_768 } });

async function visit(count = 630_167_424, id = "tiny") {
  api.models = [{ ...card(count), id }];
  await usePage(await browser.open(api.url));
  await page.until(() => document.querySelector("#figures").textContent);
}

test("an empty conversation shows the model, the machine, and prompts to try", async () => {
  api.properties = { default_generation_settings: { n_ctx: 4096 }, quantization: "Q4_K_M", threads: 8, kernels: "AVX2", memory_available: 5_120_000_000 };
  api.show = (body, response) => json(response, 200, { capabilities: ["completion", "tools", "thinking"] });
  await visit();
  await page.has("#about-model", "Besides chatting, it calls tools and thinks before it answers.");
  await page.has("#about-model", "630 million parameters · Q4_K_M · 491 MB · context of 4,096 tokens");
  await page.has("#about-model", "In memory · 8 threads, AVX2 · 5.1 GB of memory free");
  const prompts = await page.evaluate(() => [...document.querySelectorAll(".prompts button")].map((each) => each.textContent));
  assert.equal(prompts.length, 3);
  await page.photograph("welcome");
  await page.click(prompts[1]);
  await isDone();
  assert.equal(api.asked[0].messages[0].content, prompts[1]);
  assert.equal(await page.evaluate(() => document.querySelector("#about-model").checkVisibility()), false);
});

test("prompts suit the model", async () => {
  const first = () => page.evaluate(() => document.querySelector(".prompts button").textContent);
  await visit(4_000_000);
  const small = await first();
  await visit(630_000_000, "Some-Coder");
  const code = await first();
  await visit();
  assert.equal(new Set([small, code, await first()]).size, 3);
  assert.match(code, /Python/);
});

test("what cannot work here is not offered", async () => {
  const isOffered = () => page.evaluate(() => document.querySelector("#images-link").checkVisibility());
  assert.equal(await isOffered(), false, "no upstream, no images");
  api.engines.push({ id: "upstream", available: true, models: [] });
  await page.reload();
  await page.until(() => document.querySelector("#images-link").checkVisibility());
});

test("a long question is cut between words, with an ellipsis", async () => {
  await say("Why do leaves turn red and yellow in autumn? Please explain it to a child.");
  await isDone();
  assert.deepEqual(await titles(), ["Why do leaves turn red and yellow in autumn? Please…"]);
});

test("the model writes a title when nobody waits, once", async () => {
  await visit();
  const answers = [];
  api.reply = (response, body) => {
    if (body.stream) return stream(response, ["Because."]);
    answers.push(body);
    json(response, 200, { choices: [{ message: { role: "assistant", content: '**"Leaves in Autumn."**\nA title' } }] });
  };
  await say("Why are leaves red?");
  await isDone();
  assert.deepEqual(await titles(), ["Why are leaves red?"]);
  await page.has("#conversations", "Leaves in Autumn");
  assert.deepEqual(await titles(), ["Leaves in Autumn"]);
  assert.equal(await page.text("#title"), "Leaves in Autumn");
  assert.deepEqual(answers[0].messages.map(({ content }) => content).slice(0, 2), ["Why are leaves red?", "Because."]);
  await page.reload();
  await say("And yellow?");
  await isDone();
  await new Promise((resolve) => setTimeout(resolve, 4000));
  assert.equal(answers.length, 1);
  assert.deepEqual(await titles(), ["Leaves in Autumn"]);
});

test("a title gives way to the next question, and is not asked of a small model", async () => {
  await visit();
  let isAsked = false;
  api.reply = (response, body) => {
    if (body.stream) return stream(response, ["Because."]);
    isAsked = true; // and never answers
  };
  await say("Why are leaves red?");
  await isDone();
  await until(() => isAsked);
  const abandoned = api.abandoned;
  await say("And yellow?");
  await isDone();
  assert.equal(api.abandoned, abandoned + 1, "the request for a title was given up");
  assert.deepEqual(await titles(), ["Why are leaves red?"]);
  isAsked = false;
  await visit(134_000_000);
  await say("Hi");
  await isDone();
  await new Promise((resolve) => setTimeout(resolve, 4000));
  assert.equal(isAsked, false);
});

test("what models write becomes a title of one line", async () => {
  const found = await page.evaluate(async () => {
    const { cleaned } = await import("/page/titles.js");
    return ['Title: "Red Leaves"', "# Red Leaves", "**Red Leaves.**\nmore", "  ", "---", `Red ${"leaves ".repeat(20)}`].map(cleaned);
  });
  assert.deepEqual(found, ["Red Leaves", "Red Leaves", "Red Leaves", "", "", "Red leaves leaves leaves leaves leaves leaves leaves…"]);
});

test("on a phone everything that is touched is 44 pixels high and wide", async () => {
  await say("Hi");
  await isDone();
  await page.resize(390, 844, true);
  const small = () => page.evaluate(() => [...document.querySelectorAll("button, a, select, summary, input:not([type=checkbox], [type=radio]), textarea")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true })).map((each) => [each.id || each.className || each.textContent, each.getBoundingClientRect()])
    .filter(([, { width, height }]) => Math.round(width) < 44 || Math.round(height) < 44).map(([name, { width, height }]) => `${name}: ${width} × ${height}`));
  assert.deepEqual(await small(), []);
  await page.click("Show the conversations");
  assert.deepEqual(await small(), []);
  await page.press("Escape");
  await page.click("Settings");
  assert.deepEqual(await small(), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
});
