"""A webhook on this machine, for the clients of the Python SDK."""

import asyncio
import json

# How long a notification may take on a machine with much to do.
PATIENCE = 60


class Webhook:
    """Takes notifications until there is nothing more to come."""

    async def __aenter__(self):
        self.bodies, self.tokens, self.news = [], set(), asyncio.Event()
        self.server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def take(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.bodies.append(body)
        self.tokens.add(headers["x-a2a-notification-token"])
        self.news.set()
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def ended(self, task):
        """Waits until it is told that a Task has ended, and returns the texts of its artifacts."""

        async def look():
            while not self.updates(task, "TASK_STATE_COMPLETED"):
                self.news.clear()
                await self.news.wait()

        await asyncio.wait_for(look(), PATIENCE)
        artifacts = [body["artifactUpdate"]["artifact"] for body in self.bodies if "artifactUpdate" in body]
        return "".join(part["text"] for artifact in artifacts for part in artifact["parts"])

    def updates(self, task, state):
        updates = [body["statusUpdate"] for body in self.bodies if "statusUpdate" in body]
        return [it for it in updates if (it["taskId"], it["status"]["state"]) == (task.id, state)]
