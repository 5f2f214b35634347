// The other end of frames.js: answers the questions of the page that a frame belongs to.

/** @param answer an async function from a question to its answer */
export function answerPage(answer) {
  window.addEventListener("message", async ({ source, origin, data, ports: [port] }) => {
    if (source !== parent || origin !== location.origin || !port) return;
    try {
      port.postMessage({ answer: await answer(data) });
    } catch (error) {
      port.postMessage({ error: error.message });
    }
  });
  parent.postMessage("ready", location.origin);
}
