"""What is said comes back as it was: text of any script and files of 10 MB; what is pushed; nothing that is empty.

Takes the URLs of the agent `conformance`, of `convoke serve` before it, and of a file. The Python SDK's client calls
both, over each binding. `content.js` does the same with the JavaScript SDK.
"""

import asyncio
import hashlib
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from client import BINDINGS, Checks
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from webhook import Webhook

# Chinese and Japanese, a family of one cluster, a combining accent, right to left, line separators, NUL.
ANY_SCRIPT = "你好 こんにちは 👨‍👩‍👧 e\u0301 مرحبا שלום \u202bx\u202c \u2028 \u2029 \u0085 \ufeff \0 \"\\/ end"

# `convoke serve` keeps no NUL in a name.
CONTEXT = ANY_SCRIPT.replace("\0", "")

# Over gRPC the SDK has no class of its own for INVALID_ARGUMENT.
INVALID = {"JSONRPC": InvalidParamsError, "HTTP+JSON": InvalidParamsError, "GRPC": A2AClientError}

# 10 MB take their time: there and back once each is enough, other files have 1 MB.
LARGE = [("conformance", "JSONRPC"), ("serve", "GRPC")]
LONG = 10_000_000

# gRPC libraries take 4 MiB, unless told otherwise.
ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def client(card, binding, streaming):
    config = ClientConfig(
        streaming=streaming,
        supported_protocol_bindings=[binding],
        grpc_channel_factory=lambda url: grpc.aio.insecure_channel(url, options=ANY_SIZE),
        httpx_client=httpx.AsyncClient(timeout=60),
    )
    return ClientFactory(config).create(card)


def message(parts, context="", metadata=None):
    said = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, context_id=context, parts=parts)
    said.metadata.update(metadata or {})
    return SendMessageRequest(message=said)


async def sent(plain, request):
    [event] = [event async for event in plain.send_message(request)]
    return event.task


async def streamed(streaming, request):
    """The Parts of the artifacts of a stream."""
    events = [event async for event in streaming.send_message(request)]
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    return [part for update in updates for part in update.artifact.parts]


async def check_scripts(check, plain, streaming):
    """Text, data, names, metadata and ids of any script."""
    data = {ANY_SCRIPT: [ANY_SCRIPT, None, {"": ANY_SCRIPT}]}
    parts = [
        Part(text=f"echo {ANY_SCRIPT}", metadata={ANY_SCRIPT: ANY_SCRIPT}),
        Part(data=ParseDict(data, Value()), media_type="application/json"),
        Part(raw=ANY_SCRIPT.encode(), filename=ANY_SCRIPT, media_type="text/plain"),
    ]
    request = message(parts, context=CONTEXT, metadata={ANY_SCRIPT: [ANY_SCRIPT]})
    request.message.message_id = f"{ANY_SCRIPT}{uuid.uuid4()}"
    task = await sent(plain, request)
    check.state("any script, state", task.status, "COMPLETED")
    check.expect("any script, artifact", list(task.artifacts[0].parts), parts)
    check.expect("any script, context", task.context_id, CONTEXT)
    found = await plain.get_task(GetTaskRequest(id=task.id))
    check.expect("any script, history", list(found.history), [told(request.message, task)])
    listed = await plain.list_tasks(ListTasksRequest(context_id=CONTEXT, include_artifacts=True))
    check.expect("any script, listed", task.id in [one.id for one in listed.tasks], True)
    check.expect("any script, streamed", await streamed(streaming, message(parts)), parts)
    # The SDK writes an id into a URL as it is.
    unknown = plain.get_task(GetTaskRequest(id="你好-👨‍👩‍👧-e\u0301-مرحبا"))
    await check.refused("unknown Task of any script", unknown, TaskNotFoundError)


def told(said, task):
    """A Message as its Task has it."""
    known = Message()
    known.CopyFrom(said)
    known.task_id = task.id
    return known


async def check_files(check, plain, streaming, content, url):
    """A file by its bytes and by its address, compared by hash."""
    parts = [
        Part(text="echo"),
        Part(raw=content, filename="ten.txt", media_type="text/plain"),
        Part(url=url, filename="ten.txt", media_type="text/plain"),
    ]
    wanted = hashlib.sha256(content).hexdigest()
    task = await sent(plain, message(parts))
    check.state("files, state", task.status, "COMPLETED")
    got_back = {"sent": task.artifacts[0].parts}
    if len(content) < LONG:
        found = await plain.get_task(GetTaskRequest(id=task.id))
        got_back["got"] = found.artifacts[0].parts
        got_back["streamed"] = await streamed(streaming, message(parts))
    for where, got in got_back.items():
        check.expect(f"files, {where}, bytes", hashlib.sha256(got[1].raw).hexdigest(), wanted)
        check.expect(f"files, {where}, address", (got[2].url, got[2].filename), (url, "ten.txt"))


async def check_push(check, plain):
    """A webhook that comes with a Message, and one that is registered for its Task, hear of both turns' end."""
    async with Webhook() as first, Webhook() as second:
        asks = message([Part(text="tck-input-required")])
        hook = TaskPushNotificationConfig(id="first", url=first.url, token="with-the-message")
        asks.configuration.task_push_notification_config.CopyFrom(hook)
        task = await sent(plain, asks)
        check.state("push, question", task.status, "INPUT_REQUIRED")
        hook = TaskPushNotificationConfig(task_id=task.id, id="second", url=second.url, token="later")
        made = await plain.create_task_push_notification_config(hook)
        check.expect("push, made", (made.task_id, made.url), (task.id, second.url))
        answer = message([Part(text="tck-artifact-text")])
        answer.message.task_id, answer.message.context_id = task.id, task.context_id
        check.state("push, answered", (await sent(plain, answer)).status, "COMPLETED")
        for name, webhook, token in (("first", first, "with-the-message"), ("second", second, "later")):
            check.expect(f"push, {name}, artifact", await webhook.ended(task), "Generated text content")
            check.expect(f"push, {name}, token", webhook.tokens, {token})


async def check_empty(check, plain, streaming):
    """Nothing, and a Part of nothing, are refused."""
    for what, parts in (("no Parts", []), ("a Part of nothing", [Part(text="echo"), Part(filename="x")])):
        for way, one in (("", plain), (", streamed", streaming)):
            refused = collect(one.send_message(message(parts)))
            await check.refused(f"{what}{way}", refused, INVALID[check.binding])


async def collect(events):
    return [event async for event in events]


async def main(agent, server, url):
    async with httpx.AsyncClient() as http:
        content = (await http.get(url)).content
        cards = {
            "conformance": await A2ACardResolver(http, agent).get_agent_card(),
            "serve": await A2ACardResolver(http, server).get_agent_card(),
        }
    for name, card in cards.items():
        for binding in BINDINGS:
            bytes_of = content if (name, binding) in LARGE else content[:1_000_000]
            check = Checks(binding)
            clients = [client(card, binding, way) for way in (False, True)]
            await check_scripts(check, *clients)
            await check_files(check, *clients, bytes_of, url)
            await check_push(check, clients[0])
            await check_empty(check, *clients)
            for one in clients:
                await one.close()
            print(f"  Python client over {binding} to {name}: {check.count} checks passed", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
