// The theme: light, dark or the system's. Pages without the button use the stored choice.

import { byId } from "./dom.js";
import { preference } from "./store.js";

const themes = ["system", "light", "dark"];
const choice = byId("theme");
const current = () => Math.max(0, themes.indexOf(preference.get("theme")));

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  if (choice) choice.lastChild.textContent = `Theme: ${theme}`;
}

if (choice) {
  choice.onclick = () => {
    const theme = themes[(current() + 1) % themes.length];
    preference.set("theme", theme);
    setTheme(theme);
  };
}
setTheme(themes[current()]);
