// Editing a message in place.

import { button, element } from "./dom.js";

/** Enter without Shift, unless it ends an input method's composition. */
export const isSendKey = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing;

/**
 * Replaces a message by an editor. Enter sends a question; an answer, which may have many lines, is saved by the button
 * only.
 *
 * @param save called with the new text; `close` is called on cancel
 */
export function showEditor(item, message, { save, close }) {
  const isQuestion = message.role === "user";
  const rows = Math.min(16, Math.max(3, message.content.split("\n").length));
  const field = element("textarea", { value: message.content, ariaLabel: "Edit the message", rows });
  const finish = () => {
    if (field.value.trim() === "" && !message.images && !message.documents) return;
    if (field.value === message.content && !isQuestion) close();
    else save(field.value);
  };
  field.onkeydown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (isQuestion && isSendKey(event)) {
      event.preventDefault();
      finish();
    }
  };
  const buttons = [button(isQuestion ? "Send" : "Save", finish), button("Cancel", close)];
  const note = element("span", { className: "note" }, "The original message is kept.");
  item.replaceChildren(item.querySelector("h2"), field, element("div", { className: "tools" }, ...buttons, note));
  field.focus();
}
