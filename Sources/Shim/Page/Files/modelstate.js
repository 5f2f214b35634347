// The line below the header: what the current model is doing, if it is not ready, and what can be done about it.

import { loadModel } from "./api.js";
import { button, byId, element, showShare } from "./dom.js";
import { cardOf, isServed, loadingOf } from "./models.js";
import { report } from "./notice.js";

const line = byId("model-state");

/** @param refresh called when a model's state has changed; @param canManage whether the user may load models */
export function showModelState(id, { refresh, canManage }) {
  const shown = stateOf(id);
  const key = JSON.stringify([id, shown?.text, canManage]);
  line.hidden = !shown;
  if (!shown || line.dataset.shown === key) return;
  line.dataset.shown = key;
  line.className = shown.isAlarm ? "alarm" : "";
  line.replaceChildren(element("span", {}, shown.text));
  if ("share" in shown) {
    const bar = element("progress", { ariaLabel: `Loading ${id}` });
    showShare(bar, shown.share);
    line.append(bar);
  }
  if (shown.action && canManage) line.append(button(shown.action, () => load(id, refresh)));
}

/** `{text, share?, action?, isAlarm?}`; `null` for a model that is ready, and for one of an upstream. */
function stateOf(id) {
  if (!id) return null;
  if (!isServed(id)) return { text: `${id} is not served here any more. Choose another model.`, isAlarm: true };
  const { state, reason } = cardOf(id);
  if (state === "failed") return { text: `${id} cannot be loaded: ${reason ?? "no reason is known."}`, action: "Try again", isAlarm: true };
  if (state === "unloaded") return { text: `${id} is not in memory. Your next message loads it.`, action: "Load now" };
  return loadingOf(id);
}

async function load(id, refresh) {
  const loading = loadModel(id);
  setTimeout(refresh, 100); // shows that it is loading
  try {
    await loading;
  } catch (error) {
    report(error, { topic: "model" });
  }
  refresh();
}
