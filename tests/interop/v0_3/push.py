"""Webhooks that the client of the Python SDK's 0.3 line registers get what A2A 0.3 says: a Task by itself.

Takes the URLs of the agent `conformance` and of `convoke serve` before it, both with the older versions. `push.js` does
the same with the JavaScript SDK.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    Message,
    Part,
    PushNotificationConfig,
    Role,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TextPart,
)
from client import BINDINGS, Checks

# How long a notification may take on a machine with much to do.
PATIENCE = 60


class Webhook:
    """Takes notifications as whoever has the SDK's types would: each body is a Task."""

    async def __aenter__(self):
        self.tasks, self.heads, self.news = [], [], asyncio.Event()
        self.server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def take(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        self.tasks.append(Task.model_validate_json(body))
        self.heads.append(headers)
        self.news.set()
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def until(self, state):
        async def look():
            while not self.tasks or self.tasks[-1].status.state != state:
                self.news.clear()
                await self.news.wait()
            return self.tasks[-1]

        return await asyncio.wait_for(look(), PATIENCE)


def says(text, task=None):
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task and task.id,
        context_id=task and task.context_id,
    )


async def check_push(check, card, binding, http):
    async with Webhook() as webhook:
        hook = PushNotificationConfig(id="hook", url=webhook.url, token="for-this-task")
        config = ClientConfig(
            streaming=False,
            supported_transports=[binding],
            use_client_preference=True,
            httpx_client=http,
            push_notification_configs=[hook],
        )
        client = ClientFactory(config).create(card)
        async for task, _ in client.send_message(says("tck-artifact-text")):
            pass
        told = await webhook.until(TaskState.completed)
        check.expect("with the message, Task", (told.id, told.kind), (task.id, "task"))
        check.expect("with the message, artifact", told.artifacts[0].parts[0].root.text, "Generated text content")
        check.expect("with the message, token", webhook.heads[-1]["x-a2a-notification-token"], "for-this-task")
        check.expect("with the message, media type", webhook.heads[-1]["content-type"], "application/json")

    async with Webhook() as webhook:
        config.push_notification_configs = []
        client = ClientFactory(config).create(card)
        async for task, _ in client.send_message(says("tck-input-required")):
            pass
        hook = PushNotificationConfig(id="hook", url=webhook.url, token="later")
        await client.set_task_callback(TaskPushNotificationConfig(task_id=task.id, push_notification_config=hook))
        async for _ in client.send_message(says("tck-artifact-text", task)):
            pass
        told = await webhook.until(TaskState.completed)
        check.expect("set later, Task", told.id, task.id)
        check.expect("set later, token", {head["x-a2a-notification-token"] for head in webhook.heads}, {"later"})


async def main(urls):
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        for url in urls:
            card = await A2ACardResolver(http, url).get_agent_card()
            for binding in BINDINGS:
                check = Checks(binding)
                await check_push(check, card, binding, http)
                print(f"  Python 0.3 client over {binding} to {card.name}: {check.count} checks passed")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
