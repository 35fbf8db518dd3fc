r"""Regular expressions of constant patterns: the part of RE2's syntax that has one meaning, and that meaning.

A pattern is letters, `.`, classes such as `[a-z]`, `[^/]` and `\d`, groups, `|`, the ends `^` and `$`, the edge of a
word `\b`, and repetitions of what has at least one letter. It becomes a program, which follows all ways through a text
at once. A match is the leftmost one, and of those that begin there the one that a reader who tries alternatives from
left to right, and repetitions as long as they go, meets first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["MAX_FOLLOWED", "MAX_STEPS", "Pattern", "extracted", "matches", "read_pattern", "references", "replaced"]

MAX_STEPS = 250  # of a program: what an engine may do for each letter of a text
MAX_NESTED = 10  # groups in groups
MAX_TIMES = 100  # … of a repetition
WIDE = 10  # steps of a class that has letters beyond ASCII
MAX_STATES = 500  # of an automaton that has one state at a time, forwards and backwards
MAX_FOLLOWED = 60_000  # steps in which these are found
LAST = 0x10FFFF
DIGITS, WORD = ((48, 57),), ((48, 57), (65, 90), (95, 95), (97, 122))
CLASSES = {"d": DIGITS, "w": WORD, "s": ((9, 10), (12, 13), (32, 32))}
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
ENDS = {"^": "begin", "$": "end"}
SPECIAL = set("*+?{}[]()|^$\\")
Ranges = tuple[tuple[int, int], ...]


class Step(NamedTuple):
    """A step of a program: a letter of `ranges`, the end of a group, an assertion, or where to go on, best first."""

    does: str  # letter, save, begin, end, edge, go, match
    ranges: Ranges = ()
    slot: int = 0
    ways: tuple[int, ...] = ()  # from here on


class Pattern(NamedTuple):
    """A pattern that was read: its program, its groups, the letters of its shortest match, its steps, and the steps in
    which it was found out that it has few states.
    """

    code: tuple[Step, ...]
    groups: int = 0
    least: int = 0
    steps: int = 1
    followed: int = 0


@lru_cache(maxsize=256)
def read_pattern(text: str) -> Pattern:
    """Read a pattern; ValueError says what of it is not understood.

    Promise  an engine finds the matches that are found here, in one step for each letter; and their groups in at most
             `steps` steps for each letter of a match.
    Because  what engines read in several ways is not read here: classes are of ASCII, `.` is no line break, `$` the end
             of the text and not of a line, and nothing is repeated that may be empty. RE2 follows all ways at once. It
             remembers the sets of ways that it has met, each of them a state, and where these are too many it follows
             each way for each letter, which takes a thousand times as long: so there are MAX_STATES at most, from left
             to right and back from the end of a match. For groups there are at most as many ways as there are steps,
             repetitions being written out (`tests/core/values/test_patterns.py` compares the two on random patterns).
    """
    reader = _Reader(text)
    found = reader.either()
    if reader.at < len(text):
        raise ValueError("a `)` closes nothing")
    code = (*found.code, Step("match"))
    return Pattern(code, reader.groups, found.least, found.steps, _few_states(code))


def _joined(*parts: Pattern) -> Pattern:
    """One part after the other."""
    steps = sum(each.steps for each in parts)
    if steps > MAX_STEPS:
        raise ValueError("it is too long, with its repetitions written out")
    return Pattern(tuple(step for each in parts for step in each.code), 0, sum(each.least for each in parts), steps)


def _go(*ways: int) -> Pattern:
    return Pattern((Step("go", ways=ways),))


def _perhaps(one: Pattern, *, lazy: bool) -> Pattern:
    """The part, or nothing."""
    ways = (1, len(one.code) + 1)
    return _joined(_go(*(ways[::-1] if lazy else ways)), one)._replace(least=0)


def _again(one: Pattern, *, lazy: bool) -> Pattern:
    """The part, once or more."""
    ways = (-len(one.code), 1)
    return _joined(one, _go(*(ways[::-1] if lazy else ways)))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.groups, self.depth = text, 0, 0, 0

    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def takes(self, said: str) -> bool:
        there = self.text.startswith(said, self.at)
        self.at += len(said) * there
        return there

    def taken(self) -> str:
        here = self.next()
        self.at += 1
        return here

    def either(self) -> Pattern:
        found = self.sequence()
        if not self.takes("|"):
            return found
        rest = self.either()
        least, out = min(found.least, rest.least), _go(len(rest.code) + 1)
        return _joined(_go(1, len(found.code) + 2), found, out, rest)._replace(least=least)

    def sequence(self) -> Pattern:
        found = []
        while self.next() not in ("", "|", ")"):
            found.append(self.repeated())
        if not found:
            raise ValueError("a part of it is empty")
        return _joined(*found)

    def repeated(self) -> Pattern:
        one, times = self.atom(), self.times()
        if times is None:
            return one
        if not one.least:
            raise ValueError("what is repeated may be empty")
        (low, high), lazy = times, self.takes("?")
        if self.next() in ("*", "+", "?", "{"):
            raise ValueError("a repetition is repeated")
        if high is None:
            more = _again(one, lazy=lazy)
            return _joined(*[one] * (low - 1), more) if low else _perhaps(more, lazy=lazy)
        found = _joined(*[one] * low)
        more = Pattern(())
        for _ in range(high - low):
            more = _perhaps(_joined(one, more) if more.code else one, lazy=lazy)
        return _joined(found, more._replace(least=0)) if more.code else found

    def times(self) -> tuple[int, int | None] | None:
        """How often what was read is repeated, at least and at most; None if it is not."""
        for sign, low, high in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.takes(sign):
                return low, high
        if not self.takes("{"):
            return None
        said, closed, _ = self.text[self.at :].partition("}")
        self.at += len(said) + 1
        first, comma, last = said.partition(",")
        most = last if comma else first
        if not closed or not all(each.isascii() and each.isdigit() and len(each) < 9 for each in (first, most or "1")):
            raise ValueError("a `{` that stands for itself is written `\\{`")
        if int(first) > MAX_TIMES or (most and not max(int(first), 1) <= int(most) <= MAX_TIMES):
            raise ValueError(f"a repetition is of 1 to {MAX_TIMES} times")
        return int(first), int(most) if most else None

    def atom(self) -> Pattern:
        here = self.taken()
        if here == "(":
            return self.group()
        if here == "[":
            return self.listed()
        if here == "\\":
            return self.escaped()
        if here in ENDS:
            return Pattern((Step(ENDS[here]),))
        if here == ".":
            return _class(((0, 9), (11, LAST)))
        if here in SPECIAL:
            raise ValueError(f"a `{here}` that stands for itself is written `\\{here}`")
        return _class(((ord(here), ord(here)),))

    def group(self) -> Pattern:
        self.depth += 1
        if self.depth > MAX_NESTED:
            raise ValueError("its groups are nested too deeply")
        plain = self.takes("?:")
        if self.next() == "?":
            raise ValueError("of groups with `?` only `(?:…)` is known")
        self.groups += not plain
        slot = 2 * self.groups
        inner = self.either()
        if not self.takes(")"):
            raise ValueError("a `(` is not closed")
        self.depth -= 1
        if plain:
            return inner
        return _joined(Pattern((Step("save", slot=slot),)), inner, Pattern((Step("save", slot=slot + 1),)))

    def escaped(self) -> Pattern:
        here = self.taken()
        if here == "b":
            return Pattern((Step("edge"),))
        if here and here.lower() in CLASSES:
            ranges = CLASSES[here.lower()]
            return _class(ranges if here.islower() else _others(ranges))
        return _class(((_escape(here), _escape(here)),))

    def listed(self) -> Pattern:
        """A class of letters, after its `[`."""
        negated, ranges = self.takes("^"), list[tuple[int, int]]()
        while not (ranges and self.takes("]")):
            found = self.member(first=not ranges)
            if len(found) == 1 and self.next() == "-" and self.text[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                last = self.member(first=False)
                if len(last) != 1 or found[0][0] > last[0][0]:
                    raise ValueError("a range of letters has no end, or one that is before its beginning")
                found = ((found[0][0], last[0][0]),)
            ranges += found
        return _class(_others(tuple(ranges)) if negated else tuple(ranges))

    def member(self, *, first: bool) -> Ranges:
        """A letter of a class, or those of a class within it; `-` stands for itself at the first or last place."""
        here = self.taken()
        if here == "\\":
            here = self.taken()
            return CLASSES[here] if here in CLASSES else ((_escape(here), _escape(here)),)
        if here in ("", "[", "]") or (here == "-" and not first and self.next() != "]"):
            raise ValueError("a class of letters is not closed, or has one of `[`, `]` and `-` that is not after `\\`")
        return ((ord(here), ord(here)),)


def _class(ranges: Ranges) -> Pattern:
    wide = any(last > 127 for _, last in ranges)
    return Pattern((Step("letter", ranges=ranges),), 0, 1, WIDE * len(ranges) if wide else 1)


def _others(ranges: Ranges) -> Ranges:
    """All letters that are not in these ranges."""
    found, begin = list[tuple[int, int]](), 0
    for low, high in sorted(ranges):
        if begin < low:
            found.append((begin, low - 1))
        begin = max(begin, high + 1)
    return (*found, (begin, LAST)) if begin <= LAST else tuple(found)


def _escape(here: str) -> int:
    """The letter that stands after a backslash."""
    if here in CONTROLS:
        return ord(CONTROLS[here])
    if not here or here.isalnum() or not here.isascii() or not here.isprintable():
        raise ValueError(f"`\\{here}` is not known")
    return ord(here)


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _few_states(code: Sequence[Step]) -> int:
    """Return in how many steps the states of a program were found; ValueError if there are more than MAX_STATES.

    A state is the set of letters of the program that can be next. Assertions hold wherever they may.
    """
    letters = [n for n, each in enumerate(code) if each.does == "letter"]
    bits = {n: 1 << place for place, n in enumerate(letters)}
    after = [_reached(code, n + 1, bits, begin=False) for n in letters]
    back, last = [0] * len(letters), 0
    for place, (following, ends) in enumerate(after):
        last |= ends << place
        for other in _places(following):
            back[other] |= 1 << place
    masks = _masks([code[n].ranges for n in letters])
    again = _reached(code, 0, bits, begin=False)[0]  # a match may begin at any letter
    done = _states([each for each, _ in after], masks, _reached(code, 0, bits, begin=True)[0], again, 0)
    return _states(back, masks, last, 0, done)


def _reached(code: Sequence[Step], first: int, bits: Mapping[int, int], *, begin: bool) -> tuple[int, bool]:
    """Return the letters that are next from a step on, as bits, and whether the end of the program is reached."""
    waiting, seen, found, ends = [(first, False)], set[tuple[int, bool]](), 0, False
    while waiting:
        here, at_end = waiting.pop()
        if (here, at_end) in seen:
            continue
        seen.add((here, at_end))
        does, _, _, ways = code[here]
        if does == "letter":
            found |= 0 if at_end else bits[here]
        elif does == "match":
            ends = True
        elif does != "begin" or begin:
            waiting += [(here + way, at_end or does == "end") for way in ways or (1,)]
    return found, ends


def _places(bits: int) -> Iterator[int]:
    """Yield the places of the bits of a number."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _masks(ranges: Sequence[Ranges]) -> list[int]:
    """Return for each sort of letter those of the program that it can be, as bits."""
    ends = {low for each in ranges for low, _ in each} | {high + 1 for each in ranges for _, high in each}
    found = {
        sum(1 << place for place, each in enumerate(ranges) if any(low <= letter <= high for low, high in each))
        for letter in ends
    }
    return sorted(found | {0})


