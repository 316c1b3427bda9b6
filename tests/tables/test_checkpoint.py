"""State of a long fit: whole, of the same key, or not taken up."""

import numpy as np

from partialfair.data.checkpoint import Checkpoint


def test_state_is_taken_up_under_its_key_only(tmp_path):
    path = tmp_path / "run" / "checkpoint.npz"
    assert Checkpoint(path, "a").load() is None
    Checkpoint(path, "a").save({"x": np.arange(3.0), "n": np.array(4)})
    assert Checkpoint(path, "b").load() is None
    state = Checkpoint(path, "a").load()
    assert state is not None and set(state) == {"x", "n"} and np.array_equal(state["x"], np.arange(3.0))
    Checkpoint(path, "a").discard()
    assert not path.exists()
    Checkpoint(path, "a").discard()


def test_a_damaged_state_is_no_state_and_leaves_no_litter(tmp_path):
    path = tmp_path / "checkpoint.npz"
    Checkpoint(path, "a").save({"x": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:300])
    assert Checkpoint(path, "a").load() is None
    Checkpoint(path, "a").save({"x": np.zeros(10)})
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_pickled_objects_are_not_loaded(tmp_path):
    path = tmp_path / "checkpoint.npz"
    Checkpoint(path, "a").save({"x": np.zeros(1)})
    arrays = dict(np.load(path))
    np.savez(path, **arrays, bad=np.array([{}], dtype=object))
    assert Checkpoint(path, "a").load() is None


def test_a_bit_that_is_not_as_it_was_is_no_state(tmp_path):
    """Of a compressed archive, a changed bit can raise what neither NumPy nor its documentation names."""
    path = tmp_path / "checkpoint.npz"
    Checkpoint(path, "a").save({"x": np.arange(50.0)})
    np.savez_compressed(path, **dict(np.load(path)))
    whole, expected = path.read_bytes(), np.arange(50.0)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        state = Checkpoint(path, "a").load()
        assert state is None or "x" not in state or np.array_equal(state["x"], expected), place
