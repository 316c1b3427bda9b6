"""CelebA: 202,599 photographs of faces with attributes. The user supplies the folder; nothing is downloaded.

The terms allow non-commercial research only and forbid redistribution, so there is no mirror: obtain "Align&Cropped
Images", ``list_attr_celeba.txt`` and ``list_eval_partition.txt`` from the authors' page
(https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html) and unpack them into ``data/raw/celeba`` or a folder of your choice:

    celeba/img_align_celeba/000001.jpg ...    celeba/list_attr_celeba.txt    celeba/list_eval_partition.txt

The table holds the decoded pixels, 3 * size^2 bytes per image: 2.5 GB at 64 pixels, 10 GB at 128. Jobs map it from
the file and read one batch at a time.
"""

from pathlib import Path

from papers.partial_fairness.datasets.image_folder import read_folder
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec

MAPPED = True  # jobs map the table from its file

SPEC = DatasetSpec(
    name="celeba",
    title="CelebA",
    groups="0 = Female, 1 = Male (attribute Male)",
    label="attribute Attractive, as the publisher's annotators saw it; +1 = yes",
    interval=((0.2, 0.4),),
    n_rows=202_599,
    licence="non-commercial research only, no redistribution",
    citation="Liu, Luo, Wang and Tang, Deep Learning Face Attributes in the Wild, ICCV 2015",
)


def load(
    raw_dir: Path, folder: str | None = None, size: int = 64, label: str = "Attractive", group: str = "Male"
) -> Dataset:
    """Decode the images.

    Args:
        raw_dir: the raw root.
        folder: the supplied folder; by default ``celeba`` below the raw root.
        size: height and width in pixels that the central square of each image is scaled to.
        label, group: attributes.

    Raises:
        DataError: the folder, a list, an attribute or an image is missing or damaged.
    """
    where = Path(folder) if folder else SPEC.directory(raw_dir)
    if not where.is_dir():
        raise DataError(
            f"{where}: no such folder, and CelebA is not downloaded by this package; obtain it from the authors and "
            "give its path under datasets.celeba.folder (docs/deep.md says how)"
        )
    names = ("Female", "Male") if group == "Male" else None
    return read_folder(where, SPEC.name, size, label, group, names)
