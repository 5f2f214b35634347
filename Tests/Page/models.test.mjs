// Models and engines: which one answers, and what is said of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, isDone, page, say, usePage } from "./fixture.mjs";
import { stream } from "./server.mjs";

const options = () => page.evaluate(() => [...document.querySelectorAll("#model option")].map((option) => option.textContent));
const picked = () => page.evaluate(() => document.querySelector("#model").value);
const local = (id, state, more) => ({ id, object: "model", owned_by: "local", state, capabilities: ["completion"], ...more });
const focusWindow = () => page.evaluate(() => window.dispatchEvent(new Event("focus")));

function pick(model) {
  return page.evaluate((model) => {
    const picker = document.querySelector("#model");
    picker.value = model;
    picker.dispatchEvent(new Event("change"));
  }, model);
}

test("the model is picked, and its state is seen", async () => {
  assert.deepEqual(await options(), ["tiny", "other (unloaded)"]);
  await pick("other");
  await say("Hi");
  await isDone();
  assert.equal(api.asked[0].model, "other");
  await page.click("New conversation");
  await page.reload();
  assert.equal(await picked(), "other");
});

test("the first visit picks a model that can answer", async () => {
  api.models = [
    local("broken", "failed", { reason: "The file ends early." }), local("vectors", "loaded", { capabilities: ["embedding"] }),
    local("sleeping", "unloaded"), local("awake", "loaded"),
  ];
  await usePage(await browser.open(api.url));
  await page.until(() => document.querySelector("#model").value === "awake");
  assert.deepEqual(await options(), ["broken (failed)", "vectors (answers no chats)", "sleeping (unloaded)", "awake"]);
  assert.equal(await page.evaluate(() => document.querySelector("#model option[value=vectors]").disabled), true);
  await say("Hi");
  await isDone();
  assert.equal(api.asked[0].model, "awake");
  // What was preferred may be gone.
  await page.click("New conversation");
  api.models = [local("new", "unloaded")];
  await focusWindow();
  await page.until(() => document.querySelector("#model").value === "new");
  await page.click("Hi");
  await page.until(() => document.querySelector("#model").selectedOptions[0].textContent === "awake (not served here)");
});

test("the list of models is current", async () => {
  api.models = [local("tiny", "loading", { progress: 0.456 }), local("added", "unloaded")];
  await focusWindow();
  await page.until(() => document.querySelector("#model").length === 2 && document.querySelector("#model").options[1].value === "added");
  assert.deepEqual(await options(), ["tiny (loading, 45 %)", "added (unloaded)"]);
  api.models = [local("tiny", "loaded"), local("added", "unloaded")];
  await say("Hi");
  await isDone();
  await page.until(() => document.querySelector("#model").options[0].textContent === "tiny");
});

test("an upstream can be chosen, and what keeps an engine from answering is said", async () => {
  api.models = [local("tiny", "loaded"), { id: "cloudy", object: "model", owned_by: "them" }];
  api.engines = [{ id: "local", available: true, models: ["tiny"] }, { id: "upstream", available: true, models: ["cloudy"] }];
  await usePage(await browser.open(api.url));
  assert.deepEqual(await options(), ["tiny"]);
  assert.match(await page.text("#welcome"), /may forward them to its upstream/);
  assert.equal(await page.evaluate(() => document.querySelector("#engines").checkVisibility()), true);
  await page.evaluate(() => document.querySelector("#engines [value=upstream]").click());
  await page.until(() => document.querySelector("#model").value === "cloudy");
  assert.deepEqual(await options(), ["cloudy"]);
  await page.photograph("engines");
  await say("Hi");
  await isDone();
  assert.deepEqual(api.asked[0], { model: "cloudy", messages: [{ role: "user", content: "Hi" }], stream: true,
    stream_options: { include_usage: true } }, "no fields that only this server knows");
  assert.equal(await page.evaluate(() => [...document.querySelectorAll("#messages button")].some((each) => each.textContent === "Continue")), false);
  api.engines[1] = { id: "upstream", available: false, reason: "It has failed several times.", models: ["cloudy"] };
  await focusWindow();
  await page.has("#availability", "It has failed several times.");
  assert.equal(await page.evaluate(() => document.querySelector("#availability").checkVisibility()), true);
  await page.photograph("unavailable");
  await page.resize(390, 844, true);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
  await page.photograph("unavailable-phone");
  await page.evaluate(() => document.querySelector("#engines [value=local]").click());
  await page.until(() => document.querySelector("#availability").hidden);
  assert.equal(await picked(), "tiny");
});

test("speeds of prompt and answer, progress, and times", async () => {
  const timings = { cache_n: 768, prompt_n: 44, prompt_ms: 100, predicted_n: 3 };
  api.reply = (response) => stream(response, ["a", "b", "c"],
    { pause: 300, progress: [{ total: 812, cache: 768, processed: 790, time_ms: 50 }], promptTokens: 812, last: { timings } });
  await say("Hi");
  await page.has(".live", "Reading the prompt: 97 %");
  await isDone();
  const figures = await page.text("#messages .assistant .tools > .note:last-child");
  assert.match(figures, /^prompt 812 tokens \(768 cached\), 440\.0 tokens\/s · 3 tokens, [\d.]+ tokens\/s · \d\d:\d\d/);
  const ages = await page.evaluate(() => [...document.querySelectorAll("#messages time")].map((each) => Date.now() - Date.parse(each.dateTime)));
  assert.equal(ages.length, 2);
  for (const age of ages) assert.ok(age >= 0 && age < 60_000, `${age}`);
});
