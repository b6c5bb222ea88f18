// What the scripts share that check answers given to the JavaScript SDK's client.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { Role, TaskState, taskStateToJSON } from "@a2a-js/sdk";
import { JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

export const BINDINGS = {
  JSONRPC: JsonRpcTransportFactory,
  "HTTP+JSON": RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

/** Compares what was found with what was wanted, and counts. */
export class Checks {
  count = 0;

  constructor(binding) {
    this.binding = binding;
  }

  expect(what, found, wanted) {
    assert.deepEqual({ [`${this.binding}, ${what}`]: found }, { [`${this.binding}, ${what}`]: wanted });
    this.count += 1;
  }

  state(what, status, wanted) {
    this.expect(what, taskStateToJSON(status.state), `TASK_STATE_${wanted}`);
  }

  async refused(what, call, error) {
    await assert.rejects(call, error, `${this.binding}, ${what}`);
    this.count += 1;
  }
}

export function request(text, task) {
  const message = {
    messageId: randomUUID(),
    contextId: task?.contextId ?? "",
    taskId: task?.id ?? "",
    role: Role.ROLE_USER,
    parts: [{ content: { $case: "text", value: text }, filename: "", mediaType: "" }],
    extensions: [],
    referenceTaskIds: [],
  };
  return { tenant: "", message, configuration: undefined, metadata: undefined };
}

export const list = (contextId, status = TaskState.TASK_STATE_UNSPECIFIED) => ({
  tenant: "",
  contextId,
  status,
  pageToken: "",
  statusTimestampAfter: undefined,
});

export const named = (id) => ({ tenant: "", id });

export const texts = ({ parts }) => parts.map(({ content }) => content).filter(({ $case }) => $case === "text");
export const text = (message) => texts(message).map(({ value }) => value).join("");

export async function collect(stream) {
  const events = [];
  for await (const { payload } of stream) events.push(payload);
  return events;
}
