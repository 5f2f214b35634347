// The messages of a conversation on the page.

import { callBlock, resultsForm, thoughtsBlock, waitsForResults } from "./calls.js";
import { documentBlock } from "./documents.js";
import { button, byId, copy, element } from "./dom.js";
import { showEditor } from "./edit.js";
import { enrich } from "./enrich.js";
import { figuresOf } from "./figures.js";
import { MarkdownView } from "./markdown.js";
import { imageElement } from "./attachments.js";

const list = byId("messages");

/**
 * Shows messages.
 *
 * @param actions {edit(message, text), regenerate(message), proceed(message), giveResults(message, results),
 *   remove(message), choose(message), report(error), tools: {addressOf(name), run(call)}}; `alternatives(message)` and `canProceed(message)` say what
 *   applies; `isBusy` disables changes while an answer is running
 */
export function showMessages(messages, actions) {
  list.replaceChildren(...messages.map((message) => row(message, message === messages.at(-1), messages, actions)));
  byId("welcome").hidden = messages.length > 0;
}

/** Heading of a message: who wrote it. */
export const speaker = (message) => (message.role === "user" ? "You" : message.model ?? "Assistant");

function row(message, isLast, messages, actions) {
  const item = element("li", { className: message.role }, element("h2", {}, speaker(message)));
  item.dataset.id = message.id;
  if (message.thoughts) item.append(thoughtsBlock(message.thoughts));
  item.append(bodyOf(message));
  for (const call of message.calls ?? []) item.append(callBlock(call));
  if (isLast && !actions.isBusy && waitsForResults(message)) {
    item.append(resultsForm(message.calls, actions.tools, (results) => actions.giveResults(message, results)));
  }
  const remark = [remarks[message.finish], message.isEdited && "Edited."].filter(Boolean).join(" ");
  if (remark) item.append(element("p", { className: "note" }, remark));
  if (message.error) item.append(errorBox(message, actions));
  item.append(tools(message, isLast, item, () => showMessages(messages, actions), actions));
  return item;
}

function bodyOf(message) {
  const body = element("div", { className: "body" });
  if (message.role === "user") {
    if (message.images) body.append(element("div", { className: "images" }, ...message.images.map(imageElement)));
    body.append(...(message.documents ?? []).map(documentBlock));
    if (message.content) body.append(element("p", {}, message.content));
  } else {
    new MarkdownView(body).show(message.content);
    enrich(body);
  }
  return body;
}

const remarks = {
  length: "Stopped at the maximum length.",
  stopped: "Stopped.",
  interrupted: "The page was closed before this answer was complete.",
  content_filter: "Stopped by a content filter.",
};

function errorBox(message, actions) {
  const retry = button("Try again", () => actions.regenerate(message), { disabled: actions.isBusy });
  return element("div", { className: "error alarm" }, element("p", {}, message.error), retry);
}

function tools(message, isLast, item, showAgain, actions) {
  const copyText = (event) => {
    copy(message.content).then(() => (event.target.textContent = "Copied"), (error) => actions.report(error));
    setTimeout(() => (event.target.textContent = "Copy"), 2000);
  };
  const close = () => {
    showAgain();
    focusTool(message.id, "Edit");
  };
  const edit = () => showEditor(item, message, { save: (text) => actions.edit(message, text), close });
  const options = { className: "quiet", disabled: actions.isBusy };
  const buttons = [button("Copy", copyText, { className: "quiet" }), button("Edit", edit, options)];
  if (message.role !== "user") buttons.push(button("Regenerate", () => actions.regenerate(message), options));
  if (isLast && actions.canProceed(message)) buttons.push(button("Continue", () => actions.proceed(message), options));
  buttons.push(button("Delete", () => actions.remove(message), options));
  return element("div", { className: "tools" }, ...arrows(message, actions), ...buttons, ...figuresOf(message));
}

/** `‹ 2/3 ›` if the message has other versions. */
function arrows(message, { alternatives, choose, isBusy }) {
  const all = alternatives(message);
  if (all.length < 2) return [];
  const index = all.indexOf(message);
  const arrow = (icon, label, other) => button(label, () => {
    choose(other);
    if (!focusTool(other.id, label)) focusTool(other.id, label === "Next version" ? "Previous version" : "Next version");
  }, { icon, className: "quiet always", disabled: isBusy || !other });
  return [
    arrow("‹", "Previous version", all[index - 1]),
    element("span", { className: "note version" }, `${index + 1}/${all.length}`),
    arrow("›", "Next version", all[index + 1]),
  ];
}

/** The text of a message for screen readers, without buttons. */
export function spokenText(message) {
  const body = rowOf(message.id)?.querySelector(".body")?.cloneNode(true);
  for (const bar of body?.querySelectorAll(".bar") ?? []) bar.remove();
  return body?.textContent ?? "";
}

const rowOf = (id) => list.querySelector(`:scope > li[data-id="${id}"]`);

/** @returns whether an enabled button with this name was found */
function focusTool(id, name) {
  const found = [...(rowOf(id)?.querySelectorAll(".tools button") ?? [])]
    .find((each) => (each.ariaLabel ?? each.textContent) === name && !each.disabled);
  found?.focus();
  return Boolean(found);
}

/** Scrolls to a message and focuses it. */
export function showMessage(id) {
  rowOf(id)?.scrollIntoView({ block: "center" });
  focusTool(id, "Copy");
}

export function focusRow(index) {
  list.children[Math.min(index, list.children.length - 1)]?.querySelector(".tools button:enabled")?.focus();
}

export function editLastMessage() {
  const last = [...list.querySelectorAll(":scope > .user")].at(-1);
  [...(last?.querySelectorAll(".tools button") ?? [])].find(({ textContent }) => textContent === "Edit")?.click();
}
