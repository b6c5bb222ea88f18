"""The Python SDK's client against `convoke serve`, over each of the three bindings.

Takes the URL of the server and that of the `slow` agent behind it. Workflows are those of `workflows/`. When the
server is to be killed and started again, it prints the line "restart" and waits for a line. `serve.js` does the same
with the JavaScript SDK, without the restart.
"""

import argparse
import asyncio
import sys
from types import SimpleNamespace

import httpx
from a2a.client import A2ACardResolver
from a2a.client.errors import A2AClientError
from a2a.helpers.proto_helpers import get_artifact_text, get_text_parts
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from client import BINDINGS, Checks, client, collect, request
from google.protobuf.json_format import MessageToDict
from webhook import Webhook

WORKFLOW = "urn:convoke:workflow:v1"
STEP = "urn:convoke:step:v1"
SKILLS = {"ask", "count", "say", "two-questions", "wait"}

# Over gRPC the SDK has no class of its own for INVALID_ARGUMENT.
INVALID = {"JSONRPC": InvalidParamsError, "HTTP+JSON": InvalidParamsError, "GRPC": A2AClientError}


def start(workflow, text, context="", immediately=False):
    """A Message that starts a workflow."""
    sent = request(text)
    sent.message.metadata[WORKFLOW] = workflow
    sent.message.context_id = context
    sent.configuration.return_immediately = immediately
    return sent


def reply(task, text, step=None):
    """A Message that answers a Task, at the address of a step if there is one."""
    sent = request(text, task)
    if step:
        sent.message.metadata[STEP] = step
    return sent


async def sent(plain, message):
    [event] = [event async for event in plain.send_message(message)]
    return event.task


async def until(look, is_reached):
    """What a look finds once something is true of it."""

    async def poll():
        while not is_reached(found := await look()):
            pass
        return found

    return await asyncio.wait_for(poll(), 20)


def states(page):
    return [TaskState.Name(task.status.state) for task in page.tasks]


def steps(events):
    """Which step the status updates of a stream are about, and where it stood."""
    about = [
        MessageToDict(event.status_update.metadata).get(STEP)
        for event in events
        if event.HasField("status_update")
    ]
    return [(step["step"], step["state"]) for step in about if step]


def put_together(events):
    """The texts of the artifacts of a stream, by their names: each comes whole, or piece by piece."""
    artifacts = {}
    for update in (event.artifact_update for event in events if event.HasField("artifact_update")):
        name = update.artifact.name
        known = artifacts.get(name, "") if update.append else ""
        artifacts[name] = known + "".join(get_text_parts(update.artifact.parts))
    return artifacts


def texts(task):
    return {artifact.name: "".join(get_text_parts(artifact.parts)) for artifact in task.artifacts}


def questions(task):
    """What a Task asks: the address of each question, and its text."""
    parts = task.status.message.parts
    return [(MessageToDict(part.metadata).get(STEP), part.text) for part in parts]


def history(task):
    return ["".join(get_text_parts(message.parts)) for message in task.history]


def check_card(check, card):
    check.expect("card, name", card.name, "Convoke")
    check.expect("card, skills", {skill.id for skill in card.skills} & SKILLS, SKILLS)
    bindings = [interface.protocol_binding for interface in card.supported_interfaces]
    check.expect("card, bindings", sorted(bindings), sorted(BINDINGS))
    check.expect("card, streaming", card.capabilities.streaming, True)
    extensions = [extension.uri for extension in card.capabilities.extensions]
    check.expect("card, extension", WORKFLOW in extensions, True)


async def check_send(check, plain, streaming):
    """A blocking send, a stream, and what is refused."""
    task = await sent(plain, start("say", "plain hello"))
    check.state("send, state", task.status, "COMPLETED")
    check.expect("send, artifacts", texts(task), {"said": "plain hello"})
    check.expect("send, history", history(task), ["plain hello"])
    check.expect("send, workflow", MessageToDict(task.metadata), {WORKFLOW: "say"})

    events = [event async for event in streaming.send_message(start("say", "streamed hello"))]
    kinds = [event.WhichOneof("payload") for event in events]
    check.expect("stream, first and last", (kinds[0], kinds[-1]), ("task", "status_update"))
    check.state("stream, last state", events[-1].status_update.status, "COMPLETED")
    check.expect("stream, steps", steps(events)[-1:], [("say", "completed")])
    check.expect("stream, artifacts", put_together(events), {"said": "streamed hello"})
    task = await plain.get_task(GetTaskRequest(id=events[0].task.id))
    check.expect("get, artifacts", texts(task), {"said": "streamed hello"})
    task = await plain.get_task(GetTaskRequest(id=task.id, history_length=0))
    check.expect("get, no history", history(task), [])

    refused = check.refused
    await refused("unknown workflow", sent(plain, start("no-such", "x")), INVALID[check.binding])
    await refused("unknown Task", plain.get_task(GetTaskRequest(id="unknown")), TaskNotFoundError)
    cancel = plain.cancel_task(CancelTaskRequest(id=task.id))
    await refused("cancel of a finished Task", cancel, TaskNotCancelableError)
    late = sent(plain, reply(task, "late"))
    await refused("Message to a finished Task", late, UnsupportedOperationError)
    again = collect(streaming.subscribe(SubscribeToTaskRequest(id=task.id)))
    await refused("subscribe to a finished Task", again, UnsupportedOperationError)


