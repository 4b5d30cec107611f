"""Archives: whose work it is, which attempt counts, and what a hostile one can't do."""

import contextlib
import stat
import struct
import zipfile

import pytest

from grader.base.errors import Refused
from grader.lms import archive as archives
from grader.records import roster

NAME = "03_attention"


@pytest.fixture
def canvas(desk):
    header = ["name", "canvas_user_id", "user_id", "login_id", "sections", "group_name"]
    rows = [
        ["Ada Doe", "1", "7", "ada", "A", "Team 7"],
        ["Ben Roe", "2", "8", "ben", "A", "Team 7"],
    ]
    desk.run("roster", "import", desk.file("groups.csv", [header, *rows]))
    return desk


@pytest.fixture
def moodle(desk):
    """Namesakes, somebody with another alphabet, and two teams that share a student."""
    header = ["First name", "Last name", "Username", "Email address", "Groups"]
    rows = [
        ["Ada", "Doe", "ada1", "a1@x.org", "Red"],
        ["Ada", "Doe", "ada2", "a2@x.org", "Red"],
        ["דוד", "כהן", "dov", "d@x.org", "Red, Blue"],
        ["Zoë", "Dürr", "zoe", "z@x.org", "Blue"],
    ]
    desk.run("roster", "import", desk.file("list.csv", [header, *rows]))
    return desk


def collect(desk, files, *more, wanted=0):
    return desk.run("collect", desk.zip("work.zip", files), *more, wanted=wanted)


def work(desk):
    return {path.split("/")[0] for path in desk.submitted()}


def test_a_group_s_work_goes_to_every_member(canvas, notebook):
    said = collect(canvas, {f"team7_2_55_{NAME}.ipynb": notebook("ours")})
    assert work(canvas) == {"ada", "ben"} and not said["look_at"]
    assert set(canvas.submitted().values()) == {notebook("ours")}


def test_a_group_that_was_never_imported_is_told(canvas, notebook):
    said = collect(canvas, {f"team9_2_55_{NAME}.ipynb": notebook("ours")})
    assert work(canvas) == {"ben"}
    assert "if team9 is a group, the roster does not name its members" in said["look_at"][0]


def test_a_student_called_like_a_group_is_no_group(desk, notebook):
    header = ["Username", "Email address", "First name", "Last name", "Groups"]
    rows = [
        ["red", "r@x.org", "Max", "Blue", ""],
        ["ada", "a@x.org", "Ada", "Doe", "Red, Max Blue"],
    ]
    desk.run("roster", "import", desk.file("list.csv", [header, *rows]))
    header = ["usr_id", "login", "lastname", "firstname"]
    rows = [["77", "red", "Blue", "Max"], ["78", "ada", "Doe", "Ada"]]
    desk.run("roster", "import", desk.file("list.csv", [header, *rows]))
    collect(desk, {f"Blue_Max_red_77/{NAME}.ipynb": notebook("max")}, "--from", "ilias")
    assert work(desk) == {"red"}
    collect(desk, {f"red_Max Blue_5_assignsubmission_file/{NAME}.ipynb": notebook("again")})
    assert work(desk) == {"red"}


def test_an_ilias_team_whose_members_nobody_has_named_is_told(desk, notebook):
    header = ["usr_id", "login", "lastname", "firstname"]
    desk.run("roster", "import", desk.file("list.csv", [header, ["77", "ada", "Doe", "Ada"]]))
    said = collect(desk, {f"Team 12/Doe_Ada_ada_77/{NAME}.ipynb": notebook("ours")})
    assert "if Team 12 is a group" in said["look_at"][0] and work(desk) == {"ada"}


def test_a_course_without_a_roster_says_what_comes_first(desk, notebook):
    said = collect(desk, {f"doeada_1_55_{NAME}.ipynb": notebook("x")}, wanted=2)
    assert "run `course roster import` first" in said


def test_a_name_that_holds_numbers_is_not_taken_for_a_student(canvas, notebook):
    """`_7_1_2` could be user 7's file: but what stands before is no name of theirs."""
    rows = [["Doe, Cy", "71", "9", "cy", "A"], ["Foe, Di", "55", "10", "di", "A"]]
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    canvas.run("roster", "import", canvas.file("more.csv", [header, *rows]))
    collect(canvas, {f"team_7_2_55_{NAME}.ipynb": notebook("ours")})
    assert work(canvas) == {"ada", "ben"}
    # A file that begins with a number, of somebody unknown, is nobody's: not user 55's.
    said = collect(canvas, {f"poecy_99_55_{NAME}.ipynb": notebook("x")}, wanted=1)
    assert said["not_collected"] == [f"poecy_99_55_{NAME}.ipynb: not known here"]
    assert work(canvas) == {"ada", "ben"}


