"""An A2A agent built on the Python SDK: it summarises the texts it is sent.

Prints one JSON line {"url": URL, "name": NAME} once it listens, then serves until it is killed.
"""

import argparse
import asyncio
import json
import socket

import uvicorn
from a2a.helpers import new_data_part, new_text_part
from a2a.helpers.proto_helpers import get_data_parts, get_text_parts, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class Summary(AgentExecutor):
    """Answers with a text artifact in two chunks and a data artifact that counts what came in."""

    async def execute(self, context, event_queue):
        message = context.message
        if not context.current_task:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        texts = get_text_parts(message.parts)
        data = get_data_parts(message.parts)
        summary = f"Python read: {' | '.join(texts)}"
        half = len(summary) // 2
        for append, piece in ((False, summary[:half]), (True, summary[half:])):
            await asyncio.sleep(0)
            await updater.add_artifact(
                [new_text_part(piece)],
                artifact_id="summary",
                name="summary",
                append=append,
                last_chunk=append,
            )
        await updater.add_artifact(
            [new_data_part({"texts": len(texts), "data": len(data)})],
            artifact_id="counts",
            name="counts",
        )
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url, streaming):
    name = "python-streaming" if streaming else "python-plain"
    return AgentCard(
        name=name,
        description="Summarises the texts it is sent.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
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


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--no-streaming", action="store_true")
    arguments.add_argument("--port", type=int, default=0)
    options = arguments.parse_args()

    listener = socket.create_server(("127.0.0.1", options.port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    own_card = card(f"{url}/", not options.no_streaming)
    handler = DefaultRequestHandler(
        agent_executor=Summary(), task_store=InMemoryTaskStore(), agent_card=own_card
    )
    routes = create_agent_card_routes(own_card) + create_jsonrpc_routes(handler, "/")
    print(json.dumps({"url": url, "name": own_card.name}), flush=True)
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning"))
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
