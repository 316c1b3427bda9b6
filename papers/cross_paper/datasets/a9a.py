"""a9a: the Adult census data, one-hot encoded and binned by LIBSVM.

The published columns 72 (Female) and 73 (Male) are exactly complementary; they become the group and
leave the features, so 121 of the 123 columns remain. All entries are 0 or 1: nothing is standardised.
"""

from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile, SplitRule

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_COLUMNS = 123
_FEMALE, _MALE = 71, 72  # 0-based

SPEC = DatasetSpec(
    name="a9a",
    title="a9a",
    groups="gender: 0 = Female, 1 = Male",
    label="+1 = yearly income above 50,000 dollars",
    interval=((0.05, 0.3),),
    files=(
        RawFile(
            name="a9a",
            sha256="f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
            md5="fb3596510d780aaf76a06dc721d49662",
            bytes=2_329_875,
            url=_URL + "a9a",
        ),
        RawFile(
            name="a9a.t",
            sha256="1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
            md5="f0bb16cf1ee3e80ff560e9d132ee647e",
            bytes=1_164_628,
            url=_URL + "a9a.t",
        ),
        RawFile(
            name="a9a_feature_map.csv",
            sha256="77ea3a137878c1e69bb4dce6268a63e3e7af66899a206efaf81c37a1b404bdc6",
            md5="92f5affbce383822f4a42d068bbbbae6",
            bytes=5_963,
            needed=False,
        ),
    ),
    split=SplitRule(0.9, 0.1, 0.0, published_test=True),
    n_rows=48_842,
    n_attributes=123,
    other_columns=2,
    licence="CC BY 4.0 (UCI Adult, of which this is an encoding)",
    citation="Becker and Kohavi, Adult, UCI Machine Learning Repository (1996); encoding: LIBSVM data sets",
)


def load(raw_dir: Path) -> Dataset:
    """Read the published training and test files.

    Args:
        raw_dir: the raw root; the files lie in ``raw_dir/a9a``.

    Returns:
        48,842 rows, 121 binary CSR features; ``partition`` is 0 for rows of ``a9a``, 1 for ``a9a.t``.

    Raises:
        DataError: a file is missing or not the LIBSVM encoding of Adult.
    """
    parts = [_read(SPEC.path(raw_dir, name)) for name in ("a9a", "a9a.t")]
    stacked = sparse.vstack([matrix for matrix, _ in parts], format="csc")
    keep = np.setdiff1d(np.arange(_COLUMNS), (_FEMALE, _MALE))
    names = column_names()
    return Dataset(
        X=sparse.csr_array(stacked[:, keep]),
        y=np.concatenate([y for _, y in parts]),
        group=stacked[:, [_MALE]].toarray().ravel().astype(np.int16),
        feature_names=tuple(names[column] for column in keep),
        group_names=("Female", "Male"),
        name=SPEC.name,
        partition=np.repeat(np.array([0, 1], np.int8), [len(y) for _, y in parts]),
    )


def column_names() -> tuple[str, ...]:
    """Return what each of the 123 published columns stands for, in order."""
    text = (
        resources.files("papers.cross_paper.datasets").joinpath("resources/a9a_columns.txt").read_text(encoding="utf-8")
    )
    return tuple(text.split("\n")[:_COLUMNS])


def _read(path: Path) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Read one LIBSVM file: features (n, 123) and labels in {-1, +1}."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels = load_svmlight_file(str(path), n_features=_COLUMNS, dtype=np.float32, zero_based=False)
    except ValueError as error:
        raise DataError(f"{path}: not a LIBSVM file with columns 1..{_COLUMNS} ({error}); fetch it again") from error
    X = sparse.csr_array(X)
    X.eliminate_zeros()  # some copies write "123:0"
    gender = X[:, [_FEMALE, _MALE]].sum(axis=1)
    wrong = np.flatnonzero(gender != 1)
    if wrong.size or (X.data != 1).any():
        where = f"row {wrong[0]} does not set exactly one of columns 72 and 73" if wrong.size else "an entry is not 1"
        raise DataError(f"{path}: {where}; this is not the published a9a encoding, fetch it again")
    return X, signed_labels(labels, path)


def signed_labels(labels: NDArray[np.floating], source: Path) -> NDArray[np.float64]:
    """Return labels as -1/+1; copies that carry 0/1 are mapped.

    Raises:
        DataError: the labels are neither -1/+1 nor 0/1.
    """
    found = set(np.unique(labels).tolist())
    if found <= {-1.0, 1.0}:
        return labels.astype(np.float64)
    if found <= {0.0, 1.0}:
        return 2.0 * labels.astype(np.float64) - 1.0
    raise DataError(f"{source}: labels {sorted(found)[:5]} are neither -1/+1 nor 0/1; fetch the file again")
