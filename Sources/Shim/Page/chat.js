// The page's doings: which conversation is shown, and what the user asks for.

import { Answer } from "./answer.js";
import { askKey, askSettings } from "./dialogs.js";
import { announce, byId } from "./dom.js";
import { focusInput, listen, takeInput } from "./keys.js";
import { LiveAnswer, editLastMessage, focusMessage, isScrolledToEnd, scrollToEnd, showMessages, spokenText }
  from "./messages.js";
import { contextSizeOf, defaultModel, fetchContextSize, fetchModels, listenForPicks, showModels } from "./models.js";
import { notify, report } from "./notice.js";
import { focusConversations, isSidebarOpen, showConversations, toggleSidebar } from "./sidebar.js";
import { idOfKey, loadAll, newConversation, preference, remove, save } from "./store.js";
import "./theme.js";

let conversations = loadAll();
let current = conversations.find(({ id }) => id === preference.get("conversation")) ?? conversations[0];
/** The answers that are being written, by conversation: each goes on while another conversation is shown. */
const answers = new Map();

// Showing

function show() {
  showList();
  showConversation();
}

function showList() {
  byId("title").textContent = current.title;
  document.title = `${current.title} – LocalLLM`;
  showConversations(conversations, current.id, { select, rename, remove: removeConversation });
}

function showConversation() {
  const answer = answers.get(current);
  const settled = answer ? current.messages.slice(0, -1) : current.messages;
  showMessages(settled, { isBusy: Boolean(answer), edit, regenerate, remove: removeMessage, report });
  for (const each of answers.values()) each.leave();
  if (answer) answer.live = new LiveAnswer(answer.message);
  byId("send").hidden = Boolean(answer);
  byId("stop").hidden = !answer;
  showModels(current.model);
  showFigures();
}

/** `57 tokens, 41.2 tokens/s · at least 812 of 4,096 tokens of context used` */
function showFigures() {
  const answer = answers.get(current);
  const usage = current.messages.findLast((message) => message.usage)?.usage;
  const size = contextSizeOf(current.model);
  // How many tokens a message is, only the end of its answer tells.
  const used = `${answer ? "at least " : ""}${((usage?.total_tokens ?? 0) + (answer?.count ?? 0)).toLocaleString()}`;
  const context = size ? `${used} of ${size.toLocaleString()} tokens of context used` : `${used} tokens used`;
  byId("figures").textContent = [answer?.speed, usage || answer || size ? context : ""].filter(Boolean).join(" · ");
}

/** Stores a conversation that is in the list and has something in it; what cannot be stored is said. */
function keep(conversation) {
  const isEmpty = !conversation.messages.length && !Object.keys(conversation.settings).length;
  if (isEmpty || !conversations.includes(conversation)) return;
  try {
    save(conversation);
  } catch (error) {
    report(error);
  }
}

function changed(conversation) {
  conversation.updated = Date.now();
  keep(conversation);
  show();
}

/** Changes the current conversation in a way that can be taken back. */
function changeMessages(what, change) {
  const conversation = current;
  const before = structuredClone(conversation.messages);
  change(conversation.messages);
  changed(conversation);
  notify(what, "Undo", () => {
    answers.get(conversation)?.stop();
    conversation.messages = before;
    changed(conversation);
  });
}

// Conversations

function select(id) {
  current = conversations.find((conversation) => conversation.id === id) ?? current;
  preference.set("conversation", current.id);
  show();
  scrollToEnd();
  toggleSidebar(false);
  if (!matchMedia("(pointer: coarse)").matches) focusInput(); // it would bring up the keyboard
}

function startConversation() {
  let empty = conversations.find(({ messages }) => !messages.length);
  if (!empty) conversations.unshift((empty = newConversation(current?.model ?? preference.get("model"), {})));
  select(empty.id);
}

function rename(id, title) {
  const conversation = conversations.find((each) => each.id === id);
  Object.assign(conversation, { title, isNamed: true });
  keep(conversation);
  showList();
}

function removeConversation(id) {
  const conversation = conversations.find((each) => each.id === id);
  answers.get(conversation)?.stop();
  conversations = conversations.filter((each) => each !== conversation);
  remove(id);
  const restore = () => {
    conversations.unshift(conversation);
    keep(conversation);
    select(id);
  };
  if (conversation.messages.length) notify(`Deleted “${conversation.title}”.`, "Undo", restore);
  if (conversation !== current) show();
  else if (conversations.length) select(conversations[0].id);
  else startConversation();
}

