"""Traces sent to an OpenTelemetry collector on this machine: OTLP over HTTP, a request a task.

As protobuf where the package opentelemetry-proto is installed, which every collector takes; else as JSON, which some refuse.
Spans hold prompts, and prompts of judges hold keys: so nothing is sent to another machine.
"""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lotbench.edge.serve import NAMES
from lotbench.errors import CallFailed, UsageError

PATH = "/v1/traces"
IDS = ("traceId", "spanId", "parentSpanId")
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable that names more headers, as the specification has it: `name=value,name=value`."""
TRIES, FIRST_WAIT_S, TIMEOUT_S = 4, 0.5, 30.0
PASSING = frozenset({429, 502, 503, 504})
"""Statuses after which the specification has a client try again."""


def address(url: str) -> str:
    """Where traces go, from the address of a collector.

    Raises:
        UsageError: It is no address, or not of this machine.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname in NAMES and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"--otlp {url}: not http://127.0.0.1:PORT: traces hold keys, and stay on this machine"
        )
    return url if parts.path.endswith(PATH) else url.rstrip("/") + PATH


def send(traces: Path, url: str) -> int:
    """Send each line of a file of traces; returns how many.

    Args:
        traces: A body of OTLP in JSON a line.
        url: See `address`.

    Raises:
        UsageError: The address is of no use, or the headers in the environment are.
        CallFailed: The collector is not there, or refuses a trace, with what it says.
    """
    import httpx2

    place, encode = address(url), _encoder()
    sent = 0
    client = httpx2.Client(timeout=TIMEOUT_S, headers=_headers(), trust_env=False)
    with client, traces.open(encoding="utf-8") as lines:
        for sent, line in enumerate(lines, 1):
            content, kind = encode(line)
            _posted(client, place, content, kind, sent)
    return sent


def _posted(client: Any, place: str, content: bytes, kind: str, number: int) -> None:
    """Post one trace until it is taken."""
    import httpx2

    for attempt in range(TRIES):
        try:
            answer = client.post(place, content=content, headers={"Content-Type": kind})
        except httpx2.HTTPError as error:
            raise CallFailed(f"{place}: trace {number}: {type(error).__name__}: {error}") from None
        if answer.is_success:
            return
        if answer.status_code not in PASSING or attempt == TRIES - 1:
            break
        time.sleep(FIRST_WAIT_S * 2**attempt)
    said = " ".join(answer.text.split())[:300]
    hint = "" if kind.endswith("protobuf") else " (as JSON; pip install opentelemetry-proto sends protobuf)"
    raise CallFailed(f"{place}: trace {number}: {answer.status_code}: {said}{hint}")


def _encoder() -> Any:
    """From a line to what is posted and its media type."""
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        return lambda line: (line.strip().encode(), "application/json")

    def encode(line: str) -> tuple[bytes, str]:
        table = json.loads(line)
        # OTLP's JSON has ids in hex, where protobuf's own JSON has base64.
        for resource in table["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    span |= {
                        name: base64.b64encode(bytes.fromhex(span[name])).decode()
                        for name in IDS
                        if name in span
                    }
        made = json_format.ParseDict(table, ExportTraceServiceRequest())
        return made.SerializeToString(), "application/x-protobuf"

    return encode


def _headers() -> dict[str, str]:
    headers = {}
    for pair in filter(None, (one.strip() for one in os.environ.get(HEADERS, "").split(","))):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"${HEADERS}: {pair!r} is not name=value")
        headers[name.strip()] = unquote(value.strip())
    return headers
