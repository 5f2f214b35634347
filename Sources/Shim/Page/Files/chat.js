// The chat page: connects its parts and the user's actions.

import { showAttached, takeAttached } from "./attach.js";
import { attachedTo, forgetUnused } from "./attachments.js";
import { shownMessages } from "./branches.js";
import { askKey, askSettings } from "./dialogs.js";
import { byId } from "./dom.js";
import { draftAttached, keepDraft } from "./drafts.js";
import { listenForEngines, showEngines } from "./engines.js";
import { contextText } from "./figures.js";
import { focusInput, listen, takeInput } from "./keys.js";
import { select, showLibrary, startConversation } from "./library.js";
import { listenForManagement, showManagement } from "./manage.js";
import { editLastMessage } from "./messages.js";
import { bestModel, canManage, fetchModels, fetchProperties, isServed, listenForModels, propertiesOf, showModels } from "./models.js";
import { showModelState } from "./modelstate.js";
import { dismiss, report } from "./notice.js";
import { focusConversations, isSidebarOpen, toggleSidebar } from "./sidebar.js";
import { isAnswering, keep, messagesShown, state } from "./state.js";
import { defaultSettings, preference } from "./store.js";
import "./theme.js";
import { ask, regenerateLast, showTurns } from "./turns.js";
import { showWelcome } from "./welcome.js";

// Showing

Object.assign(state, {
  show() {
    showLibrary();
    state.showConversation();
  },

  showLibrary,

  showConversation() {
    showTurns();
    byId("send").hidden = isAnswering();
    byId("stop").hidden = !isAnswering();
    showModelsAndEngines();
    state.showFigures();
  },

  /** `57 tokens, 41.2 tokens/s · 812 of 4,096 tokens of context used` */
  showFigures() {
    const { current } = state;
    const speed = state.answers.get(current)?.speed;
    const context = contextText(shownMessages(current), propertiesOf(current.model)?.contextSize);
    byId("figures").textContent = [speed, context].filter(Boolean).join(" · ");
  },

  asked: () => setTimeout(() => refreshModels(), 150), // by then the server has begun to load the model
  answered: () => refreshModels(),
});

function showModelsAndEngines() {
  showAttached();
  showModels(state.current.model);
  showEngines(state.current.model);
  showModelState(state.current.model, { refresh: () => refreshModels(), canManage: canManage() });
  byId("open-models").hidden = !canManage();
  showManagement();
  for (const answer of state.answers.values()) answer.showWait();
  showWelcome(state.current.model, (text) => !isAnswering() && ask(text));
}

// Models

/** Fetches models and engines. Reports a failure only if the user asked for it. */
async function refreshModels({ isAsked = false } = {}) {
  try {
    await fetchModels();
    dismiss("server");
  } catch (error) {
    if (!isAsked) return;
    if (error.status === 401 && (await askKey(error.message))) return refreshModels({ isAsked });
    return report(error, { label: "Try again", action: () => refreshModels({ isAsked }), topic: "server" });
  }
  for (const conversation of state.conversations) {
    // A conversation with messages keeps its model; an empty one switches to a usable model.
    const isOpen = !conversation.messages.length && !isServed(conversation.model);
    if (isOpen || !conversation.model) conversation.model = bestModel(preference.get("model")) ?? conversation.model;
  }
  showModelsAndEngines();
  await fetchProperties(state.current.model);
  showModelsAndEngines(); // the properties say more of the model, and whether the user may manage it
  state.showFigures();
}

function pick(model) {
  dismiss("model");
  state.current.model = model;
  preference.set("model", model);
  keep(state.current);
  refreshModels();
}

listenForModels({
  picked: pick,
  refresh: () => refreshModels(),
  isWaiting: () => [...state.answers.values()].some((answer) => answer.isWaiting),
});
listenForManagement(() => refreshModels());
listenForEngines((engine) => {
  const model = bestModel(preference.get("model"), engine);
  if (model) pick(model);
  else showModelsAndEngines(); // reset the choice
});

// What the user does

function submit() {
  const isEmpty = byId("input").value.trim() === "" && !Object.keys(attachedTo(draftAttached(state.current))).length;
  if (!isEmpty && !isAnswering()) ask(takeInput(), takeAttached());
}

async function openSettings() {
  const answer = await askSettings(state.current.settings, propertiesOf(state.current.model)?.params);
  if (!answer) return;
  state.current.settings = answer.settings;
  if (answer.isDefault) defaultSettings.set(answer.settings);
  keep(state.current);
}

async function openKey() {
  if (await askKey("For servers that require a key.")) refreshModels({ isAsked: true });
}

listen({
  send: submit,
  typed: (text) => keepDraft(state.current, text),
  editLast: editLastMessage,
  escape() {
    if (isSidebarOpen()) toggleSidebar(false);
    else state.answers.get(state.current)?.stop();
  },
  shortcuts: [
    ["N", "New conversation", startConversation],
    ["R", "Regenerate the last answer", regenerateLast],
    ["S", "Settings of this conversation", openSettings],
    ["M", "Choose the model", () => byId("model").focus()],
    ["L", "List of conversations", focusConversations],
    ["F", "Search in all conversations", () => {
      toggleSidebar(true);
      byId("search").focus();
    }],
  ],
});
byId("stop").onclick = () => {
  state.answers.get(state.current)?.stop();
  focusInput();
};
byId("new").onclick = startConversation;
byId("open-settings").onclick = openSettings;
byId("open-key").onclick = openKey;
window.addEventListener("pagehide", () => {
  for (const conversation of state.answers.keys()) keep(conversation);
});

// Conversations without messages are not stored, so a new one is started instead.
const last = state.conversations.find(({ id }) => id === preference.get("conversation"));
if (last) select(last.id);
else startConversation();
refreshModels({ isAsked: true });
forgetUnused().catch(() => {}); // a browser without storage keeps none
