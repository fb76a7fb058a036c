"""A hookgate client for Python that fails closed: any failure is a deny."""

import json
import socket
import time
import urllib.request


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)


def ask(call, url="http://127.0.0.1:8080/v1/decide", patience=25.0):
    """Returns the decision on a call: event, workspace, agent_id, tool_call_id, tool_name, input, and after it output, is_error."""
    try:
        body = json.dumps({"hook_schema": 1, **call}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        deadline = time.monotonic() + patience  # the timeout below applies to each read
        with _opener.open(request, timeout=patience) as response:
            if response.status != 200:
                raise ValueError(f"it answered with status {response.status}")
            text = b""
            while chunk := response.read1():
                text += chunk
                if time.monotonic() > deadline:
                    raise socket.timeout("timed out")
        answer = json.loads(text)
        rewrite, field, kind = ("modify", "input", dict) if call["event"] == "pre_tool_use" else ("replace", "output", object)
        if answer["decision"] not in ("allow", "deny", rewrite):
            raise ValueError("the answer is not a valid decision")
        if answer["decision"] == rewrite and not (field in answer and isinstance(answer[field], kind)):
            raise ValueError("the rewrite is not valid")
        return answer
    except Exception as error:  # a call without a decision must not run
        return {"decision": "deny", "reason": f"hookgate could not be asked: {error}"}
