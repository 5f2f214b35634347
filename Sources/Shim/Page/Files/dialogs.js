// The dialogs: settings of a conversation, the API key, the list of shortcuts. The browser's own <dialog> holds the
// focus inside and gives it back.

import { apiKey } from "./api.js";
import { byId, element } from "./dom.js";
import { textSettings } from "./settings.js";
import { toolsOf } from "./tools.js";

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
 * @param inForce the sampling options of a request without settings, as far as they are known
 * @returns {settings, isDefault}: the filled-in settings, and whether they become the default of new conversations;
 *   `null` if cancelled
 */
export async function askSettings(settings, inForce = {}) {
  const dialog = byId("settings");
  const isDefault = byId("settings-default");
  isDefault.checked = false;
  const fields = [...dialog.querySelector("form").elements].filter((field) => field.name);
  for (const field of fields) {
    field.value = settings[field.name] ?? "";
    if (textSettings[field.name]) checkText({ target: field });
    const value = inForce[field.dataset.property ?? field.name];
    if (typeof value === "number") field.placeholder = Number(value.toPrecision(6));
  }
  for (const fold of dialog.querySelectorAll("details")) {
    fold.open = [...fold.querySelectorAll("[name]")].some((field) => field.value !== "");
  }
  showServerTools([]);
  dialog.querySelector("[data-action=clear]").onclick = () => {
    for (const field of fields) {
      field.value = "";
      field.setCustomValidity("");
    }
  };
  if (!(await ask(dialog))) return null;
  const filled = fields.filter((field) => field.value.trim() !== "");
  const entries = filled.map((field) => [field.name, field.type === "number" ? field.valueAsNumber : field.value]);
  return { settings: Object.fromEntries(entries), isDefault: isDefault.checked };
}

const checkText = ({ target }) => target.setCustomValidity(textSettings[target.name](target.value));
for (const name of Object.keys(textSettings)) document.querySelector(`#settings [name="${name}"]`).oninput = checkText;

// A field in a closed fold cannot be focused, and the browser would not say why it refuses to save.
byId("settings").addEventListener("invalid", ({ target }) => {
  const fold = target.closest("details");
  if (fold) fold.open = true;
}, true);

// The tools of an MCP server: each is off until it is chosen.

const mcpState = byId("mcp-state");

function showServerTools(tools, text = "") {
  mcpState.textContent = text;
  mcpState.hidden = !text;
  byId("mcp-tools").hidden = !tools.length;
  byId("mcp-tools").replaceChildren(...tools.map((tool) => {
    const box = element("input", { type: "checkbox", onchange: () => offer(tool, box.checked) });
    const { name, description = "" } = tool.function;
    return element("li", {}, element("label", { className: "check" }, box, element("span", {}, `${name} `, element("small", {}, description))));
  }));
}

/** Adds a tool to the list of those that the model may call, or takes it out. */
function offer(tool, isOn) {
  const field = byId("tools");
  if (textSettings.tools(field.value)) return;
  const isSame = (each) => each.function.name === tool.function.name && each.server === tool.server;
  const others = JSON.parse(field.value.trim() || "[]").filter((each) => !isSame(each));
  const tools = isOn ? [...others, tool] : others;
  field.value = tools.length ? JSON.stringify(tools, null, 1) : "";
  checkText({ target: field });
}

byId("list-tools").onclick = async () => {
  const address = byId("mcp").value.trim();
  showServerTools([], `Asking ${address}…`);
  try {
    const tools = await toolsOf(address);
    showServerTools(tools, tools.length ? "Choose the tools that the model may call." : `${address} has no tools.`);
  } catch (error) {
    showServerTools([], error.message);
  }
};

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
