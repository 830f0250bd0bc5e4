"""The models of a run by name: each is built once, and closed when the run ends."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lotbench.calls.budget import Bucket, refuse_tier, refuse_unpriced
from lotbench.calls.caller import RoleModel
from lotbench.calls.prices import price
from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName, address
from lotbench.errors import UsageError
from lotbench.models import predictions
from lotbench.models.chat import ChatModel
from lotbench.models.concurrency import Pace
from lotbench.models.embedded import Embedded, weights
from lotbench.models.person import PageModel, PersonModel
from lotbench.models.python_models import CallableModel, LangChainModel, chat_maker, own_mark
from lotbench.models.recorded import RecordedModel
from lotbench.models.retrying import Waiting, retried
from lotbench.storage.datasets import Pictures
from lotbench.types import Model

if TYPE_CHECKING:
    from lotbench.models.connections import Connections


def reads_text_only(name: ModelName) -> bool:
    """Return whether a model on this machine is known to take no pictures, before its weights are loaded."""
    if name.kind != "hf":
        return name.kind == "local"
    from lotbench.models.transformers.loading import takes_pictures

    return not takes_pictures(name.model)


class Models(AbstractAsyncContextManager["Models"]):
    """The models of a run; a model that has several roles is built once, and a recording once for each role.

    Args:
        pictures: The pictures of the samples.
        limits: Timeouts, retries and rates.
        own: Python objects by name (`python:NAME`): functions, LangChain chat models, or a `Model`.
        order: The ids of the samples in data order, if predictions may be joined by position; else empty.

    Attributes:
        warnings: Warnings on the models for the user.
    """

    def __init__(
        self, pictures: Pictures, limits: Limits, own: Mapping[str, Any], order: Sequence[str] = ()
    ) -> None:
        self.warnings: list[str] = []
        self._order = order
        self.waiting = Waiting()
        self._pictures = pictures
        self._limits = limits
        self._own = own
        self._built: dict[str, Model] = {}
        self._rates: dict[str, tuple[Bucket, Bucket]] = {}
        self.paces: dict[str, Pace] = {}
        """The limit on calls in flight of each API endpoint, by base URL."""
        self._connections: dict[str, Connections] = {}
        """Connections by base URL, shared by all models of one server."""
        self._open = AsyncExitStack()

    async def __aexit__(self, *error: object) -> None:
        for connections in self._connections.values():
            await connections.aclose()
        await self._open.aclose()

    def role_models(self, names: Mapping[str, Sequence[ModelName]]) -> dict[str, tuple[RoleModel, ...]]:
        """Return the models of each role, in the order of their names.

        Raises:
            UsageError: A key, file, package or weights are missing, or a model lacks the service tier of the limits, or has no
                price although a cost limit is set.
        """
        refuse_tier(self._limits, [name for models in names.values() for name in models])
        refuse_unpriced(self._limits, names)
        return {
            role: tuple(self._role_model(role, name) for name in models) for role, models in names.items()
        }

    def _role_model(self, role: str, name: ModelName) -> RoleModel:
        # A recording answers for one role, and a callable has an id in each; other models are shared by all roles.
        place = f"{role} {name.text}" if name.kind in ("file", "python") else name.text
        if place not in self._built:
            try:
                self._built[place] = self._build(role, name)
            except UsageError as error:
                others = "; --judge and --oracle name others" if role in ("judge", "oracle") else ""
                raise UsageError(f"{role}: {error}{others * ('is not set' in str(error))}") from error
        endpoint = name.url or name.text
        if endpoint not in self._rates:
            self._rates[endpoint] = (Bucket(self._limits.rpm), Bucket(self._limits.tpm))
        rates = self._rates[endpoint]
        billed = name.kind == "api" or isinstance(self._built[place], LangChainModel)
        # A person holds no budget: the games of others would wait for it.
        human, there = name.kind == "human", address(name)
        return RoleModel(
            name.text, self._built[place], price(name), *rates, address=there, billed=billed, outside=human
        )

    def _build(self, role: str, name: ModelName) -> Model:
        if name.kind == "api":
            pace = self.paces.setdefault(name.url or name.text, Pace(self._limits.concurrency))
            return self._chat(name, pace=pace)
        if name.kind == "langchain":
            again = partial(retried, name=name.text, limits=self._limits, waiting=self.waiting)
            url, timeout_s = self._pictures.data_url, self._limits.timeout_s
            return LangChainModel(chat_maker(name), url, timeout_s, name.model, again=again)
        if name.kind == "local":
            return self._embedded(name)
        if name.kind == "hf":
            from lotbench.models.transformers import TransformersModel
            from lotbench.models.transformers.loading import Packing

            packing, picture = Packing(quantize=name.quantize), self._pictures.sent_bytes
            return TransformersModel(name.model, name.adapter or None, picture=picture, packing=packing)
        if name.kind == "file":
            return self._recorded(role, Path(name.model))
        if name.kind == "human" and name.text not in self._own:
            return PersonModel(self._pictures.path)
        if name.kind == "human" and role != "candidate" and type(self._own[name.text]) is not PageModel:
            raise UsageError(f"{name.text} is a person: name a Python object python:NAME")
        return self._own_model(role, name)

    def _chat(self, name: ModelName, **how: Any) -> ChatModel:
        shared = self._pictures.data_url, self._limits, self.waiting
        return ChatModel(name, *shared, connections=self._connections, **how)

    def _recorded(self, role: str, path: Path) -> Model:
        rows = predictions.read_predictions(path) if role == "candidate" else None
        if rows is None:
            return RecordedModel(path, role)
        model = predictions.PredictedModel(path, rows, self._order)
        self.warnings += filter(None, [model.warning])
        return model

    def _embedded(self, name: ModelName) -> Model:
        server = Embedded.start(weights(name.text))
        # Closing waits for the server's process, so it must not run in the event loop.
        self._open.push_async_callback(asyncio.to_thread, server.close)
        return self._chat(name, url=server.base_url, secret=server.api_key)

    def _own_model(self, role: str, name: ModelName) -> Model:
        if name.text not in self._own:
            check = "" if role == "candidate" else "; lotbench.checks.judge_check.judge_check checks a judge"
            how = f'from Python (own={{"{name.text}": ...}}){check}'
            raise UsageError(f"{name.text} is a Python object: run or resume it {how}")
        own_model, picture, timeout_s = self._own[name.text], self._pictures.data_url, self._limits.timeout_s
        mark = "" if role == "candidate" else own_mark(own_model)
        if hasattr(own_model, "ainvoke"):
            refuse_unpriced(self._limits, {role: (name,)}, objects=True)
            return LangChainModel(lambda _: own_model, picture, timeout_s, mark=mark)
        takes_requests = getattr(own_model, "takes_requests", False)
        if self._limits.cost_limit is not None and price(name) is None and not takes_requests:
            self.warnings.append(f"{name.text} has no price: the cost limit does not count its calls")
        if self._limits.token_limit is not None and not takes_requests:
            self.warnings.append(
                f"{name.text}: the token limit counts only the tokens that its replies report"
            )
        # Behind one that takes requests may be a person.
        time_s = None if takes_requests else timeout_s
        return CallableModel(own_model, picture, name.text, time_s, takes_requests, mark)
