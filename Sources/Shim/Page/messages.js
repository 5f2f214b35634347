// The messages of a conversation on the page.

import { button, byId, copy, element } from "./dom.js";
import { MarkdownView } from "./markdown.js";

const list = byId("messages");
const scroller = byId("scroller");

/**
 * Shows all messages.
 *
 * @param actions {edit(index, text), regenerate(), remove(index), report(error)}, and isBusy: whether an answer is being
 *   written, so that nothing else can be changed
 */
export function showMessages(messages, actions) {
  list.replaceChildren(...messages.map((message, index) => row(messages, index, actions)));
  byId("welcome").hidden = messages.length > 0;
}

/** What is read out of a message, besides itself. */
export const speaker = (message) => (message.role === "user" ? "You" : message.model ?? "Assistant");

function row(messages, index, actions) {
  const message = messages[index];
  const body = element("div", { className: "body" });
  if (message.role === "user") body.append(element("p", {}, message.content));
  else new MarkdownView(body).show(message.content);

  const item = element("li", { className: message.role }, element("h2", {}, speaker(message)), body);
  if (message.thoughts) body.before(thoughtsBox(message.thoughts));
  const remark = remarks[message.finish];
  if (remark) item.append(element("p", { className: "note" }, remark));
  if (message.error) item.append(errorBox(message.error, actions));
  item.append(tools(messages, index, item, actions));
  return item;
}

/** What a model thought before it answered: closed, as it is long and seldom wanted. */
function thoughtsBox(text) {
  return element("details", { className: "thoughts" }, element("summary", {}, "Thoughts"), element("p", {}, text));
}

const remarks = {
  length: "Ended at the most tokens that an answer may have.",
  stopped: "Stopped.",
  interrupted: "The page was closed before the end of this answer.",
  content_filter: "Ended by a content filter.",
};

function errorBox(error, actions) {
  const retry = button("Try again", actions.regenerate, { disabled: actions.isBusy });
  return element("div", { className: "error alarm" }, element("p", {}, error), retry);
}

function tools(messages, index, item, actions) {
  const message = messages[index];
  const copyText = (event) => {
    copy(message.content).then(() => (event.target.textContent = "Copied"), (error) => actions.report(error));
    setTimeout(() => (event.target.textContent = "Copy"), 2000);
  };
  const isLast = index === messages.length - 1;
  const options = { className: "quiet", disabled: actions.isBusy };
  const buttons = [button("Copy", copyText, { className: "quiet" })];
  if (message.role === "user") buttons.push(button("Edit", () => edit(messages, index, item, actions), options));
  else if (isLast) buttons.push(button("Regenerate", actions.regenerate, options));
  buttons.push(button("Delete", () => actions.remove(index), options));
  const bar = element("div", { className: "tools" }, ...buttons);
  if (message.usage) bar.append(element("span", { className: "note" }, speed(message)));
  return bar;
}

/** `128 tokens, 41.2 tokens/s` */
function speed({ usage: { completion_tokens: count }, seconds }) {
  if (count === 1) return "1 token";
  const rate = seconds > 0 ? `, ${((count - 1) / seconds).toFixed(1)} tokens/s` : "";
  return `${count.toLocaleString()} tokens${rate}`;
}

/** A field in the place of a message. */
function edit(messages, index, item, actions) {
  const field = element("textarea", { value: messages[index].content, ariaLabel: "Edit the message", rows: 3 });
  const close = () => {
    showMessages(messages, actions);
    list.children[index].querySelector(".tools button:nth-child(2)")?.focus();
  };
  const send = () => {
    if (field.value.trim() !== "") actions.edit(index, field.value);
  };
  field.onkeydown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (isSendKey(event)) {
      event.preventDefault();
      send();
    }
  };
  const follows = messages.length - index - 1 > 1 ? " and drop what follows" : "";
  const bar = element("div", { className: "tools" }, button(`Send${follows}`, send), button("Cancel", close));
  item.replaceChildren(item.querySelector("h2"), field, bar);
  field.focus();
}

/** Enter, but not the one that ends the composition of a character. */
export const isSendKey = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing;

/** The answer that is being written: shows its text as it grows, at most once a frame. */
export class LiveAnswer {
  #message;
  #item;
  #body;
  #thoughts = null;
  #view;
  #frame = 0;
  #restUntil = 0;

  constructor(message) {
    this.#message = message;
    this.#body = element("div", { className: "body" });
    this.#item = element("li", { className: "assistant live", ariaBusy: "true" },
      element("h2", {}, speaker(message)), this.#body, element("p", { className: "note" }, "Reading…"));
    this.#view = new MarkdownView(this.#body);
    list.append(this.#item);
    byId("welcome").hidden = true;
    if (message.content || message.thoughts) {
      this.note("");
      this.changed();
    }
    scrollToEnd();
  }

  /** Says what is waited for; an empty text when there is something to see instead. */
  note(text) {
    this.#item.lastChild.textContent = text;
  }

  /** Call when there is more text. */
  changed() {
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#show(now));
  }

  #show(now) {
    this.#frame = 0;
    if (now < this.#restUntil) return this.changed();
    const isAtEnd = isScrolledToEnd();
    const started = performance.now();
    this.#view.show(this.#message.content);
    this.#showThoughts();
    if (isAtEnd) scrollToEnd();
    // However long one block gets, showing it leaves the page three quarters of the time.
    this.#restUntil = now + 4 * (performance.now() - started);
  }

  #showThoughts() {
    const { thoughts, content } = this.#message;
    if (!thoughts) return;
    if (!this.#thoughts) this.#body.before((this.#thoughts = thoughtsBox("")));
    this.#thoughts.firstChild.textContent = content ? "Thoughts" : "Thinking…";
    this.#thoughts.lastChild.textContent = thoughts;
  }

  /** Shows nothing any more. */
  end() {
    cancelAnimationFrame(this.#frame);
  }
}

export const isScrolledToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 48;
export const scrollToEnd = () => (scroller.scrollTop = scroller.scrollHeight);

scroller.onscroll = () => (byId("to-end").hidden = isScrolledToEnd());
byId("to-end").onclick = scrollToEnd;

/** The text of a message as it is read out: without the page's buttons. */
export function spokenText(index) {
  const body = list.children[index]?.querySelector(".body")?.cloneNode(true);
  for (const bar of body?.querySelectorAll(".bar") ?? []) bar.remove();
  return body?.textContent ?? "";
}

export function focusMessage(index) {
  list.children[Math.min(index, list.children.length - 1)]?.querySelector(".tools button")?.focus();
}

export function editLastMessage() {
  const last = [...list.querySelectorAll(":scope > .user")].at(-1);
  last?.querySelector(".tools button:nth-child(2)")?.click();
}
