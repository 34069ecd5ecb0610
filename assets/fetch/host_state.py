"""What is known of one publisher's host: its latest turns, how far it is slowed down, and its circuits. Pure.

Instants are seconds of one clock, whichever it is: the process's own, or that of a database which several share.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

MINUTE = 60.0
MOST_A_MINUTE = 1000.0
"""No host is asked faster, whatever its publisher allows: so many turns are remembered at most."""
FAILURES = 3
"""Failed requests in a row that open a host's circuit; one is enough where nothing answers, and for its own path."""
REST = 60.0
LONGEST_REST = 300.0
"""As often as schedules ask a host that answers: rests hold for every run, and a market must not stay dark longer."""
LONGEST_RETRY_AFTER = 3600.0
"""A longer one is kept to for so long: a slip of the publisher's must not silence a market for days."""
SLOWEST = 16.0
"""The most by which a host's pace is divided after it refused requests as too many."""
EASED_AFTER = 100
"""Answers in a row after which a slowed pace is doubled again."""
REMEMBERED = 3600.0
"""Seconds after its rest in which a path's circuit is remembered: its next rest is longer."""
MOST_PATHS = 50
STEP_BACK = 5.0
"""A clock that goes back by more was set: what is known moves with it. By less, two readings came out of order."""
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Circuit:
    """Of a host, or of one path on it: one broken report does not stop a publisher's other reports."""

    failures: int = 0
    opened: int = 0
    """How often in a row: each rest is twice the one before."""
    rest_until: float = 0.0
    reason: str = ""


CLOSED = Circuit()


@dataclass(frozen=True, slots=True)
class HostState:
    """Everything that decides when a host may be asked again."""

    turns: tuple[float, ...] = ()
    """The turns of the minute that ends with the last one, which may lie ahead; ascending."""
    factor: float = 1.0
    """How many times slower than its source allows the host is asked."""
    answers: int = 0
    """Since the factor last changed."""
    slowed_at: float = 0.0
    circuit: Circuit = CLOSED
    paths: Mapping[str, Circuit] = field(default_factory=dict)
    changed_at: float = 0.0


def known_at(state: HostState, now: float) -> tuple[HostState, float]:
    """The state and the instant by which to decide: a clock that was set back takes the state along."""
    if now < state.changed_at - STEP_BACK:
        return shifted(state, now - state.changed_at), now
    return state, max(now, state.changed_at)


def shifted(state: HostState, by: float) -> HostState:
    """The same by a clock that shows `by` seconds more."""
    return replace(
        state,
        turns=tuple(turn + by for turn in state.turns),
        slowed_at=state.slowed_at + by,
        circuit=_moved(state.circuit, by),
        paths={path: _moved(circuit, by) for path, circuit in state.paths.items()},
        changed_at=state.changed_at + by,
    )


def _moved(circuit: Circuit, by: float) -> Circuit:
    return replace(circuit, rest_until=circuit.rest_until + by) if circuit.rest_until else circuit


def open_circuit(state: HostState, path: str, now: float) -> Circuit | None:
    """The circuit of host or path that is open."""
    circuits = (state.circuit, state.paths.get(_name(path), CLOSED))
    return next((circuit for circuit in circuits if now < circuit.rest_until), None)


def next_turn(state: HostState, now: float, per_minute: float, interval: float) -> float:
    """The earliest turn within both limits, slowed down where the host refused requests; infinite where it has none.

    `per_minute`: requests in any 60 seconds, of less than one the span of a single request; `interval`: seconds
    between two.
    """
    if not per_minute > 0:
        return math.inf
    allowed = min(per_minute, MOST_A_MINUTE) / state.factor
    if state.factor > 1.0:
        interval = max(interval, MINUTE / allowed)  # no bursts
    most = max(1, int(allowed))
    earliest = now
    if state.turns:
        earliest = max(earliest, state.turns[-1] + max(0.0, interval))
    if len(state.turns) >= most:
        earliest = max(earliest, state.turns[-most] + MINUTE * most / allowed)
    return earliest


def with_turns(state: HostState, turns: Iterable[float]) -> HostState:
    """With these turns too. Those over a minute older than the last are dropped: no limit looks further back."""
    kept = sorted([*state.turns, *turns])
    return replace(state, turns=tuple(turn for turn in kept if turn > kept[-1] - MINUTE))


def throttled(state: HostState, now: float) -> HostState:
    """Asked half as fast: the host got one request too many. Requests refused together slow it down once."""
    if state.factor > 1.0 and now < state.slowed_at + MINUTE / 2:
        return state
    return replace(state, factor=min(2 * state.factor, SLOWEST), answers=0, slowed_at=now)


