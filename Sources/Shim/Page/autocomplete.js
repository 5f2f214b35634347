// The page that shows what suggestions are like.

import { byId } from "./dom.js";
import { suggestFor } from "./suggest.js";
import "./theme.js";

suggestFor(byId("text"), byId("suggestions"), (text) => (byId("state").textContent = text));
byId("form").onsubmit = (event) => event.preventDefault();
byId("text").focus();
