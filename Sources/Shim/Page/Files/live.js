// Shows the running answer as it grows, at most once per frame.

import { callBlock, thoughtsBlock, updateCall } from "./calls.js";
import { byId, element, showShare } from "./dom.js";
import { enrich } from "./enrich.js";
import { MarkdownView } from "./markdown.js";
import { speaker } from "./messages.js";

const scroller = byId("scroller");

export class LiveAnswer {
  #message;
  #item;
  #body;
  #note;
  #progress;
  #thoughts = null;
  #calls = [];
  #view;
  #frame = 0;
  #restUntil = 0;

  constructor(message) {
    this.#message = message;
    this.#body = element("div", { className: "body" });
    this.#note = element("p", { className: "note" });
    this.#progress = element("progress", { ariaLabel: "Progress", hidden: true });
    this.#item = element("li", { className: "assistant live", ariaBusy: "true" },
      element("h2", {}, speaker(message)), this.#body, this.#note, this.#progress);
    this.#view = new MarkdownView(this.#body);
    byId("messages").append(this.#item);
    byId("welcome").hidden = true;
    if (message.content || message.thoughts || message.calls) this.changed();
    scrollToEnd();
  }

  /**
   * Shows a status; an empty text removes it.
   *
   * @param progress {share}: how much is done, from 0 to 1, `undefined` if unknown; `null`: shows no bar
   */
  note(text, progress = null) {
    this.#note.textContent = text;
    this.#progress.hidden = progress === null;
    showShare(this.#progress, progress?.share);
  }

  /** Called when the message has grown. */
  changed() {
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#show(now));
  }

  #show(now) {
    this.#frame = 0;
    if (now < this.#restUntil) return this.changed();
    const isAtEnd = isScrolledToEnd();
    const started = performance.now();
    this.#view.show(this.#message.content);
    enrich(this.#body);
    this.#showThoughts();
    this.#showCalls();
    if (isAtEnd) scrollToEnd();
    // Rendering takes at most a quarter of the time, however long a block gets.
    this.#restUntil = now + 4 * (performance.now() - started);
  }

  #showThoughts() {
    const { thoughts, content, calls } = this.#message;
    if (!thoughts) return;
    if (!this.#thoughts) this.#body.before((this.#thoughts = thoughtsBlock("")));
    this.#thoughts.firstChild.textContent = content || calls ? "Thoughts" : "Thinking…";
    this.#thoughts.lastChild.textContent = thoughts;
  }

  #showCalls() {
    const calls = this.#message.calls ?? [];
    // Only the last known call can still grow.
    for (let index = Math.max(0, this.#calls.length - 1); index < calls.length; index += 1) {
      if (this.#calls[index]) updateCall(this.#calls[index], calls[index]);
      else this.#note.before((this.#calls[index] = callBlock(calls[index])));
    }
  }

  /** Stops updating. */
  end() {
    cancelAnimationFrame(this.#frame);
  }
}

export const isScrolledToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 48;
export const scrollToEnd = () => (scroller.scrollTop = scroller.scrollHeight);

scroller.onscroll = () => (byId("to-end").hidden = isScrolledToEnd());
byId("to-end").onclick = scrollToEnd;
