import pytest

from arigraph_local.llm.engine import TokenCounts
from arigraph_local.llm.ledger import Ledger


def test_adds_up_by_task_and_in_total() -> None:
    ledger = Ledger()
    ledger.add("extract", TokenCounts(100, 0, 20), 2.0)
    ledger.add("plan", TokenCounts(50, 10, 5), 0.5)
    ledger.add("extract", TokenCounts(10, 90, 30), 0.5)
    assert list(ledger.tasks) == ["extract", "plan"]
    assert ledger.tasks["extract"].calls == 2
    assert ledger.tasks["extract"].tokens == TokenCounts(110, 90, 50)
    assert ledger.tasks["extract"].tokens_per_second == pytest.approx(20.0)
    assert ledger.total.calls == 3
    assert ledger.total.tokens == TokenCounts(160, 100, 55)
    assert ledger.total.seconds == pytest.approx(3.0)


def test_replies_from_a_cache_are_counted_beside_the_others() -> None:
    ledger = Ledger()
    ledger.add("plan", TokenCounts(50, 10, 5), 0.5)
    ledger.add("plan", TokenCounts(), 0.0, cached=True)
    assert ledger.tasks["plan"].calls == 2
    assert ledger.total.cached == 1


def test_tasks_cannot_be_changed_from_outside() -> None:
    ledger = Ledger()
    ledger.add("act", TokenCounts(1, 1, 1), 1.0)
    with pytest.raises(TypeError):
        del ledger.tasks["act"]  # type: ignore[attr-defined]
