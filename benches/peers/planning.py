"""Plans a large workflow the way a Python program would: PyYAML and networkx.

Usage: planning.py FILE ROUNDS. Prints the seconds of each round as JSON, for PyYAML's own reader and for libyaml's.
"""

import json
import re
import sys
import time

import networkx
import yaml

STEP_KEYS = {"agent", "message", "needs"}
REFERENCE = re.compile(r"steps\.([a-z][a-z0-9_]*)")


def plan(text, loader):
    workflow = yaml.load(text, Loader=loader)
    steps = workflow["steps"]
    graph = networkx.DiGraph()
    graph.add_nodes_from(steps)
    for name, step in steps.items():
        unknown = step.keys() - STEP_KEYS
        if unknown:
            raise ValueError(f"{name} has unknown keys {unknown}")
        for before in [*step.get("needs", []), *REFERENCE.findall(step["message"])]:
            if before not in steps:
                raise ValueError(f"{name} needs the unknown step {before}")
            graph.add_edge(before, name)
    order = list(networkx.topological_sort(graph))
    agents = {name: f"agent of {'+'.join(steps[name]['agent']['tags'])}" for name in order}
    return len(agents)


def seconds(text, loader, rounds):
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        plan(text, loader)
        taken.append(time.perf_counter() - started)
    return taken


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    print(
        json.dumps(
            {
                "python": seconds(text, yaml.SafeLoader, rounds),
                "libyaml": seconds(text, yaml.CSafeLoader, rounds),
            }
        )
    )


main()
