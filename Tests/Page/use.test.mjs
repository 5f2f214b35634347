// How the page looks and is used: themes, phone, keyboard, screen reader; and the shim itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, browser, contents, isDone, page, say, shim } from "./fixture.mjs";
import { stream } from "./server.mjs";
import { showcase } from "./texts.mjs";

test("light, dark and the system's choice", async () => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  api.reply = (response) => stream(response, [showcase]);
  await say("Show me what you can write");
  await isDone();
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
  const light = await ground();
  await page.photograph("light");
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  const dark = await ground();
  assert.notEqual(light, dark);
  await page.photograph("dark");
  await page.click("Theme: system");
  assert.equal(await ground(), light);
  await page.reload();
  assert.equal(await ground(), light);
  await page.click("Theme: light");
  await page.send("Emulation.setEmulatedMedia", { features: [] });
  assert.equal(await ground(), dark);
});

test("a phone", async () => {
  api.reply = (response) => stream(response, [showcase]);
  await say("Show me what you can write");
  await isDone();
  await page.resize(390, 844, true);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
  const isHidden = () => page.until(() => !document.querySelector("#new").checkVisibility({ visibilityProperty: true }));
  await isHidden();
  await page.photograph("phone");
  await page.click("Show the conversations");
  await page.until(() => document.querySelector("#sidebar").getBoundingClientRect().left === 0);
  await page.photograph("phone-list");
  await page.press("Escape");
  await isHidden();
  assert.equal(await page.evaluate(() => document.activeElement.id), "open-sidebar");
});

test("by keyboard alone", async () => {
  await page.type("One");
  await page.press("Shift Enter");
  await page.type("line two");
  await page.press("Enter");
  await isDone();
  assert.equal(api.asked[0].messages[0].content, "One\nline two");
  await page.press("ArrowUp");
  await page.until(() => document.activeElement.ariaLabel === "Edit the message");
  await page.type("!");
  await page.press("Enter");
  await isDone();
  assert.equal(api.asked[1].messages[0].content, "One\nline two!");
  await page.press("Alt KeyR");
  await isDone();
  assert.equal(api.asked.length, 3);
  await page.press("Alt KeyS");
  await page.until(() => document.activeElement.id === "system");
  await page.press("Escape");
  await page.until(() => document.activeElement.id === "input");
  await page.press("Alt KeyN");
  assert.deepEqual(await contents(), []);
  await page.press("Alt KeyL");
  await page.press("Tab"); // rename
  await page.press("Tab"); // delete
  await page.press("Tab"); // the one before
  await page.press("Enter");
  assert.equal((await contents()).length, 2);
  await page.press("Alt Slash");
  await page.has("#help[open]", "Stop the answer");
  await page.photograph("shortcuts");
  await page.press("Escape");
});

test("everything that can be used has a name, and the page its landmarks", async () => {
  api.reply = (response) => stream(response, [showcase]);
  await say("Show me");
  await isDone();
  const check = async () => {
    const nodes = await page.accessibilityNodes();
    const usable = ["button", "textbox", "combobox", "spinbutton", "link", "dialog", "region", "navigation", "complementary"];
    const unnamed = nodes.filter(({ role, name }) => usable.includes(role?.value) && !name?.value);
    assert.deepEqual(unnamed.map(({ role, backendDOMNodeId }) => `${role.value} ${backendDOMNodeId}`), []);
    return nodes.map(({ role, name }) => `${role?.value} ${name?.value ?? ""}`.trim());
  };
  const names = await check();
  for (const expected of ["main", "complementary Conversations", "navigation Conversations", "form Write a message", "list Messages", "textbox Message",
    "button Send", "combobox Model", "heading You", "heading tiny", "region Code, swift", "button Copy code"]) {
    assert.ok(names.includes(expected), expected);
  }
  await page.click("Settings");
  assert.ok((await check()).includes("dialog Settings of this conversation"));
});

test("no two elements have the same id", async () => {
  const twice = await page.evaluate(() => [...document.querySelectorAll("[id]")].map(({ id }) => id).filter((id, index, all) => all.indexOf(id) !== index));
  assert.deepEqual(twice, []);
});

test("the shim itself, and its model", async () => {
  const real = await browser.open(shim.url);
  await real.until(() => document.querySelector("#model option"));
  await real.evaluate(() => document.querySelector("#input").focus());
  await real.type("What is the capital of France?");
  await real.press("Enter");
  await real.until(() => document.querySelector("#messages .assistant .tools"));
  assert.match(await real.text("#messages .assistant .body"), /\w/);
  await real.until(() => /of [\d,]+ tokens of context used/.test(document.querySelector("#figures").textContent));
  await real.photograph("shim");
  assert.deepEqual(real.complaints, []);
  await real.close();
});

test("only the conversation scrolls, not the document behind it", async () => {
  for (let turn = 0; turn < 12; turn += 1) {
    await say(`Question ${turn}`);
    await isDone();
  }
  for (const [width, height, mobile] of [[1280, 800, false], [768, 1024, false], [390, 844, true]]) {
    await page.resize(width, height, mobile);
    assert.deepEqual(await page.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return [scrollWidth > innerWidth, scrollHeight > innerHeight];
    }), [false, false], `${width}`);
  }
});
