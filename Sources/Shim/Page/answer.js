// One answer, from the request to its last token.

import { streamChat } from "./api.js";

const patience = 10 * 60 * 1000; // for a model to load or a crowd to pass, in milliseconds
const saveInterval = 2000;

export class Answer {
  /** Grows as the answer does. Were the page closed now, it would be interrupted: so it is stored. */
  message;
  /** Shows the message, while its conversation is shown. */
  live = null;
  /** Tokens so far: pieces of text, until the usage at the end says it. */
  count = 0;
  /** `57 tokens, 41.2 tokens/s`, so far. */
  speed = "";

  #body;
  #abort = new AbortController();

  constructor({ messages, model, settings }) {
    const { system, ...sampling } = settings;
    const said = messages.filter(({ content }) => content !== "").map(({ role, content }) => ({ role, content }));
    this.#body = { ...sampling, model, messages: system ? [{ role: "system", content: system }, ...said] : said };
    this.message = { role: "assistant", content: "", thoughts: "", model, finish: "interrupted" };
  }

  stop() {
    this.#abort.abort();
  }

  /** Its conversation is shown no more, or in another way. */
  leave() {
    this.live?.end();
    this.live = null;
  }

  /** Runs to the end, whatever that is; the message says it. */
  async run({ changed, keep, needsKey }) {
    try {
      await this.#runPatiently(changed, keep, needsKey);
    } catch (error) {
      // Leaving the page breaks the connection too. Then nothing comes after this, and the answer stays interrupted.
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (this.#abort.signal.aborted) this.message.finish = "stopped";
      else {
        this.message.finish = null;
        this.message.error = explain(error);
      }
    }
  }

  /** Asks again while the server only wants to be asked later, or for a key. */
  async #runPatiently(changed, keep, needsKey) {
    const deadline = Date.now() + patience;
    for (;;) {
      try {
        return await this.#stream(changed, keep);
      } catch (error) {
        if (this.count || this.#abort.signal.aborted) throw error;
        if (error.status === 401 && (await needsKey(error.message))) continue;
        const isPassing = (error.status === 503 || error.status === 429) && error.retryAfter !== null;
        if (!isPassing || Date.now() > deadline) throw error;
        this.live?.note(`${error.message} Asking again every ${error.retryAfter} s.`);
        await pause(error.retryAfter * 1000, this.#abort.signal);
      }
    }
  }

  async #stream(changed, keep) {
    const { message } = this;
    let [first, shown, saved] = [0, 0, Date.now()];
    for await (const { choices, usage } of streamChat(this.#body, this.#abort.signal)) {
      const now = performance.now();
      if (usage) Object.assign(message, { usage, seconds: first && (now - first) / 1000 });
      const { content: text, reasoning_content: thought } = choices[0]?.delta ?? {};
      if (text || thought) {
        first ||= now;
        this.count += 1;
        message.content += text ?? "";
        message.thoughts += thought ?? "";
        this.live?.note("");
        this.live?.changed();
      }
      if (choices[0]?.finish_reason) message.finish = choices[0].finish_reason;
      if (this.count > 1 && now - shown > 250) {
        shown = now;
        this.speed = `${this.count} tokens, ${(((this.count - 1) * 1000) / (now - first)).toFixed(1)} tokens/s`;
        changed();
      }
      if (Date.now() - saved > saveInterval) {
        saved = Date.now();
        keep();
      }
    }
  }
}

function pause(milliseconds, signal) {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

/** An error with what the user can do about it. */
function explain(error) {
  const advice = {
    context_length_exceeded: "Delete earlier messages, or begin a new conversation.",
    model_not_found: "Choose another model above.",
  };
  return [error.message, advice[error.code]].filter(Boolean).join(" ");
}
