"""CelebA's layout: read as supplied, and every defect named with its remedy."""

import numpy as np
import pytest
from PIL import Image

from papers.partial_fairness.datasets import celeba, drawn_faces
from papers.partial_fairness.datasets.image_folder import ATTRIBUTES, IMAGES, PARTITION
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError
from reproduction.datasets.splits import make_split


@pytest.fixture
def folder(tmp_path):
    """A folder that looks like CelebA: six photographs, 178 x 218 pixels."""
    (tmp_path / IMAGES).mkdir()
    rows = []
    for number in range(6):
        pixels = np.full((218, 178, 3), 40 * number, np.uint8)
        pixels[:20] = 255  # outside the central square
        Image.fromarray(pixels).save(tmp_path / IMAGES / f"{number:06d}.jpg")
        rows.append(f"{number:06d}.jpg {'1' if number % 2 else '-1'}  -1 {'1' if number < 3 else '-1'}")
    (tmp_path / ATTRIBUTES).write_text("\n".join(["6", "Attractive Bald Male", *rows]) + "\n")
    (tmp_path / PARTITION).write_text("\n".join(f"{number:06d}.jpg {number % 3}" for number in range(6)) + "\n")
    return tmp_path


def read(folder, **options):
    return celeba.load(folder, folder=str(folder), **options)


def test_photographs_are_cropped_scaled_and_labelled(folder):
    data = read(folder, size=16)
    assert data.image_shape == (3, 16, 16) and data.group_names == ("Female", "Male")
    assert data.y.tolist() == [-1, 1, -1, 1, -1, 1] and data.group.tolist() == [1, 1, 1, 0, 0, 0]
    assert data.partition.tolist() == [0, 0, 1, 0, 0, 1]
    levels = data.X.batch(np.arange(6)).reshape(6, -1)
    assert (np.abs(levels.mean(axis=1) - 40 * np.arange(6)) < 2).all(), "the bright rim is outside the central square"
    assert read(folder, size=16, label="Bald", group="Attractive").group_names == ("not Attractive", "Attractive")


def test_the_pixels_are_mapped_from_the_table(folder, tmp_path):
    data = read(folder, size=16)
    data.save(tmp_path / "table.npz")
    assert np.array_equal(Dataset.load(tmp_path / "table.npz").X.array(), data.X.array())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / IMAGES / "000004.jpg").unlink(), "1 of 6 listed images are missing, the first is 000004.jpg"),
        (lambda f: (f / IMAGES / "000002.jpg").write_bytes(b"no image"), "000002.jpg: not a readable image"),
        (lambda f: cut(f / IMAGES / "000003.jpg"), "000003.jpg: not a readable image"),
        (lambda f: (f / ATTRIBUTES).unlink(), "list_attr_celeba.txt: cannot be read"),
        (lambda f: edit(f / ATTRIBUTES, "6\n", "7\n"), "says 7 images and lists 6"),
        (lambda f: edit(f / ATTRIBUTES, "000001.jpg 1", "000001.jpg 0"), "line 4: not a name and 3 values -1 or 1"),
        (lambda f: edit(f / ATTRIBUTES, "000001.jpg", "../000001.jpg"), "not a bare file name"),
        (lambda f: edit(f / PARTITION, "000001.jpg 1\n", ""), "no part 0, 1 or 2 for 000001.jpg"),
        (lambda f: (f / IMAGES).rename(f / "elsewhere"), "unpack the aligned images"),
    ],
)
def test_defects_of_the_folder_are_named(folder, damage, message):
    damage(folder)
    with pytest.raises(DataError, match=message):
        read(folder, size=16)


def cut(path):
    path.write_bytes(path.read_bytes()[:500])


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_wrong_options_are_named(folder, tmp_path):
    with pytest.raises(DataError, match="no attribute 'attractive'; did you mean 'Attractive'"):
        read(folder, label="attractive")
    with pytest.raises(ConfigError, match="size is 4"):
        read(folder, size=4)
    with pytest.raises(DataError, match=r"datasets\.celeba\.folder"):
        celeba.load(tmp_path)
    with pytest.raises(ConfigError, match="at least 10"):
        drawn_faces.load(images=3)


def test_drawn_faces_are_reproducible_and_have_the_planted_difference():
    data, again = (drawn_faces.load(images=600, size=16) for _ in range(2))
    assert np.array_equal(data.X.array(), again.X.array()) and np.array_equal(data.y, again.y)
    assert not np.array_equal(data.X.array(), drawn_faces.load(images=600, size=16, seed=1).X.array())
    rates = [np.mean(data.y[data.group == code] > 0) for code in (0, 1)]
    assert 0.15 < rates[1] - rates[0] < 0.4
    assert abs(np.mean(data.group) - drawn_faces.SHARE_LONG) < 0.07
    split = make_split(data, 0)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [360, 120, 120]


def test_the_mouth_bends_with_the_latent_number_and_hair_covers_with_the_group():
    def face(bend, long_hair):
        stream = np.random.default_rng(0)
        return drawn_faces.draw(np.full(200, bend), np.full(200, long_hair), 32, stream).mean(axis=0)

    changed = np.abs(face(2.0, False) - face(-2.0, False)).sum(axis=2)
    assert changed[17:28, 8:24].sum() > 0.95 * changed.sum() > 0, "only the mouth depends on the latent number"
    assert not changed[:16].any() and not changed[29:].any()
    hair = np.abs(face(0.0, True) - face(0.0, False)).sum(axis=2)
    assert hair[20:, :].sum() > 0.8 * hair.sum() and hair[20:, 12:20].sum() < 0.1 * hair.sum()