@pytest.fixture
def pair(desk):
    for header, *rows in (
        [
            ["Last Name", "First Name", "Username", "Student ID"],
            ["Love", "Ada", "ada", "7"],
            ["Roe", "Ben", "ben", "8"],
        ],
        [
            ["usr_id", "login", "lastname", "firstname"],
            ["101", "ada", "Love", "Ada"],
            ["102", "ben", "Roe", "Ben"],
        ],
        [
            ["Student", "ID", "SIS Login ID", "Section"],
            ["Love, Ada", "201", "ada", "A"],
            ["Roe, Ben", "202", "ben", "A"],
        ],
    ):
        desk.run("roster", "import", desk.file("list.csv", [header, *rows]))
    return desk


@pytest.mark.parametrize(
    "system, path",
    [
        ("blackboard", "HW_3_ben_attempt_2026-09-24-21-26-05_x_ada_attempt_2026-09-25-00-00-00_{}"),
        ("blackboard", "HW_3_ben_attempt_2026-12-24-21-26-05_ben_attempt_2026-09-01-00-00-00_{}"),
        ("moodle", "Ben Roe_52_assignsubmission_file_Ada Love_51_assignsubmission_file_{}"),
        ("moodle", "Ada Love_51_assignsubmission_file_Ben Roe_52_assignsubmission_file/{}"),
        ("moodle", "Ada Love_51_assignsubmission_file_x_52_assignsubmission_file/{}"),
        ("brightspace", "39-102 - X - Ada Love - Sep 24, 2026 926 PM/{}"),
        ("brightspace", "39-102 - Ben Roe - Sep 24, 2026 926 PM/39-101 - Ada Love - Sep 1/{}"),
        ("brightspace", "39-102 - Ben Roe - Sep 24, 2026 926 PM - Ada Love - Sep 1, 2026/{}"),
        ("ilias", "Sheet/HW/Roe_Ben_ben_102/x_101/{}"),
        ("ilias", "Team 3/Roe_Ben_ben_102/x_101/{}"),
        # Ben, who calls himself so, in front of his number: by nobody's name, or by Ada's.
        ("canvas", "foo_201_202_9_{}"),
        ("canvas", "loveada_201_202_9_{}"),
    ],
)
def test_no_name_of_a_file_or_a_student_hands_in_for_somebody_else_or_earlier(
    pair, notebook, system, path
):
    path = path.format(f"{NAME}.ipynb")
    said = collect(pair, {path: notebook("x")}, "--from", system, "--assignment", NAME, wanted=1)
    assert not pair.submitted() and said["not_collected"][0].startswith(path)


def test_two_participants_who_are_called_alike_are_left_out(pair, notebook):
    """One of them may have taken the other's name since the roster was imported."""
    files = {f"Ada Love_{n}_assignsubmission_file/{NAME}.ipynb": notebook(str(n)) for n in (51, 52)}
    said = collect(pair, files, wanted=1)
    assert not pair.submitted()
    assert "2 participants have this name: --worksheet" in said["not_collected"][0]


def test_a_receipt_settles_whose_a_file_is_and_none_is_forged(pair, notebook):
    mark, mine = "_attempt_2026-09-24-21-26-05", "_attempt_2026-09-25-00-00-00"
    files = {
        f"HW_3_ben{mark}.txt": b"Name: Ben Roe (ben)\n",
        f"HW_3_ben{mark}_x_ada{mine}.txt": b"Name: Ada Love (ada)\n",
        f"HW_3_ben{mark}_x_ada{mine}_{NAME}.ipynb": notebook("ben"),
    }
    collect(pair, files, "--assignment", NAME)
    assert work(pair) == {"ben"}
    stamp = pair.submitted()[f"ben/{NAME}/timestamp.txt"]
    assert stamp == b"2026-09-24 21:26:05 UTC\n"


