// Creates elements without HTML strings: text always becomes text nodes.

/** An element with properties and children. Names with a dash are attributes; strings among the children are text. */
export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") node.setAttribute(key, value);
    else node[key] = value;
  }
  node.append(...children);
  return node;
}

export const byId = (id) => document.getElementById(id);

/** A button with a label; with `icon`, the label is only for screen readers and the tooltip. */
export function button(label, onclick, { icon, ...properties } = {}) {
  const name = icon ? { ariaLabel: label, title: label } : {};
  return element("button", { type: "button", onclick, ...name, ...properties }, icon ?? label);
}

/** A share from 0 to 1 as `45 %`. */
export const percent = (share) => `${Math.floor(100 * share)} %`;

/** Sets a progress bar to a share from 0 to 1; `undefined`: it moves without an end. */
export function showShare(bar, share) {
  if (share === undefined) bar.removeAttribute("value");
  else bar.value = share;
}

/** Announces a text to screen readers, politely. */
export const announce = (text) => (byId("announcer").textContent = text);

/** Copies text. Falls back to execCommand: the clipboard API exists only over https and on localhost. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = element("textarea", { value: text, className: "hidden" });
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  if (!isCopied) throw new Error("This page may not use the clipboard.");
}