def _states(after: Sequence[int], masks: Sequence[int], first: int, again: int, done: int) -> int:
    """Count the sets of letters that are next, from a first one on; return the steps that were taken, and `done`."""
    seen, waiting = {first}, [first]
    while waiting:
        here = waiting.pop()
        for mask in masks:
            following = again
            for place in _places(here & mask):
                following |= after[place]
                done += 1
            done += 1
            if following not in seen:
                seen.add(following)
                waiting.append(following)
        if len(seen) > MAX_STATES or done > MAX_FOLLOWED:
            raise ValueError(
                "it has too many ways to fit, so a text takes too long: write fewer or shorter repetitions"
            )
    return done


# ── what they mean ───────────────────────────────────────────────────────────────────────────────────────────────

Places = dict[int, int]  # where groups begin and end, by their slots


def _word(said: str, at: int) -> bool:
    return 0 <= at < len(said) and _in(said[at], WORD)


def _in(letter: str, ranges: Ranges) -> bool:
    return any(low <= ord(letter) <= high for low, high in ranges)


HOLDS: dict[str, Callable[[str, int], bool]] = {
    "begin": lambda said, at: at == 0,
    "end": lambda said, at: at == len(said),
    "edge": lambda said, at: _word(said, at - 1) != _word(said, at),
}


