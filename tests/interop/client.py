"""The Python SDK's client against an agent of this project: send, stream, get, list, refused cancel.

Takes the URL of an `echo` agent; exits with 0 when each answer is as A2A 1.0 wants it.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_artifact_text
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError


def request(text):
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(message=message)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: expected {wanted!r}, found {found!r}")
    print(f"  {what}: {found!r}")


async def send(card):
    """A blocking send answers with the finished task alone."""
    client = ClientFactory(ClientConfig(streaming=False)).create(card)
    answers = [answer async for answer in client.send_message(request("plain hello"))]
    expect("send, kinds", [answer.WhichOneof("payload") for answer in answers], ["task"])
    task = answers[0].task
    expect("send, state", TaskState.Name(task.status.state), "TASK_STATE_COMPLETED")
    expect("send, artifact", get_artifact_text(task.artifacts[0]), "plain hello")
    await client.close()


async def stream(card):
    """A stream begins with the task, brings the artifact, and ends when the task is terminal."""
    client = ClientFactory(ClientConfig(streaming=True)).create(card)
    events = [event async for event in client.send_message(request("streamed hello"))]
    kinds = [event.WhichOneof("payload") for event in events]
    expect("stream, first", kinds[0], "task")
    expect("stream, last", kinds[-1], "status_update")
    state = events[-1].status_update.status.state
    expect("stream, state", TaskState.Name(state), "TASK_STATE_COMPLETED")
    texts = [
        get_artifact_text(event.artifact_update.artifact)
        for event in events
        if event.HasField("artifact_update")
    ]
    expect("stream, artifact", "".join(texts), "streamed hello")
    return client, events[0].task


async def get_and_list(client, task):
    """A finished task can be read, found by its context, and not canceled."""
    found = await client.get_task(GetTaskRequest(id=task.id))
    expect("get, artifact", get_artifact_text(found.artifacts[0]), "streamed hello")
    listed = await client.list_tasks(ListTasksRequest(context_id=task.context_id))
    expect("list, ids", [entry.id for entry in listed.tasks], [task.id])
    for what, call, error in (
        ("cancel of a finished task", client.cancel_task(CancelTaskRequest(id=task.id)), TaskNotCancelableError),
        ("get of an unknown task", client.get_task(GetTaskRequest(id="unknown")), TaskNotFoundError),
    ):
        try:
            await call
            expect(what, "no error", error.__name__)
        except error as refused:
            expect(what, type(refused).__name__, error.__name__)


async def main(url):
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
    await send(card)
    client, task = await stream(card)
    await get_and_list(client, task)
    await client.close()
    print("the Python client and the agent understand each other")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
