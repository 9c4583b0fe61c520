"""The process that talks to a Dask cluster: it reads one line of JSON per submission and writes one line per result."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from .far import grade_far

_TRIES = 3


def main() -> None:
    """Serve the grader, which is at the other end of stdin and stdout, until it hangs up."""
    from distributed import Client
    from distributed.security import Security

    start = json.loads(sys.stdin.readline())
    tls = start["tls"]
    names = {"tls_ca_file": "ca_file", "tls_client_cert": "cert", "tls_client_key": "key"}
    security = Security(require_encryption=True, **{to: tls[name] for to, name in names.items()}) if tls else None
    try:
        client = Client(start["address"], security=security, timeout="60s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        _say({"error": f"no Dask scheduler answers at {start['address']}: {error}"})
        return
    with client:
        _say({"threads": max(sum(client.nthreads().values()), 1)})
        for line in sys.stdin:
            message = json.loads(line)
            arguments = client, message["student"], message["payload"], start["seconds"]
            threading.Thread(target=_send, args=arguments, daemon=True).start()


def _send(client: Any, student: str, payload: str, seconds: float) -> None:
    """Send one submission to a worker, and to another if the worker is lost."""
    trouble = ""
    for _ in range(_TRIES):
        try:
            future = client.submit(grade_far, payload, pure=False, retries=_TRIES)
            reply = future.result(timeout=seconds)
            future.release()
            _say({"student": student, "reply": reply if type(reply) is str else ""})
            return
        except TimeoutError:
            trouble = "a worker of the cluster did not answer in time"
            break
        except Exception as error:  # noqa: BLE001 - whatever a worker sends
            trouble = f"{type(error).__name__}: {error}"
    _say({"student": student, "trouble": trouble[:5000]})


_lock = threading.Lock()


def _say(message: dict[str, Any]) -> None:
    with _lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
