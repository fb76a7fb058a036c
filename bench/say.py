"""A hook that is a program: it reads an envelope and allows.

With -lines it is a worker, which answers a line for each line.
"""

import json
import sys


def answer(envelope):
    json.loads(envelope)["tool_name"]
    print('{"decision":"allow"}', flush=True)


if sys.argv[1:] == ["-lines"]:
    for line in sys.stdin:
        answer(line)
else:
    answer(sys.stdin.read())
