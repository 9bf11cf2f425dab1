"""Equation 1, worked by hand: rel = n / max(N, 1) · log2(max(N, 1))."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_store import ReferenceStore

from arigraph_local.memory.graph.store import Episode
from arigraph_local.memory.search.episodic_search import episode_score, episodic_search


def episode(step: int, *fact_ids: int) -> Episode:
    return Episode(step, f"observation {step}", frozenset(fact_ids))


class Mentioning(ReferenceStore):
    """A store of these episodes, which counts those that are looked at."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        super().__init__(log=list(episodes))
        self.looked_at: list[int] = []

    def episode(self, step: int) -> Episode:
        self.looked_at.append(step)
        return super().episode(step)


@pytest.mark.parametrize(
    ("hits", "size", "score"),
    [
        (1, 2, 0.5),  # 1/2 · log2 2 = 1/2 · 1
        (2, 2, 1.0),  # 2/2 · 1
        (1, 4, 0.5),  # 1/4 · 2
        (3, 4, 1.5),  # 3/4 · 2
        (2, 8, 0.75),  # 2/8 · 3
        (8, 8, 3.0),  # 8/8 · 3
        (1, 1, 0.0),  # log2 1 = 0: a single triplet weighs nothing
        (0, 8, 0.0),
        (0, 0, 0.0),
    ],
)
def test_the_score_is_equation_1(hits: int, size: int, score: float) -> None:
    assert episode_score(hits, size) == score


def test_the_best_episodes_come_first() -> None:
    episodes = [
        episode(1, 1, 2, 3, 4),  # n = 2, N = 4: 1.0
        episode(2, 1, 9),  # n = 1, N = 2: 0.5
        episode(3, 1, 2, 3, 5, 6, 7, 8, 9),  # n = 2, N = 8: 0.75
        episode(4, 1),  # one triplet: 0
        episode(5, 8, 9),  # n = 0: 0
    ]
    found = episodic_search([1, 2, 99, 2], Mentioning(episodes), k=10)
    assert [(item.episode.step, item.score, item.hits) for item in found] == [
        (1, 1.0, 2),
        (3, 0.75, 2),
        (2, 0.5, 1),
    ]
    assert [
        item.episode.step for item in episodic_search([1, 2, 99, 2], Mentioning(episodes), k=2)
    ] == [1, 3]


def test_of_equal_scores_the_most_recent_comes_first() -> None:
    # 1/2 · log2 2 = 1/4 · log2 4
    episodes = [episode(1, 1, 2), episode(2, 1, 2, 3, 4), episode(3, 1, 9)]
    found = episodic_search([1], Mentioning(episodes), k=2)
    assert [item.episode.step for item in found] == [3, 2]


def test_excluded_steps_leave_their_place_to_others() -> None:
    episodes = [episode(step, 1, 2) for step in range(1, 6)]
    found = episodic_search([1], Mentioning(episodes), k=2, exclude_steps={5, 3})
    assert [item.episode.step for item in found] == [4, 2]


def test_only_episodes_that_mention_a_found_fact_are_looked_at() -> None:
    store = Mentioning([episode(1, 1, 2), episode(2, 3, 4), episode(3, 2, 3), episode(4)])
    found = episodic_search([1, 2], store, k=5)
    assert [item.episode.step for item in found] == [1, 3]
    assert sorted(store.looked_at) == [1, 3]


@settings(deadline=None)
@given(
    st.lists(st.frozensets(st.integers(1, 12)), max_size=20),
    st.frozensets(st.integers(1, 12)),
    st.integers(0, 5),
)
def test_never_more_than_k_never_a_zero_and_nothing_better_left_out(
    fact_sets: list[frozenset[int]], wanted: frozenset[int], k: int
) -> None:
    episodes = [Episode(step, "", ids) for step, ids in enumerate(fact_sets)]
    found = episodic_search(wanted, Mentioning(episodes), k=k)
    scores = {e.step: episode_score(len(wanted & e.fact_ids), len(e.fact_ids)) for e in episodes}
    positive = sorted((score for score in scores.values() if score > 0), reverse=True)
    assert [item.score for item in found] == positive[:k]
    assert all(scores[item.episode.step] == item.score for item in found)
