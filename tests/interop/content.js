// What is said comes back as it was: text of any script and files of 10 MB; what is pushed; nothing that is
// empty.
//
// Takes the URLs of the agent `conformance`, of `convoke serve` before it, and of a file. The JavaScript
// SDK's client calls both, over each binding. `content.py` does the same with the Python SDK.

import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";

import { SendMessageConfiguration } from "@a2a-js/sdk";
import { ClientFactory, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { TaskNotFoundError } from "@a2a-js/sdk/errors";

import express from "express";

import { BINDINGS, Checks, collect, list, named, request } from "./checks.js";

// Chinese and Japanese, a family of one cluster, a combining accent, right to left, line separators, NUL.
const ANY_SCRIPT =
  "你好 こんにちは 👨‍👩‍👧 e\u0301 مرحبا שלום \u202bx\u202c \u2028 \u2029 \u0085 \ufeff \0 \"\\/ end";

// `convoke serve` keeps no NUL in a name.
const CONTEXT = ANY_SCRIPT.replaceAll("\0", "");

// 10 MB take their time: there and back once each is enough, other files have 1 MB. The SDK refuses events of more than
// 4 MiB, and has no setting for it.
const LARGE = { conformance: "JSONRPC", serve: "HTTP+JSON" };
const LONG = 10_000_000;

// How long a notification may take on a machine with much to do.
const PATIENCE = 60_000;

const part = ($case, value, filename = "", mediaType = "", metadata = undefined) => ({
  content: { $case, value },
  filename,
  mediaType,
  metadata,
});

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Parts in a form that can be compared: bytes as text. */
const plain = (parts) =>
  parts.map(({ content, filename, mediaType, metadata }) => ({
    [content.$case]: content.$case === "raw" ? Buffer.from(content.value).toString() : content.value,
    filename,
    mediaType,
    metadata: metadata ?? {},
  }));

function says(parts, fields = {}) {
  const sent = request("");
  Object.assign(sent.message, { parts, ...fields });
  return sent;
}

const artifactParts = (events) =>
  events
    .filter(({ $case }) => $case === "artifactUpdate")
    .flatMap(({ value }) => value.artifact.parts);

/** Text, data, names, metadata and ids of any script. */
async function checkScripts(check, client) {
  const parts = [
    part("text", `echo ${ANY_SCRIPT}`, "", "", { [ANY_SCRIPT]: ANY_SCRIPT }),
    part("data", { [ANY_SCRIPT]: [ANY_SCRIPT, null, { "": ANY_SCRIPT }] }, "", "application/json"),
    part("raw", Buffer.from(ANY_SCRIPT), ANY_SCRIPT, "text/plain"),
  ];
  const messageId = `${ANY_SCRIPT}${randomUUID()}`;
  const metadata = { [ANY_SCRIPT]: [ANY_SCRIPT] };
  const task = await client.sendMessage(says(parts, { messageId, contextId: CONTEXT, metadata }));
  check.state("any script, state", task.status, "COMPLETED");
  check.expect("any script, artifact", plain(task.artifacts[0].parts), plain(parts));
  check.expect("any script, context", task.contextId, CONTEXT);
  const { history } = await client.getTask(named(task.id));
  check.expect("any script, history", history.map((said) => plain(said.parts)), [plain(parts)]);
  check.expect("any script, ids", history.map((said) => said.messageId), [messageId]);
  check.expect("any script, metadata", history.map((said) => said.metadata), [metadata]);
  const { tasks } = await client.listTasks(list(CONTEXT));
  check.expect("any script, listed", tasks.some(({ id }) => id === task.id), true);
  const events = await collect(client.sendMessageStream(says(parts)));
  check.expect("any script, streamed", plain(artifactParts(events)), plain(parts));
  await check.refused("unknown Task of any script", client.getTask(named(ANY_SCRIPT)), TaskNotFoundError);
}

/** A file by its bytes and by its address, compared by hash. */
async function checkFiles(check, client, other, content, url) {
  const parts = [
    part("text", "echo"),
    part("raw", content, "ten.txt", "text/plain"),
    part("url", url, "ten.txt", "text/plain"),
  ];
  const compare = (where, [, bytes, address]) => {
    check.expect(`files, ${where}, bytes`, sha256(bytes.content.value), sha256(content));
    check.expect(`files, ${where}, address`, [address.content.value, address.filename], [url, "ten.txt"]);
  };
  const contextId = randomUUID();
  const task = await client.sendMessage(says(parts, { contextId }));
  check.state("files, state", task.status, "COMPLETED");
  compare("sent", task.artifacts[0].parts);
  if (content.length === LONG) return;
  compare("streamed", artifactParts(await collect(client.sendMessageStream(says(parts)))));
  const { tasks } = await other.listTasks(list(contextId));
  check.expect("files, one Task", tasks.map(({ id }) => id), [task.id]);
  const { artifacts } = await other.getTask(named(task.id));
  compare("got", artifacts[0].parts);
}

/** A webhook on this machine. */
async function webhook() {
  const got = [];
  const app = express();
  app.use(express.json({ type: () => true }));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  app.post("/", (request, response) => {
    got.push({ ...request.body, token: request.get("X-A2A-Notification-Token") });
    response.sendStatus(204);
    server.emit("notified");
  });
  const hasEnded = (task) => ({ statusUpdate: update }) =>
    update?.taskId === task.id && update.status.state === "TASK_STATE_COMPLETED";
  const ended = async (task) => {
    const signal = AbortSignal.timeout(PATIENCE);
    while (!got.some(hasEnded(task))) await once(server, "notified", { signal });
    const artifacts = got.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact ?? []);
    return artifacts.flatMap(({ parts }) => parts.map(({ text }) => text)).join("");
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, got, ended, close: () => server.close() };
}

