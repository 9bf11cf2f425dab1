"""Oracle graph: the true facts seen so far in AriGraph's place, the ceiling of any graph memory.

With noise, a share of the facts is learned wrongly or not at all, so that scores can be plotted
against the quality of the graph.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arigraph_local.agent.arigraph_memory import AriGraphMemory
from arigraph_local.agent.long_term_memory import Emit, Experience
from arigraph_local.agent.recording import emit_update
from arigraph_local.baselines.seen_facts import SeenFacts, Sight
from arigraph_local.envs.environment import TrueFact
from arigraph_local.events import Event, Observed
from arigraph_local.memory.arigraph import AriGraph, MemoryUpdate
from arigraph_local.memory.learning.exclusive import excludes
from arigraph_local.memory.learning.outdated import Pair
from arigraph_local.memory.triplet import Triplet

TrueFacts = Callable[[], frozenset[TrueFact]]
_REASON = "it is not true any more"


@dataclass(frozen=True)
class GraphNoise:
    """Spoils a `share` of the facts, by chance the same for a fact at every step and in every run
    of equal `seed`: half of them are dropped, the others get a wrong object."""

    share: float
    seed: int

    def __call__(self, triplet: Triplet, values: Sequence[str]) -> Triplet | None:
        """The fact as it is learned; `values` are the objects that its relation can have."""
        digest = hashlib.sha256(f"{self.seed}/{triplet}".encode()).digest()
        chance = int.from_bytes(digest[:8], "big") / 2**64
        if chance >= self.share:
            return triplet
        others = [value for value in values if value not in triplet.entities]
        if chance < self.share / 2 or not others:
            return None
        wrong = others[int.from_bytes(digest[8:16], "big") % len(others)]
        return Triplet(triplet.subject, triplet.relation, wrong)


class OracleGraph(AriGraphMemory):
    """Searches as AriGraph does, but asks no model: what an observation shows is taken from the
    game's own state."""

    def __init__(self, graph: AriGraph, true_facts: TrueFacts, noise: GraphNoise) -> None:
        super().__init__(graph)
        self._true_facts = true_facts
        self._noise = noise
        self._seen = SeenFacts()

    def observe(self, experience: Experience, emit: Emit) -> None:
        """Learn what the observation shows; retire what cannot be true with it."""
        sight = self._seen.look(self._true_facts(), experience)
        self.graph.visited(experience.location, experience.passage)
        learned = self._learned(sight)
        pairs = self._outdated(learned, set(sight.gone))
        added = self.graph.write(experience.step, experience.text, learned, pairs)
        update = MemoryUpdate(
            step=experience.step,
            text=experience.text,
            learned=tuple(learned),
            added=added,
            retired=tuple(pairs),
            rejected=(),
            guarded={},
            calls=(),
            dropped={},
            merged=(),
            wordings={},
        )
        emit_update(emit, update, self.graph.store.current_count())

    def resume(self, experience: Experience, event: Event) -> None:
        """See again what was seen then: the game is where it was."""
        if isinstance(event, Observed):
            self._seen.look(self._true_facts(), experience)

    def _learned(self, sight: Sight) -> list[Triplet]:
        spoilt = (self._noise(one, sight.values.get(one.relation, ())) for one in sight.triplets)
        gone = (Triplet(thing, "is", "gone") for thing in sight.gone)
        return list(dict.fromkeys(one for one in (*spoilt, *gone) if one is not None))

    def _outdated(self, learned: Sequence[Triplet], gone: set[str]) -> list[Pair]:
        """Facts that a learned one excludes, and all that was said of where a gone thing is."""
        entities = {name for triplet in learned for name in triplet.entities}
        stated = set(learned)
        pairs = []
        for fact in self.graph.store.incident(entities):
            if fact.triplet in stated:
                continue
            for new in learned:
                lost = new.object == "gone" and new.subject in gone
                if excludes(new, fact.triplet) or (lost and fact.triplet.subject == new.subject):
                    pairs.append(Pair(fact, new, _REASON))
                    break
        return pairs
