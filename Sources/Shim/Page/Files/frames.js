// Parts of the page that work in frames, under content security policies of their own: `tools` may reach other servers,
// `pdf` reaches none and runs a library. They only answer questions of this page.

import { element } from "./dom.js";

const addresses = { tools: "/page/tools.html", pdf: "/page/pdf.html" };
const frames = new Map();
const patience = 20_000; // milliseconds for a frame to load

/**
 * Asks a frame.
 *
 * @throws {Error} with the message of the frame's error
 */
export async function askFrame(name, question) {
  if (!frames.has(name)) frames.set(name, opened(name));
  const target = await frames.get(name).catch((error) => {
    frames.delete(name); // the next question tries again
    throw error;
  });
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve, reject) => {
    port1.onmessage = ({ data: { answer, error } }) => {
      port1.close();
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    };
    target.postMessage(question, location.origin, [port2]);
  });
}

/** The frame's window, once its script listens. */
function opened(name) {
  const frame = element("iframe", { src: addresses[name], title: name, hidden: true });
  return new Promise((resolve, reject) => {
    const listen = ({ source, data }) => {
      if (source !== frame.contentWindow || data !== "ready") return;
      finish();
      resolve(frame.contentWindow);
    };
    const timer = setTimeout(() => {
      finish();
      frame.remove();
      reject(new Error("A part of this page did not load. The server may have been stopped."));
    }, patience);
    const finish = () => {
      clearTimeout(timer);
      window.removeEventListener("message", listen);
    };
    window.addEventListener("message", listen);
    document.body.append(frame);
  });
}
