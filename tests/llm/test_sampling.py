from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.llm.engine import Sampling
from arigraph_local.llm.grammar.sampling import Sampler
from arigraph_local.llm.grammar.token_grammar import Constraint, byte_grammars
from arigraph_local.llm.llama.threads import physical_cores

END = 256
ENDS = frozenset({END})
SIZE = 257


def logits(**values: float) -> npt.NDArray[np.float32]:
    scores = np.full(SIZE, -10.0, dtype=np.float32)
    for char, value in values.items():
        scores[END if char == "end" else ord(char)] = value
    return scores


def letters(grammar: str = "root ::= [ab]") -> Constraint:
    return byte_grammars().constraint(grammar)


def test_greedy_takes_the_best_the_grammar_allows() -> None:
    scores = logits(z=9.0, end=8.0, b=2.0, a=1.0)
    assert Sampler(Sampling()).choose(scores, None, ENDS) == ord("z")
    constraint = letters()
    assert Sampler(Sampling()).choose(scores, constraint, ENDS) == ord("b")
    assert constraint.finished


def test_end_is_chosen_only_where_the_reply_is_complete() -> None:
    scores = logits(end=9.0, a=1.0)
    constraint = letters('root ::= "a"{2,}')
    chosen = [Sampler(Sampling()).choose(scores, constraint, ENDS) for _ in range(3)]
    assert chosen == [ord("a"), ord("a"), END]


def test_end_that_only_the_mask_finds() -> None:
    scores = logits(z=9.0, end=2.0, a=1.0)
    constraint = letters('root ::= "a"?')
    assert Sampler(Sampling()).choose(scores, constraint, ENDS) == END


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_samples_the_masked_distribution(temperature: float) -> None:
    """Most of the mass is on a refused token; the rest keeps its proportions."""
    scores = logits(z=3.0, a=1.0, b=0.0)
    count = 4000
    drawn = sum(
        Sampler(Sampling(temperature, seed)).choose(scores, letters(), ENDS) == ord("a")
        for seed in range(count)
    )
    expected = 1 / (1 + np.exp(-1.0 / temperature))
    deviation = np.sqrt(expected * (1 - expected) / count)
    assert abs(drawn / count - expected) < 4 * deviation


def test_same_seed_same_choices() -> None:
    def choices(seed: int) -> list[int]:
        sampler = Sampler(Sampling(1.0, seed))
        return [sampler.choose(np.zeros(SIZE, dtype=np.float32), None, ENDS) for _ in range(20)]

    assert choices(7) == choices(7)
    assert choices(7) != choices(8)


def test_at_least_one_core() -> None:
    assert physical_cores() >= 1


def probable(**shares: float) -> npt.NDArray[np.float32]:
    """Logits of tokens that have these probabilities; all others have none."""
    scores = np.full(SIZE, -np.inf, dtype=np.float32)
    for char, share in shares.items():
        scores[END if char == "end" else ord(char)] = np.log(share)
    return scores


def drawn(
    sampling: Sampling, scores: npt.NDArray[np.float32], grammar: str | None = None
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for seed in range(300 if grammar else 1500):
        chosen = Sampler(replace(sampling, seed=seed)).choose(
            scores, letters(grammar) if grammar else None, ENDS
        )
        counts[chr(chosen)] = counts.get(chr(chosen), 0) + 1
    return counts


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [
        (Sampling(1.0), "abcd"),
        (Sampling(1.0, top_p=0.5), "a"),
        (Sampling(1.0, top_p=0.51), "ab"),
        (Sampling(1.0, top_p=0.81), "abc"),
        (Sampling(1.0, min_p=0.5), "ab"),
        (Sampling(1.0, min_p=0.61), "a"),
        (Sampling(1.0, top_p=0.95, min_p=0.29), "abc"),
        (Sampling(1.0, top_p=1e-9), "a"),
        (Sampling(1.0, min_p=1.0), "a"),
    ],
)
def test_top_p_and_min_p_keep_the_likeliest_and_their_proportions(
    sampling: Sampling, kept: str
) -> None:
    shares = {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05}
    counts = drawn(sampling, probable(**shares))
    assert set(counts) == set(kept)
    total = sum(shares[char] for char in kept)
    for char in kept:
        share = shares[char] / total
        deviation = np.sqrt(share * (1 - share) / 1500)
        assert abs(counts[char] / 1500 - share) <= 4 * deviation