async def check_list(check, plain):
    """Three Tasks of one context on two pages, the newest first."""
    first = await sent(plain, start("say", "one"))
    of_context = {"context_id": first.context_id}
    ids = [first.id]
    for text in ("two", "three"):
        ids.insert(0, (await sent(plain, start("say", text, first.context_id))).id)
    page = await plain.list_tasks(ListTasksRequest(page_size=2, **of_context))
    check.expect("list, first page", [task.id for task in page.tasks], ids[:2])
    check.expect("list, total and size", (page.total_size, page.page_size), (3, 2))
    check.expect("list, artifacts unless asked for", [len(task.artifacts) for task in page.tasks], [0, 0])
    token = page.next_page_token
    page = await plain.list_tasks(
        ListTasksRequest(page_size=2, page_token=token, include_artifacts=True, **of_context)
    )
    check.expect("list, last page", [task.id for task in page.tasks], ids[2:])
    check.expect("list, artifacts", texts(page.tasks[0]), {"said": "one"})
    check.expect("list, no further page", page.next_page_token, "")
    completed = ListTasksRequest(status=TaskState.TASK_STATE_COMPLETED, **of_context)
    check.expect("list by state", len((await plain.list_tasks(completed)).tasks), 3)
    working = ListTasksRequest(status=TaskState.TASK_STATE_WORKING, **of_context)
    check.expect("list by another state", len((await plain.list_tasks(working)).tasks), 0)
    await check.refused(
        "list, broken token",
        plain.list_tasks(ListTasksRequest(page_token="broken", **of_context)),
        INVALID[check.binding],
    )


async def check_cancel(check, plain, streaming, slow):
    """A send that returns at once; a subscriber; a cancel that reaches the agent."""
    task = await sent(plain, start("wait", "wait", immediately=True))
    check.state("returnImmediately, state", task.status, "WORKING")
    subscription = streaming.subscribe(SubscribeToTaskRequest(id=task.id))
    first = await anext(subscription)
    check.expect("subscribe, first", (first.WhichOneof("payload"), first.task.id), ("task", task.id))
    seen = asyncio.create_task(collect(subscription))
    listed = await plain.list_tasks(
        ListTasksRequest(context_id=task.context_id, status=TaskState.TASK_STATE_WORKING)
    )
    check.expect("list of what works", [entry.id for entry in listed.tasks], [task.id])
    of_context = ListTasksRequest(context_id=task.context_id)
    remote = await until(
        lambda: slow.list_tasks(of_context), lambda page: states(page) == ["TASK_STATE_WORKING"]
    )
    check.expect("the agent's Task", states(remote), ["TASK_STATE_WORKING"])
    canceled = await plain.cancel_task(CancelTaskRequest(id=task.id))
    check.state("cancel, state", canceled.status, "CANCELED")
    events = await asyncio.wait_for(seen, 20)
    check.state("subscribe, last state", events[-1].status_update.status, "CANCELED")
    found = await plain.get_task(GetTaskRequest(id=task.id))
    check.state("get after cancel, state", found.status, "CANCELED")
    remote = await slow.list_tasks(of_context)
    check.expect("the agent's Task after cancel", states(remote), ["TASK_STATE_CANCELED"])


async def check_pause(check, plain, streaming):
    """Two questions, answered with and without a stream, while a subscriber looks on."""
    task = await sent(plain, start("ask", "Notice"))
    check.state("first question, state", task.status, "INPUT_REQUIRED")
    check.expect("first question", questions(task), [("ask", "What should it say?")])

    subscription = streaming.subscribe(SubscribeToTaskRequest(id=task.id))
    first = await anext(subscription)
    check.state("subscribe, first state", first.task.status, "INPUT_REQUIRED")
    seen = asyncio.create_task(collect(subscription))

    asked = await sent(plain, reply(task, "Hello"))
    check.expect("answer, same Task", asked.id, task.id)
    check.state("second question, state", asked.status, "INPUT_REQUIRED")
    check.expect("second question", questions(asked), [("ask", "To whom?")])

    answer = reply(task, "World", "ask")
    events = [event async for event in streaming.send_message(answer)]
    check.state("streamed answer, state", events[-1].status_update.status, "COMPLETED")
    events = await asyncio.wait_for(seen, 20)
    check.state("subscribe, last state", events[-1].status_update.status, "COMPLETED")
    check.expect("subscribe, artifacts", put_together(events), {"notice": "Notice [Hello | World]"})
    done = await plain.get_task(GetTaskRequest(id=task.id))
    check.expect("notice", texts(done), {"notice": "Notice [Hello | World]"})
    check.expect("history", history(done), ["Notice", "Hello", "World"])


