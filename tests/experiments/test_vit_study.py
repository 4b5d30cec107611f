"""What else changes a vision transformer: teachers, pictures, positions, and what is watched."""

import math

import pytest

from course_lib.experiments import vit_positions, vit_study
from course_lib.experiments.vit_study import StudyRun

SMALL = {"n_train": 100, "n_watched": 20, "n_test": 40, "n_mapped": 4, "epochs": 2}
SMALL |= {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32}


pytestmark = pytest.mark.usefixtures("shapes_as_cifar")


@pytest.fixture
def run(train):
    def run(arm, **changes):
        config = vit_study.EXPERIMENT.config(arm, "cpu") | SMALL | changes
        return train(vit_study.EXPERIMENT, config, arm)

    return run


def test_layers_are_watched_after_every_epoch(run):
    rows = run("whole").metrics
    assert len(rows) == 2
    for row in rows:
        assert all(0 < row[f"distance_{layer}"] < math.hypot(24, 24) for layer in (1, 2))
        assert all(0 < row[f"entropy_{layer}"] <= 1 for layer in (1, 2))
    assert "distance_3" not in rows[0]
    assert rows[0]["entropy_1"] != rows[1]["entropy_1"]


def test_a_teacher_teaches(run):
    told = {arm: run(arm) for arm in ("whole", "soft-teacher", "hard-teacher")}
    losses = {arm: outcome.metrics[-1]["loss"] for arm, outcome in told.items()}
    assert len(set(losses.values())) == 3
    assert "accuracy_of_the_teacher" not in told["whole"].results
    for arm in ("soft-teacher", "hard-teacher"):
        assert 0 <= told[arm].results["accuracy_of_the_teacher"] <= 1
        more = told[arm].results["n_parameters"] - told["whole"].results["n_parameters"]
        assert more == 16 + 10 * 17


def test_convolutions_have_no_maps_and_no_token_for_a_teacher(run):
    rows = run("hybrid", d_model=32, n_heads=1, n_layers=3).metrics
    assert not any(name.startswith(("distance", "entropy")) for name in rows[0])
    with pytest.raises(ValueError, match="kind is 'hybrid', wanted 'vit' for a teacher"):
        run("hybrid", teacher="soft")


def test_the_reports_models_take_as_many_steps_on_as_many_pictures():
    arms = [vit_study.EXPERIMENT.config(arm, "cpu") for arm in vit_study.ARMS if "few" in arm]
    free = {"kind", "patch_size", "crop", "n_mapped"}
    assert len(arms) == 4
    assert len({str({k: v for k, v in arm.items() if k not in free}) for arm in arms}) == 1
    assert sorted(arm["patch_size"] for arm in arms if arm["kind"] == "vit") == [2, 4, 4]


@pytest.mark.parametrize("module", [vit_study, vit_positions])
def test_arms_change_one_thing(module):
    cpu = module.EXPERIMENT.sizes["cpu"].config
    for changes in module.ARMS.values():
        StudyRun(**(dict(cpu) | changes))
    same = [arm for arm, changes in module.ARMS.items() if dict(cpu) | changes == dict(cpu)]
    assert same == (["whole"] if module is vit_study else ["fixed"])
