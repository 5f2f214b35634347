// One answer, from the request to its last token.

import { streamChat } from "./api.js";
import { attachedTo, withAttachments } from "./attachments.js";
import { percent } from "./dom.js";
import { speedText } from "./figures.js";
import { isLocal, loadingOf } from "./models.js";
import { requestFields } from "./settings.js";
import { toolsForRequest } from "./tools.js";

const patience = 10 * 60 * 1000; // milliseconds to retry while a model loads or the server is busy
const saveInterval = 2000;

/** An empty message for an answer, marked interrupted in case the page is closed. */
export const emptyAnswer = (model) =>
  ({ role: "assistant", content: "", thoughts: "", time: Date.now(), model, finish: "interrupted" });

export class Answer {
  /** The message that receives the answer. */
  message;
  /** The `LiveAnswer`, while the conversation is shown. */
  live = null;
  /** Deltas so far, about one per token. */
  count = 0;
  /** `57 tokens, 41.2 tokens/s`, so far. */
  speed = "";
  /** Whether the server has yet to begin the answer; it may be loading the model. */
  isWaiting = true;
  /** Whether the server says with each piece how much it has computed. */
  #isMeasured = false;
  /** Why the last attempt failed; empty if none did. */
  #retry = "";

  #body;
  #before;
  #abort = new AbortController();

  /**
   * @param messages the messages before the answer
   * @param message receives the answer; existing text is continued
   */
  constructor({ model, settings }, messages, message) {
    const { system } = settings;
    const isContinued = message.content !== "";
    const all = [...messages, ...(isContinued ? [message] : [])].flatMap(forRequest);
    this.#body = { ...requestFields(settings), model, messages: system ? [{ role: "system", content: system }, ...all] : all };
    const tools = toolsForRequest(settings);
    if (tools) this.#body.tools = tools;
    if (isContinued) this.#body.continue_final_message = true;
    // Other servers may reject unknown fields.
    if (isLocal(model)) Object.assign(this.#body, { timings_per_token: true, return_progress: true });
    this.#before = { tokens: message.usage?.completion_tokens ?? 0, seconds: message.seconds ?? 0 };
    Object.assign(message, { finish: "interrupted", error: undefined });
    this.message = message;
  }

  stop() {
    this.#abort.abort();
  }

  /** Begins the display. */
  show(live) {
    this.live = live;
    this.showWait();
    if (!this.isWaiting && !this.count) live.note("Reading the prompt…");
  }

  /** Shows what the answer waits for. */
  showWait() {
    if (!this.isWaiting) return;
    const loading = loadingOf(this.#body.model);
    if (loading) this.live?.note(loading.text, loading);
    else this.live?.note(this.#retry || "Waiting for the server…");
  }

  /** Ends the display; the answer continues. */
  leave() {
    this.live?.end();
    this.live = null;
  }

  /** Runs the request to its end; the message gets the result or the error. */
  async run({ changed, keep, needsKey }) {
    try {
      this.#body.messages = await withAttachments(this.#body.messages);
      await this.#runPatiently(changed, keep, needsKey);
    } catch (error) {
      // Leaving the page also breaks the connection; the answer then stays marked interrupted.
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (this.#abort.signal.aborted) this.message.finish = "stopped";
      else {
        this.message.finish = null;
        this.message.error = explain(error);
      }
    }
  }

  /** Retries while the server asks for a later retry or for a key. */
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
        this.#retry = `${error.message} Retrying every ${error.retryAfter} s.`;
        this.showWait();
        await pause(error.retryAfter * 1000, this.#abort.signal);
      }
    }
  }

  async #stream(changed, keep) {
    const { message } = this;
    const started = performance.now();
    let [first, shown, saved] = [0, 0, Date.now()];
    for await (const chunk of streamChat(this.#body, this.#abort.signal)) {
      const now = performance.now();
      if (this.isWaiting) this.live?.note("Reading the prompt…");
      this.isWaiting = false;
      const progress = chunk.prompt_progress;
      if (progress && !this.count) this.#showReading(progress);
      if (chunk.usage) this.#finish(chunk.usage, (first || now) - started);
      if (chunk.timings) this.#measure(chunk.timings);
      const choice = chunk.choices?.[0];
      if (choice?.delta && this.#append(choice.delta)) {
        first ||= now;
        this.count += 1;
        if (!this.#isMeasured) this.#measureAlone((now - first) / 1000);
        this.live?.note("");
        this.live?.changed();
      }
      if (choice?.finish_reason) message.finish = choice.finish_reason;
      if (this.count > 1 && now - shown > 250) {
        shown = now;
        this.speed = speedText(message);
        changed();
      }
      if (Date.now() - saved > saveInterval) {
        saved = Date.now();
        keep();
      }
    }
  }

  #showReading({ processed, total }) {
    const share = Math.min(1, processed / Math.max(1, total));
    this.live?.note(`Reading the prompt: ${percent(share)}`, { share });
  }

  /** @returns whether the delta was not empty */
  #append({ content, reasoning_content: thought, tool_calls: calls }) {
    const { message } = this;
    message.content += content ?? "";
    message.thoughts = (message.thoughts ?? "") + (thought ?? "");
    for (const call of calls ?? []) {
      message.calls ??= [];
      const index = call.index ?? 0;
      let known = message.calls.find((each) => each.index === index);
      if (!known) message.calls.push((known = { index, id: "", name: "", arguments: "" }));
      known.id ||= call.id ?? "";
      known.name += call.function?.name ?? "";
      known.arguments += call.function?.arguments ?? "";
    }
    return Boolean(content || thought || calls?.length);
  }

  /** Figures so far, in the server's own count: they stay if the answer is stopped. */
  #measure({ cache_n: cached, prompt_n: computed, prompt_ms: promptTime, predicted_n: count, predicted_ms: time }) {
    const { message } = this;
    this.#isMeasured = true;
    message.prompt = { tokens: computed + cached, cached, seconds: promptTime / 1000 };
    message.usage = { prompt_tokens: computed + cached, completion_tokens: count + this.#before.tokens,
      total_tokens: computed + cached + count };
    if (time > 0) message.seconds = time / 1000 + this.#before.seconds;
  }

