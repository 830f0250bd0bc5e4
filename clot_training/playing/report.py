"""What a training by playing came to: report.md, report.json, curves.png.

A reward is what a judge says. Beside it stands what the samples' own lists say of the same games, how often the judge
was wrong by them, and what players get who know no joke: a reward that rises alone has found the judge's weakness.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from clot_training.config import Config
from clot_training.playing import measure, trials
from clot_training.playing.measure import Watched
from clot_training.playing.rollouts import game_settings
from clot_training.playing.samples import BENCHMARK, Split
from lotbench import benchmarks
from lotbench.benchmarks.lotbench.rules import worth
from lotbench.config.experiment import validate
from lotbench.edge.files import atomic_write
from lotbench.edge.files.traces import Traces
from lotbench.report import markdown
from lotbench.report.sections import Table

ENDS = 10
"""Steps at either end that are compared, at most; of a short training half of them."""
PARTS = ("key_text", "judged", "overturned", "round", "invalid")
LOGGED = {"kl": "KL", "completions/mean_length": "tokens", "entropy": "entropy"}
"""What trl logs of a step, and how it is called here."""


def write(config: Config, apart: Split, start: Path, out: Path) -> str:
    """Write the report of a finished training; the runs that it needs are made if they are not there.

    Returns:
        report.md.
    """
    table = tabled(config, apart, start, out)
    draw(table["steps"], out / "curves.png")
    text = told(table)
    atomic_write.write(out / "report.json", json.dumps(table, indent=2) + "\n")
    atomic_write.write(out / "report.md", text)
    return text


def tabled(config: Config, apart: Split, start: Path, out: Path) -> dict[str, Any]:
    """All that the report says, as figures."""
    samples = {one.id: one for one in apart.train}
    benchmark = benchmarks.get(BENCHMARK)
    rules = benchmark.resolve(
        validate(benchmark.Settings, game_settings(config.play)), {"judge": len(config.play.judges)}
    )
    play = config.play
    games = measure.watched(Traces(out / "games" / "traces.jsonl"), play.group * play.scenes)
    steps, compared = _steps(games, rules, samples, out), max(1, min(ENDS, play.steps // 2))
    ends = {
        "first": [one for one in games if one.step < compared],
        "last": [one for one in games if one.step >= play.steps - compared],
    }
    lost = {"first": steps[:compared], "last": steps[-compared:]}
    about = json.loads((out / "play.json").read_text(encoding="utf-8"))
    begun = json.loads((start.parent / "start.json").read_text(encoding="utf-8"))
    base, places = about["model"].partition("+")[0], out / "trials"
    return {
        "model": about["model"],
        "judges": about["judges"],
        "train": about["train"],
        "held_out": about["held_out"],
        "seconds": about["seconds"],
        "rewards": {**begun["rewards"], "after": about["after"]},
        "held_out_score": {
            "before": trials.trial(config, apart, "before", f"{base}+{start}", held_out=True, out=places),
            "after": trials.trial(config, apart, "after", about["model"], held_out=True, out=places),
        },
        "compared": compared,
        "ends": {name: _end(some, lost[name], rules, samples) for name, some in ends.items()},
        "chance": trials.chance(config, apart, places),
        "best": worth(rules.round_origin, rules),
        "max_fpr": rules.max_fpr,
        "steps": steps,
    }


def _end(
    games: Sequence[Watched], steps: Sequence[Mapping[str, Any]], rules: Any, samples: Mapping[str, Any]
) -> dict[str, Any]:
    found = measure.parts(games, rules, samples)
    found["broke_off"] = sum(one["broke_off"] for one in steps)
    found["errors"] = measure.errors(games, samples)
    found["by_labels"] = measure.by_labels(games, rules, samples)
    return found


def _steps(
    games: Sequence[Watched], rules: Any, samples: Mapping[str, Any], out: Path
) -> list[dict[str, Any]]:
    """A table for each step: the reward with its parts, and what trl logged."""
    logged = [json.loads(line) for line in (out / "steps.jsonl").read_text(encoding="utf-8").splitlines()]
    made = []
    for line in logged:
        number = line["step"] - 1
        mine = measure.parts([one for one in games if one.step == number], rules, samples)
        row = {"step": line["step"], "reward": mine["reward"]["mean"], "listed": mine["listed"]["mean"]}
        made.append(
            row
            | {name: mine[name] for name in ("games", *PARTS)}
            # Games whose last call never arrived are gone from the folder once a killed training has gone on.
            | {"broke_off": round(line["broke_off"])}
            # Of a group whose games all have one reward nothing can be learned: every advantage is 0.
            | {"apart": line["frac_reward_zero_std"] < 1}
            | {name: line.get(key) for key, name in LOGGED.items()}
        )
    return made


def warnings(table: Mapping[str, Any]) -> list[str]:
    """What makes the reward no score: a judge that errs, and players who win without the joke."""
    found, last = [], table["ends"]["last"]
    if table["steps"] and not any(one["apart"] for one in table["steps"]):
        found.append(
            "no weight was moved by it: in every step all games of a scene had the same reward (a better start, larger "
            "groups or easier scenes set them apart)"
        )
    wrong = last["errors"]
    if wrong["fpr"] is not None and wrong["fpr"] > table["max_fpr"]:
        found.append(
            f"the judge accepted {wrong['accepted']} of {wrong['wrong']} guesses of the last steps that the samples' "
            f"lists do not know as right ({wrong['fpr']:.0%}; {table['max_fpr']:.0%} is what a score may rest on)"
        )
    rise, listed = _rise(table, "reward"), _rise(table, "listed")
    if rise is not None and listed is not None and rise > 0 and listed < rise / 2:
        found.append(f"the reward went up by {rise:.3f}, and by the samples' lists by {listed:.3f}")
    for name, one in table["chance"].items():
        if one["mean"] is not None and one["mean"] >= 0.1 * table["best"]:
            found.append(f"the {name}, who knows no joke, gets {one['mean']:.3f} of this judge")
    return found


def corrected(reward: float | None, player: float | None, best: float) -> float | None:
    """A reward beyond what a player without the joke gets, as a share of all that is beyond it; None if nothing is."""
    if reward is None or player is None or player >= best:
        return None
    return (reward - player) / (best - player) * best


def _rise(table: Mapping[str, Any], name: str) -> float | None:
    first, last = (table["ends"][end][name]["mean"] for end in ("first", "last"))
    return None if first is None or last is None else float(last - first)


def told(table: Mapping[str, Any]) -> str:
    """The report as markdown."""
    ends, compared = table["ends"], table["compared"]
    sections = [
        f"# Trained by playing: {table['model']}",
        _head(table),
        f"Judges: {', '.join(table['judges'])}. Played: {', '.join(table['train'])}; held out: "
        f"{', '.join(table['held_out'])}. {table['seconds']:.0f} s. Curves: curves.png.",
        f"## The first steps and the last: {compared} each",
        markdown.table(_compared(ends, table)),
        "Intervals (95 %) are over steps. `by the lists`: a judge's yes counts only where the sample's own lists know the "
        "guess as right; they do not know every right one, so it is the least that the score can be. `by labels`: what a "
        "run's report makes of the same, with an interval over samples. `beyond` a player: of what is left above what that "
        "player gets, who knows no joke (see below); none where that is all there is.",
        "## Models",
        markdown.table(_models(table)),
        "Intervals of models on the scenes that were played are over games: of other scenes they say nothing.",
        "## Players who know no joke",
        markdown.table(
            Table(
                ("player", "score", "95 %"),
                tuple((name, one["mean"], _interval(one)) for name, one in table["chance"].items()),
            )
        ),
    ]
    return "\n\n".join(sections) + "\n"


def _head(table: Mapping[str, Any]) -> str:
    """What the report says first: whether the reward may be believed, and by what."""
    if lines := warnings(table):
        return f"**Do not trust this reward.** {'; '.join(lines)}."
    last = table["ends"]["last"]
    if last["reward"]["mean"] is None:
        return "No game of the last steps has a reward: nothing is known of what was learned."
    found = last["errors"]
    return (
        "No warning. In the last steps the judge said yes to {accepted} of {wrong} guesses that the samples' lists do not "
        "know as right, and no to {refused} of {right} that they know."
    ).format_map(found)


def _compared(ends: Mapping[str, Any], table: Mapping[str, Any]) -> Table:
    compared = table["compared"]
    steps = {"first": table["steps"][:compared], "last": table["steps"][-compared:]}
    rows: list[tuple[Any, ...]] = []
    for name, called in (("reward", "reward"), ("listed", "by the lists"), ("by_labels", "by labels")):
        rows.append((called, *(_with_interval(ends[end][name]) for end in ends)))
    for name, one in table["chance"].items():
        beyond = [corrected(ends[end]["reward"]["mean"], one["mean"], table["best"]) for end in ends]
        rows.append((f"beyond the {name}", *map(_shown, beyond)))
    names = {
        "key_text": "won by the key text",
        "judged": "won by a judge's yes",
        "overturned": "yes taken back",
    }
    names |= {"round": "mean round of a win", "invalid": "turns without a guess"}
    for name in PARTS:
        rows.append((names[name], *(_shown(ends[end][name]) for end in ends)))
    for name in LOGGED.values():
        rows.append((name, *(_shown(_mean([one[name] for one in steps[end]])) for end in ends)))
    for name, called in (
        ("fpr", "judge's yes to what the lists do not know"),
        ("fnr", "its no to what they know"),
    ):
        rows.append((called, *(_shown(ends[end]["errors"][name]) for end in ends)))
    rows.append(("games", *(ends[end]["games"] for end in ends)))
    rows.append(("broken off, no reward", *(ends[end]["broke_off"] for end in ends)))
    return Table(("", f"first {compared} steps", f"last {compared}"), tuple(rows))


def _models(table: Mapping[str, Any]) -> Table:
    rows = [
        (name, "played in training", one["mean"], _interval(one)) for name, one in table["rewards"].items()
    ]
    rows += [
        (f"{name} the training", "held out", one["mean"], _interval(one))
        for name, one in table["held_out_score"].items()
    ]
    return Table(("model", "scenes", "mean reward", "95 %"), tuple(rows))


def _with_interval(one: Mapping[str, Any]) -> str:
    return f"{_shown(one['mean'])} ({_interval(one)})"


def _interval(one: Mapping[str, Any]) -> str:
    return (
        "no interval"
        if one["low"] is None or one["high"] is None
        else f"{one['low']:.3f} to {one['high']:.3f}"
    )


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None


def draw(steps: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the reward beside what the lists say, the divergence, the length and the turns without a guess."""
    # Not pyplot: no window system, no state that outlives the picture.
    figure = Figure(figsize=(9, 6), layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(2, 2)
    at = [one["step"] for one in steps]
    shown = (("reward", "listed"), ("KL",), ("tokens",), ("invalid",))
    titles = (
        "reward",
        "divergence from the start (KL)",
        "tokens of the model a game",
        "turns without a guess",
    )
    for axes, names, title in zip(plots.flat, shown, titles, strict=True):
        for name, colour in zip(names, ("tab:blue", "tab:orange"), strict=False):
            values = [float("nan") if one[name] is None else one[name] for one in steps]
            axes.plot(at, values, color=colour, label={"listed": "by the lists"}.get(name, name), alpha=0.85)
        axes.set(title=title, xlabel="step", ylim=(0, None))
        axes.xaxis.get_major_locator().set_params(integer=True)
        if len(names) > 1:
            axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
