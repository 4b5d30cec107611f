"""One experiment for a class: forgers of three kinds, broken files, and the example class."""

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
import torch

from course_lib.book.results import cards, details
from course_lib.cli import main
from course_lib.experiments import class_experiment, get, load_records, one_seed, pooled, run
from course_lib.experiments.pooled import ClassExperiment
from course_lib.experiments.questions import Question, learned
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Experiment, Outcome, Size, experiment
from course_tests.experiments import example_class
from grader.base.errors import Refused

NAME = "line/steeper"
WORD = "word"


@experiment(
    "line",
    "a line through noise",
    arms={"flat": {"slope": 0.5}, "steep": {"slope": 1.0}},
    sizes={"cpu": Size({"epochs": 3, "n": 30}, (0, 1, 2, 3, 4), 0.001, "one core")},
    questions=(
        Question(
            "steeper",
            "It is steeper.",
            "a guess",
            "steep",
            "flat",
            "slope",
            margin=0.5,
            differs="slope",
        ),
        Question(
            "learns", "It learns.", "control", "steep", metric=learned("loss"), minus=0.0, sign=-1
        ),
    ),
)
def LINE(job):
    """A slope, learned by three long steps from thirty points that have more noise than slope."""
    draw = torch.Generator().manual_seed(job.seed)
    x = torch.randn(job.config["n"], generator=draw)
    y = job.config["slope"] * x + 2 * torch.randn(len(x), generator=draw)
    slope, rows = torch.zeros(()), []
    for epoch in range(job.config["epochs"]):
        slope = slope + 0.5 * (x * (y - slope * x)).mean()
        loss = (y - slope * x).square().mean().item()
        times = {"wall_seconds": 0.0, "device_seconds": 0.0}
        rows.append({"epoch": epoch + 1, "loss": loss, "slope": slope.item(), **times})
    data = DataUse("points", f"seed {job.seed}", f"{job.seed:064x}")
    return Outcome([data], rows, {"slope": slope.item()})


