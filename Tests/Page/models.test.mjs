// Models and engines: which one answers, and what is said of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, isDone, page, say, tool, usePage } from "./fixture.mjs";
import { error, json, stream } from "./server.mjs";

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
  api.engines = [{ id: "local", available: false, reason: "The model is loading.", models: ["tiny", "added"] }];
  await focusWindow();
  await page.until(() => document.querySelector("#model").length === 2 && document.querySelector("#model").options[1].value === "added");
  assert.deepEqual(await options(), ["tiny (loading, 45 %)", "added (unloaded)"]);
  // Its progress is shown, so there is no warning besides.
  assert.equal(await page.evaluate(() => document.querySelector("#availability").checkVisibility()), false);
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
  const figures = await page.text("#messages .assistant .figures");
  assert.match(figures, /^prompt 812 tokens \(768 cached\), 440\.0 tokens\/s · 3 tokens, [\d.]+ tokens\/s · \d\d:\d\d/);
  const ages = await page.evaluate(() => [...document.querySelectorAll("#messages time")].map((each) => Date.now() - Date.parse(each.dateTime)));
  assert.equal(ages.length, 2);
  for (const age of ages) assert.ok(age >= 0 && age < 60_000, `${age}`);
});

test("a model that loads is seen to: above, in the list and in the answer's place", async () => {
  await pick("other");
  await page.has("#model-state", "other is not in memory. Your next message loads it.");
  let answer;
  api.reply = async (response) => {
    await new Promise((resolve) => (answer = resolve));
    await stream(response, ["Here"], { isOpen: true });
  };
  await say("Hi");
  await page.has(".live", "Waiting for the server");
  api.models = [local("tiny", "loaded"), local("other", "loading", { progress: 0.3 })];
  await page.has(".live .note", "Loading other: 30 %");
  assert.equal(await page.evaluate(() => document.querySelector(".live progress").value), 0.3);
  await page.has("#model-state", "Loading other: 30 %");
  assert.deepEqual(await options(), ["tiny", "other (loading, 30 %)"]);
  await page.photograph("loading");
  // An answer that is shown again is still waiting.
  await page.click("New conversation");
  await page.click("Hi");
  await page.has(".live .note", "Loading other: 30 %");
  api.models = [local("tiny", "loaded"), local("other", "loaded")];
  await page.until(() => document.querySelector("#model-state").hidden);
  answer();
  await page.has(".live .body", "Here");
  assert.equal(await page.evaluate(() => document.querySelector(".live progress").checkVisibility()), false);
  await page.press("Escape");
  await isDone();
});

test("what became of a model is said: unloaded, failed, gone", async () => {
  api.models = [local("tiny", "unloaded")];
  await focusWindow();
  await page.has("#model-state", "tiny is not in memory");
  const asked = [];
  let loaded;
  api.load = (body, response) => {
    asked.push(body);
    loaded = response;
    api.models = [local("tiny", "loading", { progress: 0.5 })];
  };
  await page.click("Load now");
  await page.has("#model-state", "Loading tiny: 50 %");
  assert.deepEqual(asked, [{ model: "tiny" }]);
  api.models = [local("tiny", "failed", { reason: "The file ends early." })];
  json(loaded, 400, error("The file ends early.", "bad_model"));
  await page.has("#model-state.alarm", "tiny cannot be loaded: The file ends early.");
  await page.photograph("failed");
  api.load = (body, response) => {
    api.models = [local("tiny", "loaded")];
    json(response, 200, { success: true });
  };
  await page.click("Try again");
  await page.until(() => document.querySelector("#model-state").hidden);
  await say("Hi");
  await isDone();
  api.models = [local("new", "loaded")];
  await focusWindow();
  await page.has("#model-state.alarm", "tiny is not served here any more");
});

test("who may not manage the server is offered no loading", async () => {
  api.properties = null;
  api.models = [local("tiny", "unloaded")];
  await usePage(await browser.open(api.url));
  await page.has("#model-state", "tiny is not in memory");
  assert.equal(await page.evaluate(() => document.querySelector("#model-state button")), null);
});

test("figures of an answer that was stopped, and of one that was made again, are its own", async () => {
  const timings = (count) => ({ timings: { cache_n: 50, prompt_n: 4, prompt_ms: 100, predicted_n: 3 * count, predicted_ms: 1000 } });
  api.reply = (response) => stream(response, ["a ", "b "], { isOpen: true, each: timings });
  await say("Hi");
  await page.has(".live .body", "a b");
  await page.press("Escape");
  await isDone();
  // The server counted three tokens for each piece. So few computed tokens of a prompt are no measure of speed.
  assert.match(await page.text("#messages .assistant .figures"), /^prompt 54 tokens \(50 cached\) · 6 tokens, 5\.0 tokens\/s · /);
  assert.equal(await page.text("#figures"), "60 of 4,096 tokens of context used");
  api.reply = (response) => stream(response, ["again"], { each: () => ({ timings: { ...timings(1).timings, cache_n: 53, prompt_n: 1, predicted_n: 1 } }), promptTokens: 54 });
  await tool(1, "Regenerate");
  await isDone();
  assert.match(await page.text("#messages .assistant .figures"), /^prompt 54 tokens \(53 cached\) · 1 token · /);
  assert.equal(await page.text("#figures"), "55 of 4,096 tokens of context used");
});

test("an upstream's answer that was stopped is not taken for the one before", async () => {
  await say("Hi");
  await isDone();
  api.reply = (response) => stream(response, ["a ", "b ", "c "], { isOpen: true });
  await say("More");
  await page.has(".live .body", "a b c");
  await page.press("Escape");
  await isDone();
  assert.match(await page.evaluate(() => [...document.querySelectorAll("#messages .figures")].at(-1).textContent), /^3 tokens/);
  assert.equal(await page.text("#figures"), "at least 13 of 4,096 tokens of context used");
});

test("a notice about a model goes with it", async () => {
  api.models = [local("tiny", "loaded"), local("other", "loaded")];
  await usePage(await browser.open(api.url));
  await page.until(() => document.querySelector("#figures").textContent);
  const paste = () => page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["x"], "dot.png", { type: "image/png" }));
    document.querySelector("#input").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  const isShown = () => page.evaluate(() => !document.querySelector("#notice").hidden);
  await paste();
  await page.has("#notice", "tiny accepts no images.");
  await pick("other");
  assert.equal(await isShown(), false);
  await paste();
  await page.has("#notice", "other accepts no images.");
  await page.click("New conversation");
  assert.equal(await isShown(), false);
});
