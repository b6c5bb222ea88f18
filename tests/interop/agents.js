// A2A agents built on the JavaScript SDK: one for each binding, streaming and not.
//
// Prints a JSON line {"name": NAME, "url": URL OF THE CARD} for each once all listen, then serves
// until it is killed. `agents.py` is the same with the Python SDK.

import { createHash, randomUUID, webcrypto } from "node:crypto";

import { AgentCard, Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
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
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";

// The SDK takes the global one of Node 20 for granted; Debian 12 has Node 18.
globalThis.crypto ??= webcrypto;

// A message whose first text is this one is answered with a question.
const ASK = "Ask first.";
const QUESTION = "For whom?";
// A message whose first text is this one gets its Parts back, and the hashes of its files.
const ECHO = "Echo.";

// Express takes 100 KiB, and gRPC libraries 4 MiB, unless told otherwise.
const JSON_OF_ANY_SIZE = { limit: Infinity, type: ["application/json", "application/a2a+json"] };
const ANY_SIZE = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

const BINDINGS = { jsonrpc: "JSONRPC", http: "HTTP+JSON", grpc: "GRPC" };

const part = ($case, value) => ({ content: { $case, value }, filename: "", mediaType: "" });

/** The SHA-256 of each file, whether its bytes came or only its address. */
async function hashes(parts) {
  const found = [];
  for (const { content } of parts) {
    if (content.$case !== "raw" && content.$case !== "url") continue;
    const bytes =
      content.$case === "raw"
        ? content.value
        : Buffer.from(await (await fetch(content.value)).arrayBuffer());
    found.push(createHash("sha256").update(bytes).digest("hex"));
  }
  return found;
}

/** Answers with a text artifact in two chunks and a data artifact that counts what came in. */
class Summary {
  #contexts = new Map();

  async execute(context, bus) {
    const { taskId, contextId, task, userMessage } = context;
    const contents = userMessage.parts.map((part) => part.content);
    const texts = contents.filter(({ $case }) => $case === "text").map(({ value }) => value);
    const data = contents.filter(({ $case }) => $case === "data");
    const status = (state, message) =>
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: { state, message, timestamp: new Date().toISOString() },
      });
    const pieces = (name, parts, append, lastChunk) =>
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: { artifactId: name, name, description: "", parts, extensions: [] },
        append,
        lastChunk,
      });
    const artifact = (name, part, append, lastChunk) => pieces(name, [part], append, lastChunk);

    this.#contexts.set(taskId, contextId);
    const submitted = { state: TaskState.TASK_STATE_SUBMITTED };
    const history = [userMessage];
    const created = { id: taskId, contextId, status: submitted, artifacts: [], history };
    // This SDK wants the Task first on every stream, also on that of a continued one.
    bus.publish(AgentEvent.task(task ?? created));
    bus.publish(status(TaskState.TASK_STATE_WORKING));
    if (!task && texts[0] === ASK) {
      bus.publish(
        status(TaskState.TASK_STATE_INPUT_REQUIRED, {
          messageId: randomUUID(),
          taskId,
          contextId,
          role: Role.ROLE_AGENT,
          parts: [part("text", QUESTION)],
          extensions: [],
          referenceTaskIds: [],
        }),
      );
      bus.finished();
      return;
    }
    if (texts[0] === ECHO) {
      const answer = { hashes: await hashes(userMessage.parts), metadata: userMessage.metadata };
      bus.publish(pieces("echo", [...userMessage.parts, part("data", answer)], false, true));
      bus.publish(status(TaskState.TASK_STATE_COMPLETED));
      bus.finished();
      return;
    }
    bus.publish(artifact("summary", part("text", "JavaScript read: "), false, false));
    bus.publish(artifact("summary", part("text", texts.join(" | ")), true, true));
    const counts = { texts: texts.length, data: data.length };
    bus.publish(artifact("counts", part("data", counts), false, true));
    bus.publish(status(TaskState.TASK_STATE_COMPLETED));
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    const status = { state: TaskState.TASK_STATE_CANCELED, timestamp: new Date().toISOString() };
    bus.publish(
      AgentEvent.statusUpdate({ taskId, contextId: this.#contexts.get(taskId), status }),
    );
    bus.finished();
  }
}

function card(name, protocolBinding, url, streaming) {
  return AgentCard.fromJSON({
    name,
    description: "Summarises the texts it is sent.",
    version: "1.0.0",
    supportedInterfaces: [{ url, protocolBinding, protocolVersion: "1.0" }],
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
}

/** Adds the routes of one agent below its name, and starts its gRPC server if it has one. */
async function mount(app, name, binding, base, streaming) {
  const userBuilder = UserBuilder.noAuthentication;
  const webhooks = new InMemoryPushNotificationStore();
  const handler = (url) =>
    new DefaultRequestHandler(
      card(name, binding, url, streaming),
      new InMemoryTaskStore(),
      new Summary(),
      undefined,
      webhooks,
      new DefaultPushNotificationSender(webhooks),
    );
  let requestHandler;
  if (binding === "GRPC") {
    const server = new Server(ANY_SIZE);
    const port = await new Promise((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    );
    requestHandler = handler(`127.0.0.1:${port}`);
    server.addService(A2AService, grpcService({ requestHandler, userBuilder }));
  } else {
    requestHandler = handler(`${base}/${name}`);
  }
  app.use(
    `/${name}/.well-known/agent-card.json`,
    agentCardHandler({ agentCardProvider: requestHandler }),
  );
  if (binding !== "GRPC") {
    const routes = binding === "JSONRPC" ? jsonRpcHandler : restHandler;
    app.use(`/${name}`, routes({ requestHandler, userBuilder }));
  }
}

const app = express();
app.use(express.json(JSON_OF_ANY_SIZE));
// The host alone leads to the first of them.
const first = `/javascript-${Object.keys(BINDINGS)[0]}-streaming/.well-known/agent-card.json`;
app.get("/.well-known/agent-card.json", (_, response) => response.redirect(first));
const listener = app.listen(0, "127.0.0.1", async () => {
  const base = `http://127.0.0.1:${listener.address().port}`;
  for (const [short, binding] of Object.entries(BINDINGS)) {
    for (const [suffix, streaming] of [
      ["streaming", true],
      ["plain", false],
    ]) {
      await mount(app, `javascript-${short}-${suffix}`, binding, base, streaming);
    }
  }
  for (const short of Object.keys(BINDINGS)) {
    for (const suffix of ["streaming", "plain"]) {
      const name = `javascript-${short}-${suffix}`;
      console.log(JSON.stringify({ name, url: `${base}/${name}/.well-known/agent-card.json` }));
    }
  }
});
