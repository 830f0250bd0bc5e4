"""Reader of a game's trace: it turns the steps of an episode into rounds with their verdicts. All steps are read here.

Score, report, replay and pages use these records. Traces are read as they are on disk: a step needs only its name,
and a missing field means that nothing happened. A game that broke off counts for the rounds with a known verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from lotbench.benchmarks.lotbench.words import same
from lotbench.errors import LotbenchError
from lotbench.metrics.survival import Span
from lotbench.types import Trace

FAILED = ("candidate_failed", "judge_failed", "oracle_failed")
CENSORING = ("judge_failed", "oracle_failed")
"""The outcomes of a game that broke off by no fault of the candidate; they censor the game. A game in which the candidate
failed counts as unsolved, so a candidate gains nothing by failing."""
SETUP = ("chain", "chain_check", "chain_accepted")
"""The steps in which a judge builds its causal chain; they belong to the sample, not to a round."""
TEXTS = ("intervened_chain", "point_reason", "function_reason", "explanation", "closest", "difference_reason")
"""The fields of a verdict that hold texts of the judge about the guess."""
CRITERIA = ("same_creative_point", "same_function", "different_approach")
VERDICTS = ("check", "confirm", "different")
"""The steps in which a judge decides on an answer; `different` only in an encore."""

Steps: TypeAlias = Sequence[Mapping[str, Any]]
Decision: TypeAlias = Literal["exact", "accepted", "overturned", "alike", "refused", "none"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """The decision of one judge, or of a rule, on a guess.

    Attributes:
        step: `check`, `confirm` (a second opinion on a yes), or `different` (whether it is another idea; in an
            encore).
        judge: The index of the judge.
        accepted: The decision; None if the judge's reply could not be read.
        how: `judge`, or the rule that decided: `exact` (a target itself), `repeat` (judged before), or `none` (no
            guess).
        status: `ok`, or the reason why the judge's reply could not be read.
        criteria: The decision on each criterion (Eq. 6, 7), by the names in CRITERIA.
        texts: The texts that the judge wrote, by the names in TEXTS.
        target: The index of the target response that the guess was compared with; `of` is the number of targets.
    """

    step: str
    judge: int
    accepted: bool | None
    how: str
    status: str
    criteria: Mapping[str, bool]
    texts: Mapping[str, str]
    target: int = 0
    of: int = 1


@dataclass(frozen=True, slots=True)
class Leap:
    """An answer of an encore that counted.

    Attributes:
        round: The number of its round, from 1.
        failed: The number of failed attempts before it.
        text: The answer.
        target: The index of the target response that it matched.
    """

    round: int
    failed: int
    text: str
    target: int = 0


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a game; it has the last reply to a repeated request, and the guess taken from several draws.

    Attributes:
        number: The number of the round, from 1.
        guess: The guess, or a whole response if `whole`; None if no reply could be read.
        status: `ok`, or the reason why there is no guess. "" if no reply came.
        language_mismatch: Whether the guess is in another language than the sample.
        opinions: All opinions in the order of the requests, unreadable ones too.
        asked: `ok`, or the reason why there is no question. None if the candidate was not asked for one.
        leak: Whether the question names the key text, another right answer, or an earlier guess.
        answered: Whether the oracle replied. `answer` is None if its reply could not be read.
        clues: The clues that were revealed at the end of the round.
        frame: The part of an earned frame that was revealed at the end of the round; "" for none.
        leap: The leap, if the guess counted in an encore; else None.
    """

    number: int
    guess: str | None = None
    status: str = ""
    language_mismatch: bool = False
    opinions: tuple[Opinion, ...] = ()
    asked: str | None = None
    question: str | None = None
    leak: bool = False
    answered: bool = False
    answer: str | None = None
    clues: tuple[str, ...] = ()
    whole: bool = False
    frame: str = ""
    leap: Leap | None = None

    @property
    def check(self) -> Opinion | None:
        """The last readable opinion of step `check` on `verdict_target`; None without one."""
        return self._last_opinion("check")

    @property
    def confirm(self) -> Opinion | None:
        """The last readable second opinion on `verdict_target`; None without one."""
        return self._last_opinion("confirm")

    @property
    def decision(self) -> Decision:
        """The kind of the round's verdict.

        `accepted` and `refused` are those of a judge, and `exact` is an acceptance without a judge. `overturned`: a
        second opinion did not confirm a yes. `alike`: accepted, but in an encore it repeats an earlier idea.
        `none`: none of these, for instance without a guess or after a repeated one.
        """
        check, confirm = self.check, self.confirm
        if check is None or check.how != "judge":
            return "exact" if check and check.accepted else "none"
        if not check.accepted:
            return "refused"
        if confirm is not None and not confirm.accepted:
            return "overturned"
        different = self._last_opinion("different")
        return "accepted" if different is None or different.accepted else "alike"

    @property
    def verdict_target(self) -> int:
        """The index of the target response that the verdict is about.

        It is the last target for which a check accepted the guess. If there is none, it is the last one compared, or 0.
        """
        checks = [opinion for opinion in self._readable if opinion.step == "check"]
        accepted = [opinion.target for opinion in checks if opinion.accepted]
        return accepted[-1] if accepted else checks[-1].target if checks else 0

    @property
    def denied(self) -> bool:
        """Whether the guess certainly does not count: the last readable opinion is a no and concerns the last target."""
        last = self._readable[-1:]
        return any(opinion.accepted is False and opinion.target + 1 == opinion.of for opinion in last)

    @property
    def failed(self) -> bool:
        """Whether the guess certainly does not count: its verdict was a no, or a question followed it."""
        return self.answered or self.asked is not None or self.denied

    @property
    def _readable(self) -> list[Opinion]:
        return [opinion for opinion in self.opinions if opinion.accepted is not None]

    def _last_opinion(self, step: str) -> Opinion | None:
        opinions = [opinion for opinion in self._readable if opinion.step == step]
        if step != "different":
            opinions = [opinion for opinion in opinions if opinion.target == self.verdict_target]
        return opinions[-1] if opinions else None


