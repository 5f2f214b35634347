// The settings of a conversation: what is in force, what each field does, and what is sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, isDone, page, saveDialog, say, usePage } from "./fixture.mjs";

const fill = (values) => page.evaluate((values) => {
  for (const [name, value] of Object.entries(values)) {
    const field = document.querySelector(`#settings [name="${name}"]`);
    field.value = value;
    field.dispatchEvent(new Event("input"));
  }
}, values);

test("fields show the values in force, and say what they do", async () => {
  api.properties = { default_generation_settings: { n_ctx: 4096, params: { temperature: 0.6000000238, repeat_penalty: 1.1, n_predict: -1 } } };
  await usePage(await browser.open(api.url));
  await page.has("#figures", "4,096");
  await page.click("Settings");
  const shown = await page.evaluate(() => Object.fromEntries(["temperature", "repetition_penalty", "min_p"].map((name) => {
    const field = document.querySelector(`#settings [name=${name}]`);
    return [name, [field.placeholder, field.value, document.getElementById(field.getAttribute("aria-describedby")).textContent.length > 10]];
  })));
  assert.deepEqual(shown, { temperature: ["0.6", "", true], repetition_penalty: ["1.1", "", true], min_p: ["0.05", "", true] });
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#settings details")].map(({ open }) => open)), [false, false, false]);
});

test("Save is in sight in a small window", async () => {
  for (const [width, height] of [[1280, 800], [390, 664]]) {
    await page.resize(width, height);
    await page.click("Settings");
    await page.evaluate(() => document.querySelectorAll("#settings details").forEach((each) => (each.open = true)));
    const isSeen = await page.evaluate(() => {
      const save = document.querySelector("#settings [value=save]");
      const { left, right, top, bottom } = save.getBoundingClientRect();
      return document.elementFromPoint((left + right) / 2, (top + bottom) / 2) === save;
    });
    assert.ok(isSeen, `${width}`);
    await page.photograph(`settings-${width}`);
    await page.press("Escape");
    await page.until(() => !document.querySelector("#settings").open);
  }
});

test("samplers, stop strings and a schema are sent, and seen again", async () => {
  await page.click("Settings");
  const schema = { type: "object", properties: { a: { type: "number" } } };
  await fill({ dry_multiplier: "0.8", stop: "END\n\n###", schema: "[1]" });
  await page.click("Save");
  assert.equal(await page.evaluate(() => document.querySelector("#settings").open), true, "a list is no schema");
  await fill({ schema: JSON.stringify(schema) });
  await saveDialog();
  await say("Hi");
  await isDone();
  const { dry_multiplier, stop, response_format } = api.asked[0];
  assert.deepEqual({ dry_multiplier, stop, response_format }, { dry_multiplier: 0.8, stop: ["END", "###"],
    response_format: { type: "json_schema", json_schema: { name: "answer", schema } } });
  await page.reload();
  await page.click("Settings");
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#settings details")].map(({ open }) => open)), [true, true, false]);
});

test("a wrong value in a closed fold is shown, not swallowed", async () => {
  await page.click("Settings");
  await fill({ top_n_sigma: "-5" });
  await page.click("Save");
  assert.equal(await page.evaluate(() => document.querySelector("#settings [name=top_n_sigma]").checkVisibility()), true);
});
