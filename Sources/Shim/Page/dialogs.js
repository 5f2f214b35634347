// The dialogs: settings of a conversation, the API key, the list of shortcuts. The browser's own <dialog> holds the
// focus inside and gives it back.

import { apiKey } from "./api.js";
import { byId, element } from "./dom.js";
import { toolsProblem } from "./settings.js";

for (const cancel of document.querySelectorAll("[data-action=cancel]")) {
  cancel.onclick = () => cancel.closest("dialog").close("cancel");
}

/** Opens a dialog; resolves to whether the user chose Save. */
function ask(dialog) {
  dialog.returnValue = "cancel"; // the value after Escape
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "save"), { once: true });
  });
}

/**
 * Asks for settings.
 *
 * @returns {settings, isDefault}: the filled-in settings, and whether they become the default of new conversations;
 *   `null` if cancelled
 */
export async function askSettings(settings) {
  const dialog = byId("settings");
  const isDefault = byId("settings-default");
  isDefault.checked = false;
  const fields = [...dialog.querySelector("form").elements].filter((field) => field.name);
  for (const field of fields) field.value = settings[field.name] ?? "";
  dialog.querySelector("[data-action=clear]").onclick = () => {
    for (const field of fields) field.value = "";
    byId("tools").setCustomValidity("");
  };
  if (!(await ask(dialog))) return null;
  const filled = fields.filter((field) => field.value.trim() !== "");
  const entries = filled.map((field) => [field.name, field.type === "number" ? field.valueAsNumber : field.value]);
  return { settings: Object.fromEntries(entries), isDefault: isDefault.checked };
}

byId("tools").oninput = ({ target }) => target.setCustomValidity(toolsProblem(target.value));

/** Asks for the API key, showing the reason; returns whether the user entered one. */
export async function askKey(reason) {
  byId("key-reason").textContent = reason;
  byId("key-input").value = apiKey.get();
  if (!(await ask(byId("key")))) return false;
  apiKey.set(byId("key-input").value.trim());
  return true;
}

/** Shows the list of shortcuts: [[keys, meaning]]. */
export function showShortcuts(list) {
  const rows = list.flatMap(([keys, meaning]) => [
    element("dt", {}, element("kbd", {}, keys)),
    element("dd", {}, meaning),
  ]);
  byId("shortcuts").replaceChildren(...rows);
  byId("help").showModal();
}

export const isAnyOpen = () => document.querySelector("dialog[open]") !== null;
