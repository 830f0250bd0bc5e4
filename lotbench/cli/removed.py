"""Removed commands and flags, and what to do instead; the parser prints these lines and exits with code 2."""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "data digest": "evaluate --data PATH --model human --dry-run prints the digest of the data",
    "data panel": "write the judges into a TOML file as in configs/panels/paper-2025-03.toml",
    "data sheet": "data review PATH opens a page with every picture and its texts",
    "data render": "resvg --width 768 DRAWING.svg PICTURE.png makes a picture of a drawing",
    "data calibrate": "export RUN... --out games.csv has each game's outcome and the round of its solve",
    "clot pairs": "lotbench export RUN... --preferences --out FILE writes rows for TRL",
    "clot push": "hf upload OWNER/NAME STAGE/adapter . --private --exclude '*.bin' (docs/training.md)",
    "clot play-start": "train with TRL, whose rollouts step games of lotbench.games(...) (docs/integrations.md)",
    "clot play-train": "train with TRL, whose rollouts step games of lotbench.games(...) (docs/integrations.md)",
}
"""What to do instead of a removed command, by the words of the command after `lotbench`."""
FLAGS: dict[str, str] = {
    "--compare": "judge-check --judge A --judge B checks each judge alone, and the pair",
    "--recorded": "judge-check --judge M asks the judge itself on the labelled rows",
    "--held-out": "publish summary.json: no text of a sample is in it (docs/recipes.md)",
    "--difference": "compare says which difference each pair of runs would show as it is",
    "--otlp": "export --to inspect writes a log of inspect_ai, --to huggingface files for the hub",
    "--batch": "--set service_tier=flex asks models of OpenAI at half the price (docs/models.md)",
    "judge-check --unknown": "leave rows without a true yes or no out of the judge set",
    "data check --model": "evaluate --set arm=caption plays the samples without their pictures",
    "report --table": "compare RUN RUN --table FILE",
    "data review --data": "rows of a judge set are labelled in their file (docs/judges.md)",
    "view --name": "verdicts are labelled in the file that judge-check --from-run writes (docs/judges.md)",
    "--precision": '--repeats M says how many games a sample has; a report\'s section "What this can show" says how many '
    "samples a gap takes",
}
"""What to do instead of a removed flag; the key begins with the command if other commands still have the flag."""
