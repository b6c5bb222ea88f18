// The JavaScript SDK's client against `convoke serve`, over each of the three bindings.
//
// Takes the URL of the server and that of the `slow` agent behind it. `serve.py` does the same with the
// Python SDK, and has the server killed meanwhile.

import { TaskState, taskStateToJSON } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import {
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";

import { BINDINGS, Checks, collect, list, named, request, text } from "./checks.js";

const WORKFLOW = "urn:convoke:workflow:v1";
const STEP = "urn:convoke:step:v1";

/** A Message that starts a workflow. */
function start(workflow, text, { contextId = "", returnImmediately = false } = {}) {
  const sent = request(text);
  Object.assign(sent.message, { metadata: { [WORKFLOW]: workflow }, contextId });
  sent.configuration = {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately,
  };
  return sent;
}

/** A Message that answers a Task, at the address of a step if there is one. */
function reply(task, text, step) {
  const sent = request(text, task);
  if (step) sent.message.metadata = { [STEP]: step };
  return sent;
}

/** Which step the status updates of a stream are about, and where it stood. */
const steps = (events) =>
  events
    .filter(({ $case, value }) => $case === "statusUpdate" && value.metadata?.[STEP])
    .map(({ value }) => [value.metadata[STEP].step, value.metadata[STEP].state]);

/** The texts of the artifacts of a stream, by their names: each comes whole, or piece by piece. */
function putTogether(events) {
  const artifacts = {};
  for (const { $case, value } of events) {
    if ($case !== "artifactUpdate") continue;
    const { name } = value.artifact;
    artifacts[name] = (value.append ? (artifacts[name] ?? "") : "") + text(value.artifact);
  }
  return artifacts;
}

const artifacts = (task) =>
  Object.fromEntries(task.artifacts.map((artifact) => [artifact.name, text(artifact)]));
const history = (task) => task.history.map(text);
/** What a Task asks: the address of each question, and its text. */
const questions = ({ status }) =>
  (status.message?.parts ?? []).map(({ metadata, content }) => [metadata?.[STEP], content.value]);

/** A blocking send, a stream, and what is refused. */
async function checkSend(check, client) {
  const sent = await client.sendMessage(start("say", "plain hello"));
  check.state("send, state", sent.status, "COMPLETED");
  check.expect("send, artifacts", artifacts(sent), { said: "plain hello" });
  check.expect("send, history", history(sent), ["plain hello"]);
  check.expect("send, workflow", sent.metadata, { [WORKFLOW]: "say" });

  const events = await collect(client.sendMessageStream(start("say", "streamed hello")));
  const kinds = [events[0].$case, events.at(-1).$case];
  check.expect("stream, first and last", kinds, ["task", "statusUpdate"]);
  check.state("stream, last state", events.at(-1).value.status, "COMPLETED");
  check.expect("stream, steps", steps(events).slice(-1), [["say", "completed"]]);
  check.expect("stream, artifacts", putTogether(events), { said: "streamed hello" });
  const task = await client.getTask(named(events[0].value.id));
  check.expect("get, artifacts", artifacts(task), { said: "streamed hello" });
  const short = await client.getTask({ ...named(task.id), historyLength: 0 });
  check.expect("get, no history", history(short), []);

  const refused = check.refused.bind(check);
  const unknown = client.sendMessage(start("no-such", "x"));
  await refused("unknown workflow", unknown, /there is no workflow `no-such`/);
  await refused("unknown Task", client.getTask(named("unknown")), TaskNotFoundError);
  const cancel = client.cancelTask(named(task.id));
  await refused("cancel of a finished Task", cancel, TaskNotCancelableError);
  const late = client.sendMessage(reply(task, "late"));
  await refused("Message to a finished Task", late, UnsupportedOperationError);
  const again = collect(client.resubscribeTask(named(task.id)));
  await refused("subscribe to a finished Task", again, UnsupportedOperationError);
}

/** Three Tasks of one context on two pages, the newest first. */
async function checkList(check, client) {
  const { contextId, id } = await client.sendMessage(start("say", "one"));
  const ids = [id];
  for (const text of ["two", "three"]) {
    ids.unshift((await client.sendMessage(start("say", text, { contextId }))).id);
  }
  const pages = { ...list(contextId), pageSize: 2 };
  const first = await client.listTasks(pages);
  check.expect("list, first page", first.tasks.map(({ id }) => id), ids.slice(0, 2));
  check.expect("list, total and size", [first.totalSize, first.pageSize], [3, 2]);
  check.expect("list, artifacts unless asked for", first.tasks.map((task) => task.artifacts), [[], []]);
  const next = { ...pages, pageToken: first.nextPageToken, includeArtifacts: true };
  const last = await client.listTasks(next);
  check.expect("list, last page", last.tasks.map(({ id }) => id), ids.slice(2));
  check.expect("list, artifacts", artifacts(last.tasks[0]), { said: "one" });
  check.expect("list, no further page", last.nextPageToken, "");
  const counts = [];
  for (const state of [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_WORKING]) {
    counts.push((await client.listTasks(list(contextId, state))).totalSize);
  }
  check.expect("list by state", counts, [3, 0]);
}

/** Two questions, answered with and without a stream, while a subscriber looks on. */
async function checkPause(check, client) {
  const task = await client.sendMessage(start("ask", "Notice"));
  check.state("first question, state", task.status, "INPUT_REQUIRED");
  check.expect("first question", questions(task), [["ask", "What should it say?"]]);

  const subscription = client.resubscribeTask(named(task.id));
  const { payload: first } = (await subscription.next()).value;
  check.state("subscribe, first state", first.value.status, "INPUT_REQUIRED");
  const seen = collect(subscription);

  const asked = await client.sendMessage(reply(task, "Hello"));
  check.expect("answer, same Task", asked.id, task.id);
  check.state("second question, state", asked.status, "INPUT_REQUIRED");
  check.expect("second question", questions(asked), [["ask", "To whom?"]]);

  const answered = await collect(client.sendMessageStream(reply(task, "World", "ask")));
  check.state("streamed answer, state", answered.at(-1).value.status, "COMPLETED");
  const events = await seen;
  check.state("subscribe, last state", events.at(-1).value.status, "COMPLETED");
  const notice = { notice: "Notice [Hello | World]" };
  check.expect("subscribe, artifacts", putTogether(events), notice);
  const done = await client.getTask(named(task.id));
  check.expect("notice", artifacts(done), notice);
  check.expect("history", history(done), ["Notice", "Hello", "World"]);
}

/** A send that returns at once; a subscriber; a cancel that reaches the agent. */
async function checkCancel(check, client, slow) {
  const task = await client.sendMessage(start("wait", "wait", { returnImmediately: true }));
  check.state("returnImmediately, state", task.status, "WORKING");
  const subscription = client.resubscribeTask(named(task.id));
  const { payload: first } = (await subscription.next()).value;
  check.expect("subscribe, first", [first.$case, first.value.id], ["task", task.id]);
  const seen = collect(subscription);
  const { tasks } = await client.listTasks(list(task.contextId, TaskState.TASK_STATE_WORKING));
  check.expect("list of what works", tasks.map(({ id }) => id), [task.id]);
  const remote = async () => {
    const { tasks } = await slow.listTasks(list(task.contextId));
    return tasks.map(({ status }) => taskStateToJSON(status.state));
  };
  const deadline = Date.now() + 20_000;
  while ((await remote())[0] !== "TASK_STATE_WORKING" && Date.now() < deadline);
  check.expect("the agent's Task", await remote(), ["TASK_STATE_WORKING"]);
  const canceled = await client.cancelTask(named(task.id));
  check.state("cancel, state", canceled.status, "CANCELED");
  check.state("subscribe, last state", (await seen).at(-1).value.status, "CANCELED");
  const found = await client.getTask(named(task.id));
  check.state("get after cancel, state", found.status, "CANCELED");
  check.expect("the agent's Task after cancel", await remote(), ["TASK_STATE_CANCELED"]);
}

/** The artifact of a step comes chunk by chunk, in order, as its agent made it. */
async function checkChunks(check, client) {
  const events = await collect(client.sendMessageStream(start("count", "Count to 5")));
  const updates = events.filter(({ $case }) => $case === "artifactUpdate").map(({ value }) => value);
  const found = updates.map(({ artifact, append, lastChunk }) => [text(artifact), append, lastChunk]);
  const wanted = [1, 2, 3, 4, 5].map((piece) => [`${piece} `, piece > 1, piece === 5]);
  check.expect("chunks", found, wanted);
  check.expect("chunks, one artifact", new Set(updates.map((it) => it.artifact.artifactId)).size, 1);
}

const [server, slowUrl] = process.argv.slice(2);
for (const [binding, Transport] of Object.entries(BINDINGS)) {
  const check = new Checks(binding);
  const factory = new ClientFactory({ transports: [new Transport()] });
  const client = await factory.createFromUrl(server);
  const slow = await factory.createFromUrl(slowUrl);
  await checkSend(check, client);
  await checkList(check, client);
  await checkPause(check, client);
  await checkCancel(check, client, slow);
  await checkChunks(check, client);
  console.log(`  JavaScript client over ${binding}: ${check.count} checks passed`);
}
// Its gRPC channels have no way to be closed.
process.exit(0);