/** Another tab has changed what is stored. What this one is writing stays its own. */
window.addEventListener("storage", (event) => {
  if (event.key !== null && idOfKey(event.key) === null) return;
  const own = conversations.filter((each) => answers.has(each) || !each.messages.length);
  const isOwn = (id) => own.some((each) => each.id === id);
  conversations = [...own, ...loadAll().filter(({ id }) => !isOwn(id))];
  const shown = current;
  current = conversations.find(({ id }) => id === shown.id) ?? conversations[0];
  if (!current) return startConversation();
  showList();
  if (current.id !== shown.id || current.revision !== shown.revision) showConversation(); // else a field may be open in it
});

// Messages

function submit() {
  if (byId("input").value.trim() !== "" && !answers.has(current)) ask(takeInput());
}

function ask(text) {
  if (!current.isNamed && !current.messages.length) current.title = text.trim().split("\n")[0].slice(0, 60);
  current.messages.push({ role: "user", content: text });
  respond();
}

function edit(index, text) {
  const follows = current.messages.length - index;
  if (follows > 2) changeMessages(`Dropped ${follows - 2} later messages.`, (messages) => messages.splice(index));
  else current.messages.splice(index);
  ask(text);
  focusInput();
}

function regenerate() {
  if (answers.has(current) || !current.messages.length) return;
  if (current.messages.at(-1).role === "assistant") current.messages.pop();
  respond();
  focusInput();
}

function removeMessage(index) {
  changeMessages("Deleted a message.", (messages) => messages.splice(index, 1));
  if (current.messages.length) focusMessage(index);
  else focusInput();
}

/** Has the model answer the current conversation. */
async function respond() {
  const conversation = current;
  const answer = new Answer(conversation);
  conversation.messages.push(answer.message);
  answers.set(conversation, answer);
  changed(conversation);
  scrollToEnd();
  announce("Answering.");

  await answer.run({
    changed: () => conversation === current && showFigures(),
    keep: () => keep(conversation),
    needsKey: (reason) => askKey(reason),
  });
  answers.delete(conversation);
  answer.leave();
  keep(conversation);
  if (conversation !== current) return;
  const { activeElement } = document;
  const isAtEnd = isScrolledToEnd();
  show();
  if (isAtEnd) scrollToEnd();
  if (!activeElement.isConnected) focusInput();
  announce(answer.message.error ?? spokenText(conversation.messages.indexOf(answer.message)));
  refreshContextSize();
}

// Models

async function refreshModels() {
  try {
    await fetchModels();
  } catch (error) {
    if (error.status === 401 && (await askKey(error.message))) return refreshModels();
    return report(error, "Try again", refreshModels);
  }
  for (const conversation of conversations) conversation.model ??= defaultModel();
  showModels(current.model);
  refreshContextSize();
}

async function refreshContextSize() {
  await fetchContextSize(current.model);
  showFigures();
}

listenForPicks((model) => {
  current.model = model;
  preference.set("model", model);
  keep(current);
  refreshContextSize();
});

// What the user does

async function openSettings() {
  const settings = await askSettings(current.settings);
  if (!settings) return;
  current.settings = settings;
  keep(current);
}

async function openKey() {
  if (await askKey("For a server that asks for one.")) refreshModels();
}

listen({
  send: submit,
  editLast: editLastMessage,
  escape() {
    if (isSidebarOpen()) toggleSidebar(false);
    else answers.get(current)?.stop();
  },
  shortcuts: [
    ["N", "New conversation", startConversation],
    ["R", "Answer again", regenerate],
    ["S", "Settings of this conversation", openSettings],
    ["M", "Choose the model", () => byId("model").focus()],
    ["L", "List of conversations", focusConversations],
  ],
});
byId("stop").onclick = () => {
  answers.get(current)?.stop();
  focusInput();
};
byId("new").onclick = startConversation;
byId("open-settings").onclick = openSettings;
byId("open-key").onclick = openKey;
window.addEventListener("pagehide", () => {
  for (const conversation of answers.keys()) keep(conversation);
});

if (current) select(current.id);
else startConversation();
refreshModels();
