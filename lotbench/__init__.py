"""lotbench: how creative is a language model? Let it play.

    run = lotbench.evaluate_sync(model="gpt-4o-mini", limit=5)    # in a notebook also: await lotbench.evaluate(...)
    run.score(), run.to_frame(), run.report
    lotbench.compare([run, lotbench.load_run("latest")])

`resume` continues a stopped run; `games` plays step by step. docs/recipes.md has more. All are loaded when first used, so
that importing a part of lotbench does not import all of it.
"""

# Read by type checkers by its name; `typing` itself would take longer than all else that `--help` imports.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from lotbench.environment.games import games
    from lotbench.run.compare_runs import compare_runs as compare
    from lotbench.run.evaluate import evaluate, evaluate_sync, resume
    from lotbench.run.loading import load_run

__all__ = ["compare", "evaluate", "evaluate_sync", "games", "load_run", "resume"]


_PLACES = {
    "compare": "run.compare_runs:compare_runs",
    "evaluate": "run.evaluate:evaluate",
    "evaluate_sync": "run.evaluate:evaluate_sync",
    "games": "environment.games:games",
    "load_run": "run.loading:load_run",
    "resume": "run.evaluate:resume",
}
"""The module and the own name of each public function."""


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - see above

    module, _, own_name = _PLACES[name].partition(":")
    return getattr(import_module(f"lotbench.{module}"), own_name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
