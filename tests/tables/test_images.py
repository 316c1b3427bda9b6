"""Images as rows: pixels stay in the file, rows are chosen without copying them."""

import dataclasses
import zipfile

import numpy as np
import pytest

from partialfair.algorithms.contract import unsuitable
from partialfair.data.dataset import Dataset
from partialfair.data.images import ImageRows, map_member
from partialfair.errors import DataError

SHAPE = (3, 4, 5)


@pytest.fixture
def data():
    stream = np.random.default_rng(0)
    pixels = stream.integers(0, 256, (10, 60), dtype=np.uint8)
    return Dataset(
        X=ImageRows.of_pixels(pixels, SHAPE),
        y=np.tile([-1.0, 1.0], 5),
        group=np.repeat([0, 1], 5).astype(np.int16),
        feature_names=(),
        group_names=("a", "b"),
        name="pictures",
    )


def test_a_stored_table_of_images_is_mapped_not_read(data, tmp_path):
    data.save(tmp_path / "table.npz")
    again = Dataset.load(tmp_path / "table.npz")
    assert isinstance(again.X.pixels, np.memmap) and again.image_shape == SHAPE
    assert np.array_equal(again.X.pixels, data.X.pixels) and again.n_features == 60 and again.n_rows == 10
    with pytest.raises(ValueError, match="read-only"):
        again.X.pixels[0, 0] = 1


def test_choosing_rows_shares_the_pixels_and_batches_keep_the_order(data):
    part = data.take(np.array([7, 2, 5]))
    assert part.X.pixels is data.X.pixels and part.X.shape == (3, 60)
    batch = part.X.batch(np.array([2, 0, 0]))
    assert batch.shape == (3, *SHAPE)
    assert np.array_equal(batch.reshape(3, -1), data.X.pixels[[5, 7, 7]])
    assert np.array_equal(part.X.array(), data.X.pixels[[7, 2, 5]])


def test_a_part_is_saved_as_its_own_rows(data, tmp_path):
    data.take(np.array([3, 1])).save(tmp_path / "part.npz")
    assert np.array_equal(Dataset.load(tmp_path / "part.npz").X.pixels, data.X.pixels[[3, 1]])


def test_pixels_that_do_not_fit_the_shape_are_refused():
    with pytest.raises(DataError, match=r"need \(n, 60\) bytes"):
        ImageRows.of_pixels(np.zeros((2, 61), np.uint8), SHAPE)
    with pytest.raises(DataError, match="float64"):
        ImageRows.of_pixels(np.zeros((2, 60)), SHAPE)


def test_damaged_and_compressed_files_are_refused(data, tmp_path):
    path = tmp_path / "table.npz"
    data.save(path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(DataError, match="not a readable table"):
        Dataset.load(path)
    np.savez_compressed(path, X=np.zeros((2, 3), np.uint8))
    with pytest.raises(ValueError, match="compressed"):
        map_member(path, "X")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.npy", b"")
    with pytest.raises(KeyError):
        map_member(path, "X")


def test_linear_algorithms_say_that_they_cannot_read_images(data):
    reason = unsuitable(data)
    assert reason is not None and "images" in reason
    assert unsuitable(data, images=True) is None
    plain = dataclasses.replace(data, X=np.zeros((10, 1), np.float32), feature_names=("x",))
    assert unsuitable(plain) is None and plain.image_shape is None
