"""What gradfuzz says is plain English: words that a reader does not know are not among its messages."""

from __future__ import annotations

import re

import pytest

from tests.messages import messages

MESSAGES = list(messages())

HARD = (
    r"vacuous",
    r"without news",
    r"comes? as near as",
    r"as far as can be told",
    r"that a person wrote",
    r"\bleave .* away\b",
    r"\b(?:is|are) none of\b",
    r"looked into next",
    r"^references: ",
    r"\bbears? out\b",
    r"\bis no data\b",
    r"\bnot its turn\b",
    r"neither right nor wrong",
    r"no business with",
    r"[^ ]  [a-z]+ [a-z]",  # two blanks between words
)
"""What readers stumbled over, as patterns."""


def test_the_list_is_that_of_all_that_is_said() -> None:
    texts = {text for _, text in MESSAGES}
    assert len(MESSAGES) > 1000
    assert "the derivative comes back with the wrong shape" in texts
    assert "{f!r} is not a function; pass a function and its arguments, or a Program" in texts


@pytest.mark.parametrize("hard", HARD)
def test_no_message_is_hard_to_read(hard: str) -> None:
    assert [(place, text) for place, text in MESSAGES if re.search(hard, text)] == []


def test_no_reason_is_the_bare_name_of_an_exception() -> None:
    """Whoever reads "reason StopIteration:" does not know what was done when it was raised. The answer of a
    library is told as such, and is what it raises.
    """
    bare = [
        (place, text)
        for place, text in messages(0)
        if re.match(r"gradfuzz/fuzzer/(measuring/(?!oracle)|proving|verdict)", place)
        and text.startswith("{type(error).__name__}")
    ]
    assert bare == []
