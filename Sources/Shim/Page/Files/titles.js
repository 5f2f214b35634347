// Titles of conversations: the beginning of the first question, and later one that the model writes while nobody waits.

import { complete } from "./api.js";
import { shownMessages } from "./branches.js";
import { cardOf } from "./models.js";
import { state } from "./state.js";

const longest = 60; // characters
const rest = 3000; // milliseconds without an answer before a title is asked for
const leastParameters = 300_000_000; // SmolLM2 135M answers the question instead; Qwen2.5 0.5B writes titles
const mostRead = 1000; // characters of the question and of the answer

let timer = 0;
let abort = null;

/** A text of one line, cut between words with an ellipsis. */
export function shortened(text) {
  const line = text.trim().split("\n")[0].replace(/\s+/g, " ");
  if (line.length <= longest) return line;
  const cut = line.slice(0, longest - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > longest / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

/** Asks for a title of a conversation soon, if it has none of the user's or the model's. */
export function titleSoon(conversation, changed) {
  stopTitling();
  timer = setTimeout(() => title(conversation, changed), rest);
}

/** An answer is more important than a title. */
export function stopTitling() {
  clearTimeout(timer);
  abort?.abort();
}

async function title(conversation, changed) {
  const { model, isNamed, isTitled } = conversation;
  const [question, answer] = shownMessages(conversation);
  const card = cardOf(model);
  const canWrite = card?.state === "loaded" && (card.meta?.n_params ?? 0) >= leastParameters;
  if (isNamed || isTitled || !canWrite || !answer?.content || state.answers.size) return;
  abort = new AbortController();
  try {
    const text = cleaned(await complete(requestFor(model, question.content, answer.content), abort.signal));
    // The user may have named or deleted it meanwhile.
    if (conversation.isNamed || !state.conversations.includes(conversation)) return;
    conversation.isTitled = true;
    if (text) conversation.title = text;
    changed(conversation);
  } catch {
    // The old title stays; after the next answer it is tried again.
  }
}

function requestFor(model, question, answer) {
  const messages = [
    { role: "user", content: question.slice(0, mostRead) }, { role: "assistant", content: answer.slice(0, mostRead) },
    { role: "user", content: "Write a title for this conversation, of two to six words." },
  ];
  return { model, messages, temperature: 0, max_completion_tokens: 24, reasoning_budget: 0,
    chat_template_kwargs: { enable_thinking: false } };
}

/** The title in what a model wrote; empty if there is none. */
export function cleaned(text) {
  const line = text.trim().split("\n")[0].replace(/^[#*\s]*(title\s*:)?/i, "").replace(/^["'“”‘’*_\s]+|["'“”‘’*_.\s]+$/g, "");
  return /\p{L}/u.test(line) ? shortened(line) : "";
}
