// The agent `conformance` and `convoke serve` before it, asked by the client of the JavaScript SDK's 0.3
// line.
//
// Takes their URLs, both with the older versions, and that of a file. Over both bindings: streams, turns,
// text of any script, files, and nothing, which is refused. `content.py` does the same with the Python SDK.

import assert from "node:assert/strict";
import { createHash, randomUUID, webcrypto } from "node:crypto";

import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

globalThis.crypto ??= webcrypto;

const BINDINGS = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };

// Chinese and Japanese, a family of one cluster, a combining accent, right to left, line separators, NUL.
const ANY_SCRIPT =
  "你好 こんにちは 👨‍👩‍👧 e\u0301 مرحبا שלום \u202bx\u202c \u2028 \u2029 \u0085 \ufeff \0 \"\\/ end";

// `convoke serve` keeps no NUL in a name.
const CONTEXT = ANY_SCRIPT.replaceAll("\0", "");

// 10 MB take their time: there and back once each is enough, other files have 1 MB.
const LARGE = { conformance: "JSONRPC", serve: "HTTP+JSON" };
const LONG = 10_000_000;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

const text = (text) => ({ kind: "text", text });

const says = (parts, fields = {}) => ({
  message: { kind: "message", messageId: randomUUID(), role: "user", parts, ...fields },
  configuration: { blocking: true },
});

const on = (task) => ({ taskId: task.id, contextId: task.contextId });

let count = 0;
function expect(what, found, wanted) {
  assert.deepEqual({ [what]: found }, { [what]: wanted });
  count += 1;
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const streamedParts = (events) =>
  events.filter(({ kind }) => kind === "artifact-update").flatMap(({ artifact }) => artifact.parts);

async function checkStream(client) {
  const events = await all(client.sendMessageStream(says([text("tck-stream-artifact-chunked")])));
  const { status, final } = events.at(-1);
  expect("stream, last", [status.state, final], ["completed", true]);
  expect("stream, chunks", streamedParts(events).map(({ text }) => text), ["chunk-1 ", "chunk-2"]);
}

async function checkTurns(client) {
  const task = await client.sendMessage(says([text("tck-multi-turn")]));
  expect("first question", task.status.state, "input-required");
  const again = await client.sendMessage(says([text("more")], on(task)));
  expect("second question", [again.id, again.status.state], [task.id, "input-required"]);
  const last = (await all(client.sendMessageStream(says([text("done")], on(task))))).at(-1);
  // A Task that has ended when its stream begins is the only event.
  const id = last.kind === "task" ? last.id : last.taskId;
  expect("done, streamed", [id, last.status.state], [task.id, "completed"]);
}

/** Parts in a form that can be compared. By HTTP+JSON the SDK drops names of files and metadata of Parts. */
const plain = (parts, binding) =>
  parts.map(({ kind, text, data, file, metadata }) => ({
    kind,
    content: text ?? data ?? file.uri ?? file.bytes,
    mediaType: file?.mimeType,
    ...(binding === "JSONRPC" && { name: file?.name, metadata: metadata ?? {} }),
  }));

async function checkScripts(client, binding) {
  const bytes = Buffer.from(ANY_SCRIPT).toString("base64");
  const parts = [
    { kind: "text", text: `echo ${ANY_SCRIPT}`, metadata: { [ANY_SCRIPT]: ANY_SCRIPT } },
    { kind: "data", data: { [ANY_SCRIPT]: [ANY_SCRIPT, null, { "": ANY_SCRIPT }] } },
    { kind: "file", file: { bytes, name: ANY_SCRIPT, mimeType: "text/plain" } },
  ];
  const wanted = plain(parts, binding);
  const messageId = `${ANY_SCRIPT}${randomUUID()}`;
  const metadata = { [ANY_SCRIPT]: [ANY_SCRIPT] };
  const task = await client.sendMessage(says(parts, { messageId, contextId: CONTEXT, metadata }));
  expect("any script, artifact", plain(task.artifacts[0].parts, binding), wanted);
  expect("any script, context", task.contextId, CONTEXT);
  const { history } = await client.getTask({ id: task.id });
  expect("any script, history", history.map((said) => plain(said.parts, binding)), [wanted]);
  expect("any script, ids", history.map((said) => said.messageId), [messageId]);
  expect("any script, metadata", history.map((said) => said.metadata), [metadata]);
  const events = await all(client.sendMessageStream(says(parts)));
  expect("any script, streamed", plain(streamedParts(events), binding), wanted);
}

/** A file by its bytes and by its address, compared by hash. */
async function checkFiles(client, content, uri) {
  const bytes = content.toString("base64");
  const parts = [
    text("echo"),
    { kind: "file", file: { bytes, name: "ten.txt", mimeType: "text/plain" } },
    { kind: "file", file: { uri, name: "ten.txt", mimeType: "text/plain" } },
  ];
  const compare = (way, [, byBytes, byAddress]) => {
    expect(`files, ${way}, bytes`, sha256(Buffer.from(byBytes.file.bytes, "base64")), sha256(content));
    expect(`files, ${way}, address`, byAddress.file.uri, uri);
  };
  const task = await client.sendMessage(says(parts));
  compare("sent", task.artifacts[0].parts);
  if (content.length === LONG) return;
  compare("streamed", streamedParts(await all(client.sendMessageStream(says(parts)))));
}

/** Nothing, and by JSON-RPC a Part of nothing, of which HTTP+JSON makes an empty text. */
async function checkEmpty(client, binding) {
  const nothing = [["no Parts", []]];
  if (binding === "JSONRPC") nothing.push(["a Part of nothing", [text("echo"), { kind: "text" }]]);
  for (const [what, parts] of nothing) {
    await assert.rejects(client.sendMessage(says(parts)), /is required|holds none of/, `${binding}, ${what}`);
    // An answer that is no stream, as it is when a stream is refused, is all that the SDK tells of by JSON-RPC.
    const streamed = all(client.sendMessageStream(says(parts)));
    await assert.rejects(streamed, /is required|Expected 'text\/event-stream'/, `${binding}, ${what}, streamed`);
    count += 2;
  }
}

const [agent, server, url] = process.argv.slice(2);
const content = Buffer.from(await (await fetch(url)).arrayBuffer());
for (const [name, address] of Object.entries({ conformance: agent, serve: server })) {
  const card = await new DefaultAgentCardResolver().resolve(address);
  for (const [binding, Transport] of Object.entries(BINDINGS)) {
    count = 0;
    const factory = new ClientFactory({ transports: [new Transport()], preferredTransports: [binding] });
    const client = await factory.createFromAgentCard(card);
    await checkStream(client);
    await checkTurns(client);
    await checkScripts(client, binding);
    const isLarge = LARGE[name] === binding;
    await checkFiles(client, isLarge ? content : content.subarray(0, 1_000_000), url);
    await checkEmpty(client, binding);
    console.log(`  JavaScript 0.3 client over ${binding} to ${name}: ${count} checks passed`);
  }
}