def handed_in(student, folder, difference=0.5, sure=70):
    question = one_seed.question_of(LINE, "steeper")
    made = one_seed.predicted(NAME, question, student, difference, sure, named=student == "s-03")
    made = replace(made, word=WORD)
    return one_seed.run(made, LINE, folder / "one.json", folder, progress=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("line")


@pytest.fixture(scope="module")
def known(place):
    quiet = {"report": lambda text: None, "progress": False}
    run(LINE, results_dir=place / "results", runs_dir=place, **quiet)
    return load_records(place / "results", "line")


@pytest.fixture(scope="module")
def class_(place):
    """Twelve honest students; every third expects the other sign."""
    signs = [0.5, 0.3, -0.2]
    return {f"s-{n:02}": handed_in(f"s-{n:02}", place, signs[n % 3]) for n in range(12)}


@pytest.fixture(scope="module")
def eve(place):
    return handed_in("eve", place)


def look(known, class_, first=None, **more):
    texts = {student: made.to_json().encode() for student, made in class_.items()} | more
    return ClassExperiment(NAME, LINE, known, texts, WORD, first)


def again(found, place, many=100, kept=None):
    found.run_again("secret", many, {} if kept is None else kept, place, lambda text: None)


def why(found):
    return {run.student: run.why for run in found.runs if run.why}


def rewritten(made, arm, change, seed=None):
    """A hand-in whose record of an arm is changed: ``change`` takes its values as plain data."""
    records = []
    for record in made.records:
        values = asdict(record) | {"seed": record.seed if seed is None else seed}
        if arm in ("*", record.arm):
            change(values)
        records.append(values)
    return json.dumps({**json.loads(made.to_json()), "records": records}).encode()


def test_a_class_is_pooled_by_the_rule_of_the_ledger(known, class_, place):
    found = look(known, class_)
    again(found, place)
    facts = found.data()
    assert facts["counting"] == facts["again"] == 12 and not why(found)
    # By hand: the mean of the students' differences, of which the ledger's own are no part.
    each = [r.difference for r in found.runs]
    assert facts["interval"][1] == pytest.approx(sum(each) / 12)
    assert ", 12 pairs" in facts["verdict"] and facts["outcome"] == "holds"
    assert "5 pairs" in facts["known"] and facts["named"] == ["s-03"]
    assert facts["right"] == sum(
        (d > 0) == (m.difference > 0) for d, m in zip(each, class_.values(), strict=True)
    )
    [row] = facts["calibration"]
    assert (row["n"], row["said"], row["right"]) == (12, pytest.approx(0.7), facts["right"])
    assert "12 of 12 runs count" in class_experiment.lines(facts)[0]


def test_three_forgers_are_found(known, class_, place):
    def altered(values):
        # In the results and in the epochs alike, by a spread over seeds: nothing contradicts it.
        for row in values["metrics"]:
            row["slope"] += 0.4
        values["results"]["slope"] += 0.4

    def invented(values):
        for n, row in enumerate(values["metrics"]):
            row |= {"loss": 4.1 - 0.2 * n, "slope": 0.4 + 0.2 * n}
        values["results"]["slope"] = values["metrics"][-1]["slope"]

    def copied(values):
        theirs = next(r for r in class_["s-05"].records if r.arm == values["arm"])
        values |= {k: v for k, v in asdict(theirs).items() if k != "seed"}

    forged = {
        "altered": rewritten(handed_in("altered", place), "steep", altered),
        "invented": rewritten(handed_in("invented", place), "*", invented),
        "copied": rewritten(handed_in("copied", place), "*", copied),
    }
    found = look(known, class_, **forged)
    # Without any run: only that two have the same numbers, not which of them ran.
    assert why(found) == {"s-05": "has numbers of copied", "copied": "has numbers of s-05"}
    again(found, place, many=1)
    assert "s-05" not in why(found) and "other data" in why(found)["copied"]
    again(found, place)
    assert set(why(found)) == {"altered", "invented", "copied"}
    assert "run again steep has" in why(found)["altered"]
    assert found.data()["interval"] == pytest.approx(look(known, class_).data()["interval"])


def test_who_is_run_again_is_the_secrets_and_stays(known, class_, place):
    def drawn(secret, students):
        found = look(known, {s: class_[s] for s in students})
        found.run_again(secret, 3, {}, place, lambda text: None)
        return {run.student for run in found.runs if run.again}

    names = sorted(class_)
    assert len(drawn("a", names)) == 3
    assert len({frozenset(drawn(secret, names)) for secret in "abcdef"}) > 1
    assert drawn("a", names[:11]) - drawn("a", names) <= {names[11]} | set(names)
    assert drawn("a", names) & set(names[:11]) <= drawn("a", names[:11])
    kept = {}
    found, said = look(known, class_), []
    found.run_again("a", None, kept, place, said.append)
    found.run_again("a", None, kept, place, said.append)
    assert len(said) == len(kept) == 3, "three of twelve, and none of them twice"
    found = look(known, class_)
    found.run_again("a", 0, {}, place, said.append)
    assert len(said) == 3


def change(part, **values):
    return lambda record: record[part].update(values)


OTHER = {
    "no records": ("records", [], "not run yet"),
    "another question": ("question", "line/other", "is about 'line/other'"),
    "another's": ("student", "s-01", "predicted by 's-01'"),
    "prediction changed": ("difference", 0.05, "another seed than its prediction"),
    "between steps": ("difference", 0.51, "no multiple of 0.05"),
    "another word": ("word", "guessed", "another word"),
}
RECORDS = {
    "version": (lambda r: r.update(source_sha256="0" * 64), "another version"),
    "settings": (change("config", n=3000), "other settings"),
    "experiment": (lambda r: r.update(experiment="cost"), "another run: cost"),
    "device": (change("hardware", device=["x"]), "another run"),
    "result alone": (change("results", slope=0.9), "another slope than any epoch"),
    "not a number": (change("results", slope=float("nan")), "is nan"),
}
BROKEN = {
    "nothing": (lambda made: b" \n", "the file is empty"),
    "much": (lambda made: b"[" + b"1," * one_seed.MOST, "more than 256 KB"),
    "cut off": (lambda made: made.to_json().encode()[:-20], "damaged"),
    "a list": (lambda made: b"[]", "is no `class experiment 1`"),
    "seed": (lambda made: rewritten(made, "*", lambda r: None, seed=7), "another seed"),
    "a field more": (
        lambda made: made.to_json().replace("{", '{"points": 3,', 1).encode(),
        "points is unknown",
    ),
    **{
        name: (lambda made, do=do: rewritten(made, "flat", do), says)
        for name, (do, says) in RECORDS.items()
    },
    **{
        name: (lambda made, new={key: value}: replace(made, **new).to_json().encode(), says)
        for name, (key, value, says) in OTHER.items()
    },
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_told_and_stops_nobody(case, known, class_, eve):
    broken, says = BROKEN[case]
    found = look(known, class_, eve=broken(eve))
    assert set(why(found)) == {"eve"} and says in why(found)["eve"]
    assert found.data()["counting"] == 12


def test_the_first_prediction_counts(known, class_):
    first = {student: made.prediction for student, made in class_.items()} | {"s-02": "0" * 64}
    first["s-03"] += pooled.RAN
    found = look(known, class_, first)
    assert why(found) == {"s-02": "has another prediction than was collected first"}
    # Who hands in both at once may have tried several, with the word as without.
    assert found.data()["before"] == 10 and look(known, class_).data()["before"] == 0


def test_an_interrupted_run_goes_on_where_it_was(place, tmp_path):
    calls = []

    def train(job):
        calls.append(job.arm)
        if calls == ["steep", "flat"]:
            raise KeyboardInterrupt
        return LINE.train(job)

    stopping = Experiment("line", LINE.title, LINE.arms, LINE.sizes, train, LINE.questions)
    made = one_seed.predicted(NAME, one_seed.question_of(LINE, "steeper"), "ada", 1, 50, False)
    path = tmp_path / one_seed.FILE
    with pytest.raises(KeyboardInterrupt):
        one_seed.run(made, stopping, path, place, progress=False)
    half = one_seed.read(path.read_bytes())
    assert [record.arm for record in half.records] == ["steep"]
    for _ in range(2):
        assert half == one_seed.read(half.to_json().encode())
        whole = one_seed.run(half, stopping, path, place, progress=False)
        half = one_seed.read(path.read_bytes())
    assert calls == ["steep", "flat", "flat"] and half == whole and len(whole.records) == 2
    other = one_seed.run(replace(whole, word="w"), stopping, path, place, progress=False)
    assert {record.seed for record in other.records} == {other.seed} != {whole.seed}


def test_only_what_a_single_seed_answers_is_asked():
    assert one_seed.question_of(get("no-positions"), "forwards").margin == 0.01
    for key in ("learns", "nothing"):
        with pytest.raises(Refused, match="no question"):
            one_seed.question_of(LINE, key)


def test_a_student_is_told_what_to_do_next(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    folder = tmp_path / "07_sinusoids"
    folder.mkdir()
    guess = ["--difference", "0.0123", "--sure", "70", "--student", "ada"]

    def said(*arguments, code=2):
        assert main(["experiment", *arguments]) == code
        out = capsys.readouterr()
        return out.out if code == 0 else out.err

    assert "predict` first" in said("run", str(folder))
    assert "needs --difference D" in said("predict", str(folder), *guess[:4])
    assert "sure is 72" in said("predict", str(folder), *guess[:3], "72", *guess[4:])
    assert "has no sign" in said("predict", str(folder), "--difference", "0.0001", *guess[2:])
    assert "is impossible" in said("predict", str(folder), "--difference", "nan", *guess[2:])
    assert "has no experiment; these do" in said("predict", str(tmp_path), *guess)
    assert not list(folder.iterdir())
    told = said("predict", str(folder), *guess, code=0)
    assert "+0.012, 70 % sure" in told and "accuracy of forwards" in told
    assert "first one collected counts" in said("predict", str(folder), *guess)
    path = folder / one_seed.FILE
    path.write_text(path.read_text()[:-9])
    assert "damaged" in said("run", str(folder))
    path.write_bytes(example_class.hand_ins()["student-02"])
    told = said("run", str(folder), "--named", code=0)
    assert "[1/2]" not in told, "all of it is run already"
    kept = one_seed.read(path.read_bytes())
    assert kept.named and len(kept.records) == 2 and f"{kept.difference:+g}, " in told
    other = replace(one_seed.read(path.read_bytes()), question="cost/reach", records=[])
    path.write_text(other.to_json())
    assert "move it away" in said("run", str(folder))


def test_a_published_class_stands_at_its_claim(tmp_path, monkeypatch, known, class_):
    there = partial(one_seed.published, tmp_path / "book")
    monkeypatch.setattr("course_lib.book.results.published", there)
    facts = look(known, class_).data()
    for who in ("one class", "another"):
        class_experiment.publish(tmp_path, facts, who)
    [card] = cards([LINE], known, [])["others"]
    told = dict(details(card))
    assert told["Run by one class"] == told["Run by another"] == f"{facts['verdict']}, s-03"


@pytest.fixture
def course(tmp_path):
    """A checkout's part that is asked, and the example class's hand-ins in a course folder."""
    root = Path(__file__).parents[3]
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "results").symlink_to(root / "book" / "results")
    table = (root / "book" / "class_experiments.yml").read_text()
    (tmp_path / "book" / "class_experiments.yml").write_text(table)
    return tmp_path


def put(course, student, content):
    path = course / "submitted" / student / "07_sinusoids" / one_seed.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_example_class_is_what_its_code_draws(course, monkeypatch):
    kept = example_class.hand_ins()
    drawn = list(example_class.predictions())
    assert [made.student for made in drawn] == sorted(kept) and len(kept) == 40
    for made in drawn:
        theirs = one_seed.read(kept[made.student])
        assert replace(theirs, records=[]) == made
        put(course, made.student, kept[made.student])
    name = example_class.QUESTION
    known = load_records(course / "book" / "results", "no-positions")
    facts = ClassExperiment(
        name, get("no-positions"), known, kept, example_class.WORD, any_version=True
    ).data()
    assert facts["counting"] == 40 == sum(row["n"] for row in facts["calibration"])
    # In a course of one's own the example's word is not the class's.
    monkeypatch.delenv("COURSE_SEED", raising=False)
    found = class_experiment.of_class(course, course, "07_sinusoids")
    assert set(found["not_counting"].values()) == {"was run with another word than the class's"}
    assert not (course / "summary").exists()
    assert class_experiment.of_class(course, course, "03_attention") is None


def test_predictions_are_kept_when_they_are_first_collected(course):
    question = one_seed.question_of(get("no-positions"), "forwards")
    made = one_seed.predicted("no-positions/forwards", question, "ada", 0.01, 70, False)
    path = put(course, "ada", made.to_json().encode())
    put(course, "link", b"").unlink()
    (course / "submitted" / "link" / "07_sinusoids" / one_seed.FILE).symlink_to(path)
    found = class_experiment.of_class(course, course, "07_sinusoids", 0, str)
    assert found["not_counting"]["ada"] == "is predicted, and not run yet"
    assert "is a link" in found["not_counting"]["link"] and found["counting"] == 0
    changed = one_seed.predicted("no-positions/forwards", question, "ada", -0.01, 70, False)
    put(course, "ada", changed.to_json().encode())
    found = class_experiment.of_class(course, course, "07_sinusoids", 0, str)
    assert "than was collected first" in found["not_counting"]["ada"]
    assert len(found["word"]) == 8


@pytest.mark.slow
def test_a_run_of_the_example_class_comes_out_again(tmp_path):
    known = load_records(example_class.PLACE.parent / "results", "no-positions")
    kept = example_class.hand_ins()
    found = ClassExperiment(
        example_class.QUESTION,
        get("no-positions"),
        known,
        {s: kept[s] for s in ("student-01", "student-23")},
        example_class.WORD,
        any_version=True,
    )
    again(found, tmp_path)
    assert not why(found) and all(run.again for run in found.runs)
