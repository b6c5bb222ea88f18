// The client of the JavaScript SDK's 0.3 line against agents of this project that speak older
// versions.
//
// Takes the URLs of an `echo` and of an `asks` agent with one question; exits with 0 when each answer
// is as A2A 0.3 wants it. `client.py` does the same with the Python SDK.

import assert from "node:assert/strict";
import { randomUUID, webcrypto } from "node:crypto";

import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

globalThis.crypto ??= webcrypto;

const BINDINGS = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };

/** Compares what was found with what was wanted, and counts. */
class Checks {
  count = 0;

  constructor(binding) {
    this.binding = binding;
  }

  expect(what, found, wanted) {
    assert.deepEqual({ [`${this.binding}, ${what}`]: found }, { [`${this.binding}, ${what}`]: wanted });
    this.count += 1;
  }

  async refused(what, call) {
    await assert.rejects(call, /not|cannot|no task/i, `${this.binding}, ${what}`);
    this.count += 1;
  }
}

const says = (text, task) => ({
  message: {
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    parts: [{ kind: "text", text }],
    ...(task && { taskId: task.id, contextId: task.contextId }),
  },
  configuration: { blocking: true, acceptedOutputModes: ["text/plain"] },
});

const textOf = (parts) => parts.map(({ text }) => text).join("");

async function all(stream) {
  const events = [];
  for await (const event of stream) {
    events.push(event);
  }
  return events;
}

async function checkEcho(check, client) {
  const task = await client.sendMessage(says("plain hello"));
  check.expect("send, state", [task.kind, task.status.state], ["task", "completed"]);
  check.expect("send, artifact", textOf(task.artifacts[0].parts), "plain hello");

  const events = await all(client.sendMessageStream(says("streamed hello")));
  const last = events.at(-1);
  check.expect("stream, first", events[0].kind, "task");
  check.expect("stream, last", [last.kind, last.status.state, last.final], ["status-update", "completed", true]);
  const pieces = events.filter(({ kind }) => kind === "artifact-update");
  check.expect("stream, artifact", textOf(pieces.flatMap(({ artifact }) => artifact.parts)), "streamed hello");

  const found = await client.getTask({ id: task.id });
  check.expect("get, artifact", textOf(found.artifacts[0].parts), "plain hello");
  await check.refused("cancel of a finished Task", client.cancelTask({ id: task.id }));
  await check.refused("get of an unknown Task", client.getTask({ id: "unknown" }));
}

async function checkAsks(check, client) {
  const task = await client.sendMessage(says("a question, please"));
  check.expect("send, asks", task.status.state, "input-required");
  const answered = await client.sendMessage(says("the answer", task));
  check.expect("send, answered", [answered.id, answered.status.state], [task.id, "completed"]);

  const asked = (await all(client.sendMessageStream(says("a question, please")))).at(-1);
  check.expect("stream, asks", [asked.status.state, asked.final], ["input-required", true]);
  const open = { id: asked.taskId, contextId: asked.contextId };
  const ended = (await all(client.sendMessageStream(says("the answer", open)))).at(-1);
  check.expect("stream, answered", [ended.taskId, ended.status.state], [open.id, "completed"]);

  const dropped = await client.sendMessage(says("never mind"));
  const canceled = await client.cancelTask({ id: dropped.id });
  check.expect("canceled", canceled.status.state, "canceled");
}

const [echo, asks] = process.argv.slice(2);
for (const [binding, Transport] of Object.entries(BINDINGS)) {
  const check = new Checks(binding);
  const factory = new ClientFactory({ transports: [new Transport()], preferredTransports: [binding] });
  for (const [url, run] of [[echo, checkEcho], [asks, checkAsks]]) {
    const card = await new DefaultAgentCardResolver().resolve(url);
    check.expect("card, version", card.protocolVersion, "0.3.0");
    await run(check, await factory.createFromAgentCard(card));
  }
  console.log(`${binding}: ${check.count} checks`);
}
