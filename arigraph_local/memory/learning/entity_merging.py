"""Near-duplicate entities: a new name that is a known entity spelt otherwise.

The paper compares names as they are (its graph keeps `carrot` and `carrots` as two things), so
this is off by default. A name is merged when its spelling (`spelling_ratio`) and its meaning (the
cosine of the names' embeddings) both say so; `StepChange.wordings` keeps what was extracted, so
that a merge can be undone (`rebuilding.rebuild`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from arigraph_local.memory.graph.store import StepChange
from arigraph_local.memory.learning.extraction import Rejected
from arigraph_local.memory.learning.spelling import spelling_keys, spelling_ratio
from arigraph_local.memory.search.text_vectors import TextVectors
from arigraph_local.memory.settings import MemorySettings
from arigraph_local.memory.triplet import Triplet


@dataclass(frozen=True)
class Merged:
    """A new name taken for a known entity: the cosine of their embeddings, the spelling's ratio."""

    alias: str
    name: str
    similarity: float
    ratio: float


@dataclass(frozen=True)
class Merging:
    """An observation's triplets after merging.

    `wordings` gives for each triplet that was changed what was extracted; of several, the first.
    `merged` are the names merged now, not those merged earlier. `rejected` are the triplets that
    merging would turn into a link of an entity to itself.
    """

    triplets: tuple[Triplet, ...]
    wordings: dict[Triplet, Triplet] = field(default_factory=dict)
    merged: tuple[Merged, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    def also(self, stated: Sequence[Triplet]) -> Merging:
        """With triplets that were not extracted: known in the graph's own words."""
        wordings = {learned: own for learned, own in self.wordings.items() if learned not in stated}
        triplets = tuple(dict.fromkeys((*self.triplets, *stated)))
        return replace(self, triplets=triplets, wordings=wordings)


class EntityMerging:
    """The known names of a graph and the aliases that were merged into them.

    A name is new if no fact ever had it. It is compared only with names that the same observation
    does not use: what is told side by side is not the same. A name once merged stays merged.
    Candidates come from an index of spellings, so that the cost does not grow with the graph.
    """

    def __init__(
        self,
        vectors: TextVectors,
        settings: MemorySettings,
        *,
        names: Iterable[str] = (),
        changes: Iterable[StepChange] = (),
    ) -> None:
        """`names` are the entities of the graph, oldest first; `changes` its past steps."""
        self._vectors = vectors
        self._settings = settings
        self._apart = frozenset(settings.keep_apart)
        self._ages: dict[str, int] = {}
        self._spelt: dict[tuple[str, ...], list[str]] = {}
        self._aliases: dict[str, str] = {}
        self._note_names(names)
        for change in changes:
            self._note_wordings(change.wordings)

    def merge(self, triplets: Sequence[Triplet], places: Collection[str]) -> Merging:
        """Rewrite the triplets of one observation.

        `places` are visited locations: their names come from the game and are never changed.
        """
        used = dict.fromkeys(name for triplet in triplets for name in triplet.entities)
        free = [name for name in used if name not in self._apart and name not in places]
        names = {name: self._aliases[name] for name in free if name in self._aliases}
        taken = {*used, *names.values()}
        merged = []
        for name in free:
            if name in names or name in self._ages:
                continue
            best = self._best(name, taken)
            if best is not None:
                merged.append(best)
                names[name] = best.name
                taken.add(best.name)
        self._aliases.update((item.alias, item.name) for item in merged)
        return _rewritten(triplets, names, tuple(merged))

    def note(self, triplets: Iterable[Triplet], wordings: Mapping[Triplet, Triplet]) -> None:
        """Take in what a step has written."""
        self._note_names(name for triplet in triplets for name in triplet.entities)
        self._note_wordings(wordings)

    def _best(self, name: str, taken: Collection[str]) -> Merged | None:
        """The known name that is nearest in meaning, then in spelling, then the oldest."""
        least = self._settings.merge_ratio
        ratios = {
            known: spelling_ratio(name, known, least)
            for known in self._candidates(name)
            if known not in taken and known not in self._apart
        }
        near = {known: ratio for known, ratio in ratios.items() if ratio and ratio >= least}
        if not near:
            return None
        similarities = self._similarities(name, list(near))
        best = max(near, key=lambda known: (similarities[known], near[known], -self._ages[known]))
        if similarities[best] < self._settings.merge_similarity:
            return None
        return Merged(name, best, similarities[best], near[best])

    def _candidates(self, name: str) -> list[str]:
        found = (known for key in spelling_keys(name) for known in self._spelt.get(key, ()))
        return list(dict.fromkeys(found))

    def _similarities(self, name: str, known: list[str]) -> dict[str, float]:
        """The cosines of `name` with each known name; 0 where a vector has no direction."""
        rows = self._vectors.of([name, *known]).astype(np.float64)
        lengths = np.sqrt((rows * rows).sum(axis=1))
        products = (rows[1:] * rows[0]).sum(axis=1)
        scale = lengths[1:] * lengths[0]
        return {
            other: float(product / size) if size else 0.0
            for other, product, size in zip(known, products, scale, strict=True)
        }

    def _note_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._ages:
                self._ages[name] = len(self._ages)
                for key in spelling_keys(name):
                    self._spelt.setdefault(key, []).append(name)

    def _note_wordings(self, wordings: Mapping[Triplet, Triplet]) -> None:
        for triplet, worded in wordings.items():
            for name, alias in zip(triplet.entities, worded.entities, strict=True):
                if alias != name:
                    self._aliases.setdefault(alias, name)


def _rewritten(
    triplets: Sequence[Triplet], names: Mapping[str, str], merged: tuple[Merged, ...]
) -> Merging:
    wordings: dict[Triplet, Triplet] = {}
    rejected = []
    for worded in triplets:
        subject, object_ = (names.get(name, name) for name in worded.entities)
        if subject == object_:
            rejected.append(Rejected(str(worded), "self-loop once its names are merged"))
        else:
            wordings.setdefault(Triplet(subject, worded.relation, object_), worded)
    # What the observation also says in the graph's own words needs no other wording.
    stated = set(triplets)
    changed = {learned: worded for learned, worded in wordings.items() if learned not in stated}
    return Merging(tuple(wordings), changed, merged, tuple(rejected))
