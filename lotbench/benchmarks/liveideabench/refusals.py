"""What declines a keyword, and what only sounds like it (v2, Supplementary Note 5: the public code looks for substrings).

Two signs. A refusal declines in its opening: somebody who says "I" or "my" will not give what was asked for, or the
request is called one that is not served. Or it is talk alone: clause by clause it speaks of who speaks, of the reader
or of the request, and next to nothing is left that could be an idea. What is quoted is not said, and a reply that
declines and then offers an idea all the same is an idea.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

OPENING = 3
"""Sentences in which a refusal shows."""
OFFERED_WORDS = 25
"""A reply that declines something and goes on for so many words with an offer is read as the offer."""
SUBSTANCE = 30
"""So many words that are no talk make an idea of a reply, whatever it declines."""
LONG_CLAUSE = 14
"""A clause of so many words that are no talk is one that an idea may be in."""
TALK = 0.65
"""The share of talk from which a reply of little substance is nothing else."""
SHORT = 25
"""A reply of fewer words than this has to be talk all over, of the reader or the request, and to deny or beg something."""

_GIVE = (
    r"(?:help|assist|aid|provid|offer|giv|supply|generat|creat|produc|writ|draft|compos|propos|suggest|recommend"
    r"|discuss|engag|participat|contribut|compl[yi]|fulfil|complet|continu|proceed|answer|respond|reply|address|shar"
    r"|submit|brainstorm|develop|facilitat|promot|entertain|process|advis|support)(?:e|es|l|ing|ting|ling)?\b(?! (?:but\b|"
    r"(?:think|wonder|notic|feel|ask)ing\b))"
    r"|(?:tak(?:e|ing) part|com(?:e|ing) up with|put(?:ting)? (?:forward|together)|go(?:ing)? (?:along|there|into)"
    r"|work(?:ing)? (?:on|with)|talk(?:ing)? about|speak(?:ing)? (?:to|about)|touch(?:ing)? (?:on|this|that))\b"
    r"|(?:do|doing)\b(?= (?:that|this|so|it)\b|\W*(?:$|[,;]))"
)
"""What a candidate is asked to do, as verbs."""
_BY = r"(?:(?:\w+ly|do|just|also|therefore|still|thus) ){0,2}"
_FAR = r"[^.!?;:]{0,60}?"
_ASKED = r"(?:request|prompt|keyword|topic|subject|task|question|query|invitation|offer|challenge|content|one|this|that|it)"
_UNABLE = (
    r"(?:can(?:not|'t| not)|won't|will not|shall not|(?:should|must|may|might|would|could)(?: not|n't)"
    r"|(?:am|'m) (?:\w+ ){0,2}?(?:unable|unwilling|not (?:\w+ )?(?:able|willing|going|allowed|permitted|authori[sz]ed|prepared"
    r"|comfortable|in a position|at liberty|meant|supposed|designed|programmed))"
    r"|(?:do not|don't) (?:\w+ )?(?:feel (?:\w+ )?(?:comfortable|able|right)|want|wish|intend|think I (?:should|can|could))"
    r"|(?:would|'d) (?:\w+ )?(?:rather|prefer|sooner) not|(?:am|'m|have been|was) prevented from"
    r"|(?:must|have to|need to|will have to|'ll have to) (?:\w+ )?(?:avoid|refrain from|abstain from|stop short of))"
)
_GIVE_HABIT = (
    r"(?:help|assist|provide|offer|give|supply|generate|create|produce|write|engage|support|share)\b"
)

_DECLINES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Who speaks cannot, will not, may not or would rather not give what is asked for.
        rf"\bI ?{_BY}{_UNABLE}\b{_FAR}\b(?:{_GIVE})",
        rf"\bI (?:\w+ )?(?:do not|don't) (?:\w+ )?{_GIVE_HABIT}",
        r"\b(?:we|this service) (?:are |is )?(?:unable to|not able to|can(?:not|'t)) (?:process|assist|comply|fulfil)",
        # And says no more than that.
        rf"(?:^\W*|[,;] |\b(?:so|and|therefore|but|thus) )I {_BY}(?:(?:must|will|have to|need to) {_BY})?"
        r"(?:won't|will not|can't|can ?not|shall not|must not|not|refuse|decline|pass|refrain|abstain)\W*$",
        rf"\bI(?:'m|'ll|'d)? (?:(?:am|will|would|do|have|need|must|want|choose|going|like|rather|to|\w+ly|therefore) ){{0,6}}"
        rf"(?:declin|refus|reject)(?:e|ing)\b(?=\W*$|,| to (?:{_GIVE})| (?:the |this |that |your |such an? )?{_ASKED}\b)",
        r"\bI(?:'m|'ll|'d)? (?:(?:am|will|would|do|have|need|must|want|choose|going|like|rather|to|\w+ly|therefore) ){0,6}"
        r"(?:refrain|abstain|pass on (?:this|that|it)|stop here|turn (?:\w+ ){1,3}down)\b",
        r"\bI (?:(?:would|'d|will|'ll) )?(?:\w+ )?(?:stay|keep|steer) (?:away|clear|out)\b",
        r"\bthe answer is no\W*$",
        # What is asked for is nothing that who speaks gives.
        rf"\b(?:is|'s|are|falls?|lies)(?: not|n't) (?:\w+ )?(?:something|anything|an? [\w ]{{1,30}}|one)\b{_FAR}"
        rf"\bI(?:'m| am|'d| would| can| could| may)\b{_FAR}\b(?:{_GIVE}|want|wish|advance)",
        r"\b(?:outside|beyond)(?: of)? (?:the (?:scope|range|bounds|limits) of )?what I\b",
        rf"\bno way\b{_FAR}\bI (?:can|could)\b{_FAR}\b(?:{_GIVE})",
        rf"\bI(?: am|'m| do| would|'d)?(?: not|n't) (?:\w+ )?(?:feel )?(?:\w+ly )?comfortable (?:with|about) (?:this|that|the) {_ASKED}\b",
        # It would be wrong to.
        rf"\b(?:not|un\w+|in\w+|ir\w+|wrong|harmful|dangerous|remiss|misplaced)\b[^.!?;:]{{0,30}}? (?:for|of) me to\b{_FAR}\b(?:{_GIVE})",
        rf"^\W*(?:\w+ ){{0,6}}?(?:help|assist|provid|offer|creat|propos|suggest|generat|writ)ing\b{_FAR}\b(?:would|will|could) (?:\w+ )?"
        r"(?:be (?:\w+ )?(?:wrong|unethical|irresponsible|inappropriate|harmful|dangerous)|conflict|violate|go against|breach)",
        # Rules forbid it.
        rf"\bmy (?:[\w-]+ ){{0,3}}(?:guidelines?|programming|polic(?:y|ies)|values|principles|instructions|training|rules?|design)\b"
        rf"{_FAR}\b(?:prevent|forbid|prohibit|(?:do(?:es)?)(?: not|n't) (?:allow|permit|let)|stop|keep|restrict|bar)",
        r"\b(?:violates?|against|conflicts? with|contrary to|breach(?:es)?) my\b",
        r"\bI(?:'m| am| was| have been|'ve been) (?:\w+ )?(?:programmed|designed|instructed|trained|built|made|told) (?:not to|to (?:avoid|"
        r"decline|refuse|refrain|stay away))",
        rf"\b(?:this|your|the|such an?) (?:request|prompt|query|task)s?\b{_FAR}\b(?:violates?|goes against|conflicts? with|has been (?:declined|"
        r"refused|rejected|blocked)|(?:cannot|can't|can not) be (?:processed|fulfilled|answered|completed|met)|is (?:declined|refused|rejected))",
        r"\b(?:content|requests?|ideas|answers?) (?:\w+ ){1,4}(?:is|are) (?:restricted|prohibited|blocked|forbidden|not (?:permitted|allowed))",
        r"\b(?:please|could you|would you|can you|kindly|try|if you)\b[^.!?]{0,40}\b(?:another|a different|some other) (?:keyword|topic|prompt|"
        r"subject|question)\b",
        r"(?:我(?!们)|本人|恕)[^。！？]{0,16}?(?:无法|不能|不便|不会|不可以|难以|拒绝)[^。！？]{0,24}?"
        r"(?:提供|回答|协助|帮助|继续|讨论|满足|参与|生成|建议|请求|回应|完成|支持|撰写)",
        r"(?:无法|不能|不便)(?:为您|为你|帮您|帮你|向您|向你|协助您|协助你|满足您)",
    )
)
_SPEAKER = re.compile(
    r"\b(?:I|I'm|I'll|I'd|I've|me|my|mine|myself|[Tt]he assistant)\b|^\W*(?:Can't|Cannot|Won't|Unable|Not able|Afraid not|Nope|Sorry)\b"
)
_TO_THE_TASK = re.compile(
    r"\b(?:you|yours?|yourself|you're|you'd|you'll|you've|requests?|prompts?|keywords?|panel|submission|query|guidelines?|guardrails?"
    r"|us(?:e|age) polic(?:y|ies)|restricted|brainstorm\w*|ideas?|respond\w*|responses?|assistance|qualified|hundred[- ]words?|100-word"
    r"|feedback button|not available|language model(?=\W+I\b|,)|an AI(?=\W+(?:I\b|language|assistant|model)|,))\b",
    re.IGNORECASE,
)
"""Words of the reader and of the request; those of the speaker are told from a capital I."""
_PUT_FORWARD = re.compile(
    r"\b(?:I|we)(?:'d|'ll| would| will| could| must)? (?:\w+ly |here |instead )?(?:propose|suggest|envision|imagine|hypothesi[sz]e|predict"
    r"|introduce|picture|build|measure|use|turn|expect|bet|suspect)\b|\bmy (?:idea|proposal|suggestion|hypothesis|bet|guess) (?:is|would be)"
    r"|\b(?:the|this|an|one) idea\b(?=\W)",
    re.IGNORECASE,
)
"""What brings an idea forward: that somebody speaks there makes no talk of it."""
_DENIES = re.compile(
    r"n't\b|\b(?:no|not|nope|cannot|unable|restricted|declin\w+|sorry|apolog\w+|please|patience)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[:;]\s+|,\s+(?:but|yet|so|and)\s+|\s+[–—]\s+")
_QUOTED = re.compile(r"\"[^\"\n]{0,200}\"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,200}'(?!\w)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_MARKUP = re.compile(r"[*_#>`]+")
_OFFER = re.compile(
    r"\b(?:here(?:'s| is)|instead|however|that said|but|yet|idea:|propos(?:e|al))\b", re.IGNORECASE
)
_TO_THE_READER = re.compile(
    r"\byou(?:r|rs)?\b|\blet me know\b|\bfeel free\b|\bI(?:'d| would| can| could|'m| am)\b[^.!?]{0,30}\b(?:happy|glad|help|"
    r"discuss|talk|assist|suggest|offer)\b|您|你",
    re.IGNORECASE,
)


def refused(text: str, words: Callable[[str], int]) -> bool:
    """Whether a reply declines the task, or talks about it, and offers nothing after that.

    Args:
        text: The reply, without its reasoning.
        words: How long a text is.
    """
    plain = _MARKUP.sub("", text.replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"'))
    sentences = [one for one in _SENTENCE.split(_QUOTED.sub(" ", plain)) if re.search(r"\w", one)]
    talk, rest, longest = _told_apart(sentences, words)
    if rest >= SUBSTANCE:
        return False
    for place, sentence in enumerate(sentences[:OPENING]):
        ends = [found.end() for pattern in _DECLINES if (found := pattern.search(sentence.strip()))]
        if ends:
            return not _offers([sentence.strip()[min(ends) :], *sentences[place + 1 :]], words)
    if talk + rest < SHORT:
        return rest <= 2 and any(map(_TO_THE_TASK.search, sentences)) and any(map(_DENIES.search, sentences))
    return longest < LONG_CLAUSE and talk >= TALK * (talk + rest)


def _told_apart(sentences: Sequence[str], words: Callable[[str], int]) -> tuple[int, int, int]:
    """The words of the clauses that are talk, those of all others, and of the longest of these."""
    talk, others = 0, [0]
    for clause in (clause for sentence in sentences for clause in _CLAUSE.split(sentence)):
        left = _PUT_FORWARD.sub(" ", clause)
        if _SPEAKER.search(left) or _TO_THE_TASK.search(left):
            talk += words(clause)
        else:
            others.append(words(clause))
    return talk, sum(others), max(others)


def _offers(rest: list[str], words: Callable[[str], int]) -> bool:
    """Whether what follows a refusal is an idea, and not a word to the reader about other help."""
    for place, sentence in enumerate(rest):
        if found := _OFFER.search(sentence):
            told = [sentence[found.start() :], *rest[place + 1 :]]
            return sum(words(one) for one in told if not _TO_THE_READER.search(one)) >= OFFERED_WORDS
    return False
