// Notices above the message field.

import { button, byId, element } from "./dom.js";

const box = byId("notice");

/**
 * Shows a notice.
 *
 * @param options {label, action, topic, className}: a button and what it does; what the notice is about, so that it goes
 *   when that has changed
 */
export function notify(text, { label, action, topic = "", className = "" } = {}) {
  box.className = className;
  box.dataset.topic = topic;
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
export const report = (error, options = {}) => notify(error.message, { ...options, className: "alarm" });

/** Takes away a notice about a topic. */
export function dismiss(topic) {
  if (box.dataset.topic === topic) box.hidden = true;
}
