// What an empty conversation shows: the model and what it can do, the machine, and prompts to try.

import { abilities } from "./api.js";
import { button, byId, element } from "./dom.js";
import { cardOf, isLocal, propertiesOf } from "./models.js";
import { bytesText, countText } from "./units.js";

const known = new Map(); // abilities by model

const abilityTexts = { tools: "calls tools", thinking: "thinks before it answers", vision: "looks at images", insert: "fills gaps in text" };

const prompts = {
  general: ["Explain in three sentences why the sky is blue.", "Write a short poem about rain.",
    "Give me five ideas for a rainy afternoon with children."],
  code: ["Write a Python function that checks whether a word is a palindrome.", "Explain what a hash table is.",
    "What is the difference between git merge and git rebase?"],
  // Models of a few million parameters only know small talk.
  small: ["Hello! What can you do?", "What is 12 + 30?", "Tell me a story about a fox."],
};
const smallModel = 50_000_000; // parameters

/**
 * Shows what is known of a model.
 *
 * @param ask called with a prompt that the user has chosen
 */
export async function showWelcome(id, ask) {
  show(id, ask);
  if (byId("welcome").hidden || !id || !isLocal(id) || known.has(id)) return;
  known.set(id, []);
  known.set(id, await abilities(id));
  show(id, ask);
}

function show(id, ask) {
  const lines = id && cardOf(id) ? [facts(id), abilityText(id), machineText(id)].filter(Boolean) : [];
  const box = byId("about-model");
  const key = JSON.stringify([id, lines]);
  if (box.dataset.shown === key) return; // kept, since one of the buttons may have the focus
  box.dataset.shown = key;
  box.replaceChildren(
    element("h2", {}, id ?? "No model"), ...lines.map((line) => element("p", {}, line)),
    element("div", { className: "prompts", role: "group", ariaLabel: "Prompts to try" },
      ...(id ? promptsFor(id).map((text) => button(text, () => ask(text))) : [])));
}

/** `135 million parameters · Q4_1 · 98 MB · context of 8,192 tokens` */
function facts(id) {
  if (!isLocal(id)) return "A model of the upstream API.";
  const { n_params: count, size, n_ctx_train: trained } = cardOf(id).meta ?? {};
  const { quantization, contextSize = trained } = propertiesOf(id) ?? {};
  return [count && countText(count), quantization, size && bytesText(size),
    contextSize && `context of ${contextSize.toLocaleString()} tokens`].filter(Boolean).join(" · ");
}

function abilityText(id) {
  const texts = (known.get(id) ?? []).map((name) => abilityTexts[name]).filter(Boolean);
  return texts.length ? `Besides chatting, it ${listText(texts)}.` : "";
}

const listText = (texts) => (texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`);

/** `In memory · 2 threads, AVX2 · 5.1 GB of memory free` */
function machineText(id) {
  const { threads, kernels, memory_available: memory } = propertiesOf(id) ?? {};
  return [cardOf(id).state === "loaded" && "In memory", threads && `${threads} ${threads === 1 ? "thread" : "threads"}${kernels ? `, ${kernels}` : ""}`,
    memory !== undefined && `${bytesText(memory)} of memory free`].filter(Boolean).join(" · ");
}

function promptsFor(id) {
  const { n_params: count } = cardOf(id)?.meta ?? {};
  if (count < smallModel) return prompts.small;
  return /code/i.test(id) ? prompts.code : prompts.general;
}
