// The list of conversations.

import { button, byId, element } from "./dom.js";

/**
 * Shows the conversations with their actions.
 *
 * @param found result of `search`
 * @param actions {select(id, message), rename(id, title), remove(id)}
 */
export function showConversations(found, currentId, actions) {
  byId("conversations").replaceChildren(...found.map((each) => row(each, each.conversation.id === currentId, actions)));
}

function row({ conversation: { id, title }, message, snippet }, isCurrent, actions) {
  const item = element("li", { className: isCurrent ? "current" : "" });
  const select = button(title, () => actions.select(id, message), { className: "title", title });
  if (snippet) {
    const { before, found, after } = snippet;
    select.append(element("span", { className: "snippet" }, before, element("mark", {}, found), after));
  }
  if (isCurrent) select.ariaCurrent = "page";
  const rename = button(`Rename “${title}”`, () => edit(item, title, (name) => actions.rename(id, name)), {
    icon: "✎", className: "quiet",
  });
  const remove = button(`Delete “${title}”`, () => actions.remove(id), { icon: "✕", className: "quiet" });
  item.append(select, rename, remove);
  return item;
}

/** Replaces the title by a field. Enter and blur save the text, Escape cancels. */
function edit(item, title, finish) {
  const field = element("input", { value: title, ariaLabel: "Name of the conversation", maxLength: 120 });
  let isDone = false;
  const end = (name) => {
    if (isDone) return; // removing the field also blurs it
    isDone = true;
    finish(name.trim() || title);
  };
  field.onblur = () => end(field.value);
  field.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === "Enter" ? field.value : title);
    byId("conversations").querySelector(".current .title")?.focus();
  };
  item.replaceChildren(field);
  field.select();
}

const sidebar = byId("sidebar");
export const isSidebarOpen = () => sidebar.classList.contains("open");

/** In a narrow window the open list covers the conversation. */
export function toggleSidebar(isOpen) {
  if (isOpen === isSidebarOpen()) return;
  sidebar.classList.toggle("open", isOpen);
  if (getComputedStyle(byId("close-sidebar")).display === "none") return;
  (isOpen ? byId("new") : byId("open-sidebar")).focus();
}

export function focusConversations() {
  toggleSidebar(true);
  byId("conversations").querySelector(".current .title")?.focus();
}

byId("open-sidebar").onclick = () => toggleSidebar(true);
byId("close-sidebar").onclick = () => toggleSidebar(false);
