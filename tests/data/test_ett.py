import numpy as np
import pytest
import torch

from course_lib.data import DataError, Ett, ett_windows, load_ett
from course_lib.data.ett import COLUMNS, FILES, made_ett, read_csv, time_features
from course_tests.refusals import refusals


def made(name="ETTh1", rows=None):
    per_hour = 1 if name == "ETTh1" else 4
    rows = rows or 17_420 * per_hour
    step = np.timedelta64(60 // per_hour, "m")
    dates = np.datetime64("2016-07-01T00:00", "m") + step * np.arange(rows)
    values = np.random.default_rng(0).normal(3.0, 2.0, (rows, 7)) + np.arange(rows)[:, None] / 1000
    return Ett(name, dates, values, "")


@pytest.mark.parametrize(("name", "factor"), [("ETTh1", 1), ("ETTm1", 4)])
def test_splits_are_twelve_four_and_four_months(name, factor):
    ett = made(name)
    sizes = [ett.rows(split).stop - ett.rows(split).start for split in ("train", "valid", "test")]
    assert sizes == [8640 * factor, 2880 * factor, 2880 * factor]
    assert ett.rows("train").stop == ett.rows("valid").start
    assert ett.rows("valid").stop == ett.rows("test").start


@pytest.mark.parametrize("pred_len", [1, 24, 168])
def test_every_window_of_the_test_split_is_kept(pred_len):
    windows = ett_windows(made(), "test", 96, pred_len)
    assert len(windows) == 2880 - pred_len + 1
    assert windows.x.shape == (2880 - pred_len + 1, 96, 7)
    assert windows.y.shape == (2880 - pred_len + 1, pred_len, 7)
    assert len(ett_windows(made(), "train", 96, pred_len)) == 8640 - 96 - pred_len + 1


def test_windows_hold_the_rows_they_should():
    ett = made()
    for split, first in (("train", 0), ("valid", 8640 - 96), ("test", 11_520 - 96)):
        windows = ett_windows(ett, split, 96, 24)
        for i in (0, 17, len(windows) - 1):
            rows = ett.values[first + i : first + i + 120]
            both = torch.cat([windows.x[i], windows.y[i]]) * windows.std + windows.mean
            torch.testing.assert_close(both, torch.from_numpy(rows).float(), atol=1e-4, rtol=1e-4)
    assert first + len(windows) - 1 + 120 == 14_400


def test_scaling_is_fitted_on_training_rows_alone():
    ett = made()
    changed = Ett(ett.name, ett.dates, ett.values.copy(), "")
    changed.values[8640:] *= 100
    a, b = ett_windows(ett, "test", 96, 24), ett_windows(changed, "test", 96, 24)
    assert torch.equal(a.mean, b.mean) and torch.equal(a.std, b.std)
    train = ett_windows(ett, "train", 96, 24)
    rows = torch.cat([train.x[:, 0], train.x[-1, 1:], train.y[-1]])
    assert len(rows) == 8640
    torch.testing.assert_close(rows.mean(0), torch.zeros(7), atol=1e-4, rtol=0)
    torch.testing.assert_close(rows.std(0, correction=0), torch.ones(7), atol=1e-4, rtol=0)


@pytest.mark.parametrize("rows", [slice(None), made().rows("train")])
def test_a_column_that_does_not_change_in_training_keeps_its_size(rows):
    ett = made()
    ett.values[rows, 3] = 0.1
    windows = ett_windows(ett, "test", 24, 6)
    test = ett.values[ett.rows("test"), 3]
    assert windows.std[3] == 1 and windows.y.isfinite().all()
    np.testing.assert_allclose(windows.y[0, :, 3], test[:6] - 0.1, atol=1e-6)


def test_time_features_by_hand():
    # A Monday, and the last minute of a leap year (a Saturday).
    dates = np.array(["2016-07-04T00:00", "2016-12-31T23:59"], "datetime64[m]")
    got = time_features(dates, minutes=True)
    expected = [
        [-0.5, -0.5, -0.5, 3 / 30 - 0.5, 185 / 365 - 0.5],
        [0.5, 0.5, 5 / 6 - 0.5, 0.5, 0.5],
    ]
    torch.testing.assert_close(got, torch.tensor(expected), atol=1e-6, rtol=0)
    assert torch.equal(time_features(dates), got[:, 1:])


test_what_does_not_fit_is_refused = refusals(
    (lambda: ett_windows(made(rows=12_000), "test", 96, 24), "the series has 12000"),
    (lambda: load_ett("ETTh9"), "'ETTh9'"),
    (lambda: ett_windows(made(), "dev", 96, 24), "'dev'"),
    (lambda: ett_windows(made(), "test", 0, 24), "seq_len=0 and pred_len=24"),
    (lambda: ett_windows(made(), "test", 96, 0), "seq_len=96 and pred_len=0"),
    (lambda: ett_windows(made(), "test", 96, 3000), "seq_len=96 and pred_len=3000"),
    (lambda: ett_windows(made(), "valid", 9000, 24), "seq_len=9000 and pred_len=24"),
)


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


HEADER = "date," + ",".join(COLUMNS)
ROW = "2016-07-01 00:00:00,1,2,3,4,5,6,7"


def test_columns_are_found_by_name(tmp_path):
    header = "OT,date," + ",".join(COLUMNS[:-1])
    path = write(tmp_path / "a.csv", [header, "7,2016-07-01 00:00:00,1,2,3,4,5,6"])
    dates, values = read_csv(path)
    assert values.tolist() == [[1, 2, 3, 4, 5, 6, 7]]
    assert dates.tolist() == np.array(["2016-07-01T00:00"], "datetime64[m]").tolist()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER.replace(",MULL", ""), ROW], "column MULL is missing"),
        ([HEADER, ROW, ROW.replace(",7", ",nan")], "line 3: OT is nan"),
        ([HEADER, ROW.replace(",1,", ",inf,")], "line 2: HUFL is inf"),
        ([HEADER, ROW.replace(",3,", ",,")], "line 2"),
        ([HEADER, ROW, ROW[:-2]], "line 3"),
        ([HEADER, ROW.replace("2016", "year")], "line 2"),
        ([HEADER], "no rows"),
        ([], "column date, HUFL"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, lines, message):
    path = write(tmp_path / "bad.csv", lines)
    with pytest.raises(DataError, match=message) as caught:
        read_csv(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("name", "rows", "last_date", "last"),
    [
        ("ETTh1", 17_420, "2018-06-26T19:00", 9.56700038909912),
        ("ETTm1", 69_680, "2018-06-26T19:45", 9.777999877929688),
    ],
)
def test_real_rows_first_and_last_values(course_data, name, rows, last_date, last):
    ett = load_ett(name)
    assert ett.values.shape == (rows, 7)
    assert str(ett.dates[0]) == "2016-07-01T00:00" and str(ett.dates[-1]) == last_date
    assert ett.values[0, [0, -1]].tolist() == [5.827000141143799, 30.5310001373291]
    assert ett.values[-1, -1] == last
    step = np.diff(ett.dates).astype(int)
    assert (step == (60 if name == "ETTh1" else 15)).all()
    assert f"sha256:{ett.sha256}" == FILES[name].checksum


def test_a_made_series_has_days_and_fits_all_splits():
    ett = made_ett(1)
    assert np.array_equal(ett.values, made_ett(1).values)
    assert not np.array_equal(ett.values, made_ett(2).values)
    windows = ett_windows(ett, "test", 96, 24)
    assert len(windows) == 2857 and windows.x.isfinite().all()
    day, half = (np.corrcoef(ett.values[:-n, 0], ett.values[n:, 0])[0, 1] for n in (24, 12))
    assert day > half + 0.1
