// Client of the server's OpenAI-compatible API.

const keyName = "localllm.key";

export const apiKey = {
  get: () => localStorage.getItem(keyName) ?? "",
  set: (key) => (key ? localStorage.setItem(keyName, key) : localStorage.removeItem(keyName)),
};

/** A failed request: an error of the server or of the connection. */
export class APIError extends Error {
  constructor(message, { status = 0, code = null, retryAfter = null } = {}) {
    super(message);
    Object.assign(this, { status, code, retryAfter });
  }

  static async from(response) {
    const text = await response.text();
    let error;
    try {
      error = JSON.parse(text).error;
    } catch {
      error = null; // the response is not from the API but from a proxy
    }
    const seconds = Number(response.headers.get("Retry-After") ?? NaN);
    // Ollama's routes answer with a text.
    return new APIError((typeof error === "string" ? error : error?.message) ?? `The server answered ${response.status} ${response.statusText}.`, {
      status: response.status,
      code: error?.code ?? null,
      retryAfter: Number.isFinite(seconds) ? Math.min(Math.max(seconds, 1), 60) : null,
    });
  }
}

async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (apiKey.get()) headers.Authorization = `Bearer ${apiKey.get()}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new APIError("The server cannot be reached. It may have been stopped, or the network is down.");
  }
  if (!response.ok) throw await APIError.from(response);
  return response;
}

async function send(method, path, body, signal) {
  return request(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
}

const post = (path, body, signal) => send("POST", path, body, signal);

/** The models: `id`; local ones also have `state`, `progress` or `reason`, and `capabilities`. */
export async function listModels() {
  return (await (await request("/v1/models")).json()).data;
}

/** Loads a model, and returns when it is loaded; or unloads it. For those who may manage the server's models. */
export const loadModel = (model) => post("/models/load", { model });
export const unloadModel = (model) => post("/models/unload", { model });

/** Removes a model's files from the server's folder of models. */
export const deleteModel = (model) => send("DELETE", "/api/delete", { model });

/** Downloads a model into the server's folder; yields `status`, and `total` and `completed` bytes of a file. */
export async function* pullModel(model, signal) {
  const response = await post("/api/pull", { model }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part; !(part = await reader.read()).done; ) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const state = JSON.parse(line);
      if (state.error) throw new APIError(state.error);
      yield state;
    }
  }
}

/** The engines: `id` (`local` or `upstream`), `available`, `reason` if unavailable, `models`. */
export async function listEngines() {
  return (await (await request("/api/engines")).json()).engines;
}

/** Suggested continuations of a text. */
export async function suggestions(text, signal) {
  return (await (await post("/api/suggest", { text }, signal)).json()).suggestions.map((each) => each.text);
}

/** Generates an image: `b64_json` or `url`. */
export async function createImage(body, signal) {
  return (await (await post("/v1/images/generations", body, signal)).json()).data[0];
}

/**
 * What a local model and this server are: `contextSize` in tokens, `params` (the sampling options in force; only of a
 * loaded model), `threads`, `tier` …; `null` if the user may not see it.
 */
export async function properties(model) {
  try {
    const { default_generation_settings: settings, ...others } =
      await (await request(`/props?model=${encodeURIComponent(model)}`)).json();
    return { ...others, contextSize: settings?.n_ctx, params: settings?.params };
  } catch {
    return null; // only shown, not required
  }
}

/** What a local model can do besides chatting: `tools`, `thinking`, `vision`, `insert`; empty if unknown. */
export async function abilities(model) {
  try {
    return (await (await post("/api/show", { model })).json()).capabilities ?? [];
  } catch {
    return []; // only shown, not required
  }
}

/** The text of an answer that is not streamed. */
export async function complete(body, signal) {
  return (await (await post("/v1/chat/completions", body, signal)).json()).choices[0].message.content ?? "";
}

/** Sends a chat request and yields its chunks. Throws if the stream ends without `[DONE]`. */
export async function* streamChat(body, signal) {
  const response = await post(
    "/v1/chat/completions", { ...body, stream: true, stream_options: { include_usage: true } }, signal);
  try {
    for await (const data of events(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new APIError(chunk.error.message, { code: chunk.error.code });
      yield chunk;
    }
  } catch (error) {
    if (error instanceof APIError || error.name === "AbortError") throw error;
    throw new APIError(`The connection was lost during the answer (${error.message}).`);
  }
  throw new APIError("The connection closed before the answer was complete.");
}

/** The data of each server-sent event (HTML standard, "Parsing an event stream"). Comments and other fields are skipped. */
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (let part; !(part = await reader.read()).done; ) {
      // A carriage return at the end may be half of a CR LF, so it stays in `rest`.
      const lines = (rest + part.value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield data.join("\n");
          data = [];
        } else if (line === "data" || line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // leaving early tells the server to stop
  }
}