/** A webhook that comes with a Message, and one that is registered for its Task, hear of both turns' end. */
async function checkPush(check, client) {
  const [first, second] = [await webhook(), await webhook()];
  const asks = says([part("text", "tck-input-required")]);
  const hook = { id: "first", url: first.url, token: "with-the-message" };
  asks.configuration = SendMessageConfiguration.fromJSON({ taskPushNotificationConfig: hook });
  const task = await client.sendMessage(asks);
  check.state("push, question", task.status, "INPUT_REQUIRED");
  const later = { tenant: "", taskId: task.id, id: "second", url: second.url, token: "later" };
  const made = await client.createTaskPushNotificationConfig({ ...later, authentication: undefined });
  check.expect("push, made", [made.taskId, made.url], [task.id, second.url]);
  const on = { taskId: task.id, contextId: task.contextId };
  const answered = await client.sendMessage(says([part("text", "tck-artifact-text")], on));
  check.state("push, answered", answered.status, "COMPLETED");
  for (const [name, hook, token] of [["first", first, "with-the-message"], ["second", second, "later"]]) {
    check.expect(`push, ${name}, artifact`, await hook.ended(task), "Generated text content");
    check.expect(`push, ${name}, token`, [...new Set(hook.got.map(({ token }) => token))], [token]);
    hook.close();
  }
}

/** Nothing, and a Part of nothing, are refused. */
async function checkEmpty(check, client) {
  const nothing = { content: undefined, filename: "x", mediaType: "", metadata: undefined };
  for (const [what, parts] of [["no Parts", []], ["a Part of nothing", [part("text", "echo"), nothing]]]) {
    await check.refused(what, client.sendMessage(says(parts)), invalid);
    await check.refused(`${what}, streamed`, collect(client.sendMessageStream(says(parts))), invalid);
  }
}

/** Over gRPC the SDK has no class of its own for INVALID_ARGUMENT. */
const invalid = (error) => /is required|holds none of/.test(`${error} ${error.cause ?? ""}`);

const [agent, server, url] = process.argv.slice(2);
const content = Buffer.from(await (await fetch(url)).arrayBuffer());
for (const [name, card] of Object.entries({ conformance: agent, serve: server })) {
  const other = await new ClientFactory({ transports: [new JsonRpcTransportFactory()] }).createFromUrl(card);
  for (const [binding, Transport] of Object.entries(BINDINGS)) {
    const check = new Checks(binding);
    const client = await new ClientFactory({ transports: [new Transport()] }).createFromUrl(card);
    await checkScripts(check, client);
    const isLarge = LARGE[name] === binding;
    await checkFiles(check, client, other, isLarge ? content : content.subarray(0, 1_000_000), url);
    await checkPush(check, client);
    await checkEmpty(check, client);
    console.log(`  JavaScript client over ${binding} to ${name}: ${check.count} checks passed`);
  }
}
// Its gRPC channels have no way to be closed.
process.exit(0);
