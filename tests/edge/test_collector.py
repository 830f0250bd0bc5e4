"""Traces sent to a collector: a receiver of the protocol on the loopback takes them, and what it refuses is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from lotbench.cli import main
from lotbench.edge import collector
from tests.old_runs import FOLDER, RUNS

GAME = next(name for name in RUNS if "-lotbench-" in name)


class Receiver(ThreadingHTTPServer):
    """Takes traces as a collector does; the first answers may be statuses of another kind."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses = list(statuses)
        self.requests: list[ExportTraceServiceRequest] = []
        self.seen: list[dict[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(
            {"path": self.path, **{name.lower(): value for name, value in self.headers.items()}}
        )
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            request = ExportTraceServiceRequest()
            if self.headers["Content-Type"] == "application/json":
                json_format.Parse(raw, request)
            else:
                request.ParseFromString(raw)
            self.server.requests.append(request)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"" if status == 200 else b"full of it")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the test prints what it wants."""


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    with Receiver(*statuses) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def url(server: Receiver) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def export(out: Path, *flags: str, code: int = 0) -> None:
    assert main(["export", str(FOLDER / GAME), "--to", "otel", "--out", str(out), *flags]) == code


def bodies(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "traces.jsonl").read_text(encoding="utf-8").splitlines()]


def spans(request: ExportTraceServiceRequest) -> list[Any]:
    return list(request.resource_spans[0].scope_spans[0].spans)


def test_every_span_arrives_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=ours%20alone, x-kind = game")
    with receiving() as server:
        export(tmp_path, "--otlp", url(server))
    wanted = bodies(tmp_path)
    assert f"{len(wanted)} traces sent to {url(server)}/v1/traces" in capsys.readouterr().out
    for body, request in zip(wanted, server.requests, strict=True):
        written = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert [one.name for one in spans(request)] == [one["name"] for one in written]
        assert [one.trace_id.hex() for one in spans(request)] == [one["traceId"] for one in written]
        assert [one.parent_span_id.hex() for one in spans(request)] == [
            one.get("parentSpanId", "") for one in written
        ]
    assert all(one["path"] == "/v1/traces" and one["x-tenant"] == "ours alone" for one in server.seen)
    assert {one["content-type"] for one in server.seen} == {"application/x-protobuf"}


def test_json_is_sent_where_the_package_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "google.protobuf", None)
    with receiving() as server:
        export(tmp_path, "--otlp", f"{url(server)}/v1/traces")
    assert {one["content-type"] for one in server.seen} == {"application/json"}
    assert len(server.seen) == len(bodies(tmp_path))


def test_a_collector_that_is_busy_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "FIRST_WAIT_S", 0.01)
    with receiving(503, 429) as server:
        export(tmp_path, "--otlp", url(server))
    assert len(server.seen) == len(bodies(tmp_path)) + 2 == len(server.requests) + 2


def test_what_a_collector_refuses_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with receiving(400) as server:
        export(tmp_path, "--otlp", url(server), code=1)
    assert "trace 1: 400: full of it" in capsys.readouterr().err
    export(tmp_path, "--otlp", url(server), code=1)
    assert "trace 1: ConnectError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--otlp", "http://example.org:4318"], "traces hold keys, and stay on this machine"),
        (["--otlp", "127.0.0.1:4318"], "not http://127.0.0.1:PORT"),
        (["--otlp", "http://[::1"], "not http://127.0.0.1:PORT"),
        (["--otlp", "http://127.0.0.1:port"], "not http://127.0.0.1:PORT"),
        (["--otlp", "http://localhost@example.org"], "stay on this machine"),
    ],
)
def test_no_other_machine_is_sent_anything(
    flags: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(tmp_path / "out", *flags, code=2)
    assert why in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_only_traces_are_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["export", str(FOLDER / GAME), "--to", "inspect", "--out", str(tmp_path / "out")]
    assert main([*command, "--otlp", "http://127.0.0.1:1"]) == 2
    assert "--otlp goes with --to otel" in capsys.readouterr().err
