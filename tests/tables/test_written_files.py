"""Files that are written whole."""

import threading

import numpy as np
import pytest

from partialfair.data.files import atomic_path, is_sealed, read_json, sealed, write_json


def test_threads_of_one_process_do_not_share_a_temporary_file(tmp_path):
    """Both are open at once; the file is what the last of them wrote, whole."""
    target, ready = tmp_path / "a.txt", threading.Barrier(2)
    faults = []

    def write(letter):
        try:
            with atomic_path(target) as path, path.open("w") as stream:
                ready.wait()
                for _ in range(1000):
                    stream.write(letter)
                    stream.flush()
                ready.wait()
        except Exception as error:  # a thread's exception is not the test's
            faults.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and target.read_text() in ("a" * 1000, "b" * 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_numbers_of_numpy_are_written_as_plain_ones(tmp_path):
    content = sealed({"steps": np.int64(3), "rate": np.float32(0.5), "grid": np.arange(2), "all": [np.bool_(True)]})
    write_json(tmp_path / "a.json", content)
    again = read_json(tmp_path / "a.json")
    assert again["steps"] == 3 and again["rate"] == 0.5 and again["grid"] == [0, 1] and again["all"] == [True]
    assert is_sealed(again)
    with pytest.raises(TypeError, match="is a set, which has no form in JSON"):
        write_json(tmp_path / "b.json", {"names": {1}})
    assert not (tmp_path / "b.json").exists()
