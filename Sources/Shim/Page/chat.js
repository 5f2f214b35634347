// The page's doings: which conversation is shown, and what the user asks for.

import { contextSize, listModels } from "./api.js";
import { Answer } from "./answer.js";
import { askKey, askSettings, isAnyOpen, showShortcuts } from "./dialogs.js";
import { announce, button, byId, element } from "./dom.js";
import { LiveAnswer, focusMessage, isScrolledToEnd, isSendKey, scrollToEnd, showMessages, spokenText } from "./messages.js";
import { isSidebarOpen, showConversations, toggleSidebar } from "./sidebar.js";
import { idOfKey, loadAll, newConversation, preference, remove, save } from "./store.js";

const input = byId("input");
const picker = byId("model");

let conversations = loadAll();
let current = conversations.find(({ id }) => id === preference.get("conversation")) ?? conversations[0];
/** The answers that are being written, by conversation: each goes on while another conversation is shown. */
const answers = new Map();
const contextSizes = new Map();

// Showing

function show() {
  byId("title").textContent = current.title;
  document.title = `${current.title} – LocalLLM`;
  showConversations(conversations, current.id, { select, rename, remove: removeConversation });
  const answer = answers.get(current);
  const settled = answer ? current.messages.slice(0, -1) : current.messages;
  showMessages(settled, { edit, regenerate, remove: removeMessage, retry: regenerate, report });
  if (answer) answer.live = new LiveAnswer(answer.message);
  byId("send").hidden = Boolean(answer);
  byId("stop").hidden = !answer;
  showModels();
  showFigures();
}

/** `812 of 4,096 tokens of context used` */
function showFigures() {
  const usage = current.messages.findLast((message) => message.usage)?.usage;
  const size = contextSizes.get(current.model);
  const used = (usage?.total_tokens ?? 0).toLocaleString();
  const context = size ? `${used} of ${size.toLocaleString()} tokens of context used` : `${used} tokens used`;
  byId("figures").textContent = [answers.get(current)?.speed, usage || size ? context : ""].filter(Boolean).join(" · ");
}

/** Says something above the composer, with one thing that can be done about it. */
function notify(text, label, action, className = "") {
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

function report(error, label, action) {
  notify(error.message, label, action, "alarm");
}

/** Stores a conversation that is still in the list; what cannot be stored is said. */
function keep(conversation) {
  if (!conversations.includes(conversation) || !conversation.messages.length) return;
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
  if (!matchMedia("(pointer: coarse)").matches) input.focus(); // it would bring up the keyboard
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
  show();
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
  current = conversations.find(({ id }) => id === current.id) ?? conversations[0];
  if (current) show();
  else startConversation();
});

// Messages

function submit() {
  if (input.value.trim() === "" || answers.has(current)) return;
  const text = input.value;
  input.value = "";
  fitInput();
  ask(text);
}

function ask(text) {
  if (!current.isNamed && !current.messages.length) current.title = text.trim().split("\n")[0].slice(0, 60);
  current.messages.push({ role: "user", content: text });
  respond();
}

function edit(index, text) {
  if (answers.has(current)) return report(new Error("Stop the answer first."));
  const follows = current.messages.length - index;
  if (follows > 2) changeMessages(`Dropped ${follows - 2} later messages.`, (messages) => messages.splice(index));
  else current.messages.splice(index);
  ask(text);
  input.focus();
}

function regenerate() {
  if (answers.has(current) || !current.messages.length) return;
  if (current.messages.at(-1).role === "assistant") current.messages.pop();
  respond();
  input.focus();
}

function removeMessage(index) {
  if (answers.has(current)) return report(new Error("Stop the answer first."));
  changeMessages("Deleted a message.", (messages) => messages.splice(index, 1));
  if (current.messages.length) focusMessage(index);
  else input.focus();
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
  answer.live?.end();
  keep(conversation);
  if (conversation !== current) return;
  const { activeElement } = document;
  const isAtEnd = isScrolledToEnd();
  show();
  if (isAtEnd) scrollToEnd();
  if (!activeElement.isConnected) input.focus();
  announce(answer.message.error ?? spokenText(conversation.messages.indexOf(answer.message)));
  refreshContextSize();
}

