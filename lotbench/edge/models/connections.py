"""The connections of a run: all its models share them, so that three roles on one server open no more than one would."""

from __future__ import annotations

from typing import Any

IDLE_S = 5.0
"""How long a connection is kept for the next call."""


class Connections:
    """Connections that are kept, by server; opened inside a running loop."""

    def __init__(self) -> None:
        self._connector: Any = None
        self._secure: Any = None

    @property
    def connector(self) -> Any:
        """What aiohttp's sessions take them from; the places of an endpoint are all the limit there is."""
        if self._connector is None:
            self._connector = _connector()
        return self._connector

    @property
    def secure(self) -> Any:
        """How the certificate of a server is looked at: by the authorities that OpenAI's client trusts."""
        if self._secure is None:
            import httpx2

            self._secure = httpx2.create_ssl_context()
        return self._secure

    async def close(self) -> None:
        """Close what is open."""
        if self._connector is not None:
            await self._connector.close()


def _connector() -> Any:
    import aiohttp

    class Silent(aiohttp.TCPConnector):
        """Takes no connection again over which something came that nobody had asked for.

        aiohttp would take it for the answer to the next question. The clients on httpcore look for that too.
        """

        async def _get(self, *place: Any, **more: Any) -> Any:
            kept: Any = await super()._get(*place, **more)
            while kept is not None and kept.protocol.should_close:
                kept.close()
                kept = await super()._get(*place, **more)
            return kept

    return Silent(limit=0, keepalive_timeout=IDLE_S)
