"""The echo agent of the benches on the SDK for Python, with its DatabaseTaskStore on SQLite as both
come: `durable.py FILE`.

Prints the URL of its JSON-RPC interface once it listens, and ends when standard input does.
"""

import asyncio
import socket
import sys

import uvicorn
from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    Task,
    TaskState,
    TaskStatus,
)
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


class Echo(AgentExecutor):
    """Answers with a completed Task in one event, so that the store writes as little as it can."""

    async def execute(self, context, event_queue):
        await event_queue.enqueue_event(
            Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED),
                artifacts=[
                    Artifact(artifact_id="echo", parts=[new_text_part(context.get_user_input())])
                ],
            )
        )

    async def cancel(self, context, event_queue):
        raise NotImplementedError


def card(url):
    return AgentCard(
        name="echo",
        description="Says what it hears.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(id="echo", name="Echo", description="Says what it hears.", tags=["echo"])
        ],
    )


async def main(file):
    store = DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{file}"))
    await store.initialize()
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    handler = DefaultRequestHandler(
        agent_executor=Echo(), task_store=store, agent_card=card(url)
    )
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    # The socket has been listening since before it was announced: calls wait for the server.
    print(url, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


asyncio.run(main(sys.argv[1]))
