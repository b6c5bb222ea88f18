"""The client of the Python SDK's 0.3 line against agents of this project that speak older versions.

Takes the URLs of an `echo` and of an `asks` agent with one question; exits with 0 when each answer is
as A2A 0.3 wants it. `client.js` does the same with the JavaScript SDK.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TaskIdParams, TaskQueryParams, TaskState, TextPart

BINDINGS = ["JSONRPC", "HTTP+JSON"]


class Checks:
    """Compares what was found with what was wanted, and counts."""

    def __init__(self, binding):
        self.binding = binding
        self.count = 0

    def expect(self, what, found, wanted):
        if found != wanted:
            sys.exit(f"{self.binding}, {what}: expected {wanted!r}, found {found!r}")
        self.count += 1

    async def refused(self, what, call):
        try:
            await call
        except Exception as error:
            self.expect(what, "not" in str(error).lower() or "409" in str(error), True)
        else:
            sys.exit(f"{self.binding}, {what}: expected an error, found an answer")


def client(card, binding, streaming, http):
    """A client that speaks this binding and no other."""
    config = ClientConfig(
        streaming=streaming,
        supported_transports=[binding],
        use_client_preference=True,
        httpx_client=http,
    )
    return ClientFactory(config).create(card)


def says(text, task=None):
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task and task.id,
        context_id=task and task.context_id,
    )


def text_of(task):
    return "".join(part.root.text for part in task.artifacts[0].parts)


async def last_task(client, message):
    """The Task as it is after the last event."""
    task = None
    async for event in client.send_message(message):
        task = event[0]
    return task


async def check_echo(check, plain, streaming):
    for what, one in (("send", plain), ("stream", streaming)):
        task = await last_task(one, says(f"{what} hello"))
        check.expect(f"{what}, state", task.status.state, TaskState.completed)
        check.expect(f"{what}, artifact", text_of(task), f"{what} hello")
        found = await one.get_task(TaskQueryParams(id=task.id))
        check.expect(f"{what}, get", text_of(found), f"{what} hello")
    cancel = plain.cancel_task(TaskIdParams(id=task.id))
    await check.refused("cancel of a finished Task", cancel)
    await check.refused("get of an unknown Task", plain.get_task(TaskQueryParams(id="unknown")))


async def check_asks(check, plain, streaming):
    for what, one in (("send", plain), ("stream", streaming)):
        task = await last_task(one, says("a question, please"))
        check.expect(f"{what}, asks", task.status.state, TaskState.input_required)
        answered = await last_task(one, says("the answer", task))
        check.expect(f"{what}, same Task", answered.id, task.id)
        check.expect(f"{what}, answered", answered.status.state, TaskState.completed)
        task = await last_task(one, says("never mind"))
        canceled = await one.cancel_task(TaskIdParams(id=task.id))
        check.expect(f"{what}, canceled", canceled.status.state, TaskState.canceled)


async def main():
    echo, asks = sys.argv[1:]
    async with httpx.AsyncClient(timeout=20) as http:
        for binding in BINDINGS:
            check = Checks(binding)
            for url, run in ((echo, check_echo), (asks, check_asks)):
                card = await A2ACardResolver(http, url).get_agent_card()
                check.expect("card, version", card.protocol_version, "0.3.0")
                both = (client(card, binding, streaming, http) for streaming in (False, True))
                await run(check, *both)
            print(f"{binding}: {check.count} checks")


if __name__ == "__main__":
    asyncio.run(main())
