"""The random numbers of fedsim, for learners that draw the mini-batches of its methods."""

from __future__ import annotations

_MASK, _BITS = (1 << 64) - 1, 128
_FACTOR = 2549297995355413924 << 64 | 4865540595714422341
_ADDED = 6364136223846793005 << 64 | 1442695040888963407
_CHEAP = 0xDA942042E4DD58B5


class Stream:
    """A PCG-DXSM generator, from its state in 32 hexadecimal digits (O'Neill's pcg-cpp)."""

    def __init__(self, state: str) -> None:
        self._state = int(state, 16)

    def next(self) -> int:
        """Return 64 random bits."""
        self._state = s = (self._state * _FACTOR + _ADDED) & ((1 << _BITS) - 1)
        high = s >> 64
        high = ((high ^ high >> 32) * _CHEAP) & _MASK
        return ((high ^ high >> 48) * (s & _MASK | 1)) & _MASK

    def draw(self, order: list[int], first: int, last: int) -> None:
        """Swap ``order[i]``, for i in [first, last), with an element drawn from ``order[i:]``."""
        for i in range(first, last):
            bound = len(order) - i
            product = self.next() * bound
            while product & _MASK < (1 << 64) % bound:  # Lemire, ACM TOMACS 2019
                product = self.next() * bound
            j = i + (product >> 64)
            order[i], order[j] = order[j], order[i]
