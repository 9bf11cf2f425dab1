"""A game that needs no TextWorld."""

from __future__ import annotations

from typing import ClassVar

from arigraph_local.envs.environment import Observation, TrueFact


class ThreeRooms:
    """A tiny game: a hall with a locker, a study west of it with a key, a cellar beyond.

    Take the key in the study (1 point), open the locker in the hall with it (1 point).
    """

    goal = "Open the locker. Its key is in another room."
    _west: ClassVar = {"hall": "study", "study": "cellar"}

    def __init__(self) -> None:
        self._room = ""
        self._has_key = self._open = False
        self.commands: list[str] = []

    def reset(self) -> Observation:
        self._room, self._has_key, self._open = "hall", False, False
        return self._observe(self._look())

    def step(self, command: str) -> Observation:
        self.commands.append(command)
        if command == "go west" and self._room in self._west:
            self._room = self._west[self._room]
            return self._observe(self._look())
        east = {room: back for back, room in self._west.items()}
        if command == "go east" and self._room in east:
            self._room = east[self._room]
            return self._observe(self._look())
        if command == "take key" and self._room == "study" and not self._has_key:
            self._has_key = True
            return self._observe("You pick up the key.")
        if command == "open locker" and self._room == "hall" and self._has_key:
            self._open = True
            return self._observe("The locker is open. You win.")
        return self._observe("Nothing happens.")

    def true_facts(self) -> frozenset[TrueFact]:
        key = TrueFact("in", ("key", "i")) if self._has_key else TrueFact("on", ("key", "desk"))
        facts = {
            TrueFact("at", ("p", self._room)),
            TrueFact("at", ("locker", "hall")),
            TrueFact("open" if self._open else "closed", ("locker",)),
            TrueFact("at", ("desk", "study")),
            key,
        }
        for room, beyond in self._west.items():
            facts |= {TrueFact("west_of", (beyond, room)), TrueFact("east_of", (room, beyond))}
            facts |= {TrueFact("free", (room, beyond)), TrueFact("free", (beyond, room))}
        return frozenset(facts)

    def close(self) -> None:
        self._room = ""

    def _look(self) -> str:
        if self._room == "hall":
            return "-= Hall =-\nA locker stands here, closed. There is an exit to the west."
        if self._room == "study":
            key = "" if self._has_key else " A key lies on the desk."
            return f"-= Study =-\nExits lead east and west.{key}"
        return "-= Cellar =-\nIt is empty. An exit leads east."

    def _observe(self, text: str) -> Observation:
        actions = {"hall": ["go west"], "study": ["go east", "go west"], "cellar": ["go east"]}
        valid = [*actions[self._room], "wait"]
        if self._room == "study" and not self._has_key:
            valid.append("take key")
        if self._room == "hall" and self._has_key and not self._open:
            valid.append("open locker")
        return Observation(
            text=text,
            inventory="You carry a key." if self._has_key else "You carry nothing.",
            location=self._room,
            valid_actions=tuple(sorted(valid)),
            score=int(self._has_key) + int(self._open),
            max_score=2,
            done=self._open,
            won=self._open,
        )