def _search(said: str, pattern: Pattern, start: int) -> Places | None:
    """The first match from a place on: where it and its groups begin and end."""
    code, found = pattern.code, None

    def reach(step: int, places: Places, at: int, ways: dict[int, Places]) -> None:
        """Add the steps that are met from here without a letter, in their order, each once."""
        waiting = [(step, places)]
        seen = set(ways)
        while waiting:
            here, places = waiting.pop()
            does, _, slot, more = code[here]
            if here in seen:
                continue
            seen.add(here)
            if does == "go":
                waiting += [(here + way, places) for way in reversed(more)]
            elif does == "save":
                waiting.append((here + 1, places | {slot: at}))
            elif does in HOLDS:
                waiting += [(here + 1, places)] if HOLDS[does](said, at) else []
            else:
                ways[here] = places

    ways: dict[int, Places] = {}
    for at in range(start, len(said) + 1):
        if found is None:
            reach(0, {0: at}, at, ways)
        after: dict[int, Places] = {}
        for here, places in ways.items():
            if code[here].does == "match":
                found = places | {1: at}
                break  # what is met later, a reader would not have tried
            if at < len(said) and _in(said[at], code[here].ranges):
                reach(here + 1, places, at + 1, after)
        ways = after
        if found is not None and not ways:
            break
    return found


