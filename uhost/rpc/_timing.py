"""How long a session waits for an answer, and when it asks again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Deadlines of a line.

    An answer is due `answer_s` seconds after its request and its own bytes had time to
    pass, at `bytes_per_second`. Without it the request is repeated, up to `attempts`
    times in all, waiting twice as long each time, up to four times. `hello_s` is for a
    device that may still be starting: the first request of a session is repeated every
    `hello_s` seconds, then more slowly, for `start_s` seconds. Up to `window` pieces of a
    tensor are under way at a time: more than one hides the time an answer travels, on
    devices whose receive ring takes in what arrives meanwhile.
    """

    answer_s: float
    attempts: int
    bytes_per_second: float
    hello_s: float = 0.25
    start_s: float = 10.0
    window: int = 1

    def waits(self, line_bytes: int) -> tuple[float, ...]:
        """Returns the wait after each attempt when `line_bytes` pass in both directions."""
        first = self._first(line_bytes)
        return tuple(first * min(1 << attempt, 4) for attempt in range(self.attempts))

    def waits_for_work(self, work_s: float, line_bytes: int) -> tuple[float, ...]:
        """Returns the waits for a request that keeps the device busy up to `work_s` seconds.

        The device cannot hear a repeated request while it works, so repetitions grow rare.
        """
        first = self._first(line_bytes)
        if self.attempts == 1:
            return (first + work_s,)
        return _doubling(first, first + work_s)

    def waits_for_start(self) -> tuple[float, ...]:
        """Returns the waits for the first answer of a device that may still be starting."""
        waits = _doubling(self.hello_s, min(1.0, self.start_s))
        return waits + (1.0,) * round(self.start_s - sum(waits))

    def _first(self, line_bytes: int) -> float:
        return self.answer_s + line_bytes / self.bytes_per_second


def _doubling(first: float, total: float) -> tuple[float, ...]:
    waits: list[float] = []
    while sum(waits) < total:
        waits.append(min(first * (1 << len(waits)), total - sum(waits)))
    return tuple(waits)


# Pipes and simulators lose nothing: to repeat a request would only disturb a slow one.
LOCAL = Timing(answer_s=30.0, attempts=1, bytes_per_second=20_000.0, start_s=30.0)
# 115200 baud is 11520 bytes a second; USB bridges hold bytes back for up to 16 ms.
SERIAL = Timing(answer_s=0.25, attempts=8, bytes_per_second=10_000.0, window=2)