def test_a_name_with_thousands_of_marks_is_left_out(canvas, notebook):
    long = f"doeada{'_1_1' * 4000}_{NAME}.ipynb"
    said = collect(
        canvas, {long: notebook("x")}, "--from", "canvas", "--assignment", NAME, wanted=1
    )
    assert "more than" in said["not_collected"][0]


def test_anonymous_work_is_left_out(canvas, notebook):
    said = collect(
        canvas,
        {f"anon_Kx3fQ_55_{NAME}.ipynb": notebook("x")},
        "--from",
        "canvas",
        "--assignment",
        NAME,
        wanted=1,
    )
    assert said["not_collected"] == [f"anon_Kx3fQ_55_{NAME}.ipynb: not named as Canvas names files"]
    assert not work(canvas)


def test_late_work_without_a_time_is_told(canvas, notebook):
    files = {f"doeada_LATE_1_55_{NAME}.ipynb": notebook("x")}
    said = collect(canvas, files)
    assert said["look_at"] == ["ada: marked late, without a time; --late-at sets one"]
    assert f"ada/{NAME}/timestamp.txt" not in canvas.submitted()
    more = "--zone", "Europe/Berlin", "--late-at"
    collect(canvas, files, *more, "2026-10-19T05:00-03:00")
    assert canvas.submitted()[f"ada/{NAME}/timestamp.txt"] == b"2026-10-19 08:00:00 UTC\n"
    collect(canvas, files, *more, "2026-10-20T10:00")
    assert canvas.submitted()[f"ada/{NAME}/timestamp.txt"] == b"2026-10-20 08:00:00 UTC\n"


def test_another_hand_in_takes_the_place_and_nothing_is_lost(canvas, notebook):
    collect(canvas, {f"doeada_1_55_{NAME}.ipynb": notebook("first")})
    repaired = canvas.course / "submitted" / "ada" / NAME / f"{NAME}.ipynb"
    repaired.write_bytes(notebook("repaired by hand"))
    said = collect(canvas, {f"doeada_1_55_{NAME}.ipynb": notebook("first")})
    assert not said["collected"] and repaired.read_bytes() == notebook("repaired by hand")
    said = collect(canvas, {f"doeada_1_66_{NAME}-1.ipynb": notebook("second")})
    assert said["kept_in_replaced"] == ["ada"]
    assert repaired.read_bytes() == notebook("second")
    kept = canvas.course / "replaced" / NAME / "ada" / "1" / f"{NAME}.ipynb"
    assert kept.read_bytes() == notebook("repaired by hand")


def test_of_two_notebooks_the_last_of_the_name_counts_else_nobody_guesses(canvas, notebook):
    collect(
        canvas,
        {
            f"doeada_1_55_{NAME}.ipynb": notebook("first"),
            f"doeada_1_66_{NAME}-1.ipynb": notebook("second"),
            "doeada_1_77_scratch.ipynb": notebook("scratch"),
        },
    )
    assert canvas.submitted()[f"ada/{NAME}/{NAME}.ipynb"] == notebook("second")
    said = collect(
        canvas,
        {"roeben_2_55_a.ipynb": notebook("a"), "roeben_2_66_b.ipynb": notebook("b")},
        "--assignment",
        NAME,
        wanted=1,
    )
    assert said["not_collected"] == [
        f"ben (Ben Roe): 2 notebooks may be its {NAME}: roeben_2_55_a.ipynb, roeben_2_66_b.ipynb"
    ]
    said = collect(canvas, {"roeben_2_55_text.pdf": b"%PDF"}, "--assignment", NAME, wanted=1)
    assert said["not_collected"] == ["ben (Ben Roe): no notebook, but text.pdf"]
    assert work(canvas) == {"ada"}


def test_late_work_is_the_last_and_two_of_one_name_are_left_out(pair, notebook):
    name = f"{NAME}.ipynb"
    files = {f"HW/Love_Ada_ada_101/{name}": b"", f"HW/Love_Ada_ada_101/late - {name}": b"late"}
    collect(pair, files, "--from", "ilias")
    assert pair.submitted()[f"ada/{NAME}/{name}"] == b"late"
    files = {f"HW/Roe_Ben_ben_102/{place}/{name}": place.encode() for place in "ab"}
    said = collect(pair, files, "--from", "ilias", wanted=1)
    assert "2 notebooks may be its" in said["not_collected"][0] and work(pair) == {"ada"}