// Models

let models = [];

function showModels() {
  const known = models.some(({ id }) => id === current.model);
  const missing = current.model && !known ? [{ id: current.model, state: "not served here" }] : [];
  const options = [...models, ...missing].map(({ id, state }) =>
    element("option", { value: id }, state && state !== "loaded" ? `${id} (${state})` : id));
  picker.replaceChildren(...options);
  picker.value = current.model ?? "";
}

async function refreshModels() {
  try {
    models = await listModels();
  } catch (error) {
    if (error.status === 401 && (await askKey(error.message))) return refreshModels();
    return report(error, "Try again", refreshModels);
  }
  for (const conversation of conversations) conversation.model ??= models[0]?.id;
  showModels();
  refreshContextSize();
}

async function refreshContextSize() {
  const { model } = current;
  if (model && !contextSizes.get(model)) contextSizes.set(model, await contextSize(model));
  showFigures();
}

picker.onfocus = () => listModels().then((list) => (models = list), () => {}); // a new state, when it is next opened
picker.onchange = () => {
  current.model = picker.value;
  preference.set("model", picker.value);
  keep(current);
  refreshContextSize();
};

// What the user does

const themes = ["system", "light", "dark"];

function setTheme(theme) {
  preference.set("theme", theme);
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
}

function fitInput() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight}px`;
}

async function openSettings() {
  const settings = await askSettings(current.settings);
  if (!settings) return;
  current.settings = settings;
  keep(current);
}

async function openKey() {
  if (await askKey("For a server that asks for one.")) refreshModels();
}

/** [keys, meaning, code with Alt, action] */
const shortcuts = [
  ["Enter", "Send the message"],
  ["Shift Enter", "Begin a new line"],
  ["Escape", "Stop the answer"],
  ["↑ in an empty field", "Edit the last message"],
  ["Alt N", "New conversation", "KeyN", startConversation],
  ["Alt R", "Answer again", "KeyR", regenerate],
  ["Alt S", "Settings of this conversation", "KeyS", openSettings],
  ["Alt M", "Choose the model", "KeyM", () => picker.focus()],
  ["Alt L", "List of conversations", "KeyL", () => {
    toggleSidebar(true);
    document.querySelector("#conversations .current .title")?.focus();
  }],
  ["Alt I", "Write a message", "KeyI", () => input.focus()],
  ["Alt /", "This list", "Slash", () => showShortcuts(shortcuts)],
];

document.addEventListener("keydown", (event) => {
  if (isAnyOpen()) return;
  if (event.key === "Escape") {
    if (isSidebarOpen()) toggleSidebar(false);
    else answers.get(current)?.stop();
  } else if (event.altKey && !event.ctrlKey && !event.metaKey) {
    const action = shortcuts.find(([, , code]) => code === event.code)?.[3];
    if (!action) return;
    event.preventDefault();
    action();
  }
});

input.oninput = fitInput;
input.onkeydown = (event) => {
  if (isSendKey(event)) {
    event.preventDefault();
    submit();
  } else if (event.key === "ArrowUp" && input.value === "") {
    const last = [...document.querySelectorAll("#messages > .user")].at(-1);
    last?.querySelector(".tools button:nth-child(2)")?.click();
    event.preventDefault();
  }
};
byId("composer").onsubmit = (event) => {
  event.preventDefault();
  submit();
};
byId("stop").onclick = () => {
  answers.get(current)?.stop();
  input.focus();
};
byId("new").onclick = startConversation;
byId("open-settings").onclick = openSettings;
byId("open-key").onclick = openKey;
byId("open-help").onclick = () => showShortcuts(shortcuts);
byId("theme").onclick = () => setTheme(themes[(themes.indexOf(preference.get("theme")) + 1) % themes.length]);
window.addEventListener("pagehide", () => {
  for (const conversation of answers.keys()) keep(conversation);
});

setTheme(themes.includes(preference.get("theme")) ? preference.get("theme") : "system");
if (current) select(current.id);
else startConversation();
refreshModels();
