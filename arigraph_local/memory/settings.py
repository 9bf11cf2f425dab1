"""Settings of the world model. Defaults are the paper's where the paper gives one."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from arigraph_local.llm.grammar.grounding import Grounding
from arigraph_local.memory.triplet import normalise

T = TypeVar("T")

MemoryName = Literal[
    "arigraph",
    "full-history",
    "summary",
    "rag",
    "reflexion",
    "simulacra",
    "memgpt",
    "temporal-kg",
    "hipporag",
    "none",
    "oracle-graph",
]


class MemorySettings(BaseModel):
    """Extraction, retiring, entities, search, and what they run on.

    `name` is the memory that the agent plays with: AriGraph, or one to compare it with. `retrieved`
    is how many texts `rag`, `simulacra` and `memgpt` recall, `found_facts` how many facts
    `temporal-kg` and `hipporag`. `lessons` are what `reflexion` has from earlier attempts, oldest
    first. `graph_noise` is the share of facts that `oracle-graph` learns wrongly or not at all. All
    other settings are AriGraph's, and of memories that build a graph as it does.
    `width` and `depth` are w and d of Algorithm 2, `episodes` is k of Algorithm 1; a query with
    a relevance of its own brings its own depth.
    Without `semantic`, triplets lead to episodes but are not shown themselves.
    `similarity` compares texts by `cosine`, or by the `dot` product of the vectors as the model
    gives them, as the paper does with Contriever. `threshold` is the least similarity of a found
    triplet; None: the embedder's own calibration (the paper's 0.75 is for Contriever).
    `ranking` `hybrid` finds triplets by their words (BM25) too, which the paper does not.
    `embed_batch` texts go through the embedder together: more are faster, but then the last bits
    of a vector depend on its company, and a resumed run may differ from a whole one.
    `structural_guard` lets a fact be retired only by one that gives the same thing another
    place or another exclusive state; without it the model's word is taken.
    `max_empty_extractions` ends a run whose model extracts nothing that many times in a row
    (0: never).
    `merge_entities` takes a new name for a known entity if the two are spelt alike
    (`merge_ratio`, 0 to 1) and mean the same to the embedder (`merge_similarity`, a cosine);
    names in `keep_apart` are never merged. The paper compares names as they are.
    `grounding` limits what an extracted triplet can name: `entities` to words of the observation,
    known names and directions, `entities+relations` also its relation to a list. `no_repeats`
    makes the model go on or end where it would write a triplet twice. Both are off in the paper.
    `store` is the graph database that a run keeps its graph in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: MemoryName = "arigraph"
    retrieved: int = Field(default=5, ge=1, le=1000)
    found_facts: int = Field(default=15, ge=1, le=1000)
    lessons: tuple[str, ...] = ()
    graph_noise: float = Field(default=0.0, ge=0.0, le=1.0)
    width: int = Field(default=6, ge=1, le=1000)
    depth: int = Field(default=1, ge=1, le=10)
    episodes: int = Field(default=2, ge=0, le=100)
    semantic: bool = True
    similarity: Literal["cosine", "dot"] = "cosine"
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    ranking: Literal["embedding", "hybrid"] = "embedding"
    embed_batch: int = Field(default=1, ge=1, le=1024)
    grounding: Grounding = "none"
    no_repeats: bool = False
    max_triplets: int = Field(default=16, ge=1, le=100)
    max_known_names: int = Field(default=24, ge=0, le=500)
    max_candidates: int = Field(default=20, ge=1, le=500)
    structural_guard: bool = True
    detect_outdated: bool = True
    max_empty_extractions: int = Field(default=20, ge=0)
    merge_entities: bool = False
    merge_similarity: float = Field(default=0.8, ge=-1.0, le=1.0)
    merge_ratio: float = Field(default=0.85, ge=0.0, le=1.0)
    keep_apart: tuple[str, ...] = ()
    store: Literal["kuzu", "ladybug"] = "kuzu"

    @field_validator("threshold")
    @classmethod
    def _within_cosine(cls, threshold: float | None, info: ValidationInfo) -> float | None:
        """A cosine lies between -1 and 1; a dot product has no bounds."""
        cosine = info.data.get("similarity") == "cosine"
        if cosine and threshold is not None and not -1.0 <= threshold <= 1.0:
            raise ValueError("a cosine threshold lies between -1 and 1")
        return threshold

    @field_validator("lessons", "graph_noise")
    @classmethod
    def _of_its_memory(cls, value: T, info: ValidationInfo) -> T:
        """A setting that does nothing for another memory is a mistake."""
        whose = {"lessons": "reflexion", "graph_noise": "oracle-graph"}[info.field_name or ""]
        if value and info.data.get("name") not in (whose, None):
            raise ValueError(f"only the memory {whose} has it")
        return value

    @field_validator("keep_apart")
    @classmethod
    def _normalised(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names are kept apart in the form in which the graph has them."""
        found = tuple(dict.fromkeys(map(normalise, names)))
        if "" in found:
            raise ValueError("a name is empty")
        return found
