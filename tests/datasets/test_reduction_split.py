"""The split that regression by reduction is trained on."""

import numpy as np
from sklearn.model_selection import train_test_split

from papers.cross_paper.datasets import four_groups
from reproduction.datasets.stratified_splits import stratified_split


def test_the_reduction_is_trained_on_the_first_half_of_what_is_left_of_the_test_rows(tmp_path):
    data = four_groups.load(tmp_path, rows=400)
    rest, test = train_test_split(np.arange(400), stratify=data.group, random_state=3, test_size=0.2)
    train, unlabeled = train_test_split(rest, stratify=data.group[rest], random_state=3, train_size=0.5)
    made = stratified_split(data, 3, "reduction")
    for found, drawn in ((made.train, train), (made.validation, unlabeled), (made.test, test)):
        assert np.array_equal(found, np.sort(drawn))