def answered(state: HostState, path: str, now: float) -> HostState:
    """Circuits closed: the host answered, with whatever status. Many answers in a row end a slowdown."""
    if is_calm(state, path):
        return state
    paths = {other: circuit for other, circuit in state.paths.items() if other != _name(path)}
    state = replace(state, circuit=CLOSED, paths=paths)
    if state.factor == 1.0:
        return state
    if state.answers + 1 < EASED_AFTER:
        return replace(state, answers=state.answers + 1)
    return replace(state, factor=max(1.0, state.factor / 2), answers=0, slowed_at=now)


def is_calm(state: HostState, path: str) -> bool:
    """Whether an answer changes nothing: full pace, and no failure of host or path to forget."""
    return state.factor == 1.0 and state.circuit == CLOSED and _name(path) not in state.paths


def failed(state: HostState, path: str, reason: str, dead: bool, rest: float | None, now: float) -> HostState:
    """After a request failed with all its attempts. `dead`: nothing answered; `rest`: the host's Retry-After, s."""
    path, reason = _name(path), "".join(letter for letter in reason if letter.isprintable())[:_LONGEST_TEXT]
    counted = FAILURES if dead or rest is not None else 1
    paths = {**state.paths, path: _counted(state.paths.get(path, CLOSED), FAILURES, reason, rest, now)}
    return replace(state, circuit=_counted(state.circuit, counted, reason, rest, now), paths=_newest(paths, now))


def _name(path: str) -> str:
    """A path as it is kept: databases refuse some characters."""
    return ascii(path)[1:-1][:_LONGEST_TEXT]


def _counted(circuit: Circuit, failures: int, reason: str, rest: float | None, now: float) -> Circuit:
    circuit = replace(circuit, failures=min(circuit.failures + failures, 1000))
    if circuit.failures < FAILURES:
        return circuit
    if now < circuit.rest_until and rest is None:
        return circuit  # requests that fail together open it once
    pause = min(REST * 2**circuit.opened, LONGEST_REST) if rest is None else min(rest, LONGEST_RETRY_AFTER)
    until = max(circuit.rest_until, now + pause)
    return Circuit(circuit.failures, min(circuit.opened + 1, 10), until, reason)


def _newest(paths: Mapping[str, Circuit], now: float) -> dict[str, Circuit]:
    """Without those that have rested long ago, and not too many: listings name files without end."""
    fresh = [(path, circuit) for path, circuit in paths.items() if now < circuit.rest_until + REMEMBERED]
    return dict(sorted(fresh, key=lambda entry: entry[1].rest_until)[-MOST_PATHS:])


def learnt(state: HostState, since: HostState) -> HostState:
    """What a state has that it had not when it was `since`: turns, circuits that opened, a slowdown."""
    slower = state.factor > since.factor
    return HostState(
        tuple((Counter(state.turns) - Counter(since.turns)).elements()),
        state.factor if slower else 1.0,
        slowed_at=state.slowed_at,
        circuit=CLOSED if state.circuit == since.circuit else state.circuit,
        paths={path: circuit for path, circuit in state.paths.items() if since.paths.get(path) != circuit},
    )


def joined(state: HostState, news: HostState) -> HostState:
    """A state and what was learnt elsewhere, by the same clock; of two rests the longer holds."""
    slow = news if news.factor > state.factor else state
    paths = {path: _longer(state.paths.get(path, CLOSED), circuit) for path, circuit in news.paths.items()}
    return replace(
        with_turns(state, news.turns),
        factor=slow.factor,
        answers=slow.answers,
        slowed_at=slow.slowed_at,
        circuit=_longer(state.circuit, news.circuit),
        paths={**state.paths, **paths},
    )


def _longer(one: Circuit, other: Circuit) -> Circuit:
    return other if other.rest_until > one.rest_until else one


def to_json(state: HostState) -> str:
    """The state as it is kept."""
    return json.dumps(asdict(state))


def from_json(text: str) -> HostState:
    """The state that was kept. What another release wrote, or nobody, is forgotten: it holds for minutes only."""
    try:
        document = json.loads(text)
        return HostState(
            tuple(sorted(float(turn) for turn in document["turns"])),
            max(1.0, float(document["factor"])),
            int(document["answers"]),
            float(document["slowed_at"]),
            _circuit(document["circuit"]),
            {str(path): _circuit(kept) for path, kept in document["paths"].items()},
            float(document["changed_at"]),
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return HostState()


def _circuit(document: Mapping[str, Any]) -> Circuit:
    return Circuit(
        int(document["failures"]), int(document["opened"]), float(document["rest_until"]), str(document["reason"])
    )
