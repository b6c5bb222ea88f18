// Webhooks that the client of the JavaScript SDK's 0.3 line registers get what A2A 0.3 says: a Task by itself.
//
// Takes the URLs of the agent `conformance` and of `convoke serve` before it, both with the older versions.
// `push.py` does the same with the Python SDK.

import assert from "node:assert/strict";
import { randomUUID, webcrypto } from "node:crypto";
import { once } from "node:events";

import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import express from "express";

globalThis.crypto ??= webcrypto;

const BINDINGS = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };
// How long a notification may take on a machine with much to do.
const PATIENCE = 60_000;

/** Takes notifications as most receivers do: Express reads those of `application/json` alone. */
async function webhook() {
  const got = [];
  const app = express();
  app.use(express.json());
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  app.post("/", (request, response) => {
    got.push({ task: request.body, token: request.get("X-A2A-Notification-Token") });
    response.sendStatus(204);
    server.emit("notified");
  });
  const until = async (state) => {
    const signal = AbortSignal.timeout(PATIENCE);
    while (got.at(-1)?.task?.status.state !== state) await once(server, "notified", { signal });
    return got.at(-1);
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, got, until, close: () => server.close() };
}

const says = (text, task) => ({
  message: {
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    parts: [{ kind: "text", text }],
    ...(task && { taskId: task.id, contextId: task.contextId }),
  },
  configuration: { blocking: true },
});

let count = 0;
function expect(what, found, wanted) {
  assert.deepEqual({ [what]: found }, { [what]: wanted });
  count += 1;
}

async function checkPush(binding, client) {
  const first = await webhook();
  const sent = says("tck-artifact-text");
  sent.configuration.pushNotificationConfig = { id: "hook", url: first.url, token: "for-this-task" };
  const task = await client.sendMessage(sent);
  const { task: told, token } = await first.until("completed");
  expect(`${binding}, with the message, Task`, [told.kind, told.id, token], ["task", task.id, "for-this-task"]);
  const texts = told.artifacts[0].parts.map(({ text }) => text);
  expect(`${binding}, with the message, artifact`, texts, ["Generated text content"]);
  first.close();

  const second = await webhook();
  const open = await client.sendMessage(says("tck-input-required"));
  const pushNotificationConfig = { id: "hook", url: second.url, token: "later" };
  await client.setTaskPushNotificationConfig({ taskId: open.id, pushNotificationConfig });
  await client.sendMessage(says("tck-artifact-text", open));
  const { task: ended } = await second.until("completed");
  expect(`${binding}, set later, Task`, ended.id, open.id);
  expect(`${binding}, set later, token`, [...new Set(second.got.map(({ token }) => token))], ["later"]);
  second.close();
}

for (const url of process.argv.slice(2)) {
  const card = await new DefaultAgentCardResolver().resolve(url);
  for (const [binding, Transport] of Object.entries(BINDINGS)) {
    count = 0;
    const factory = new ClientFactory({ transports: [new Transport()], preferredTransports: [binding] });
    await checkPush(binding, await factory.createFromAgentCard(card));
    console.log(`  JavaScript 0.3 client over ${binding} to ${card.name}: ${count} checks passed`);
  }
}
process.exit(0);
