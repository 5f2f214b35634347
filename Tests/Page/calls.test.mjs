// Thoughts and calls of tools, as blocks of their own.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, contents, isDone, page, saveDialog, say } from "./fixture.mjs";
import { stream } from "./server.mjs";

const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
const pieces = [
  { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } },
  { index: 0, function: { arguments: '{"city":' } }, { index: 0, function: { arguments: '"Paris"}' } },
  { index: 1, id: "call_2", type: "function", function: { name: "<b>time</b>", arguments: "{}" } },
];

async function setTools(text) {
  await page.click("Settings");
  await page.evaluate((text) => {
    const field = document.querySelector("#tools");
    field.value = text;
    field.dispatchEvent(new Event("input"));
  }, text);
}

test("a call is shown, its result is asked for, and the model goes on", async () => {
  await setTools(JSON.stringify(tools));
  await saveDialog();
  api.reply = (response) => stream(response, ["Let me look."], { calls: pieces, finish: "tool_calls" });
  await say("How is Paris?");
  await isDone();
  assert.deepEqual(api.asked[0].tools, tools);
  const blocks = () => page.evaluate(() => [...document.querySelectorAll(".call")].map((block) => [
    block.open, block.querySelector("summary").textContent, ...[...block.querySelectorAll("pre")].map((pre) => pre.textContent)]));
  const asked = [
    [false, "Calls weather · no result yet", '{\n  "city": "Paris"\n}'], [false, "Calls <b>time</b> · no result yet", "{}"],
  ];
  assert.deepEqual(await blocks(), asked);
  await page.reload();
  assert.deepEqual(await blocks(), asked);
  await page.evaluate(() => document.querySelector(".call summary").click());
  await page.photograph("calls");

  api.reply = (response) => stream(response, ["It rains."]);
  await page.evaluate(() => {
    document.querySelector('[aria-label="Result of weather"]').value = '{"sky":"rain"}';
    document.querySelector('[aria-label="Result of <b>time</b>"]').value = "noon";
  });
  await page.click("Send results");
  await isDone();
  assert.deepEqual(api.asked[1].messages, [
    { role: "user", content: "How is Paris?" },
    { role: "assistant", content: "Let me look.", tool_calls: [
      { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
      { id: "call_2", type: "function", function: { name: "<b>time</b>", arguments: "{}" } } ] },
    { role: "tool", tool_call_id: "call_1", content: '{"sky":"rain"}' },
    { role: "tool", tool_call_id: "call_2", content: "noon" },
  ]);
  assert.deepEqual(await contents(), ["How is Paris?", "Let me look.", "It rains."]);
  assert.deepEqual((await blocks()).map((block) => block.slice(1)), [
    ["Called weather", '{\n  "city": "Paris"\n}', '{\n  "sky": "rain"\n}'], ["Called <b>time</b>", "{}", "noon"]]);
  await page.reload();
  assert.deepEqual(await contents(), ["How is Paris?", "Let me look.", "It rains."]);
});

test("calls are seen while they come, and a call that nobody answers is not left open", async () => {
  let going;
  api.reply = (response) => stream((going = response), [], { calls: pieces.slice(0, 2), isOpen: true });
  await say("How is Paris?");
  await page.has(".live .call summary", "Calls weather");
  await page.has(".live .call pre", '{"city":');
  going.destroy();
  await page.has(".error", "connection was lost");
  api.reply = (response) => stream(response, ["Fine."]);
  await say("Never mind");
  await isDone();
  assert.deepEqual(api.asked[1].messages.slice(1, 3).map(({ role, content }) => [role, content]), [["assistant", ""], ["tool", "No result."]]);
});

test("tools that are none are not taken", async () => {
  for (const [text, problem] of [["[", "Expected JSON"], ['{"type": "function"}', "Expected a list"]]) {
    await setTools(text);
    await page.click("Save");
    assert.equal(await page.evaluate(() => document.querySelector("#settings").open), true);
    assert.match(await page.evaluate(() => document.querySelector("#tools").validationMessage), new RegExp(problem));
    await page.press("Escape");
    await page.until(() => !document.querySelector("#settings").open);
  }
});

test("what a model thinks is there to be opened, and stays", async () => {
  let going;
  api.reply = (response) => stream((going = response), [], { thoughts: ["Let me ", "<b>see</b>."], isOpen: true });
  await say("Think");
  await page.has(".live .thoughts summary", "Thinking…");
  await page.has(".live .thoughts p", "Let me <b>see</b>.");
  assert.equal(await page.evaluate(() => document.querySelector(".thoughts").open), false);
  going.destroy();
  await page.has(".error", "connection was lost");

  api.reply = (response) => stream(response, ["An answer."], { thoughts: ["Hm."] });
  await page.click("Try again");
  await isDone();
  assert.deepEqual(await contents(), ["Think", "An answer."]);
  await page.reload();
  await page.has(".thoughts summary", "Thoughts");
  await page.evaluate(() => document.querySelector(".thoughts summary").click());
  await page.photograph("thoughts");
  await page.has(".thoughts p", "Hm.");
  // Templates leave earlier thoughts out, and so does the page.
  await say("Again");
  await isDone();
  assert.deepEqual(api.asked.at(-1).messages[1], { role: "assistant", content: "An answer." });
});
