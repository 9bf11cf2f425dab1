"""Settings of the world model. Defaults are the paper's where the paper gives one."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class MemorySettings(BaseModel):
    """Extraction, retiring and search.

    `width` and `depth` are w and d of Algorithm 2, `episodes` is k of Algorithm 1; a query with
    a relevance of its own brings its own depth.
    `threshold` None: the embedder's own calibration (the paper's 0.75 is for Contriever).
    `structural_guard` lets a fact be retired only by one that gives the same thing another
    place or another exclusive state; without it the model's word is taken.
    `max_empty_extractions` ends a run whose model extracts nothing that many times in a row
    (0: never).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(default=6, ge=1, le=1000)
    depth: int = Field(default=1, ge=1, le=10)
    episodes: int = Field(default=2, ge=0, le=100)
    threshold: float | None = Field(default=None, ge=-1.0, le=1.0)
    max_triplets: int = Field(default=16, ge=1, le=100)
    max_known_names: int = Field(default=24, ge=0, le=500)
    max_candidates: int = Field(default=20, ge=1, le=500)
    structural_guard: bool = True
    detect_outdated: bool = True
    max_empty_extractions: int = Field(default=20, ge=0)
