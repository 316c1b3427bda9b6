"""Files that are written whole."""

import threading

from partialfair.tables.files import atomic_path


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
