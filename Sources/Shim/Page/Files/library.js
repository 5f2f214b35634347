// Actions on conversations: select, rename, delete, search, import.

import { choose, shownMessages } from "./branches.js";
import { byId } from "./dom.js";
import { draftAttached, draftOf, keepDraft, keepDraftAttached } from "./drafts.js";
import { listenForFiles } from "./files.js";
import { focusInput, setInput } from "./keys.js";
import { scrollToEnd } from "./live.js";
import { showMessage } from "./messages.js";
import { dismiss, notify, report } from "./notice.js";
import { search } from "./search.js";
import { showConversations, toggleSidebar } from "./sidebar.js";
import { addConversation, keep, state } from "./state.js";
import { idOfKey, load, loadAll, newConversation, preference, remove } from "./store.js";
import { haveSameMessages } from "./transfer.js";

const field = byId("search");

export function showLibrary() {
  const { current, conversations } = state;
  byId("title").textContent = current.title;
  document.title = `${current.title} – LocalLLM`;
  const found = search(conversations, field.value);
  showConversations(found, current.id, { select, rename, remove: removeConversation });
  byId("nothing-found").hidden = found.length > 0;
}

field.oninput = showLibrary;

/** @param message message to scroll to; without one, scrolls to the end */
export function select(id, message) {
  state.current = state.conversations.find((conversation) => conversation.id === id) ?? state.current;
  const { current } = state;
  preference.set("conversation", current.id);
  dismiss("model");
  if (message && !shownMessages(current).includes(message)) choose(current, message);
  state.show();
  setInput(draftOf(current));
  toggleSidebar(false);
  if (message) return showMessage(message.id);
  scrollToEnd();
  if (!matchMedia("(pointer: coarse)").matches) focusInput(); // focus would open the on-screen keyboard
}

export function startConversation() {
  const empty = state.conversations.find(({ messages }) => !messages.length);
  select((empty ?? addConversation()).id);
}

function rename(id, title) {
  const conversation = state.conversations.find((each) => each.id === id);
  Object.assign(conversation, { title, isNamed: true });
  keep(conversation);
  showLibrary();
}

function removeConversation(id) {
  const conversation = state.conversations.find((each) => each.id === id);
  const [draft, attached] = [draftOf(conversation), draftAttached(conversation)];
  state.answers.get(conversation)?.stop();
  state.conversations = state.conversations.filter((each) => each !== conversation);
  remove(id);
  keepDraft(conversation, "");
  keepDraftAttached(conversation);
  const restore = () => {
    state.conversations.unshift(conversation);
    keep(conversation);
    keepDraft(conversation, draft);
    keepDraftAttached(conversation, attached);
    select(id);
  };
  if (conversation.messages.length) notify(`Deleted “${conversation.title}”.`, { label: "Undo", action: restore });
  if (conversation !== state.current) state.show();
  else if (state.conversations.length) select(state.conversations[0].id);
  else startConversation();
}

listenForFiles({
  current: () => state.current,
  all: () => state.conversations.filter(({ messages }) => messages.length),
  take(conversations) {
    const isHere = (each) => load(each.id) !== null && haveSameMessages(load(each.id), each);
    const taken = conversations.filter((each) => !isHere(each));
    for (const each of taken) {
      if (load(each.id)) each.id = newConversation().id; // another version of a known conversation
      state.conversations.unshift(each);
      keep(each);
    }
    if (taken.length) select(taken[0].id);
    const known = conversations.length - taken.length;
    notify(`Imported ${taken.length} ${taken.length === 1 ? "conversation" : "conversations"}.`
      + (known ? ` ${known} were already here.` : ""));
  },
  report,
});

/** Another tab changed the storage. Conversations with running answers keep this tab's version. */
window.addEventListener("storage", (event) => {
  if (event.key !== null && idOfKey(event.key) === null) return;
  const own = state.conversations.filter((each) => state.answers.has(each) || !each.messages.length);
  const isOwn = (id) => own.some((each) => each.id === id);
  state.conversations = [...own, ...loadAll().filter(({ id }) => !isOwn(id))];
  const shown = state.current;
  state.current = state.conversations.find(({ id }) => id === shown.id) ?? state.conversations[0];
  if (!state.current) return startConversation();
  showLibrary();
  if (state.current.id !== shown.id || state.current.revision !== shown.revision) state.showConversation(); // otherwise keep open editors
});
