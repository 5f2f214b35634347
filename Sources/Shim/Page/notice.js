// What the page has to say, above the field for a message.

import { button, byId, element } from "./dom.js";

/** Says something above the composer, with one thing that can be done about it. */
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

/** Says what went wrong. */
export function report(error, label, action) {
  notify(error.message, label, action, "alarm");
}
