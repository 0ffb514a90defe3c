"""What was made last: of programs and graphs, found by identity, and of anything else, found by a key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """`make(key)` of the `size` keys that came last. Keys are found by identity: a lookup must not walk a
    program, as its hash does.
    """

    def __init__(self, make: Callable[[K], V], size: int) -> None:
        self._make = make
        self._size = size
        self._entries: OrderedDict[int, tuple[K, V]] = OrderedDict()

    def get(self, key: K) -> V:
        entry = self._entries.get(id(key))
        if entry is None:
            entry = (key, self._make(key))  # holding the key keeps its id from being given to another
            self._entries[id(key)] = entry
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return entry[1]


class Latest(Generic[V]):
    """What was made last, by key; at most `size` values. The one that nobody has asked for longest goes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[tuple[object, ...], V] = OrderedDict()

    def get(self, key: tuple[object, ...], make: Callable[[], V]) -> V:
        """The value of `key`, made where it is not known."""
        if key not in self._values:
            self._values[key] = make()
            if len(self._values) > self._size:
                self._values.popitem(last=False)
        self._values.move_to_end(key)
        return self._values[key]