def _group(said: str, places: Places, group: int) -> str:
    """The letters of a group; none if it took no part in the match."""
    return said[places[2 * group] : places[2 * group + 1]] if 2 * group + 1 in places else ""


def matches(said: str, pattern: str) -> bool:
    """REGEXP_MATCHES: whether a part of a text fits a pattern."""
    return _search(said, read_pattern(pattern), 0) is not None


def extracted(said: str, pattern: str, group: int = 0) -> str:
    """REGEXP_EXTRACT: the first part of a text that fits, or a group of it; an empty text where there is none."""
    found = _search(said, read_pattern(pattern), 0)
    return "" if found is None else _group(said, found, int(group))


def replaced(said: str, pattern: str, put: str, options: str = "") -> str:
    r"""REGEXP_REPLACE: the first part of a text that fits, or with `g` each, replaced; `\1` is a group of it."""
    read, parts, done, at = read_pattern(pattern), references(put), list[str](), 0
    while (found := _search(said, read, at)) is not None:
        made = [each if isinstance(each, str) else _group(said, found, each) for each in parts]
        done += [said[at : found[0]], *made]
        at = found[1]
        if options != "g":
            break
    return "".join([*done, said[at:]])


def references(put: str) -> list[str | int]:
    r"""The letters and groups (`\1`) of what is put in the place of a match; ValueError where `\` means neither."""
    parts: list[str | int] = []
    letters = iter(put)
    for each in letters:
        after = next(letters, "") if each == "\\" else each
        if each == "\\" and after != "\\" and (not after.isascii() or not after.isdigit()):
            raise ValueError("in what is put, `\\` stands before a digit or another `\\`")
        parts.append(int(after) if each == "\\" and after != "\\" else after)
    return parts
