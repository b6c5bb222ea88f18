// A2A 0.3 agents built on the JavaScript SDK: by JSON-RPC and HTTP+JSON, streaming and not.
//
// Prints a JSON line {"name": NAME, "url": URL OF THE AGENT} for each once all listen, then serves
// until it is killed. `agents.py` is the same with the Python SDK.

import { createHash, randomUUID, webcrypto } from "node:crypto";

import {
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from "@a2a-js/sdk/server/express";
import express from "express";

// The SDK takes the global one of Node 20 for granted; Debian 12 has Node 18.
globalThis.crypto ??= webcrypto;

// A message whose first text is this one is answered with a question.
const ASK = "Ask first.";
const QUESTION = "For whom?";
// A message whose first text is this one gets its Parts back, and the hashes of its files.
const ECHO = "Echo.";

// Express takes 100 KiB, unless told otherwise.
const JSON_OF_ANY_SIZE = { limit: Infinity };

const text = (text) => ({ kind: "text", text });

/** The SHA-256 of each file, whether its bytes came or only its address. */
async function hashes(parts) {
  const found = [];
  for (const { file } of parts.filter(({ kind }) => kind === "file")) {
    const bytes =
      "bytes" in file
        ? Buffer.from(file.bytes, "base64")
        : Buffer.from(await (await fetch(file.uri)).arrayBuffer());
    found.push(createHash("sha256").update(bytes).digest("hex"));
  }
  return found;
}

/** Answers with a text artifact in two chunks and a data artifact that counts what came in. */
class Summary {
  #contexts = new Map();

  async execute(context, bus) {
    const { taskId, contextId, task, userMessage } = context;
    const texts = userMessage.parts.filter(({ kind }) => kind === "text").map(({ text }) => text);
    const data = userMessage.parts.filter(({ kind }) => kind === "data");
    const status = (state, message, final = false) =>
      bus.publish({
        kind: "status-update",
        taskId,
        contextId,
        status: { state, message, timestamp: new Date().toISOString() },
        final,
      });
    const pieces = (name, parts, append, lastChunk) =>
      bus.publish({
        kind: "artifact-update",
        taskId,
        contextId,
        artifact: { artifactId: name, name, parts },
        append,
        lastChunk,
      });
    const artifact = (name, part, append, lastChunk) => pieces(name, [part], append, lastChunk);

    this.#contexts.set(taskId, contextId);
    if (!task) {
      const history = [userMessage];
      bus.publish({ kind: "task", id: taskId, contextId, status: { state: "submitted" }, history });
    }
    status("working");
    if (!task && texts[0] === ASK) {
      const role = "agent";
      const parts = [text(QUESTION)];
      const message = { kind: "message", messageId: randomUUID(), taskId, contextId, role, parts };
      status("input-required", message, true);
      bus.finished();
      return;
    }
    if (texts[0] === ECHO) {
      const answer = { hashes: await hashes(userMessage.parts), metadata: userMessage.metadata };
      pieces("echo", [...userMessage.parts, { kind: "data", data: answer }], false, true);
      status("completed", undefined, true);
      bus.finished();
      return;
    }
    artifact("summary", text("JavaScript read: "), false, false);
    artifact("summary", text(texts.join(" | ")), true, true);
    const counts = { kind: "data", data: { texts: texts.length, data: data.length } };
    artifact("counts", counts, false, true);
    status("completed", undefined, true);
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    const contextId = this.#contexts.get(taskId);
    const status = { state: "canceled", timestamp: new Date().toISOString() };
    bus.publish({ kind: "status-update", taskId, contextId, status, final: true });
    bus.finished();
  }
}

const card = (name, preferredTransport, url, streaming) => ({
  name,
  description: "Summarises the texts it is sent.",
  version: "1.0.0",
  protocolVersion: "0.3.0",
  url,
  preferredTransport,
  capabilities: { streaming, pushNotifications: true },
  defaultInputModes: ["text/plain", "application/json"],
  defaultOutputModes: ["text/plain", "application/json"],
  skills: [
    {
      id: "summarise",
      name: "Summarise",
      description: "Puts the texts of a message into one line.",
      tags: ["summary"],
    },
  ],
});

const app = express();
app.use(express.json(JSON_OF_ANY_SIZE));
// The host alone leads to the first of them.
const first = "/javascript-0-3-jsonrpc-streaming/.well-known/agent-card.json";
app.get("/.well-known/agent-card.json", (_, response) => response.redirect(first));
const server = app.listen(0, "127.0.0.1", () => {
  const base = `http://127.0.0.1:${server.address().port}`;
  for (const [short, transport] of [["jsonrpc", "JSONRPC"], ["http", "HTTP+JSON"]]) {
    for (const [suffix, streaming] of [["streaming", true], ["plain", false]]) {
      const name = `javascript-0-3-${short}-${suffix}`;
      const url = `${base}/${name}`;
      const own = card(name, transport, url, streaming);
      const webhooks = new InMemoryPushNotificationStore();
      const requestHandler = new DefaultRequestHandler(
        own,
        new InMemoryTaskStore(),
        new Summary(),
        undefined,
        webhooks,
        new DefaultPushNotificationSender(webhooks),
      );
      const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
      const agentCardProvider = requestHandler;
      app.use(`/${name}/.well-known/agent-card.json`, agentCardHandler({ agentCardProvider }));
      app.use(`/${name}`, transport === "JSONRPC" ? jsonRpcHandler(options) : restHandler(options));
      console.log(JSON.stringify({ name, url }));
    }
  }
});
