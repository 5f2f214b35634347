// A text field that suggests continuations: the "combobox" pattern of the ARIA authoring practices.

import { suggestions } from "./api.js";
import { element } from "./dom.js";

const pause = 300; // milliseconds after the last keystroke before the request

/**
 * Adds suggestions to a field. A keystroke cancels the running request.
 *
 * @param field the text field, with role `combobox`
 * @param list an element with role `listbox`
 * @param show shows a status text or an error
 */
export function suggestFor(field, list, show) {
  let [timer, abort, options, selected] = [0, null, [], -1];

  function close() {
    clearTimeout(timer);
    abort?.abort();
    abort = null;
    list.hidden = true;
    field.ariaExpanded = "false";
    field.removeAttribute("aria-activedescendant");
    [options, selected] = [[], -1];
  }

  async function ask() {
    const text = field.value;
    abort = new AbortController();
    const { signal } = abort;
    show("Thinking…");
    try {
      const found = await suggestions(text, signal);
      if (signal.aborted) return; // a keystroke came meanwhile
      open(found);
    } catch (error) {
      if (error.name !== "AbortError") show(error.message);
    }
  }

  function open(found) {
    options = found;
    show(found.length ? `${found.length} ${found.length === 1 ? "suggestion" : "suggestions"}` : "No suggestions");
    list.replaceChildren(...found.map((text, index) => {
      const option = element("li", { id: `${list.id}-${index}`, role: "option", "aria-selected": "false" }, text);
      option.onmousedown = (event) => {
        event.preventDefault(); // the field keeps the focus
        take(index);
      };
      return option;
    }));
    list.hidden = found.length === 0;
    field.ariaExpanded = String(found.length > 0);
  }

  function select(index) {
    list.children[selected]?.setAttribute("aria-selected", "false");
    selected = (index + options.length) % options.length;
    list.children[selected].setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", list.children[selected].id);
  }

  function take(index) {
    field.value += options[index];
    close();
    changed();
  }

  function changed() {
    close();
    show("");
    if (field.value.trim() !== "") timer = setTimeout(ask, pause);
  }

  field.addEventListener("input", changed);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const actions = {
      ArrowDown: () => select(selected + 1),
      ArrowUp: () => select(selected < 0 ? -1 : selected - 1),
      Enter: () => selected >= 0 && take(selected),
      Escape: close,
    };
    if (list.hidden || event.isComposing || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}
