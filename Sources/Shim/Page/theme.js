// Light, dark, or as the system has it.

import { byId } from "./dom.js";
import { preference } from "./store.js";

const themes = ["system", "light", "dark"];
const current = () => Math.max(0, themes.indexOf(preference.get("theme")));

function setTheme(theme) {
  preference.set("theme", theme);
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
}

byId("theme").onclick = () => setTheme(themes[(current() + 1) % themes.length]);
setTheme(themes[current()]);
