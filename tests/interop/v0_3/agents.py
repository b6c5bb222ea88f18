"""A2A 0.3 agents built on the Python SDK: by JSON-RPC and HTTP+JSON, streaming and not.

Prints a JSON line {"name": NAME, "url": URL OF THE AGENT} for each once all listen, then serves until
it is killed. `agents.js` is the same with the JavaScript SDK.
"""

import asyncio
import json
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, DataPart, Part, TextPart
from a2a.utils import new_task
from a2a.utils.parts import get_data_parts, get_text_parts
from starlette.applications import Starlette
from starlette.routing import Mount

# A message whose first text is this one is answered with a question.
ASK = "Ask first."
QUESTION = "For whom?"


def text(value):
    return Part(root=TextPart(text=value))


class Summary(AgentExecutor):
    """Answers with a text artifact in two chunks and a data artifact that counts what came in."""

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
        capabilities=AgentCapabilities(streaming=streaming),
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
    handler = DefaultRequestHandler(agent_executor=Summary(), task_store=InMemoryTaskStore())
    if transport == "JSONRPC":
        app = A2AStarletteApplication(agent_card=own_card, http_handler=handler).build()
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
    app = Starlette(
        routes=[
            agent(name, transport, base, streaming)
            for name, (transport, streaming) in agents.items()
        ]
    )
    for name in agents:
        print(json.dumps({"name": name, "url": f"{base}/{name}/"}))
    # The socket has been listening since before it was announced: calls wait for the server.
    print(end="", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
