// Stores conversations in this browser, one entry of localStorage each. Only the user deletes them.

import { connect } from "./branches.js";

const prefix = "localllm.conversation.";

/**
 * {id, title, isNamed, isTitled?, created, updated, revision, model, settings, messages: [message], leaf}; branches.js says what
 * `leaf` and a message's `id` and `parent` are.
 *
 * message: {id, parent, role, content, images?: [{id, name}], documents?: [{id, name}], time, model?, thoughts?, calls?: [{index, id, name, arguments, result?}], finish?, error?,
 * usage?, seconds?, prompt?: {tokens, cached, seconds}, isEdited?}; times are milliseconds since 1970.
 */
export function newConversation(model, settings) {
  const now = Date.now();
  // randomUUID is available only over https and on localhost.
  const id = `${now.toString(36)}-${Math.random().toString(36).slice(2)}`;
  return { id, title: "New conversation", isNamed: false, created: now, updated: now, revision: 0, model, settings,
    messages: [], leaf: null };
}

/** All conversations, the latest first. Unreadable entries are skipped, not deleted. */
export function loadAll() {
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(prefix))
    .map(read)
    .filter((conversation) => conversation !== null)
    .sort((a, b) => b.updated - a.updated);
}

function read(key) {
  try {
    const value = JSON.parse(localStorage.getItem(key));
    if (!Array.isArray(value?.messages) || prefix + value.id !== key) return null;
    const conversation = { ...newConversation(null, {}), ...value };
    return connect(conversation) ? conversation : null;
  } catch {
    return null;
  }
}

export const load = (id) => read(prefix + id);
export const idOfKey = (key) => (key?.startsWith(prefix) ? key.slice(prefix.length) : null);

/**
 * Writes a conversation. If another tab has changed it meanwhile, this tab's version is saved as a new conversation.
 *
 * @throws {StorageFull} if storage is full; the stored version is unchanged.
 */
export function save(conversation) {
  const stored = load(conversation.id);
  if (stored && stored.revision !== conversation.revision) {
    Object.assign(conversation, { id: newConversation().id, title: `${conversation.title} (this tab)`, isNamed: true });
  }
  const next = { ...conversation, revision: conversation.revision + 1 };
  try {
    localStorage.setItem(prefix + conversation.id, JSON.stringify(next));
  } catch (error) {
    throw new StorageFull(error);
  }
  conversation.revision = next.revision;
}

export const remove = (id) => localStorage.removeItem(prefix + id);

export class StorageFull extends Error {
  constructor(cause) {
    super("This browser's storage for the page is full: the latest messages are not saved. Delete conversations to "
      + "make room; what you see stays until the page is closed.", { cause });
  }
}

/** Small settings of the page: theme, the last conversation and its model, drafts. */
export const preference = {
  get: (name) => localStorage.getItem(`localllm.${name}`),
  set(name, value) {
    try {
      localStorage.setItem(`localllm.${name}`, value);
    } catch {
      // Storage is full. The next message that cannot be saved reports it.
    }
  },
  remove: (name) => localStorage.removeItem(`localllm.${name}`),
};

/** Settings of new conversations. */
export const defaultSettings = {
  get() {
    try {
      return JSON.parse(preference.get("settings")) ?? {};
    } catch {
      return {};
    }
  },
  set: (settings) => preference.set("settings", JSON.stringify(settings)),
};