  /** Figures so far of a server that says nothing of them until its end. */
  #measureAlone(seconds) {
    this.message.usage = { completion_tokens: this.count + this.#before.tokens };
    this.message.seconds = seconds + this.#before.seconds;
  }

  #finish(usage, promptMilliseconds) {
    const { message } = this;
    message.usage = { ...usage, completion_tokens: usage.completion_tokens + this.#before.tokens };
    message.prompt ??= { tokens: usage.prompt_tokens, cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
      seconds: promptMilliseconds / 1000 };
  }
}

/** A message as API messages: none if it is empty; tool results are separate messages; attachments are given by their ids. */
function forRequest(message) {
  const { role, content, calls } = message;
  const { images = [], documents = [] } = attachedTo(message);
  if (images.length || documents.length) {
    const parts = [...images.map((each) => ({ type: "image", ...each })), ...documents.map((each) => ({ type: "document", ...each }))];
    return [{ role, content: [...parts, ...(content ? [{ type: "text", text: content }] : [])] }];
  }
  if (!calls?.length) return content === "" ? [] : [{ role, content }];
  const made = calls.map((call) => ({
    id: call.id, type: "function", function: { name: call.name, arguments: call.arguments },
  }));
  const results = calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: call.result ?? "No result." }));
  return [{ role, content, tool_calls: made }, ...results];
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

/** The error's message with advice for the user. */
function explain(error) {
  const advice = {
    context_length_exceeded: "Delete earlier messages, or start a new conversation.",
    model_not_found: "Choose another model above.",
  };
  return [error.message, advice[error.code]].filter(Boolean).join(" ");
}
