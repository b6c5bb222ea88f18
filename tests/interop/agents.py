"""A2A agents built on the Python SDK: one for each binding, streaming and not.

Prints a JSON line {"name": NAME, "url": URL OF THE CARD} for each once all listen, then serves until
it is killed. `agents.js` is the same with the JavaScript SDK.
"""

import asyncio
import hashlib
import json
import socket

import grpc
import httpx
import uvicorn
from a2a.helpers import new_data_part, new_text_part
from a2a.helpers.proto_helpers import get_data_parts, get_text_parts, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

# A message whose first text is this one is answered with a question.
ASK = "Ask first."
QUESTION = "For whom?"
# A message whose first text is this one gets its Parts back, and the hashes of its files.
ECHO = "Echo."

# gRPC libraries take 4 MiB, unless told otherwise.
ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]

BINDINGS = {"jsonrpc": "JSONRPC", "http": "HTTP+JSON", "grpc": "GRPC"}


async def hashes(parts):
    """The SHA-256 of each file, whether its bytes came or only its address."""
    found = []
    async with httpx.AsyncClient() as http:
        for part in parts:
            if part.WhichOneof("content") == "raw":
                found.append(hashlib.sha256(part.raw).hexdigest())
            elif part.WhichOneof("content") == "url":
                found.append(hashlib.sha256((await http.get(part.url)).content).hexdigest())
    return found


class Summary(AgentExecutor):
    """Answers with a text artifact in two chunks and a data artifact that counts what came in."""

    async def execute(self, context, event_queue):
        message = context.message
        is_new = not context.current_task
        if is_new:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        texts = get_text_parts(message.parts)
        if is_new and texts and texts[0] == ASK:
            await updater.requires_input(updater.new_agent_message([new_text_part(QUESTION)]))
            return
        if texts and texts[0] == ECHO:
            data = {"hashes": await hashes(message.parts), "metadata": MessageToDict(message.metadata)}
            parts = [*message.parts, new_data_part(data)]
            await updater.add_artifact(parts, artifact_id="echo", name="echo")
            await updater.complete()
            return
        for append, piece in ((False, "Python read: "), (True, " | ".join(texts))):
            await asyncio.sleep(0)
            await updater.add_artifact(
                [new_text_part(piece)],
                artifact_id="summary",
                name="summary",
                append=append,
                last_chunk=append,
            )
        counts = {"texts": len(texts), "data": len(get_data_parts(message.parts))}
        await updater.add_artifact([new_data_part(counts)], artifact_id="counts", name="counts")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(name, binding, url, streaming):
    return AgentCard(
        name=name,
        description="Summarises the texts it is sent.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
        ],
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


async def agent(name, binding, base, streaming):
    """Returns the routes of one agent below its name, its gRPC server running if it has one."""
    webhooks = InMemoryPushNotificationConfigStore()
    handler = {
        "agent_executor": Summary(),
        "task_store": InMemoryTaskStore(),
        "push_config_store": webhooks,
        "push_sender": BasePushNotificationSender(httpx.AsyncClient(), webhooks),
    }
    if binding == "GRPC":
        server = grpc.aio.server(options=ANY_SIZE)
        port = server.add_insecure_port("127.0.0.1:0")
        own_card = card(name, binding, f"127.0.0.1:{port}", streaming)
        handler = DefaultRequestHandler(agent_card=own_card, **handler)
        add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
        await server.start()
        return server, Mount(f"/{name}", routes=create_agent_card_routes(own_card))
    root = "/" if binding == "JSONRPC" else ""
    own_card = card(name, binding, f"{base}/{name}{root}", streaming)
    handler = DefaultRequestHandler(agent_card=own_card, **handler)
    if binding == "JSONRPC":
        routes = create_jsonrpc_routes(handler, "/")
    else:
        routes = create_rest_routes(handler)
    return None, Mount(f"/{name}", routes=create_agent_card_routes(own_card) + routes)


async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    names, started = [], []
    for short, binding in BINDINGS.items():
        for suffix, streaming in (("streaming", True), ("plain", False)):
            names.append(f"python-{short}-{suffix}")
            started.append(await agent(names[-1], binding, base, streaming))
    # The host alone leads to the first of them.
    first = RedirectResponse(f"/{names[0]}/.well-known/agent-card.json")
    host = Route("/.well-known/agent-card.json", lambda _: first)
    app = Starlette(routes=[host, *(routes for _, routes in started)])
    for name in names:
        print(json.dumps({"name": name, "url": f"{base}/{name}/.well-known/agent-card.json"}))
    # The socket has been listening since before it was announced: calls wait for the server.
    print(end="", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
