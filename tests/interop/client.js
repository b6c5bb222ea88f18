// The JavaScript SDK's client against agents of this project, over each of the three bindings.
//
// Takes the URLs of an `echo` and of an `asks` agent; exits with 0 when each answer is as A2A 1.0
// wants it. `client.py` does the same with the Python SDK.

import { TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import {
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";

import { BINDINGS, Checks, collect, list, named, request, text } from "./checks.js";

/** Send, stream, get, list, and what must be refused of a finished Task. */
async function checkEcho(check, client) {
  const plain = await client.sendMessage(request("plain hello"));
  check.state("send, state", plain.status, "COMPLETED");
  check.expect("send, artifact", text(plain.artifacts[0]), "plain hello");

  const events = await collect(client.sendMessageStream(request("streamed hello")));
  const kinds = [events[0].$case, events.at(-1).$case];
  check.expect("stream, first and last", kinds, ["task", "statusUpdate"]);
  check.state("stream, state", events.at(-1).value.status, "COMPLETED");
  const artifacts = events.filter(({ $case }) => $case === "artifactUpdate");
  const streamed = artifacts.map(({ value }) => text(value.artifact)).join("");
  check.expect("stream, artifact", streamed, "streamed hello");

  const task = events[0].value;
  const found = await client.getTask(named(task.id));
  check.expect("get, artifact", text(found.artifacts[0]), "streamed hello");
  const { tasks } = await client.listTasks(list(task.contextId));
  check.expect("list, ids", tasks.map(({ id }) => id), [task.id]);
  check.expect("list, artifacts unless asked for", tasks[0].artifacts.length, 0);
  await check.refused(
    "cancel of a finished Task",
    client.cancelTask(named(task.id)),
    TaskNotCancelableError,
  );
  await check.refused("get of an unknown Task", client.getTask(named("unknown")), TaskNotFoundError);
  await check.refused(
    "subscribe to a finished Task",
    collect(client.resubscribeTask(named(task.id))),
    UnsupportedOperationError,
  );
}

/** Two questions, answered with and without a stream, while a subscriber looks on. */
async function checkPause(check, client) {
  const task = await client.sendMessage(request("Notice"));
  check.state("first question, state", task.status, "INPUT_REQUIRED");
  check.expect("first question", text(task.status.message), "What should it say?");

  const subscription = client.resubscribeTask(named(task.id));
  const { payload: first } = (await subscription.next()).value;
  check.expect("subscribe, first", first.$case, "task");
  check.state("subscribe, first state", first.value.status, "INPUT_REQUIRED");
  const seen = collect(subscription);

  const asked = await client.sendMessage(request("Hello", task));
  check.expect("answer, same Task", asked.id, task.id);
  check.state("second question, state", asked.status, "INPUT_REQUIRED");
  check.expect("second question", text(asked.status.message), "To whom?");

  const answered = await collect(client.sendMessageStream(request("World", task)));
  check.state("streamed answer, state", answered.at(-1).value.status, "COMPLETED");
  const events = await seen;
  check.state("subscribe, last state", events.at(-1).value.status, "COMPLETED");
  const artifacts = events.filter(({ $case }) => $case === "artifactUpdate");
  check.expect("subscribe, artifacts", artifacts.length, 1);

  const { artifacts: notices } = await client.getTask(named(task.id));
  check.expect("notice", notices.map(text), ["Notice [Hello | World]"]);
  const data = notices[0].parts.map(({ content }) => content).filter(({ $case }) => $case === "data");
  check.expect("notice, data", data.map(({ value }) => value), [{ answers: ["Hello", "World"] }]);
}

/** A Task that waits for an answer is found by its state, and canceled. */
async function checkCancel(check, client) {
  const task = await client.sendMessage(request("Another notice"));
  const waiting = list(task.contextId, TaskState.TASK_STATE_INPUT_REQUIRED);
  const ids = async () => (await client.listTasks(waiting)).tasks.map(({ id }) => id);
  check.expect("list by state, ids", await ids(), [task.id]);
  const canceled = await client.cancelTask(named(task.id));
  check.state("cancel, state", canceled.status, "CANCELED");
  const found = await client.getTask(named(task.id));
  check.state("get after cancel, state", found.status, "CANCELED");
  check.expect("list by state after cancel", await ids(), []);
}

const [echo, asks] = process.argv.slice(2);
for (const [binding, Transport] of Object.entries(BINDINGS)) {
  const check = new Checks(binding);
  const factory = new ClientFactory({ transports: [new Transport()] });
  await checkEcho(check, await factory.createFromUrl(echo));
  const client = await factory.createFromUrl(asks);
  await checkPause(check, client);
  await checkCancel(check, client);
  console.log(`  JavaScript client over ${binding}: ${check.count} checks passed`);
}
// Its gRPC channels have no way to be closed.
process.exit(0);
