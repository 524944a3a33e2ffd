"""Reads "Human Activity Recognition Using Smartphones" (Anguita et al., ESANN 2013)."""

import io
import os
import zipfile

import numpy as np

WHERE = "https://archive.ics.uci.edu/dataset/240"


def people():
    """Return training and test rows of each of the 30 people, and the labels 0 to 5.

    The rows of UCI's train and test parts are merged, a client being a person. Every fourth
    row of a person is a test row. Returns a list of (x, y) for each.
    """
    path = os.path.join(os.environ.get("FEDSIM_DATA", "."), "har.zip")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"there is no {path}: download the archive from {WHERE}, name it har.zip, and set "
            "FEDSIM_DATA to its folder"
        )
    parts = []
    with zipfile.ZipFile(path) as archive:
        if "UCI HAR Dataset.zip" in archive.namelist():  # as UCI packs it now
            archive = zipfile.ZipFile(io.BytesIO(archive.read("UCI HAR Dataset.zip")))
        for part in ("train", "test"):
            columns = [
                np.fromstring(archive.read(f"UCI HAR Dataset/{part}/{name}_{part}.txt"), sep=" ")
                for name in ("X", "y", "subject")
            ]
            parts.append((columns[0].reshape(len(columns[1]), -1), *columns[1:]))
    x, label, person = (np.concatenate(column) for column in zip(*parts))
    train, test = [], []
    for k in np.unique(person):
        rows = np.flatnonzero(person == k)
        held = np.arange(len(rows)) % 4 == 3
        for split, chosen in ((train, rows[~held]), (test, rows[held])):
            split.append((x[chosen], label[chosen].astype(int) - 1))
    return train, test
