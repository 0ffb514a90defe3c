"""What each form of a target's name means."""

from __future__ import annotations

import pytest

from gradfuzz.oracles.target_name import TargetName


@pytest.mark.parametrize(
    ("text", "library", "system", "owner"),
    [
        ("torch", "torch", "torch", "torch"),
        ("torch:eager", "torch", "torch", "torch"),
        ("jax:scan:nojit", "jax", "jax", "jax"),
        ("engine:vmap", "engine", "engine", "engine"),
        ("warp==1.19.0", "warp", "warp==1.19.0", "warp"),
        ("warp==1.19.0:kernel", "warp", "warp==1.19.0", "warp"),
        ("jax==0.9.0:scan:nojit", "jax", "jax==0.9.0", "jax"),
        ("mutant:nx-1747", "mutant", "mutant:nx-1747", "mutant:nx-1747"),
        ("cmd:python a:b.py", "cmd", "cmd:python a:b.py", "cmd:python a:b.py"),
        ("cmd:x==1 --y", "cmd", "cmd:x==1 --y", "cmd:x==1 --y"),
        ("cmd:python a.py#fast", "cmd", "cmd:python a.py", "cmd:python a.py"),
        ("cmd:sh -c 'a # b'", "cmd", "cmd:sh -c 'a # b'", "cmd:sh -c 'a # b'"),
        ("cmd:/a/python ./b/c.py#d", "cmd", "cmd:/a/python ./b/c.py", "cmd:python c.py"),
        ("cmd:'/a b/c' --d=/e/f ../g/", "cmd", "cmd:'/a b/c' --d=/e/f ../g/", "cmd:c --d=f g/"),
        ("cmd:x -y http://h/z 'b", "cmd", "cmd:x -y http://h/z 'b", "cmd:x -y z ''\"'\"'b'"),
    ],
)
def test_what_a_name_means(text: str, library: str, system: str, owner: str) -> None:
    name = TargetName.of(text)
    assert (name.library, name.system, name.owner, name.whole) == (library, system, owner, text)


@pytest.mark.parametrize(
    ("text", "command", "entry"),
    [
        ("cmd:python a.py", "python a.py", ""),
        ("cmd:python a.py#fast", "python a.py", "fast"),
        ("cmd:python a.py#fast:nojit", "python a.py", "fast:nojit"),
        ("cmd:sh -c 'a # b'", "sh -c 'a # b'", ""),
        ("cmd:sh -c 'a # b'#fast", "sh -c 'a # b'", "fast"),
        ("cmd:a#", "a#", ""),
        ("cmd:#a", "#a", ""),
        ("cmd:", "", ""),
        ("torch:eager", "", ""),
        ("mutant:a#b", "", ""),
    ],
)
def test_a_command_and_the_way_into_it(text: str, command: str, entry: str) -> None:
    name = TargetName.of(text)
    assert (name.command, name.entry) == (command, entry)
