// The pictures of the page in README.md and docs/page.md: real answers of a real model.
//
//   SHIM=.build/release/shim CHROMIUM=chromium node Tests/Page/pictures.mjs MODEL.gguf docs/pictures

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser } from "./browser.mjs";
import { startShim } from "./server.mjs";

const [model, folder] = process.argv.slice(2);
const shim = await startShim(process.env.SHIM, model);
const browser = new Browser(process.env.CHROMIUM);
mkdirSync(folder, { recursive: true });

async function photograph(page, name) {
  await new Promise((resolve) => setTimeout(resolve, 500)); // transitions end
  const { data } = await page.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, "base64"));
}

const color = (page, value) => page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });

async function ask(page, text) {
  await page.evaluate(() => document.querySelector("#input").focus());
  await page.type(text);
  await page.press("Enter");
  await page.until(() => !document.querySelector(".live") && document.querySelector("#stop").hidden);
}

try {
  const page = await browser.open(shim.url);
  await page.resize(1120, 800);
  await page.until(() => !document.querySelector("progress")?.checkVisibility());
  await photograph(page, "first-visit");
  // Temperature 0, so that the pictures are the same each time.
  await page.evaluate(() => {
    localStorage["localllm.settings"] = JSON.stringify({ ...JSON.parse(localStorage["localllm.settings"] ?? "{}"), temperature: 0 });
  });
  await page.reload();
  await ask(page, "Write a Python function that checks whether a word is a palindrome. Answer with the code and one sentence.");
  await page.evaluate(() => document.querySelector("#messages > li").scrollIntoView());
  await photograph(page, "conversation");
  await color(page, "dark");
  await photograph(page, "conversation-dark");
  await color(page, "light");
  await page.resize(390, 780, true);
  await photograph(page, "phone");
  await page.resize(1120, 800);
  await page.click("Settings");
  await photograph(page, "settings");
} finally {
  await browser.close();
  await shim.stop();
}
