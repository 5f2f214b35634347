// The message field and the keyboard shortcuts.

import { isAnyOpen, showShortcuts } from "./dialogs.js";
import { byId } from "./dom.js";
import { isSendKey } from "./edit.js";

const input = byId("input");

export const focusInput = () => input.focus();

/** Returns the text and empties the field. */
export function takeInput() {
  const text = input.value;
  setInput("");
  return text;
}

export function setInput(text) {
  input.value = text;
  fit();
}

/** Fits the field's height to its text. */
function fit() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight}px`;
}

/**
 * @param actions {send(), typed(text), editLast(), escape(), shortcuts: [[letter, meaning, action]]}; a shortcut is Alt
 *   and the key with this letter on a US keyboard.
 */
export function listen({ send, typed, editLast, escape, shortcuts }) {
  const inField = [["Enter", "Send the message"], ["Shift Enter", "Begin a new line"], ["Escape", "Stop the answer"],
    ["↑ in an empty field", "Edit the last message"]];
  const withAlt = [...shortcuts, ["I", "Write a message", focusInput], ["/", "This list", showAll]];
  function showAll() {
    showShortcuts([...inField, ...withAlt.map(([key, meaning]) => [`Alt ${key}`, meaning])]);
  }

  document.addEventListener("keydown", (event) => {
    if (isAnyOpen()) return;
    if (event.key === "Escape") escape();
    if (!event.altKey || event.ctrlKey || event.metaKey) return;
    const action = withAlt.find(([key]) => event.code === (key === "/" ? "Slash" : `Key${key}`))?.[2];
    if (!action) return;
    event.preventDefault();
    action();
  });
  input.addEventListener("keydown", (event) => {
    const isEdit = event.key === "ArrowUp" && input.value === "";
    if (!isEdit && !isSendKey(event)) return;
    event.preventDefault();
    if (isEdit) editLast();
    else send();
  });
  input.addEventListener("input", () => {
    fit();
    typed(input.value);
  });
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  byId("open-help").onclick = showAll;
}