def test_an_attempt_without_a_notebook_does_not_hide_the_one_before(desk, notebook):
    header = ["Last Name", "First Name", "Username", "Student ID"]
    desk.run("roster", "import", desk.file("l.csv", [header, ["Doe", "Ada", "a_d", "7"]]))
    said = collect(
        desk,
        {
            f"HW_3_a_d_attempt_2026-09-24-10-00-00_{NAME}.ipynb": notebook("x"),
            "HW_3_a_d_attempt_2026-09-25-10-00-00_sketch.png": b"png",
        },
    )
    assert said["look_at"] == ["a_d: 2 attempts; that of 2026-09-24-10-00-00 counts"]
    assert desk.submitted()[f"a_d/{NAME}/timestamp.txt"] == b"2026-09-24 10:00:00 UTC\n"
    said = collect(desk, {f"HW_a_d_attempt_2026-09-20-10-00-00_{NAME}.ipynb": notebook("old")})
    assert said["look_at"] == ["a_d: what is in submitted/ is later, and stays"]
    assert desk.submitted()[f"a_d/{NAME}/{NAME}.ipynb"] == notebook("x")


def test_namesakes_are_told_apart_by_the_worksheet_only(moodle, notebook):
    files = {
        f"Ada Doe_51_assignsubmission_file_/{NAME}.ipynb": notebook("one"),
        f"Ada Doe_52_assignsubmission_file_/{NAME}.ipynb": notebook("two"),
        f"Zoë Dürr_53_assignsubmission_file_/{NAME}.ipynb": notebook("zoe"),
    }
    said = collect(moodle, files, wanted=1)
    assert work(moodle) == {"zoe"} and len(said["not_collected"]) == 2
    assert "ada1 and ada2 have this name" in said["not_collected"][0]
    header = ["Identifier", "Full name", "Email address", "Grade", "Last modified (submission)"]
    rows = [
        ["Participant 51", "Ada Doe", "a1@x.org", "", "24 September 2026, 9:26 PM"],
        ["Participant 52", "Ada Doe", "a2@x.org", "", "24 septembre 2026, 21:26"],
    ]
    said = collect(moodle, files, "--worksheet", moodle.file("w.csv", [header, *rows]))
    assert moodle.submitted()[f"ada1/{NAME}/{NAME}.ipynb"] == notebook("one")
    assert moodle.submitted()[f"ada2/{NAME}/{NAME}.ipynb"] == notebook("two")
    assert moodle.submitted()[f"ada1/{NAME}/timestamp.txt"] == b"2026-09-24 21:26:00 UTC\n"
    assert said["look_at"] == ["ada2: when it came cannot be read: 24 septembre 2026, 21:26"]


def test_a_team_s_number_is_no_participant_s(moodle, notebook):
    """Blue has number 51, and participant 51 is in another team."""
    header = ["Identifier", "Full name", "Email address", "Grade"]
    sheet = moodle.file("w.csv", [header, ["Participant 51", "Ada Doe", "a1@x.org", ""]])
    collect(
        moodle, {f"Blue_51_assignsubmission_file/{NAME}.ipynb": notebook("x")}, "--worksheet", sheet
    )
    assert work(moodle) == {"dov", "zoe"}


def test_a_student_whose_two_groups_both_handed_in_is_left_out(moodle, notebook):
    files = {
        f"Blue_1_assignsubmission_file/{NAME}.ipynb": notebook("blue"),
        f"Red_2_assignsubmission_file/{NAME}.ipynb": notebook("red"),
        f"Default group_assignsubmission_file/{NAME}.ipynb": notebook("nobody's"),
    }
    said = collect(moodle, files, wanted=1)
    assert work(moodle) == {"ada1", "ada2", "zoe"}
    assert "Default group" in said["not_collected"][0]
    assert "dov (דוד כהן): handed in by Blue and Red" in said["not_collected"][1]


def test_names_are_compared_without_marks_of_direction_and_however_accents_are_written(
    moodle, notebook
):
    collect(
        moodle,
        {
            f"\u200fדוד כהן\u200f_1_assignsubmission_file/{NAME}.ipynb": notebook("dov"),
            f"zoe_Zoe\u0308 Du\u0308rr_2_assignsubmission_file/{NAME}.ipynb": notebook("zoe"),
        },
    )
    assert work(moodle) == {"dov", "zoe"}


