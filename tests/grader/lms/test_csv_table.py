"""A system's table, byte by byte."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.lms import csv_table

CELLS = st.text(alphabet=st.sampled_from('ab,;\t"\n é김.-'), max_size=6)


@settings(max_examples=200, deadline=None)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)
    ),
    quoted=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_it_reads_what_python_reads_and_writes_the_same_bytes(
    rows, quoted, end, encoding, tmp_path_factory
):
    rows = [[f"h{n}" for n in range(len(rows[0]) + 1)], *([*row, "x"] for row in rows)]
    text = io.StringIO()
    csv.writer(text, quoting=quoted, lineterminator=end).writerows(rows)
    path = tmp_path_factory.mktemp("sheet") / "list.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    read = csv_table.read(path)
    wanted = [[cell.strip() for cell in row] for row in rows]
    assert [read.values(n) for n in range(len(read.rows))] == wanted
    assert read.encoded(range(len(read.rows))) == path.read_bytes()


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "list.csv"
    path.write_bytes(text.encode(encoding))
    return csv_table.read(path)


def test_one_cell_is_changed_and_nothing_else(tmp_path):
    text = 'a;"b";c\r\n"x ""y""";"1";2\r\n="0";3;4'
    read = written(tmp_path, text)
    read.put(1, 1, "7,5")
    read.put(2, 2, "8")
    changed = 'a;"b";c\r\n"x ""y""";"7,5";2\r\n="0";3;8'
    assert read.encoded(range(3)) == changed.encode()
    assert read.encoded([0, 2]) == b'a;"b";c\r\n="0";3;8'
    assert read.values(2) == ["0", "3", "8"]


def test_a_decimal_comma_is_quoted_between_commas(tmp_path):
    read = written(tmp_path, "a,b\n1,2\n")
    read.put(1, 1, "7,5")
    assert read.encoded(range(2)) == b'a,b\n1,"7,5"\n'


def test_neither_a_header_nor_a_text_with_many_commas_hides_what_separates_cells(tmp_path):
    for separator in ";\t":
        text = 'a, b, c, d|e, f|"g\nh"\n1, 2, 3, 4|,|\n5|6|7\n'.replace("|", separator)
        assert written(tmp_path, text).separator == separator
    assert written(tmp_path, 'a;1,b;2;3\n1,"x;y"\n').separator == ","


def test_bytes_that_are_no_text_and_unequal_rows_are_refused(tmp_path):
    path = tmp_path / "list.csv"
    path.write_bytes(b"a,b\n\xff\xfe,2\n")
    with pytest.raises(ValueError, match="--encoding"):
        csv_table.read(path)
    with pytest.raises(ValueError, match="nonsense"):
        csv_table.read(path, "nonsense")
    with pytest.raises(ValueError, match="row 3: 1 cells where the header has 2"):
        written(tmp_path, "a,b\n1,2\n3\n")


NO_NUMBERS = "nan|inf|EX||-|1/2|85 %|1_000|1e400|1 2|1,2,3|--1|1,23,4".split("|")


@pytest.mark.parametrize("cell", [*NO_NUMBERS, "9" * 400])
def test_what_is_no_number(cell):
    assert csv_table.Numbers("x", [cell])(cell) is None


# How 1234.5 and 12 are written in Germany, England, France, Switzerland, India, Arabic, by Excel.
@pytest.mark.parametrize(
    "cell, other",
    [
        ("1.234,5", "12,00"),
        ("1,234.5", "12.00"),
        ("1\u202f234,5", "12"),
        ("1 234,5", "12"),
        ("1\u2019234.5", "12."),
        ("1,234.50", "+12"),
        ("\u0661\u0662\u0663\u0664\u066b\u0665", "12"),
        ("1,2345E+03", "1,2E+01"),
        ("1234.5", "1.2e1"),
        ("\xa01234,5 ", "12"),
    ],
)
def test_numbers_of_every_locale_are_what_they_say(cell, other):
    read = csv_table.Numbers("x", [cell, other, ""])
    assert [read(cell), read(other), read("")] == [1234.5, 12, None]
    # What may be two numbers is what the column says it is.
    assert read("2.000") == (2.0 if read.mark == "." else 2000.0)


@pytest.mark.parametrize("cell", ["1.234", "1,234", "12,000"])
def test_a_number_that_may_be_two_is_refused(cell):
    read = csv_table.Numbers("points", ["7", cell])
    with pytest.raises(ValueError, match="points: .* may be .*, and no other cell tells which"):
        read(cell)
    with pytest.raises(ValueError, match="different decimal marks"):
        csv_table.Numbers("points", ["1,5", "2.5"])