@dataclass(frozen=True, slots=True)
class CausalChain:
    """A judge's causal chain for one target response.

    Attributes:
        judge: The index of the judge.
        text: The last chain that could be read.
        accepted: Whether a chain was accepted; None if the trial of the chain did not end.
        target: The index of the target response.
    """

    judge: int
    text: str = ""
    accepted: bool | None = None
    target: int = 0


@dataclass(frozen=True, slots=True)
class Game:
    """A finished game.

    Attributes:
        outcome: `solved`, `unsolved` or one of FAILED.
        solved: The number of the round that solved it (in an encore that of the first leap), from 1; None if
            unsolved.
        rounds: The rounds that have steps, in order.
        picture: The picture of its sample. Games on one picture are correlated and form one unit in intervals.
    """

    sample: str
    repeat: int
    outcome: str
    solved: int | None
    rounds: tuple[Round, ...]
    chains: tuple[CausalChain, ...]
    picture: str

    @property
    def censored(self) -> bool:
        """Whether a judge or the oracle failed before the game was solved, so that its end is unknown."""
        return self.broke_off and self.solved is None

    @property
    def leaps(self) -> tuple[Leap, ...]:
        """The answers that counted in an encore, in order; empty without an encore."""
        return tuple(round_.leap for round_ in self.rounds if round_.leap)

    @property
    def broke_off(self) -> bool:
        """Whether a judge or the oracle failed, before or after a solve; further attempts are unknown."""
        return self.outcome in CENSORING

    @property
    def first_positive(self) -> int | None:
        """The first round whose check accepted, even if a second opinion did not confirm it; None without one."""
        checks = [(round_.number, round_.check) for round_ in self.rounds]
        return min((number for number, check in checks if check and check.accepted), default=None)

    @property
    def played(self) -> int:
        """The last round with a reply of the candidate; 0 without one."""
        return max((round_.number for round_ in self.rounds if round_.status), default=0)

    @property
    def valid(self) -> bool:
        """Whether any round has a guess that could be read."""
        return any(round_.status == "ok" for round_ in self.rounds)

    @property
    def unsolved_through(self) -> int:
        """The last round that certainly did not solve the game; 0 if none is known.

        Its verdict was a no, or a question followed it, or a later round began.
        """
        begun = [round_.number - 1 for round_ in self.rounds]
        over = [round_.number for round_ in self.rounds if round_.failed]
        return max([0, *begun, *over])

    def span(self, last: int, *, unconfirmed: bool = False) -> Span:
        """Return the number of rounds in which the game was observed, and whether the last of them solved it.

        Args:
            last: The largest number of rounds of a game (N).
            unconfirmed: Whether the first yes of a check counts as the solve, confirmed or not.

        Raises:
            LotbenchError: The game was solved after round `last`.
        """
        won = self.first_positive if unconfirmed else self.solved
        if won is not None and won > last:
            raise LotbenchError(f"game {self.sample}/{self.repeat} was solved after round {last}")
        if won is not None:
            return Span(won, True)
        return Span(min(self.unsolved_through, last) if self.censored else last, False)

    def known_rounds(self, last: int) -> list[Round]:
        """Return the rounds with a known verdict, from the first. An encore (the game goes on after a solve) has later rounds too.

        After the candidate failed, each round up to `last` is returned as an empty Round.
        """
        if not self.leaps:
            return self.watched(last)
        rounds = {round_.number: round_ for round_ in self.rounds}
        over = max(self.unsolved_through, self.leaps[-1].round) if self.broke_off else last
        return [rounds.get(number, Round(number)) for number in range(1, min(over, last) + 1)]

    def watched(self, last: int) -> list[Round]:
        """Return the rounds with a known verdict, from the first up to the solve or round `last`; see `known_rounds`."""
        rounds = {round_.number: round_ for round_ in self.rounds}
        return [rounds.get(number, Round(number)) for number in range(1, self.span(last).rounds + 1)]


