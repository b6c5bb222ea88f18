"""The Python SDK's client against agents of this project, over each of the three bindings.

Takes the URLs of an `echo` and of an `asks` agent; exits with 0 when each answer is as A2A 1.0 wants
it. `client.js` does the same with the JavaScript SDK.
"""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_artifact_text, get_data_parts, get_message_text
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import (
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"]


class Checks:
    """Compares what was found with what was wanted, and counts."""

    def __init__(self, binding):
        self.binding = binding
        self.count = 0

    def expect(self, what, found, wanted):
        if found != wanted:
            sys.exit(f"{self.binding}, {what}: expected {wanted!r}, found {found!r}")
        self.count += 1

    def state(self, what, status, wanted):
        self.expect(what, TaskState.Name(status.state), f"TASK_STATE_{wanted}")

    async def refused(self, what, call, error):
        try:
            await call
        except error:
            self.count += 1
        except Exception as other:
            sys.exit(f"{self.binding}, {what}: expected {error.__name__}, found {other!r}")
        else:
            sys.exit(f"{self.binding}, {what}: expected {error.__name__}, found an answer")


def client(card, binding, streaming):
    """A client that speaks this binding and no other."""
    config = ClientConfig(
        streaming=streaming,
        supported_protocol_bindings=[binding],
        grpc_channel_factory=grpc.aio.insecure_channel,
        httpx_client=httpx.AsyncClient(timeout=20),
    )
    return ClientFactory(config).create(card)


def request(text, task=None):
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    if task:
        message.task_id = task.id
        message.context_id = task.context_id
    return SendMessageRequest(message=message)


async def answer(plain, text, task=None):
    """A blocking send answers with the Task alone."""
    [event] = [event async for event in plain.send_message(request(text, task))]
    return event.task


async def last_of(stream):
    events = [event async for event in stream]
    return events[-1]


async def check_echo(check, plain, streaming):
    """Send, stream, get, list, and what must be refused of a finished Task."""
    task = await answer(plain, "plain hello")
    check.state("send, state", task.status, "COMPLETED")
    check.expect("send, artifact", get_artifact_text(task.artifacts[0]), "plain hello")

    events = [event async for event in streaming.send_message(request("streamed hello"))]
    kinds = [event.WhichOneof("payload") for event in events]
    check.expect("stream, first and last", (kinds[0], kinds[-1]), ("task", "status_update"))
    check.state("stream, state", events[-1].status_update.status, "COMPLETED")
    texts = [
        get_artifact_text(event.artifact_update.artifact)
        for event in events
        if event.HasField("artifact_update")
    ]
    check.expect("stream, artifact", "".join(texts), "streamed hello")

    task = events[0].task
    found = await plain.get_task(GetTaskRequest(id=task.id))
    check.expect("get, artifact", get_artifact_text(found.artifacts[0]), "streamed hello")
    listed = await plain.list_tasks(ListTasksRequest(context_id=task.context_id))
    check.expect("list, ids", [entry.id for entry in listed.tasks], [task.id])
    check.expect("list, artifacts unless asked for", len(listed.tasks[0].artifacts), 0)
    await check.refused(
        "cancel of a finished Task",
        plain.cancel_task(CancelTaskRequest(id=task.id)),
        TaskNotCancelableError,
    )
    await check.refused(
        "get of an unknown Task", plain.get_task(GetTaskRequest(id="unknown")), TaskNotFoundError
    )
    await check.refused(
        "subscribe to a finished Task",
        last_of(streaming.subscribe(SubscribeToTaskRequest(id=task.id))),
        UnsupportedOperationError,
    )


async def check_pause(check, plain, streaming):
    """Two questions, answered with and without a stream, while a subscriber looks on."""
    task = await answer(plain, "Notice")
    check.state("first question, state", task.status, "INPUT_REQUIRED")
    check.expect("first question", get_message_text(task.status.message), "What should it say?")

    subscription = streaming.subscribe(SubscribeToTaskRequest(id=task.id))
    first = await anext(subscription)
    check.expect("subscribe, first", first.WhichOneof("payload"), "task")
    check.state("subscribe, first state", first.task.status, "INPUT_REQUIRED")
    seen = asyncio.create_task(collect(subscription))

    asked = await answer(plain, "Hello", task)
    check.expect("answer, same Task", asked.id, task.id)
    check.state("second question, state", asked.status, "INPUT_REQUIRED")
    check.expect("second question", get_message_text(asked.status.message), "To whom?")

    last = await last_of(streaming.send_message(request("World", task)))
    check.state("streamed answer, state", last.status_update.status, "COMPLETED")
    events = await asyncio.wait_for(seen, 20)
    check.state("subscribe, last state", events[-1].status_update.status, "COMPLETED")
    artifacts = [event for event in events if event.HasField("artifact_update")]
    check.expect("subscribe, artifacts", len(artifacts), 1)

    done = await plain.get_task(GetTaskRequest(id=task.id))
    [notice] = done.artifacts
    check.expect("notice", get_artifact_text(notice), "Notice [Hello | World]")
    check.expect("notice, data", get_data_parts(notice.parts), [{"answers": ["Hello", "World"]}])


async def collect(stream):
    return [event async for event in stream]


async def check_cancel(check, plain):
    """A Task that waits for an answer is found by its state, and canceled."""
    task = await answer(plain, "Another notice")
    waiting = ListTasksRequest(
        context_id=task.context_id, status=TaskState.TASK_STATE_INPUT_REQUIRED
    )
    listed = await plain.list_tasks(waiting)
    check.expect("list by state, ids", [entry.id for entry in listed.tasks], [task.id])
    canceled = await plain.cancel_task(CancelTaskRequest(id=task.id))
    check.state("cancel, state", canceled.status, "CANCELED")
    found = await plain.get_task(GetTaskRequest(id=task.id))
    check.state("get after cancel, state", found.status, "CANCELED")
    listed = await plain.list_tasks(waiting)
    check.expect("list by state after cancel", [entry.id for entry in listed.tasks], [])


async def main(echo_url, asks_url):
    async with httpx.AsyncClient() as http:
        echo = await A2ACardResolver(http, echo_url).get_agent_card()
        asks = await A2ACardResolver(http, asks_url).get_agent_card()
    for binding in BINDINGS:
        check = Checks(binding)
        clients = [client(card, binding, way) for card in (echo, asks) for way in (False, True)]
        await check_echo(check, *clients[:2])
        await check_pause(check, *clients[2:])
        await check_cancel(check, clients[2])
        for one in clients:
            await one.close()
        print(f"  Python client over {binding}: {check.count} checks passed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
