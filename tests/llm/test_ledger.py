import json

import pytest

from arigraph_local.llm.engine import Completion, StopReason, TokenCounts
from arigraph_local.llm.ledger import Ledger


def completion(computed: int, reused: int, generated: int, seconds: float) -> Completion:
    counts = TokenCounts(computed, reused, generated)
    return Completion("text", "prompt", counts, seconds, StopReason.END)


def test_adds_up_by_task_and_in_total() -> None:
    ledger = Ledger()
    ledger.add("extract", completion(100, 0, 20, 2.0))
    ledger.add("plan", completion(50, 10, 5, 0.5))
    ledger.add("extract", completion(10, 90, 30, 0.5))
    assert list(ledger.tasks) == ["extract", "plan"]
    assert ledger.tasks["extract"].calls == 2
    assert ledger.tasks["extract"].tokens == TokenCounts(110, 90, 50)
    assert ledger.tasks["extract"].tokens_per_second == pytest.approx(20.0)
    assert ledger.total.calls == 3
    assert ledger.total.tokens == TokenCounts(160, 100, 55)
    assert ledger.total.seconds == pytest.approx(3.0)


def test_record_is_plain_json() -> None:
    ledger = Ledger()
    assert ledger.as_record()["total"] == {
        "calls": 0,
        "computed": 0,
        "reused": 0,
        "generated": 0,
        "seconds": 0.0,
        "tokens_per_second": 0.0,
    }
    ledger.add("act", completion(8, 2, 4, 0.5))
    expected = {
        "calls": 1,
        "computed": 8,
        "reused": 2,
        "generated": 4,
        "seconds": 0.5,
        "tokens_per_second": 8.0,
    }
    assert json.loads(json.dumps(ledger.as_record())) == {
        "tasks": {"act": expected},
        "total": expected,
    }


def test_tasks_cannot_be_changed_from_outside() -> None:
    ledger = Ledger()
    ledger.add("act", completion(1, 1, 1, 1.0))
    with pytest.raises(TypeError):
        del ledger.tasks["act"]  # type: ignore[attr-defined]
