"""A command or flag that is gone ends with exit code 2 and says what to do instead."""

import pytest

import clot_training.cli
from lotbench.cli.parser import instead, parser


@pytest.mark.parametrize("command", sorted(instead("commands")))
def test_a_removed_command_says_what_to_do_instead(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, *words = command.split()
    with pytest.raises(SystemExit) as ended:
        clot_training.cli.main(words) if first == "clot" else parser().parse_args([first, *words])
    assert ended.value.code == 2
    assert instead("commands")[command] in capsys.readouterr().err


def test_a_removed_flag_says_what_to_do_instead(capsys: pytest.CaptureFixture[str]) -> None:
    for name, line in instead("flags").items():
        *command, flag = name.split()
        with pytest.raises(SystemExit) as ended:
            # Some commands require --out; to the others it is one more flag that they do not know.
            parser().parse_args([*(command or ["evaluate"]), "lotbench", f"{flag}=1", "--out", "x"])
        assert ended.value.code == 2
        assert line in capsys.readouterr().err
