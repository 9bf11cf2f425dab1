"""Episodic search: from retrieved facts back to the observations that told them (paper, Eq. 1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from arigraph_local.memory.graph.store import Episode, Store


@dataclass(frozen=True)
class FoundEpisode:
    """A retrieved episode, its score by Eq. 1, and n_i, how many retrieved facts it mentions."""

    episode: Episode
    score: float
    hits: int


def episode_score(hits: int, size: int) -> float:
    """rel(v_e^i) = n_i / max(N_i, 1) · log2(max(N_i, 1)), with n_i `hits` and N_i `size`.

    The logarithm makes an episode of a single fact score zero.
    """
    size = max(size, 1)
    return hits / size * math.log2(size)


def episodic_search(
    found_ids: Iterable[int],
    store: Store,
    *,
    k: int,
    exclude_steps: Collection[int] = (),
) -> list[FoundEpisode]:
    """The `k` best episodes for the retrieved facts `found_ids`: by score descending, then the
    most recent first. Episodes that score zero are never returned, nor those in `exclude_steps`.
    Only the episodes that mention a retrieved fact are looked at: the others score zero.
    """
    excluded = frozenset(exclude_steps)
    hits = Counter(step for fact_id in dict.fromkeys(found_ids) for step in store.mentions(fact_id))
    scored = []
    for step, count in hits.items():
        if step in excluded:
            continue
        episode = store.episode(step)
        score = episode_score(count, len(episode.fact_ids))
        if score > 0:
            scored.append(FoundEpisode(episode, score, count))
    scored.sort(key=lambda found: (-found.score, -found.episode.step))
    return scored[: max(k, 0)]
