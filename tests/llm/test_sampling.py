import numpy as np
import numpy.typing as npt
import pytest

from arigraph_local.llm.engine import Sampling
from arigraph_local.llm.grammar import Constraint, byte_grammars
from arigraph_local.llm.sampling import Sampler
from arigraph_local.llm.threads import physical_cores

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
