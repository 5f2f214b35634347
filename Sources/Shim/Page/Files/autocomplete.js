// The page that demonstrates suggestions.

import { byId } from "./dom.js";
import { suggestFor } from "./suggest.js";
import "./theme.js";

suggestFor(byId("text"), byId("suggestions"), (text) => (byId("state").textContent = text));
byId("form").onsubmit = (event) => event.preventDefault();
byId("text").focus();
