"""The graph as JSON, GraphML and CSV for Neo4j: whole, of any step, of any text."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import networkx  # type: ignore[import-untyped, unused-ignore]
import pytest
from graphs import HELD, IN_BOX, travelling_key, triplet
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference_store import ReferenceStore

from arigraph_local.errors import RunError, UsageError
from arigraph_local.memory.graph.rebuilding import rebuild
from arigraph_local.memory.graph.store import StepChange
from arigraph_local.memory.reading.graph_view import GraphView
from arigraph_local.memory.triplet import Triplet, make_triplet

FORMATS = [".json", ".graphml", ".csv"]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_json_has_the_facts_with_their_intervals_and_the_episodes(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    assert GraphView(travelling_key()).export(path) == [path]
    graph = json.loads(path.read_text(encoding="utf-8"))
    (in_box, _, held) = graph["facts"]
    assert (in_box["subject"], in_box["relation"], in_box["object"]) == ("key", "is in", "box")
    assert [(i["start"], i["end"], i["replaced_by"]) for i in in_box["intervals"]] == [
        (1, 2, 3),
        (4, 7, 3),
    ]
    assert (in_box["current"], held["current"]) == (False, True)
    assert graph["episodes"][0] == {"step": 1, "text": "observation 1", "facts": [1, 2]}


def test_graphml_is_read_back_by_networkx_with_the_facts_that_are_true(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    GraphView(travelling_key()).export(path)
    graph = networkx.read_graphml(path, force_multigraph=True)
    names = networkx.get_node_attributes(graph, "name")
    edges = {
        (names[subject], data["relation"], names[object_]): (data["since"], data["steps"])
        for subject, object_, data in graph.edges(data=True)
    }
    assert edges == {
        ("key", "is in", "inventory"): (7, "2 7"),
        ("lamp", "is on", "table"): (1, "1 7"),
    }


def test_csv_has_the_headers_of_neo4j_and_every_end_of_a_relationship(tmp_path: Path) -> None:
    files = GraphView(travelling_key()).export(tmp_path / "graph.csv")
    assert [path.name for path in files] == ["graph.nodes.csv", "graph.relationships.csv"]
    nodes, relationships = map(rows, files)
    labels = {row["id:ID"]: row[":LABEL"] for row in nodes}
    ends = {
        "SUBJECT": ("Fact", "Entity"),
        "OBJECT": ("Fact", "Entity"),
        "MENTIONS": ("Episode", "Fact"),
        "RETIRED_BY": ("Fact", "Fact"),
        "RELATES": ("Entity", "Entity"),
    }
    assert {row[":TYPE"] for row in relationships} == set(ends)
    for row in relationships:
        assert (labels[row[":START_ID"]], labels[row[":END_ID"]]) == ends[row[":TYPE"]]
    (fact,) = [row for row in nodes if row["id:ID"] == "f1"]
    assert (fact["starts:int[]"], fact["ends:int[]"]) == ("1;4", "2;7")
    assert fact["current:boolean"] == "false"


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("step", [0, 1, 2, 5, 7])
def test_the_export_of_a_step_is_that_of_the_graph_then(
    tmp_path: Path, suffix: str, step: int
) -> None:
    whole = travelling_key()
    then = ReferenceStore()
    rebuild((change for change in whole.changes() if change.step <= step), then, fact=whole.fact)
    files = GraphView(whole).export(tmp_path / f"whole{suffix}", step=step)
    expected = GraphView(then).export(tmp_path / f"then{suffix}")
    for one, other in zip(files, expected, strict=True):
        text = one.read_text(encoding="utf-8")
        assert text.replace(f'"step": {step},\n "facts"', '"step": null,\n "facts"') == (
            other.read_text(encoding="utf-8")
        )


@pytest.mark.parametrize("name", ["graph.dot", "graph", "graph."])
def test_an_unknown_suffix_names_the_formats_there_are(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"\.json, \.graphml, \.csv"):
        GraphView(travelling_key()).export(tmp_path / name)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_folder_that_is_not_there_is_a_clear_error_and_leaves_nothing(
    tmp_path: Path, suffix: str
) -> None:
    with pytest.raises(RunError, match=r"missing/graph.*cannot be written"):
        GraphView(travelling_key()).export(tmp_path / "missing" / f"graph{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_of_two_files_none_is_written_if_one_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "graph.relationships.csv").mkdir()
    with pytest.raises(RunError, match=r"graph\.relationships\.csv: cannot be written"):
        GraphView(travelling_key()).export(tmp_path / "graph.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.relationships.csv"]


def test_what_was_there_is_replaced_by_the_whole_new_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("old", encoding="utf-8")
    GraphView(travelling_key()).export(path)
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 1
    assert list(tmp_path.iterdir()) == [path]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.text(min_size=1)] * 3), max_size=4), st.text())
@example([("a", "is", "b")], "\r")
@example([("a\x00", 'is "x"', "b\n,")], '\n\r"')
def test_any_text_comes_back_from_json_and_csv_and_does_not_break_graphml(
    tmp_path_factory: pytest.TempPathFactory, items: list[tuple[str, str, str]], text: str
) -> None:
    learned = [made for item in items if (made := make_triplet(*item)) is not None]
    store = ReferenceStore()
    store.apply(StepChange(1, text, learned))
    view, folder = GraphView(store), tmp_path_factory.mktemp("export")
    (as_json,) = view.export(folder / "graph.json")
    graph = json.loads(as_json.read_bytes())
    told = {Triplet(row["subject"], row["relation"], row["object"]) for row in graph["facts"]}
    assert (told, graph["episodes"][0]["text"]) == (set(learned), text)
    nodes, _ = map(rows, view.export(folder / "graph.csv"))
    named = {row["name"] for row in nodes if row[":LABEL"] == "Entity"}
    assert named == {name for made in learned for name in made.entities}
    assert [row["text"] for row in nodes if row[":LABEL"] == "Episode"] == [text]
    (graphml,) = view.export(folder / "graph.graphml")
    edges = ElementTree.parse(graphml).getroot().iter("{http://graphml.graphdrawing.org/xmlns}edge")
    assert len(list(edges)) == len(set(learned))


def test_names_that_differ_in_a_control_character_stay_two_nodes(tmp_path: Path) -> None:
    store = ReferenceStore()
    store.apply(StepChange(1, "", [Triplet("a\x00b", "is near", "a\x01b"), triplet(HELD)]))
    (path,) = GraphView(store).export(tmp_path / "graph.graphml")
    graph = networkx.read_graphml(path)
    assert sorted(networkx.get_node_attributes(graph, "name").values()) == [
        "a\N{REPLACEMENT CHARACTER}b",
        "a\N{REPLACEMENT CHARACTER}b",
        "inventory",
        "key",
    ]
    assert IN_BOX not in path.read_text(encoding="utf-8")
