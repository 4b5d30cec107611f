"""Electricity Transformer Temperature: two years of a transformer's loads and oil temperature.

Zhou et al., Informer (2021). The protocol of that paper, as everybody compares by it: "months" of
30 days, 12 to train, 4 to validate, 4 to test, the rest unused; standardised by the training rows;
windows one row apart; a validation or test window may look back into the split before it. Every
window of the test split counts.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib.data import files
from course_lib.data.errors import DataError

EttName = Literal["ETTh1", "ETTm1"]
EttSplit = Literal["train", "valid", "test"]

COLUMNS = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
"""Useful and useless load, high, middle and low; and the oil temperature."""
_URL = "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/"
FILES: dict[EttName, files.RemoteFile] = {
    "ETTh1": files.RemoteFile(
        "ETTh1.csv",
        _URL + "ETTh1.csv",
        2_589_657,
        "sha256:f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066",
    ),
    "ETTm1": files.RemoteFile(
        "ETTm1.csv",
        _URL + "ETTm1.csv",
        10_360_719,
        "sha256:6ce1759b1a18e3328421d5d75fadcb316c449fcd7cec32820c8dafda71986c9e",
    ),
}
INTERVALS: dict[EttName, str] = {"ETTh1": "hourly", "ETTm1": "every 15 minutes"}
_ROWS_PER_HOUR: dict[EttName, int] = {"ETTh1": 1, "ETTm1": 4}
_MONTHS = {"train": (0, 12), "valid": (12, 16), "test": (16, 20)}
_HOURS_PER_MONTH = 30 * 24


@dataclass(frozen=True)
class Ett:
    """The whole series as read, R rows.

    ``dates`` ``(R,)`` are numpy ``datetime64[m]``, ``values`` ``(R, 7)`` float64 in ``COLUMNS``.
    """

    name: EttName
    dates: NDArray[np.datetime64]
    values: NDArray[np.float64]
    sha256: str

    def rows(self, split: EttSplit) -> slice:
        """The rows of a split: 8,640, 2,880 and 2,880 in ETTh1, four times as many in ETTm1."""
        if split not in _MONTHS:
            raise ValueError(f"split is {split!r}, wanted one of {', '.join(_MONTHS)}")
        month = _HOURS_PER_MONTH * _ROWS_PER_HOUR[self.name]
        first, last = _MONTHS[split]
        return slice(first * month, last * month)


@dataclass(frozen=True)
class Windows:
    """Every window of a split: what is read, what is to be forecast, and their times.

    ``x[i]`` is followed by ``y[i]``; both are standardised by the training rows. The tensors are
    views of one series, so they cost no memory until they are batched.

    Args:
        x, y: Inputs ``(N, seq_len, 7)`` and targets ``(N, pred_len, 7)``.
        x_time, y_time: Their time features, ``(N, seq_len, F)`` and ``(N, pred_len, F)``.
        mean, std: Of the training rows ``(7,)``.
    """

    x: Tensor
    y: Tensor
    x_time: Tensor
    y_time: Tensor
    mean: Tensor
    std: Tensor

    def __len__(self) -> int:
        return len(self.x)


def load_ett(name: EttName, download: bool = True, progress: bool = True) -> Ett:
    """Load a series, in the units of the file, from ``COURSE_DATA`` or the cache, or fetch it."""
    if name not in FILES:
        raise ValueError(f"name is {name!r}, wanted one of {', '.join(FILES)}")
    path = files.get(FILES[name], download, progress)
    dates, values = read_csv(path)
    return Ett(name, dates, values, files.sha256_of(path))


def read_csv(path: Path) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    """Read dates ``(R,)`` and ``COLUMNS``, in any order, ``(R, 7)`` from a CSV file.

    Raises:
        DataError: If a column is missing, or a value is missing, no number, or not finite; the
            message names the line.
    """
    remedy = "fetch the published file again"
    dates: list[str] = []
    values: list[list[float]] = []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [c for c in ("date", *COLUMNS) if c not in (reader.fieldnames or ())]
        if missing:
            raise DataError(f"column {', '.join(missing)} is missing", path, remedy)
        for row in reader:
            try:
                numbers = [float(row[column]) for column in COLUMNS]
                dates.append(str(np.datetime64(row["date"], "m")))
            except (TypeError, ValueError) as error:
                raise DataError(f"line {reader.line_num}: {error}", path, remedy) from error
            if not np.isfinite(numbers).all():
                column = COLUMNS[int(np.argmin(np.isfinite(numbers)))]
                raise DataError(
                    f"line {reader.line_num}: {column} is {row[column]}, not a finite number",
                    path,
                    remedy,
                )
            values.append(numbers)
    if not values:
        raise DataError("the file has no rows", path, remedy)
    return np.array(dates, "datetime64[m]"), np.array(values)


def time_features(dates: NDArray[np.datetime64], minutes: bool = False) -> Tensor:
    """Position in the day, week, month and year, each from -0.5 to 0.5.

    ``(R, 4)`` float32: hour, weekday (Monday first), day of month, day of year; ``(R, 5)`` with the
    position in the hour first, for data finer than an hour.

    Source: Zhou et al. (2021), the "timeF" encoding of the published code.
    """
    day = dates.astype("datetime64[D]")
    of_day = (dates - day).astype(int)
    # 1 January 1970 was a Thursday.
    weekday = (day.astype(int) + 3) % 7
    of_month = (day - dates.astype("datetime64[M]").astype("datetime64[D]")).astype(int)
    of_year = (day - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(int)
    features = [of_day // 60 / 23, weekday / 6, of_month / 30, of_year / 365]
    if minutes:
        features.insert(0, of_day % 60 / 59)
    return torch.from_numpy(np.stack(features, axis=-1) - 0.5).float()


def ett_windows(ett: Ett, split: EttSplit, seq_len: int, pred_len: int) -> Windows:
    """Cut a split into all its windows, one row apart.

    There are ``rows - pred_len + 1``, and ``rows - seq_len - pred_len + 1`` for the training split,
    which has nothing before it to look back into.

    Example:
        >>> [len(ett_windows(made_ett(), split, 24, 6)) for split in ("train", "test")]
        [8611, 2875]
    """
    if split not in get_args(EttSplit):
        raise ValueError(f"split is {split!r}, wanted one of {', '.join(_MONTHS)}")
    rows, train = ett.rows(split), ett.rows("train")
    start = rows.start if split == "train" else rows.start - seq_len
    if seq_len < 1 or pred_len < 1 or start < 0 or rows.stop - start < seq_len + pred_len:
        raise ValueError(
            f"no window of seq_len={seq_len} and pred_len={pred_len} fits into {split}, "
            f"rows {rows.start} to {rows.stop}"
        )
    if len(ett.values) < rows.stop:
        raise ValueError(f"{split} ends at row {rows.stop}, the series has {len(ett.values)}")
    mean, std = ett.values[train].mean(axis=0), ett.values[train].std(axis=0)
    # A column that never changes, such as a sensor that is stuck, stays as large as it is.
    std = np.where(np.ptp(ett.values[train], axis=0) > 0, std, 1.0)
    values = torch.from_numpy((ett.values[start : rows.stop] - mean) / std).float()
    times = time_features(ett.dates[start : rows.stop], minutes=_ROWS_PER_HOUR[ett.name] > 1)
    length = seq_len + pred_len
    # unfold puts the window's axis last: (N, features, length).
    both = values.unfold(0, length, 1).transpose(1, 2)
    both_times = times.unfold(0, length, 1).transpose(1, 2)
    return Windows(
        both[:, :seq_len],
        both[:, seq_len:],
        both_times[:, :seq_len],
        both_times[:, seq_len:],
        torch.from_numpy(mean).float(),
        torch.from_numpy(std).float(),
    )


def made_ett(seed: int = 0) -> Ett:
    """Make a series of the form of ETTh1, for a machine that doesn't have the real one.

    Each of the seven has a day and a week of its own, a level that wanders, and noise. It is good
    for seeing a program run, and says nothing about electricity. ``"generated"`` stands in the
    place of a checksum.
    """
    rng = np.random.default_rng(seed)
    rows, n = _MONTHS["test"][1] * _HOURS_PER_MONTH, len(COLUMNS)
    hour = np.arange(rows)
    level, shocks = np.zeros((rows, n)), rng.normal(0, 0.2, (rows, n))
    for row in range(1, rows):
        level[row] = 0.99 * level[row - 1] + shocks[row]
    phase, strength = rng.random((2, 1, n))
    day = (1 + strength) * np.sin(2 * np.pi * (hour[:, None] / 24 + phase))
    week = 0.5 * np.sin(2 * np.pi * hour[:, None] / 168)
    values = 10 + 3 * (level + day + week + rng.normal(0, 0.3, (rows, n)))
    start = np.datetime64("2016-07-01T00:00", "m")
    return Ett("ETTh1", start + hour * np.timedelta64(60, "m"), values, "generated")
