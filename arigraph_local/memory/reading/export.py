"""The graph as a file: JSON, GraphML, or CSV for Neo4j."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from arigraph_local.errors import RunError, UsageError
from arigraph_local.memory.graph.store import Episode, Fact, Interval, Store
from arigraph_local.memory.reading.networks import intervals_by, mentions_by, network_of

Row = tuple[object, ...]

# XML 1.0 has no way to write the others, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export_graph(store: Store, path: Path, step: int | None) -> list[Path]:
    """Write the graph as of `step` in the format that the suffix names; see `GraphView.export`."""
    write = _FORMATS.get(path.suffix.lower())
    if write is None:
        raise UsageError(
            f"{path}: no format has the suffix '{path.suffix}': use {', '.join(_FORMATS)}"
        )
    files = write(store, path, step)
    _write_all(files)
    return list(files)


def _json(store: Store, path: Path, step: int | None) -> dict[Path, bytes]:
    facts = [
        {
            "id": fact.id,
            "subject": fact.triplet.subject,
            "relation": fact.triplet.relation,
            "object": fact.triplet.object,
            "current": intervals[-1].end is None,
            "intervals": [vars(interval) for interval in intervals],
        }
        for fact, intervals in _facts(store, step)
    ]
    episodes = [
        {"step": episode.step, "text": episode.text, "facts": sorted(episode.fact_ids)}
        for episode in _episodes(store, step)
    ]
    graph = {"version": 1, "step": step, "facts": facts, "episodes": episodes}
    return {path: (json.dumps(graph, ensure_ascii=False, indent=1) + "\n").encode()}


def _graphml(store: Store, path: Path, step: int | None) -> dict[Path, bytes]:
    import networkx  # type: ignore[import-untyped, unused-ignore]

    source = network_of(store, step)
    # Numbers as ids: two names may differ in nothing but what XML cannot hold.
    number = {name: f"n{index}" for index, name in enumerate(source)}
    graph = networkx.MultiDiGraph()
    for name, node in number.items():
        graph.add_node(node, name=_xml(name))
    for subject, object_, fact_id, data in source.edges(keys=True, data=True):
        graph.add_edge(
            number[subject],
            number[object_],
            key=str(fact_id),
            fact=fact_id,
            relation=_xml(data["relation"]),
            since=data["since"],
            steps=" ".join(map(str, data["steps"])),
        )
    text = io.BytesIO()
    networkx.write_graphml_xml(graph, text)
    return {path: text.getvalue()}


def _neo4j(store: Store, path: Path, step: int | None) -> dict[Path, bytes]:
    """Facts are nodes, as episodes point to them; a relationship joins the entities of each fact
    that is true, so that Neo4j shows the graph as the paper draws it.
    """
    nodes, relationships = list(_nodes(store, step)), list(_relationships(store, step))
    node_header = (
        *("id:ID", ":LABEL", "name", "relation", "current:boolean", "starts:int[]"),
        *("ends:int[]", "step:int", "text"),
    )
    relationship_header = (":START_ID", ":END_ID", ":TYPE", "relation", "step:int", "reason")
    return {
        path.with_name(f"{path.stem}.nodes.csv"): _csv([node_header, *nodes]),
        path.with_name(f"{path.stem}.relationships.csv"): _csv(
            [relationship_header, *relationships]
        ),
    }


def _nodes(store: Store, step: int | None) -> Iterator[Row]:
    for name, number in _entities(store, step).items():
        yield f"e{number}", "Entity", name, "", "", "", "", "", ""
    for fact, intervals in _facts(store, step):
        current = str(intervals[-1].end is None).lower()
        starts = ";".join(str(interval.start) for interval in intervals)
        ends = ";".join(str(interval.end) for interval in intervals if interval.end is not None)
        relation = fact.triplet.relation
        yield f"f{fact.id}", "Fact", "", relation, current, starts, ends, "", ""
    for episode in _episodes(store, step):
        yield f"s{episode.step}", "Episode", "", "", "", "", "", episode.step, episode.text


def _relationships(store: Store, step: int | None) -> Iterator[Row]:
    numbers = _entities(store, step)
    for fact, intervals in _facts(store, step):
        subject, object_ = (f"e{numbers[name]}" for name in fact.triplet.entities)
        yield f"f{fact.id}", subject, "SUBJECT", "", "", ""
        yield f"f{fact.id}", object_, "OBJECT", "", "", ""
        if intervals[-1].end is None:
            yield subject, object_, "RELATES", fact.triplet.relation, intervals[-1].start, ""
        for interval in intervals:
            if interval.replaced_by is not None:
                by, reason = f"f{interval.replaced_by}", interval.reason or ""
                yield f"f{fact.id}", by, "RETIRED_BY", "", interval.end, reason
        for mention in mentions_by(store, fact, step):
            yield f"s{mention}", f"f{fact.id}", "MENTIONS", "", mention, ""


def _facts(store: Store, step: int | None) -> Iterator[tuple[Fact, list[Interval]]]:
    """Every fact learned by `step`, with its intervals as they were then."""
    ids = {fact_id for episode in _episodes(store, step) for fact_id in episode.fact_ids}
    for fact_id in sorted(ids):
        fact = store.fact(fact_id)
        yield fact, intervals_by(store, fact, step)


def _episodes(store: Store, step: int | None) -> list[Episode]:
    return [episode for episode in store.episodes() if step is None or episode.step <= step]


def _entities(store: Store, step: int | None) -> dict[str, int]:
    """The entities of the facts learned by `step`, numbered in that order."""
    names = (name for fact, _ in _facts(store, step) for name in fact.triplet.entities)
    return {name: number for number, name in enumerate(dict.fromkeys(names), start=1)}


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO(newline="")
    # Its own line ending, CRLF: with any other, a bare CR in a text would not be quoted.
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _write_all(files: dict[Path, bytes]) -> None:
    """Every file or none: each is written whole beside its place before the first is moved."""
    written: dict[Path, Path] = {}
    path = next(iter(files))
    try:
        for path, content in files.items():
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            written[path] = path.with_name(f".{path.name}.{os.getpid()}.part")
            written[path].write_bytes(content)
        for path, part in written.items():
            part.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        for part in written.values():
            part.unlink(missing_ok=True)


_FORMATS: dict[str, Callable[[Store, Path, int | None], dict[Path, bytes]]] = {
    ".json": _json,
    ".graphml": _graphml,
    ".csv": _neo4j,
}
