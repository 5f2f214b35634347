// Reads PDF files for the page (frames.js) with pdf.js, whose scripts the document has loaded if they are installed.

import { answerPage } from "./framed.js";

const mostPages = 2000;

answerPage(async ({ bytes, mostCharacters }) => {
  const { pdfjsLib: library, pdfjsWorker: worker } = globalThis;
  if (!library || !worker) throw new Error("this server reads no PDF files; it needs the Debian package libjs-pdf.");
  const file = await library.getDocument({
    data: new Uint8Array(bytes), isEvalSupported: false, disableFontFace: true, useSystemFonts: false, useWorkerFetch: false,
    verbosity: 0,
  }).promise;
  let text = "";
  for (let number = 1; number <= Math.min(file.numPages, mostPages) && text.length <= mostCharacters; number += 1) {
    const page = await file.getPage(number);
    for (const { str, hasEOL } of (await page.getTextContent()).items) text += (str ?? "") + (hasEOL ? "\n" : "");
    text += "\n\n";
    page.cleanup();
  }
  await file.destroy();
  return text.trim();
});
