"""The agent `conformance` and `convoke serve` before it, asked by the client of the Python SDK's 0.3 line.

Takes their URLs, both with the older versions, and that of a file. Over both bindings: streams, turns, text of any
script, files, and nothing, which is refused. `content.js` does the same with the JavaScript SDK.
"""

import asyncio
import base64
import hashlib
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver
from a2a.types import (
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    Message,
    Part,
    Role,
    TaskArtifactUpdateEvent,
    TaskState,
    TextPart,
)
from client import BINDINGS, Checks, client, last_task, says

# Chinese and Japanese, a family of one cluster, a combining accent, right to left, line separators, NUL.
ANY_SCRIPT = "你好 こんにちは 👨‍👩‍👧 e\u0301 مرحبا שלום \u202bx\u202c \u2028 \u2029 \u0085 \ufeff \0 \"\\/ end"

# `convoke serve` keeps no NUL in a name.
CONTEXT = ANY_SCRIPT.replace("\0", "")

# 10 MB take their time: there and back once each is enough, other files have 1 MB. By HTTP+JSON the SDK encodes files
# twice, which makes them longer than ours take.
LARGE = [("conformance", "JSONRPC"), ("serve", "JSONRPC")]
LONG = 10_000_000

# How long 10 MB may take on a machine with much to do.
PATIENCE = 60


def message(parts, **fields):
    parts = [Part(root=part) for part in parts]
    return Message(**{"message_id": str(uuid.uuid4()), "role": Role.user, "parts": parts, **fields})


def parts_of(artifacts):
    return [part.root for artifact in artifacts for part in artifact.parts]


async def check_stream(check, streaming):
    # The SDK adds later chunks to the first one itself, so that they are told by the whole.
    events = [event async for event in streaming.send_message(says("tck-stream-artifact-chunked"))]
    told = [update for _, update in events if update is not None]
    chunks = [update for update in told if isinstance(update, TaskArtifactUpdateEvent)]
    check.expect("stream, chunks", [bool(update.append) for update in chunks], [False, True])
    texts = [part.text for part in parts_of(events[-1][0].artifacts)]
    check.expect("stream, artifact", texts, ["chunk-1 ", "chunk-2"])
    check.expect("stream, last", (told[-1].status.state, told[-1].final), (TaskState.completed, True))


async def check_turns(check, plain, streaming):
    for what, one in (("send", plain), ("stream", streaming)):
        task = await last_task(one, says("tck-multi-turn"))
        check.expect(f"{what}, first question", task.status.state, TaskState.input_required)
        again = await last_task(one, says("more", task))
        check.expect(f"{what}, second question", (again.id, again.status.state), (task.id, TaskState.input_required))
        done = await last_task(one, says("done", task))
        check.expect(f"{what}, done", (done.id, done.status.state), (task.id, TaskState.completed))


async def check_scripts(check, plain, streaming):
    parts = [
        TextPart(text=f"echo {ANY_SCRIPT}", metadata={ANY_SCRIPT: ANY_SCRIPT}),
        DataPart(data={ANY_SCRIPT: [ANY_SCRIPT, None, {"": ANY_SCRIPT}]}),
        FilePart(
            file=FileWithBytes(
                bytes=base64.b64encode(ANY_SCRIPT.encode()).decode(), name=ANY_SCRIPT, mime_type="text/plain"
            )
        ),
    ]
    ids = {"message_id": f"{ANY_SCRIPT}{uuid.uuid4()}", "context_id": CONTEXT}
    said = message(parts, metadata={ANY_SCRIPT: [ANY_SCRIPT]}, **ids)
    task = await last_task(plain, said)
    check.expect("any script, state", task.status.state, TaskState.completed)
    check.expect("any script, artifact", plainly(parts_of(task.artifacts)), plainly(parts))
    check.expect("any script, context", task.context_id, CONTEXT)
    [first] = task.history
    check.expect("any script, history", (first.message_id, first.metadata), (said.message_id, said.metadata))
    check.expect("any script, parts of history", plainly(parts_of([first])), plainly(parts))
    streamed = await last_task(streaming, message(parts))
    check.expect("any script, streamed", plainly(parts_of(streamed.artifacts)), plainly(parts))


def plainly(parts):
    """Parts in a form that can be compared: without metadata that is not there."""
    return [{**part.model_dump(), "metadata": part.metadata or None} for part in parts]


async def check_files(check, plain, streaming, content, url):
    """A file by its bytes and by its address, compared by hash."""
    parts = [
        TextPart(text="echo"),
        FilePart(file=FileWithBytes(bytes=base64.b64encode(content).decode(), name="ten.txt", mime_type="text/plain")),
        FilePart(file=FileWithUri(uri=url, name="ten.txt", mime_type="text/plain")),
    ]
    wanted = hashlib.sha256(content).hexdigest()
    ways = [("sent", plain)] if len(content) == LONG else [("sent", plain), ("streamed", streaming)]
    for way, one in ways:
        task = await last_task(one, message(parts))
        _, by_bytes, by_address = parts_of(task.artifacts)
        found = hashlib.sha256(base64.b64decode(by_bytes.file.bytes)).hexdigest()
        check.expect(f"files, {way}, bytes", found, wanted)
        check.expect(f"files, {way}, address", (by_address.file.uri, by_address.file.name), (url, "ten.txt"))


async def check_empty(check, plain, streaming):
    for way, one in (("sent", plain), ("streamed", streaming)):
        try:
            await last_task(one, message([]))
        except Exception as error:
            check.expect(f"no Parts, {way}, refused", is_invalid(error), True)
        else:
            sys.exit(f"{check.binding}, no Parts, {way}: expected an error, found an answer")


def is_invalid(error):
    """By JSON-RPC the SDK tells the code, by HTTP+JSON the status; of a stream by HTTP+JSON not even that."""
    return any(sign in str(error) for sign in ("-32602", "400", "parts"))


async def main(agent, server, url):
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        content = (await http.get(url)).content
        for name, address in (("conformance", agent), ("serve", server)):
            card = await A2ACardResolver(http, address).get_agent_card()
            for binding in BINDINGS:
                bytes_of = content if (name, binding) in LARGE else content[:1_000_000]
                check = Checks(binding)
                plain, streaming = (client(card, binding, way, http) for way in (False, True))
                await check_stream(check, streaming)
                await check_turns(check, plain, streaming)
                await check_scripts(check, plain, streaming)
                await check_files(check, plain, streaming, bytes_of, url)
                await check_empty(check, plain, streaming)
                print(f"  Python 0.3 client over {binding} to {name}: {check.count} checks passed", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