def answers(trace: Trace, settings: object) -> list[str]:
    """Return a list with the first guess of a game in its normal form (`words.same`); empty if round 1 has no guess."""
    return [same(round_.guess) for round_ in read_rounds(trace.steps) if round_.number == 1 and round_.guess]


def game(trace: Trace) -> Game:
    """Return the game of a trace.

    Raises:
        LotbenchError: The trace is not that of a game, or contradicts itself.
    """
    result = read_game(trace.outcome, trace.steps, trace.sample, trace.repeat)
    return replace(result, picture=str(trace.score.parts.get("picture") or trace.sample))


def read_game(outcome: str, steps: Steps, sample: str, repeat: int) -> Game:
    """Return the game with this outcome and these steps; its picture is set to the sample's id.

    Raises:
        LotbenchError: A step has another shape than a step of a game, no game has this outcome, or the outcome is
            `solved` and no check accepted a guess.
    """
    try:
        rounds, chains = read_rounds(steps), read_chains(steps)
    except (KeyError, TypeError, ValueError):
        raise LotbenchError(f"game {sample}/{repeat}: a step has another shape than a game's") from None
    passed = [
        round_.number for round_ in rounds if round_.check and round_.check.accepted and not round_.denied
    ]
    leapt = [round_.number for round_ in rounds if round_.leap]
    if outcome not in ("solved", "unsolved", *FAILED):
        raise LotbenchError(f"game {sample}/{repeat}: no game ends as {outcome!r}")
    if outcome == "solved" and not passed:
        raise LotbenchError(f"game {sample}/{repeat} is called solved, but no check accepted a guess")
    solved = leapt[0] if leapt else passed[-1] if outcome == "solved" else None
    return Game(sample, repeat, outcome, solved, rounds, chains, sample)


def read_rounds(steps: Steps) -> tuple[Round, ...]:
    """Return the rounds that the steps of a game's trace record, in order."""
    rounds: dict[int, list[tuple[str, Mapping[str, Any]]]] = {}
    for step in steps:
        if step["step"] not in SETUP and (number := int(step.get("round") or 0)) > 0:
            rounds.setdefault(number, []).append((str(step["step"]), _value(step)))
    return tuple(_round(number, rounds[number]) for number in sorted(rounds))


def read_chains(steps: Steps) -> tuple[CausalChain, ...]:
    """Return the last causal chain that each judge wrote for each target response, from the steps of a game's trace."""
    chains: dict[tuple[int, int], CausalChain] = {}
    for step in steps:
        value = _value(step)
        if step["step"] == "chain" and value.get("chain"):
            change: dict[str, Any] = {"text": str(value["chain"])}
        elif step["step"] == "chain_accepted":
            change = {"accepted": bool(value["accepted"])}
        else:
            continue
        place = int(value.get("judge", 0)), int(value.get("target", 0))
        chains[place] = replace(chains.get(place, CausalChain(place[0], target=place[1])), **change)
    return tuple(chains.values())


def _round(number: int, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Round:
    last = dict(steps)
    respond, ask, answer, reveal = (last.get(name, {}) for name in ("respond", "ask", "answer", "reveal"))
    leap = last.get("leap")
    return Round(
        number=number,
        guess=respond.get("guess"),
        status=str(respond.get("status", "")),
        language_mismatch=bool(respond.get("language_mismatch")),
        opinions=tuple(_opinion(name, value) for name, value in steps if name in VERDICTS),
        asked=str(ask.get("status", "")) if "ask" in last else None,
        question=ask.get("question"),
        leak=bool(ask.get("leak")),
        answered="answer" in last,
        answer=answer.get("answer"),
        clues=tuple(map(str, reveal.get("clues", ()))),
        whole=bool(respond.get("whole")),
        frame=str(reveal.get("frame", "")),
        leap=Leap(number, int(leap["failed"]), str(leap["text"]), int(leap.get("target", 0)))
        if leap
        else None,
    )


def _opinion(step: str, value: Mapping[str, Any]) -> Opinion:
    return Opinion(
        step=step,
        judge=int(value.get("judge", 0)),
        accepted=value.get("accepted"),
        how=str(value.get("how", "judge")),
        status=str(value.get("status", "ok")),
        criteria={name: bool(value[name]) for name in CRITERIA if value.get(name) is not None},
        texts={name: str(value[name]) for name in TEXTS if value.get(name)},
        target=int(value.get("target", 0)),
        of=int(value.get("of", 1)),
    )


def _value(step: Mapping[str, Any]) -> Mapping[str, Any]:
    value = step.get("value")
    return value if isinstance(value, Mapping) else {}