def test_which_assignment_and_which_system_have_to_be_clear(canvas, notebook):
    said = collect(canvas, {"doeada_1_55_mine.ipynb": notebook("x")}, wanted=2)
    assert "no assignment" in said and "--assignment, one of 00_start" in said
    said = collect(canvas, {"hello.txt": b"x"}, wanted=2)
    assert "hello.txt" in said and "--from" in said
    assert "no assignment" in collect(
        canvas, {f"doeada_1_55_{NAME}.ipynb": b"x"}, "--assignment", "99", wanted=2
    )
    assert "no system 'x'" in collect(canvas, {"x": b""}, "--from", "x", wanted=2)
    assert "no time zone 'Mars'" in collect(
        canvas, {f"doeada_1_55_{NAME}.ipynb": b"x"}, "--zone", "Mars", wanted=2
    )
    assert not canvas.submitted()


def test_broken_off_between_two_students_the_same_command_goes_on(canvas, notebook, monkeypatch):
    files = {f"doeada_1_55_{NAME}.ipynb": notebook("a"), f"roeben_2_56_{NAME}.ipynb": notebook("b")}
    collect(canvas, {f"doeada_1_44_{NAME}.ipynb": notebook("before")})
    path_of = type(canvas.course)
    rename, calls = path_of.rename, []

    def broken(self, target):
        calls.append(self)
        if len(calls) == broken.at:
            raise KeyboardInterrupt
        return rename(self, target)

    for broken.at in (1, 2, 2):
        calls.clear()
        monkeypatch.setattr(path_of, "rename", broken)
        collect(canvas, files, wanted=130)
        monkeypatch.undo()
        monkeypatch.chdir(path_of(__file__).parents[3])
    collect(canvas, files)
    assert canvas.submitted() == {
        f"ada/{NAME}/{NAME}.ipynb": notebook("a"),
        f"ben/{NAME}/{NAME}.ipynb": notebook("b"),
    }
    kept = [p.read_bytes() for p in (canvas.course / "replaced").rglob("*.ipynb")]
    assert kept == [notebook("before")]
    assert not (canvas.course / ".collect").exists()
    before = canvas.everything()
    collect(canvas, files)
    assert canvas.everything() == before


def test_killed_before_it_was_written_down_it_is_written_by_the_next_run(
    canvas, notebook, monkeypatch
):
    first = {f"doeada_1_44_{NAME}.ipynb": notebook("first")}
    second = {f"doeada_1_55_{NAME}.ipynb": notebook("second")}
    collect(canvas, first)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(roster, "keep", killed)
        collect(canvas, second, wanted=130)
    collect(canvas, second)
    said = collect(canvas, first)
    assert said["kept_in_replaced"] == ["ada"]
    assert canvas.submitted()[f"ada/{NAME}/{NAME}.ipynb"] == notebook("first")


def entry(name, *, mode=0):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


@pytest.mark.parametrize(
    "name, mode, says",
    [
        ("/etc/doeada_1_9_03_attention.ipynb", 0, "leads out of the archive"),
        ("../doeada_1_9_03_attention.ipynb", 0, "leads out of the archive"),
        ("C:/doeada_1_9_03_attention.ipynb", 0, "leads out of the archive"),
        ("x\\..\\doeada_1_9_03_attention.ipynb", 0, "systems read differently"),
        ("doeada_1_9_03_attention.ipynb", stat.S_IFLNK | 0o777, "is a link"),
    ],
)
def test_an_entry_that_leads_elsewhere_is_left_out_and_stops_nobody(
    canvas, notebook, name, mode, says
):
    path = canvas.folder / "work.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry(name, mode=mode), notebook("hostile"))
        archive.writestr(f"roeben_2_56_{NAME}.ipynb", notebook("b"))
    said = canvas.run("collect", path, wanted=1)
    assert [line for line in said["not_collected"] if says in line]
    assert canvas.submitted() == {f"ben/{NAME}/{NAME}.ipynb": notebook("b")}
    beside = {p.name for p in canvas.folder.rglob("*") if p.is_file()}
    assert not [name for name in beside if name.endswith("_03_attention.ipynb")]


def test_a_name_with_nul_and_a_name_that_is_there_twice(canvas, notebook):
    path = canvas.folder / "work.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"doeada_1_9_{NAME}.ipynb!hidden", notebook("nul"))
        archive.writestr(f"roeben_2_56_{NAME}.ipynb", notebook("b"))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(f"roeben_2_56_{NAME}.ipynb", notebook("c"))
    path.write_bytes(path.read_bytes().replace(b"!hidden", b"\0hidden"))
    said = canvas.run("collect", path, wanted=1)
    assert len(said["not_collected"]) == 2
    assert canvas.submitted() == {f"ben/{NAME}/{NAME}.ipynb": notebook("b")}


