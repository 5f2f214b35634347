// Chromium without a window, driven over the DevTools protocol on a pipe.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
  #process;
  #profile = mkdtempSync(join(tmpdir(), "page-test-"));
  #answers = new Map();
  #pages = new Map();
  #count = 0;

  constructor(program) {
    const options = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
      "--no-first-run", "--disable-background-networking", "--host-resolver-rules=MAP *.test 127.0.0.1", `--user-data-dir=${this.#profile}`];
    if (process.getuid() === 0) options.push("--no-sandbox"); // Chromium's own does not work for root
    this.#process = spawn(program, [...options, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    let rest = "";
    this.#process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages) this.#receive(JSON.parse(message));
    });
    const ended = () => {
      for (const { reject } of this.#answers.values()) reject(new Error("Chromium ended"));
    };
    this.#process.on("exit", ended);
  }

  #receive({ id, result, error, method, params, sessionId }) {
    if (id === undefined) return this.#pages.get(sessionId)?.received(method, params);
    const { resolve, reject } = this.#answers.get(id);
    this.#answers.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = (this.#count += 1);
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }));
  }

  /** A context has a storage of its own; pages in the same one are tabs of the same browser. */
  async newContext() {
    return (await this.send("Target.createBrowserContext")).browserContextId;
  }

  async open(url, browserContextId) {
    const context = browserContextId ?? (await this.newContext());
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId: context });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId, context);
    this.#pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Log", "Network", "Accessibility"]) await page.send(`${domain}.enable`);
    await page.resize(1200, 800);
    await page.go(url);
    return page;
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    await new Promise((resolve) => (this.#process.exitCode === null ? this.#process.once("exit", resolve) : resolve()));
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const keyCodes = { Enter: 13, Escape: 27, Tab: 9, ArrowUp: 38, ArrowDown: 40, " ": 32 };
const modifierBits = { Alt: 1, Control: 2, Shift: 8 };

class Page {
  /** What the page complained about, or the browser about the page. */
  complaints = [];
  /** Addresses that it asked a server for. */
  requests = [];

  constructor(browser, sessionId, targetId, context) {
    Object.assign(this, { browser, sessionId, targetId, context });
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  received(method, params) {
    if (method === "Runtime.exceptionThrown") {
      this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.complaints.push(params.args.map((argument) => argument.value ?? argument.description).join(" "));
    } else if (method === "Log.entryAdded" && params.entry.source !== "network" && params.entry.level !== "verbose") {
      this.complaints.push(params.entry.text);
    } else if (method === "Network.requestWillBeSent" && !/^(blob|data):/.test(params.request.url)) {
      this.requests.push(params.request.url);
    }
  }

  async go(url) {
    await this.send("Page.navigate", { url });
    await this.isReady();
  }

  async reload() {
    await this.evaluate(() => (globalThis.isOld = true));
    await this.send("Page.reload");
    await this.until(() => !globalThis.isOld);
    await this.isReady();
  }

  isReady() {
    return this.until(() => document.querySelector("#model option") || document.querySelector("dialog[open], #notice:not([hidden])"));
  }

  resize(width, height, mobile = false) {
    return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
  }

  /** Runs a function in the page; it sees nothing of here but its arguments. */
  async evaluate(run, ...values) {
    const expression = `(${run})(${values.map((value) => JSON.stringify(value)).join(",")})`;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression, awaitPromise: true, returnByValue: true, userGesture: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until a function in the page returns something true, and returns that. */
  async until(run, ...values) {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const value = await this.evaluate(run, ...values).catch(() => null); // the page may just be loading
      if (value) return value;
      if (Date.now() > deadline) {
        const seen = [...this.complaints, await this.evaluate(() => document.body.innerText)].join("\n");
        throw new Error(`did not come true: ${run} ${JSON.stringify(values)}\n${seen}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  type(text) {
    return this.send("Input.insertText", { text });
  }

  /** `Enter`, `Shift Enter`, `Alt KeyN` */
  async press(keys) {
    const names = keys.split(" ");
    const code = names.pop() || " ";
    const modifiers = names.reduce((bits, name) => bits | modifierBits[name], 0);
    const key = code.startsWith("Key") ? code.slice(3).toLowerCase() : code;
    const windowsVirtualKeyCode = keyCodes[key] ?? key.toUpperCase().charCodeAt(0);
    const text = key === "Enter" ? "\r" : undefined;
    const event = { key, code, modifiers, windowsVirtualKeyCode, text };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
  }

  /** Clicks the first visible button, or other element, with this name. */
  async click(name) {
    await this.until((name) => {
      const all = [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button")];
      const found = all.find((each) => (each.ariaLabel ?? each.textContent) === name && each.checkVisibility());
      found?.click();
      return Boolean(found);
    }, name);
  }

  text(selector) {
    return this.evaluate((selector) => document.querySelector(selector)?.innerText ?? null, selector);
  }

  /** Waits until the element has the text. */
  has(selector, text) {
    return this.until((selector, text) => {
      return document.querySelector(selector)?.textContent.includes(text);
    }, selector, text);
  }

  async accessibilityNodes() {
    return (await this.send("Accessibility.getFullAXTree")).nodes.filter((node) => !node.ignored);
  }

  /** An image, if the environment names a folder for them. */
  async photograph(name) {
    if (!process.env.SCREENSHOTS) return;
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(join(process.env.SCREENSHOTS, `${name}.png`), Buffer.from(data, "base64"));
  }

  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.targetId });
  }
}
