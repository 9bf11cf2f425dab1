"""Settings found fastest on a machine: kept, and used where the user leaves a setting open."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arigraph_local.errors import ModelFileError
from arigraph_local.llm.settings import EngineSettings
from arigraph_local.llm.tuned import FILE_NAME, Tuned, save_tuned, this_machine, with_tuned

FASTEST = Tuned(
    machine=this_machine(), model="tiny", threads=3, flash_attention="off", n_ubatch=128
)


def test_without_a_file_nothing_changes(tmp_path: Path) -> None:
    settings = EngineSettings()
    assert with_tuned(settings, "tiny", tmp_path / "none") is settings


def test_settings_left_open_are_taken(tmp_path: Path) -> None:
    save_tuned(tmp_path, FASTEST)
    found = with_tuned(EngineSettings(context=2048), "tiny", tmp_path)
    assert (found.threads, found.flash_attention, found.n_ubatch) == (3, "off", 128)
    assert found.context == 2048


def test_settings_of_the_user_stay(tmp_path: Path) -> None:
    save_tuned(tmp_path, FASTEST)
    found = with_tuned(EngineSettings(threads=1, flash_attention="auto"), "tiny", tmp_path)
    assert (found.threads, found.flash_attention, found.n_ubatch) == (1, "auto", 128)


@pytest.mark.parametrize(
    "settings",
    [EngineSettings(n_batch=64, n_ubatch=64), EngineSettings(kv_type="q8_0")],
)
def test_what_does_not_fit_the_users_settings_is_left_out(
    settings: EngineSettings, tmp_path: Path
) -> None:
    save_tuned(tmp_path, FASTEST)
    found = with_tuned(settings, "tiny", tmp_path)
    assert found == settings.model_copy(update={"threads": 3})
    EngineSettings.model_validate(found.model_dump())


@pytest.mark.parametrize(
    "settings", [EngineSettings(server="http://127.0.0.1:1"), EngineSettings(gpu_layers=-1)]
)
def test_what_computes_elsewhere_is_left_alone(settings: EngineSettings, tmp_path: Path) -> None:
    save_tuned(tmp_path, FASTEST)
    assert with_tuned(settings, "tiny", tmp_path) is settings


def test_other_machines_and_models_do_not_count(tmp_path: Path) -> None:
    save_tuned(tmp_path, FASTEST.model_copy(update={"machine": "another, 64 cores"}))
    save_tuned(tmp_path, FASTEST.model_copy(update={"model": "large"}))
    settings = EngineSettings()
    assert with_tuned(settings, "tiny", tmp_path) is settings


_TUNED = st.builds(
    Tuned,
    machine=st.sampled_from([this_machine(), "other", 'quoted "\\ name']),
    model=st.sampled_from(["tiny", "large", "/models/a b.gguf"]),
    threads=st.integers(1, 1024),
    flash_attention=st.sampled_from(["auto", "on", "off"]),
    n_ubatch=st.sampled_from([64, 128, 256, 512]),
)


@given(st.lists(_TUNED, min_size=1, max_size=6))
def test_the_last_of_each_machine_and_model_is_kept(
    tmp_path_factory: pytest.TempPathFactory, found: list[Tuned]
) -> None:
    folder = tmp_path_factory.mktemp("models")
    for one in found:
        save_tuned(folder, one)
    for model in ("tiny", "large", "/models/a b.gguf"):
        here = [one for one in found if (one.machine, one.model) == (this_machine(), model)]
        expected = EngineSettings()
        if here:
            expected = EngineSettings(**here[-1].model_dump(exclude={"machine", "model"}))
        assert with_tuned(EngineSettings(), model, folder) == expected
    assert [path.name for path in folder.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tuned = [", "not valid TOML"),
        ("[[tuned]]\nmachine = 'm'\n", r"tuned\.0\.model: Field required"),
        ("sort = 1", "sort: Extra inputs"),
    ],
)
def test_a_bad_file_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(ModelFileError, match=complaint) as raised:
        with_tuned(EngineSettings(), "tiny", tmp_path)
    assert str(tmp_path / FILE_NAME) in str(raised.value)