def test_the_grammar_chooses_within_the_nucleus_where_it_can() -> None:
    scores = probable(z=0.5, a=0.25, b=0.2, c=0.05)
    assert set(drawn(Sampling(1.0, top_p=0.9), scores, "root ::= [abc]")) == {"a", "b"}


def test_where_the_grammar_refuses_the_nucleus_the_likeliest_it_allows_are_kept() -> None:
    scores = probable(z=0.9, a=0.06, b=0.03, c=0.01)
    assert set(drawn(Sampling(1.0, top_p=0.6), scores, "root ::= [abc]")) == {"a"}
    assert set(drawn(Sampling(1.0, min_p=0.4), scores, "root ::= [abc]")) == {"a", "b"}


def test_a_nucleus_wider_than_what_is_sorted_first() -> None:
    flat = np.zeros(4096, dtype=np.float32)
    flat[7] = 1.0
    chosen = {
        Sampler(Sampling(1.0, seed, top_p=0.9)).choose(flat, None, frozenset())
        for seed in range(200)
    }
    assert len(chosen) > 100
    assert max(chosen) > 1024


@given(st.integers(0, 2**32), st.floats(0.05, 1.0), st.floats(0.0, 0.5))
def test_a_nucleus_is_that_of_a_plain_sort(seed: int, top_p: float, min_p: float) -> None:
    scores = np.random.default_rng(seed).normal(0, 3, 900).astype(np.float32)
    shares = np.exp(scores.astype(np.float64))
    shares /= shares.sum()
    order = np.argsort(-shares)
    size = int(np.searchsorted(np.cumsum(shares[order]), top_p)) + 1
    kept = {int(i) for i in order[:size] if shares[i] >= min_p * shares.max() * (1 - 1e-6)}
    sampler = Sampler(Sampling(2.0, seed, top_p, min_p))
    assert sampler.choose(scores, None, frozenset()) in kept


def test_open_top_p_and_min_p_change_no_draw() -> None:
    rows = np.random.default_rng(3).normal(0, 2, (30, SIZE)).astype(np.float32)
    plain, filtered = Sampler(Sampling(0.7, 5)), Sampler(Sampling(0.7, 5, 1.0, 0.0))
    narrow = Sampler(Sampling(0.7, 5, 0.3))
    chosen = [plain.choose(row, None, ENDS) for row in rows]
    assert chosen == [filtered.choose(row, None, ENDS) for row in rows]
    assert chosen != [narrow.choose(row, None, ENDS) for row in rows]


def test_a_known_best_token_is_taken_and_the_grammar_still_rules() -> None:
    scores = logits(z=9.0, b=2.0, a=1.0)
    unread = np.full(SIZE, np.nan, dtype=np.float32)
    sampler = Sampler(Sampling())
    assert sampler.greedy
    assert sampler.choose(unread, None, ENDS, best=ord("z")) == ord("z")
    assert sampler.choose(scores, letters(), ENDS, best=ord("z")) == ord("b")


def test_a_known_best_token_decides_nothing_at_a_temperature() -> None:
    def chosen(best: int | None) -> list[int]:
        sampler = Sampler(Sampling(1.0, 4))
        row = np.zeros(SIZE, dtype=np.float32)
        return [sampler.choose(row, None, ENDS, best=best) for _ in range(9)]

    assert not Sampler(Sampling(1.0)).greedy
    assert chosen(5) == chosen(None)