async def check_two_questions(check, clients, restart):
    """Two steps ask at once while a third goes on; the answers come in the other order, perhaps to two servers."""
    plain = clients.plain
    task = await sent(plain, start("two-questions", "notice", immediately=True))
    both = [("left", "What should it say?"), ("right", "What should it say?")]
    named = GetTaskRequest(id=task.id)
    task = await until(lambda: plain.get_task(named), lambda task: questions(task) == both)
    check.state("two questions, state", task.status, "INPUT_REQUIRED")
    unclear = await sent(plain, reply(task, "for somebody"))
    check.expect("an answer to neither lists both", questions(unclear), both)
    nobody = sent(plain, reply(task, "for nobody", "beside"))
    await check.refused("an answer to a step that does not ask", nobody, INVALID[check.binding])

    asked = await sent(plain, reply(task, "for right", "right"))
    check.state("one question left, state", asked.status, "INPUT_REQUIRED")
    check.expect("one question left", questions(asked), both[:1])
    if restart:
        await clients.restart()
        plain = clients.plain
        kept = await plain.get_task(GetTaskRequest(id=task.id))
        check.expect("after the restart, question", questions(kept), both[:1])
        check.expect("after the restart, history", history(kept), ["notice", "for right"])
        check.expect("after the restart, Task", MessageToDict(kept.status), MessageToDict(asked.status))

    done = await sent(plain, reply(task, "for left", "left"))
    check.state("both answered, state", done.status, "COMPLETED")
    left, right = "Left notice [for left]", "Right notice [for right]"
    report = f"{left}, {right}, Beside notice"
    check.expect("both answered", texts(done), {"left": left, "right": right, "report": report})
    check.expect("both answered, history", history(done), ["notice", "for right", "for left"])


async def check_chunks(check, streaming):
    """The artifact of a step comes chunk by chunk, in order, as its agent made it."""
    events = [event async for event in streaming.send_message(start("count", "Count to 5"))]
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    found = [(get_artifact_text(it.artifact), it.append, it.last_chunk) for it in updates]
    wanted = [(f"{piece} ", piece > 1, piece == 5) for piece in range(1, 6)]
    check.expect("chunks", found, wanted)
    check.expect("chunks, one artifact", len({it.artifact.artifact_id for it in updates}), 1)


async def check_push(check, plain):
    """A webhook that the SDK registers is told of the Task to its end, and what is registered can be read and removed."""
    async with Webhook() as webhook:
        task = await sent(plain, start("ask", "Notice"))
        config = TaskPushNotificationConfig(task_id=task.id, id="hook", url=webhook.url, token="for-this-task")
        made = await plain.create_task_push_notification_config(config)
        check.expect("push, made", (made.task_id, made.id, made.url), (task.id, "hook", webhook.url))
        one = GetTaskPushNotificationConfigRequest(task_id=task.id, id="hook")
        check.expect("push, read", (await plain.get_task_push_notification_config(one)).url, webhook.url)
        listed = await plain.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id=task.id)
        )
        check.expect("push, listed", [it.id for it in listed.configs], ["hook"])
        await sent(plain, reply(task, "Hello"))
        await sent(plain, reply(task, "World"))
        check.expect("push, artifact", await webhook.ended(task), "Notice [Hello | World]")
        check.expect("push, token", webhook.tokens, {"for-this-task"})
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="hook")
        await plain.delete_task_push_notification_config(gone)
        await check.refused("push, removed", plain.get_task_push_notification_config(one), TaskNotFoundError)


class Clients(SimpleNamespace):
    """Clients of the server over one binding; new ones after it was killed and started again."""

    def open(self):
        self.plain, self.streaming = (client(self.card, self.binding, way) for way in (False, True))

    async def restart(self):
        await self.close()
        print("restart", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        self.open()

    async def close(self):
        await self.plain.close()
        await self.streaming.close()


async def main(arguments):
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, arguments.server).get_agent_card()
        slow_card = await A2ACardResolver(http, arguments.slow).get_agent_card()
    for binding in BINDINGS:
        check = Checks(binding)
        clients = Clients(card=card, binding=binding)
        clients.open()
        slow = client(slow_card, binding, False)
        check_card(check, card)
        await check_send(check, clients.plain, clients.streaming)
        await check_list(check, clients.plain)
        await check_pause(check, clients.plain, clients.streaming)
        await check_cancel(check, clients.plain, clients.streaming, slow)
        await check_two_questions(check, clients, restart=False)
        await check_two_questions(check, clients, restart=True)
        await check_chunks(check, clients.streaming)
        await check_push(check, clients.plain)
        await clients.close()
        await slow.close()
        print(f"  Python client over {binding}: {check.count} checks passed", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("slow")
    asyncio.run(main(parser.parse_args()))