def test_what_is_too_large_or_grows_too_much_or_is_damaged_costs_its_owner_only(
    canvas, notebook, monkeypatch
):
    good = f"roeben_2_56_{NAME}.ipynb"
    bad = f"doeada_1_9_{NAME}.ipynb"
    said = collect(canvas, {bad: b"0" * (4 * 2**20), good: notebook("b")}, wanted=1)
    assert "grows from" in said["not_collected"][0] and work(canvas) == {"ben"}
    monkeypatch.setattr(archives, "MAX_SUBMISSION", 2**20)
    said = collect(canvas, {bad: bytes(range(256)) * 8192, good: notebook("b")}, wanted=1)
    assert "at most 1 are read" in said["not_collected"][0]
    path = canvas.zip("work.zip", {bad: notebook("a"), good: notebook("b")})
    content = bytearray(path.read_bytes())
    content[60:70] = b"\xff" * 10
    path.write_bytes(content)
    said = canvas.run("collect", path, wanted=1)
    assert "is damaged" in said["not_collected"][0]
    assert canvas.submitted() == {f"ben/{NAME}/{NAME}.ipynb": notebook("b")}


def test_an_encrypted_entry_is_left_out(canvas, notebook):
    path = canvas.zip("work.zip", {f"doeada_1_9_{NAME}.ipynb": notebook("a")})
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    struct.pack_into("<H", content, central + 8, 1)
    path.write_bytes(content)
    said = canvas.run("collect", path, "--assignment", NAME, "--from", "canvas", wanted=1)
    assert "is encrypted" in said["not_collected"][0] and not canvas.submitted()


@pytest.mark.parametrize("limit", ["MAX_ENTRIES", "MAX_TOTAL"])
def test_an_archive_far_too_large_is_refused_whole(canvas, notebook, monkeypatch, limit):
    monkeypatch.setattr(archives, limit, 1)
    files = {f"doeada_1_9_{NAME}.ipynb": notebook("a"), f"roeben_2_56_{NAME}.ipynb": notebook("b")}
    said = collect(canvas, files, wanted=2)
    assert "Nothing was collected" in said and not canvas.submitted()


def test_more_modules_than_are_read_are_refused_before_anything_is_placed(canvas, notebook):
    files = {f"doeada_1_{n}_m{n}.py": b"x = 1" for n in range(2, 103)}
    said = collect(canvas, {f"doeada_1_1_{NAME}.ipynb": notebook("x"), **files}, wanted=1)
    assert "101 modules beside it, at most 100 are read" in said["not_collected"][0]
    assert not canvas.submitted()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04cut"])
def test_what_is_no_archive_is_said_to_be_none(canvas, content):
    path = canvas.folder / "work.zip"
    path.write_bytes(content)
    said = canvas.run("collect", path, wanted=2)
    assert str(path) in said and "whole .zip again" in said and said.count("\n") == 1
    assert "No such file" in canvas.run("collect", canvas.folder / "none.zip", wanted=2)


def test_utf_8_that_does_not_say_so_is_read(moodle, notebook):
    name = f"Zoë Dürr_2_assignsubmission_file/{NAME}.ipynb"
    path = moodle.folder / "work.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name.replace("ë", "e~").replace("ü", "u~"), notebook("zoe"))
    content = path.read_bytes()
    for plain, wanted in ((b"Zoe~", "Zoë".encode()), (b"Du~", "Dü".encode())):
        content = content.replace(plain, wanted)
    path.write_bytes(content)
    moodle.run("collect", path)
    assert work(moodle) == {"zoe"}


def test_no_damaged_byte_ends_in_a_traceback(canvas, notebook):
    """One byte after the other of the archive's own tables is turned."""
    path = canvas.zip("work.zip", {f"doeada_1_9_{NAME}.ipynb": notebook("a")})
    whole = path.read_bytes()
    tables = [*range(64), *range(whole.index(b"PK\x01\x02"), len(whole))]
    for at in tables[::5]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(Refused), archives.opened(path) as archive:
            for info in archives.entries(archive)[0].values():
                archives.content(archive, info)
