"""A2A 0.3 agents built on the Python SDK: by JSON-RPC and HTTP+JSON, streaming and not.

Prints a JSON line {"name": NAME, "url": URL OF THE AGENT} for each once all listen, then serves until
it is killed. `agents.js` is the same with the JavaScript SDK.
"""

import asyncio
import base64
import hashlib
import json
import socket

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentSkill,
    DataPart,
    FileWithUri,
    Part,
    TextPart,
)
from a2a.utils import new_task
from a2a.utils.parts import get_data_parts, get_text_parts
from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

# A message whose first text is this one is answered with a question.
ASK = "Ask first."
QUESTION = "For whom?"
# A message whose first text is this one gets its Parts back, and the hashes of its files.
ECHO = "Echo."

# The SDK takes 10 MiB of JSON-RPC, unless told otherwise.
ANY_SIZE = None


def text(value):
    return Part(root=TextPart(text=value))


async def hashes(parts, transport):
    """The SHA-256 of each file, whether its bytes came or only its address."""
    found = []
    async with httpx.AsyncClient() as http:
        for file in [part.root.file for part in parts if part.root.kind == "file"]:
            if isinstance(file, FileWithUri):
                content = (await http.get(file.uri)).content
            elif transport == "JSONRPC":
                content = base64.b64decode(file.bytes)
            else:
                # Of HTTP+JSON the SDK makes the text of the file, where its types say base64.
                content = file.bytes.encode()
            found.append(hashlib.sha256(content).hexdigest())
    return found


class Summary(AgentExecutor):
    """Answers with a text artifact in two chunks and a data artifact that counts what came in."""

    def __init__(self, transport):
        self.transport = transport

    async def execute(self, context, event_queue):
        message = context.message
        is_new = not context.current_task
        if is_new:
            await event_queue.enqueue_event(new_task(message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        texts = get_text_parts(message.parts)
        if is_new and texts and texts[0] == ASK:
            await updater.requires_input(updater.new_agent_message([text(QUESTION)]), final=True)
            return
        if texts and texts[0] == ECHO:
            data = {"hashes": await hashes(message.parts, self.transport), "metadata": message.metadata}
            parts = [*message.parts, Part(root=DataPart(data=data))]
            await updater.add_artifact(parts, artifact_id="echo", name="echo")
            await updater.complete()
            return
        for append, piece in ((False, "Python read: "), (True, " | ".join(texts))):
            await asyncio.sleep(0)
            await updater.add_artifact(
                [text(piece)],
                artifact_id="summary",
                name="summary",
                append=append,
                last_chunk=append,
            )
        counts = {"texts": len(texts), "data": len(get_data_parts(message.parts))}
        counts = Part(root=DataPart(data=counts))
        await updater.add_artifact([counts], artifact_id="counts", name="counts")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(name, transport, url, streaming):
    return AgentCard(
        name=name,
        description="Summarises the texts it is sent.",
        version="1.0.0",
        url=url,
        preferred_transport=transport,
        capabilities=AgentCapabilities(streaming=streaming, push_notifications=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[
            AgentSkill(
                id="summarise",
                name="Summarise",
                description="Puts the texts of a message into one line.",
                tags=["summary"],
            )
        ],
    )


def agent(name, transport, base, streaming):
    """Returns the routes of one agent below its name."""
    own_card = card(name, transport, f"{base}/{name}/", streaming)
    webhooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Summary(transport),
        task_store=InMemoryTaskStore(),
        push_config_store=webhooks,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), webhooks),
    )
    if transport == "JSONRPC":
        app = A2AStarletteApplication(own_card, handler, max_content_length=ANY_SIZE).build()
    else:
        app = A2ARESTFastAPIApplication(agent_card=own_card, http_handler=handler).build()
    return Mount(f"/{name}", app=app)


async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    agents = {
        f"python-0-3-{short}-{suffix}": (transport, streaming)
        for short, transport in (("jsonrpc", "JSONRPC"), ("http", "HTTP+JSON"))
        for suffix, streaming in (("streaming", True), ("plain", False))
    }
    # The host alone leads to the first of them.
    first = RedirectResponse(f"/{next(iter(agents))}/.well-known/agent-card.json")
    host = Route("/.well-known/agent-card.json", lambda _: first)
    routes = [
        agent(name, transport, base, streaming)
        for name, (transport, streaming) in agents.items()
    ]
    app = Starlette(routes=[host, *routes])
    for name in agents:
        print(json.dumps({"name": name, "url": f"{base}/{name}/"}))
    # The socket has been listening since before it was announced: calls wait for the server.
    print(end="", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
