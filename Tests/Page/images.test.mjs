// The page that makes images, and the one with the autocomplete field.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { api, page, until } from "./fixture.mjs";
import { error, json } from "./server.mjs";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const upstream = { id: "upstream", available: true, models: ["gpt-chat", "dall-e-3"] };

async function openImages() {
  api.engines = [...api.engines, upstream];
  await page.send("Page.navigate", { url: `${api.url}/page/images.html` });
  await page.until(() => document.querySelector("#image-models option"));
}

async function draw(prompt) {
  await page.until(() => document.querySelector("#create").checkVisibility()); // not while the one before is being kept
  await page.evaluate((prompt) => {
    document.querySelector("#prompt").value = prompt;
    document.querySelector("#create").click();
  }, prompt);
}

const isShown = () => page.until(() => {
  const image = document.querySelector("#image");
  return image.checkVisibility() && image.complete && image.naturalWidth === 1;
});

test("an image is made, kept, shown again, and deleted", async () => {
  const asked = [];
  let finish;
  api.draw = (body, response) => {
    asked.push(body);
    finish = () => json(response, 200, { created: 1, data: [{ b64_json: png }] });
  };
  await openImages();
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#image-models option")].map(({ value }) => value)), ["dall-e-3"]);
  await draw("A cat");
  await page.until(() => document.querySelector("#progress").checkVisibility() && document.querySelector("#elapsed").textContent === "1 s");
  await page.photograph("image-progress");
  finish();
  await isShown();
  await page.until(() => document.querySelector("#create").checkVisibility()); // it is kept
  assert.deepEqual(asked, [{ prompt: "A cat", n: 1, response_format: "b64_json" }]);
  assert.deepEqual(await page.evaluate(() => [document.querySelector("#image").alt, document.querySelector("#save").download,
    document.querySelector("#save").href.startsWith("blob:"), document.querySelector("#progress").hidden]), ["A cat", "image.png", true, true]);
  await page.until(() => document.querySelectorAll("#gallery li").length === 1);
  await page.photograph("image");

  await page.send("Page.reload");
  await page.until(() => document.querySelector("#gallery img")?.naturalWidth === 1);
  await draw("A cat");
  await isShown();
  await page.has("#caption", "Saved from an earlier request.");
  assert.equal(asked.length, 1, "the same request is not sent again");
  await page.click("Create again");
  await until(() => asked.length >= 2);
  finish();
  await isShown();
  await page.click("Delete");
  await page.until(() => !document.querySelector("#gallery li") && document.querySelector("#result").hidden);
});

test("an image that cannot be had is said", async () => {
  await openImages();
  api.draw = (_, response) => json(response, 400, error("Your request was rejected.", "content_policy_violation"));
  await draw("Something bad");
  await page.has("#failure", "Your request was rejected.");
  assert.equal(await page.evaluate(() => document.querySelector("#result").hidden), true);

  // A model that always sends images, and refuses to be asked for that.
  api.draw = (body, response) => (body.response_format
    ? json(response, 400, error("Unknown parameter: 'response_format'.", "unknown_parameter"))
    : json(response, 200, { data: [{ b64_json: png }] }));
  await draw("Something else");
  await isShown();

  api.draw = (_, response) => json(response, 200, { data: [{ url: `${api.url}/page/nothing.png` }] });
  await draw("Somewhere else");
  await page.has("#failure", "Failed to load image");
  assert.equal(await page.evaluate(() => document.querySelector("#image").checkVisibility()), false);
  await page.photograph("image-failed");

  api.draw = (_, response) => json(response, 200, { data: [{ url: "javascript:1" }] });
  await draw("Nowhere");
  await page.has("#failure", "The answer has no image.");

  const asked = new Promise((resolve) => (api.draw = (_, response) => resolve(response)));
  await draw("For ever");
  const cut = once(await asked, "close");
  await page.click("Stop");
  await page.until(() => document.querySelector("#create").checkVisibility());
  await cut;
});

test("a server without an upstream says that it makes no images", async () => {
  await page.send("Page.navigate", { url: `${api.url}/page/images.html` });
  await page.has("#unavailable", "Images need an upstream");
  assert.equal(await page.evaluate(() => document.querySelector("#create").disabled), true);
});

test("suggestions wait for a pause, and a new key cancels the request before", async () => {
  const asked = [];
  let cancelled = 0;
  api.suggest = (text, response) => {
    asked.push(text);
    response.on("close", () => (cancelled += response.writableFinished ? 0 : 1));
    if (text !== "The c") json(response, 200, { suggestions: [{ text: "at sat." }, { text: "ar <b>drove</b>." }] });
  };
  await page.send("Page.navigate", { url: `${api.url}/page/autocomplete.html` });
  await page.until(() => document.activeElement?.id === "text");
  for (const key of "The c") await page.type(key);
  await page.has("#state", "Thinking…");
  await until(() => asked.length > 0); // "Thinking…" is shown before the request arrives
  assert.deepEqual(asked, ["The c"], "one request for five keys");
  await page.type("!");
  await page.has("#state", "2 suggestions");
  await until(() => cancelled > 0);
  assert.deepEqual([asked, cancelled], [["The c", "The c!"], 1]);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("#suggestions li")].map(({ textContent }) => textContent)),
    ["at sat.", "ar <b>drove</b>."]);
  await page.photograph("autocomplete");
  await page.press("ArrowDown");
  await page.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).ariaSelected), "true");
  await page.press("Enter");
  assert.equal(await page.evaluate(() => document.querySelector("#text").value), "The c!ar <b>drove</b>.");
  await page.has("#state", "2 suggestions"); // for the text as it is now
  await page.press("Escape");
  assert.deepEqual(await page.evaluate(() => [document.querySelector("#suggestions").hidden, document.querySelector("#text").ariaExpanded]), [true, "false"]);
});
