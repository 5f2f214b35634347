// Notices above the message field.

import { button, byId, element } from "./dom.js";

/** Shows a notice, optionally with one action. */
export function notify(text, label, action, className = "") {
  const box = byId("notice");
  box.className = className;
  const close = () => (box.hidden = true);
  const act = () => {
    close();
    action();
  };
  box.replaceChildren(element("p", {}, text));
  if (label) box.append(button(label, act));
  box.append(button("Dismiss", close, { className: "quiet" }));
  box.hidden = false;
}

/** Shows an error. */
export function report(error, label, action) {
  notify(error.message, label, action, "alarm");
}
