"""Each system's list in, its archive in, its own file and its pages back; again after a regrade."""

import zipfile

from course_lib.experiments.one_seed import FILE

ARCHIVED = ("ada", "ben", "김")


def test_there_and_back(system, desk, notebook):
    listed = system.roster(desk)
    before = desk.everything()
    said = desk.run("roster", "import", listed, "--dry-run")
    assert len(said["new"]) == 4 and desk.everything() == before
    assert len(desk.run("roster", "import", listed)["new"]) == 4
    again = desk.run("roster", "import", listed)
    assert not again["new"] and not again["changed"]
    assert set(desk.facts()["students"]) == set(desk.people)

    zipped = desk.zip("submissions.zip", system.archive(desk, notebook))
    asked = ["collect", zipped, "--zone", "Europe/Berlin", "--late-at", "2026-10-20T08:00"]
    if system.name == "moodle":
        asked += ["--worksheet", system.sheet(desk, {})]
    before = desk.everything()
    desk.run(*asked, "--dry-run")
    assert desk.everything() == before
    assert len(desk.run(*asked)["collected"]) == 3
    wanted = {f"{s}/{desk.name}/{desk.name}.ipynb": notebook(s) for s in ARCHIVED}
    wanted[f"ada/{desk.name}/own.py"] = b"x = 1\n"
    wanted[f"ada/{desk.name}/{FILE}"] = b"{}\n"
    wanted |= {f"{s}/{desk.name}/timestamp.txt": time for s, time in system.times.items()}
    assert desk.submitted() == wanted
    before = desk.everything()
    assert not desk.run(*asked)["collected"]
    assert desk.everything() == before

    for student, points in {"ada": 6, "ben": 3.5, "김": 0}.items():
        desk.score(student, points)
    own = system.sheet(desk, {})
    untouched = own.read_bytes()
    asked = ["export", "--for", system.name, own, "--assignment", desk.name]
    asked += ["--feedback"] * system.returns
    before = desk.everything()
    desk.run(*asked, "--dry-run")
    assert (
        desk.everything() == before and not (own.parent / f"{own.stem}-upload{own.suffix}").exists()
    )
    desk.run(*asked)
    upload = own.with_name(f"{own.stem}-upload{own.suffix}")
    filled = {"ada": "6", "ben": "3.5", "김": "0"}
    assert system.takes(desk, upload) == filled
    assert own.read_bytes() == untouched
    if system.returns:
        with zipfile.ZipFile(upload.with_name(f"{upload.stem}-feedback-{desk.name}.zip")) as pages:
            back = {system.gets(desk, n): pages.read(n).decode() for n in pages.namelist()}
        assert back == {
            s: f"<p>{s} has {p}</p>" for s, p in {"ada": 6, "ben": 3.5, "김": 0}.items()
        }

    # The system has taken that; one score moves.
    own = system.sheet(desk, filled)
    desk.score("ben", 5)
    said = desk.run(*asked)
    assert said["scores"] == [f"ben: {desk.name}: 3.5 -> 5"]
    assert system.takes(desk, upload) == {"ben": "5"}
    if system.returns:
        with zipfile.ZipFile(
            upload.with_name(f"{upload.stem}-feedback-{desk.name}-2.zip")
        ) as pages:
            assert [system.gets(desk, name) for name in pages.namelist()] == ["ben"]
    system.sheet(desk, {**filled, "ben": "5"})
    said = desk.run(*asked)
    assert not said.get("scores") and said["says"].endswith("nothing to export")
