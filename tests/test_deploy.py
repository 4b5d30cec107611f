"""What is written down for other places parses, agrees with the course, and says what was run."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from course_lib.cli import parser

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "deploy"


def documents(name):
    return list(yaml.safe_load_all((RECIPES / name).read_text(encoding="utf-8")))


def test_binder_gets_what_a_student_needs():
    lines = (ROOT / ".binder/requirements.txt").read_text().splitlines()
    assert "-e .[grade]" in lines and "-c ../constraints.txt" in lines
    version = (ROOT / ".binder/runtime.txt").read_text().strip()
    assert re.fullmatch(r"python-3\.1[123]", version)
    script = ROOT / ".binder/postBuild"
    assert script.stat().st_mode & 0o111, "repo2docker runs it"
    subprocess.run(["bash", "-n", script], check=True)


def test_what_is_hidden_from_students_exists(tmp_path):
    """A plugin by another name would be disabled without a word."""
    folder = Path(sys.prefix) / "share/jupyter/labextensions/@jupyter/nbgrader"
    code = "".join(p.read_text(encoding="utf-8") for p in (folder / "static").glob("*.js"))
    hidden = set(re.findall(r"@jupyter/nbgrader:[\w-]+", (ROOT / ".binder/postBuild").read_text()))
    hidden |= set(
        re.findall(r"@jupyter/nbgrader:[\w-]+", (RECIPES / "z2jh/values.yaml").read_text())
    )
    assert len(hidden) >= 4
    for name in hidden:
        assert name in code, name


def test_hub_values_name_the_course_and_do_not_hand_out_tokens():
    (values,) = documents("z2jh/values.yaml")
    config = values["singleuser"]["extraFiles"]["nbgrader"]["stringData"]
    ast.parse(config)
    here = (ROOT / "nbgrader_config.py").read_text()
    course = re.search(r"course_id = \"(\w+)\"", here)[1]
    assert f'course_id = "{course}"' in config
    assert set(values["hub"]["config"]["JupyterHub"]["load_groups"]) == {
        f"formgrade-{course}",
        f"nbgrader-{course}",
    }
    mounted = values["singleuser"]["storage"]["extraVolumeMounts"][0]["mountPath"]
    assert f'Exchange.root = "{mounted}"' in config


def test_workers_on_kubernetes_have_no_token_and_reach_only_their_scheduler():
    found = {(d["kind"], d["metadata"]["name"]): d for d in documents("cluster/kubernetes.yaml")}
    port = found["Service", "grading-scheduler"]["spec"]["ports"][0]["port"]
    for name in ("grading-scheduler", "grading-workers"):
        pod = found["Deployment", name]["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        command = pod["containers"][0]["command"]
        assert command[0] == "dask" and str(port) in " ".join(command)
    assert ("NetworkPolicy", "grading") in found


def test_every_recipe_says_what_was_run():
    page = (RECIPES / "ways_in.md").read_text(encoding="utf-8")
    for path in ("z2jh/values.yaml", "cluster/slurm.py", "cluster/kubernetes.yaml"):
        assert path in page
        assert re.search(r"not\s+run", (RECIPES / path).read_text()), path
    ast.parse((RECIPES / "cluster/slurm.py").read_text())
    for command, option in re.findall(r"course (\w+) \w+ (--\w+)", page):
        choices = parser()._subparsers._group_actions[0].choices
        assert option in choices[command].format_help()
    for target in re.findall(r"\]\(([^)#]+)\)", page):
        assert (RECIPES / target).exists(), target


def test_workflows_run_what_is_here():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
        for command in commands:
            assert "apt-get" not in command, f"{path.name}: .ci/run says what a machine needs"
            for target in re.findall(r"^(?:make|\.ci/run) ([a-z -]+)", command, re.M):
                assert set(target.split()) <= targets, f"{path.name}: {command}"
            for name in re.findall(r"(?:^|\s)((?:tests|\.ci)/[\w./]+)", command):
                assert (ROOT / name).exists(), f"{path.name}: {name}"


@pytest.mark.parametrize("asked", [[], ["test-all"], ["install", "links"]])
def test_a_new_machine_makes_what_it_is_asked_for(tmp_path, monkeypatch, asked):
    here, tools = tmp_path / "here", tmp_path / "tools"
    for folder in (here / ".ci", tools):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", here / ".ci/run")
    for name in ("make", "chromium", "firefox-esr", "apt-get"):
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" "$COURSE_CI"\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin")
    for given, told in (({}, "1"), ({"COURSE_CI": "0"}, "0")):
        monkeypatch.delenv("COURSE_CI", raising=False)
        done = subprocess.run(
            [here / ".ci/run", *asked], env=os.environ | given, capture_output=True, text=True
        )
        made = [line for line in done.stdout.splitlines() if line.startswith(("make", "apt-get"))]
        assert done.returncode == 0, done.stderr
        assert made == [f"make install {told}", f"make {' '.join(asked) or 'test'} {told}"]


def test_versions_are_published_side_by_side(tmp_path):
    def git(*arguments, at):
        command = ["git", "-C", at, "-c", "user.name=t", "-c", "user.email=t@localhost"]
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    here, there = tmp_path / "here", tmp_path / "there.git"
    subprocess.run(["git", "init", "-q", "--bare", there], check=True)
    (here / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/publish", here / ".ci/publish")
    (here / ".gitignore").write_text("_build\n")
    git("init", "-q", at=here)
    for name in ("user.name", "user.email"):
        git("config", name, "t@localhost", at=here)
    git("add", "-A", at=here)
    git("commit", "-qm", "All", at=here)
    git("remote", "add", "origin", str(there), at=here)

    def publish(version):
        script = [here / ".ci/publish", version]
        return subprocess.run(script, capture_output=True, text=True)

    refused = publish("latest")
    assert refused.returncode and "make book first" in refused.stderr
    for version, text in (
        ("latest", "one"),
        ("v1.9", "two"),
        ("v1.10", "two"),
        ("latest", "three"),
    ):
        for name in ("html/index.html", "notebooks/a.ipynb"):
            (here / "_build" / name).parent.mkdir(parents=True, exist_ok=True)
            (here / "_build" / name).write_text(text)
        done = publish(version)
        assert done.returncode == 0, done.stderr
    assert publish("latest").returncode == 0, "nothing new is no error"
    pages = git("ls-tree", "-r", "--name-only", "gh-pages", at=there).split()
    assert {f"{v}/index.html" for v in ("latest", "v1.9", "v1.10")} < set(pages)
    assert git("show", "gh-pages:latest/index.html", at=there) == "three"
    assert 'url=v1.10/"' in git("show", "gh-pages:index.html", at=there)
    assert git("ls-tree", "-r", "--name-only", "notebooks", at=there).split() == ["a.ipynb"]
    assert not git("status", "--porcelain", at=here)
    assert len(git("worktree", "list", at=here).splitlines()) == 1


@pytest.mark.parametrize("page", ["README.md", "book/self_learners.md"])
def test_a_student_is_told_how_to_begin_in_three_lines(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = next(b for b in text.split("```")[1::2] if "jupyter lab" in b).strip().splitlines()
    install, notebook = lines[1], ROOT / lines[2].split()[-1]
    assert len(lines) == 3 and notebook.exists() and notebook.parent.name == "00_start"
    (extra,) = re.findall(r"-e '\.\[(\w+)\]'", install)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any("jupyterlab" in one for one in extras["optional-dependencies"][extra])
