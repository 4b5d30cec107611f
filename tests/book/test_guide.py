"""The guide for instructors is followed word by word, and its pictures are those of today.

What a reader types stands on the page in blocks; they are taken from there. Screens are left in
``_build/guide``, for ``python tests/book/screenshots.py``.
"""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from PIL import Image

from course_tests.book.screenshots import MOST, WIDTH

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
SCREENS = ROOT / "_build" / "guide"
NOTEBOOK = "submitted/ada/03_attention/03_attention.ipynb"


def blocks(page, label):
    section = page.partition(f"({label})=\n")[2]
    section = re.split(r"^\([a-z-]+\)=\n## |^## ", section.partition("\n")[2], flags=re.M)[0]
    return re.findall(r"^```(sh|python|text)\n(.*?)^```$", section, re.M | re.S)


class Reader:
    def __init__(self, folder):
        self.folder, self.said, self.told = folder, "", ""
        home = folder.parent / "home"
        home.mkdir()
        self.settings = home / "jupyter_server_config.py"
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
            "JUPYTER_CONFIG_DIR": str(home),
            "COURSE_SEED": "5eed",
        }

    def types(self, line):
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        self.said = done.stdout

    def starts(self, line):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.settings.write_text(
            f"c.ServerApp.open_browser = False\nc.ServerApp.port = {port}\n"
            "c.ServerApp.allow_root = True\nc.IdentityProvider.token = ''\n"
        )
        log = (self.folder.parent / "jupyter.log").open("wb")
        process = subprocess.Popen(
            line.split(), cwd=self.folder, env=self.environment, stdout=log, stderr=log
        )
        while process.poll() is None:
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    return process, f"http://127.0.0.1:{port}"
            time.sleep(0.2)
        raise AssertionError((self.folder.parent / "jupyter.log").read_text())


@pytest.fixture
def reader(tmp_path):
    folder = tmp_path / "attention-course"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    return Reader(folder)


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1200, "height": 860})
    context.set_default_timeout(180_000)
    yield context.new_page()
    context.close()


def write(page, code, run):
    """Put an answer into the first function's cell, run it and its check, and save."""
    cells = page.locator(".jp-CodeCell")
    cells.filter(has_text="def scaled_dot_product_attention").first.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    if run:
        page.keyboard.press("Shift+Enter")
        page.keyboard.press("Shift+Enter")
        page.get_by_text("This looks like a known mistake: unscaled.").first.wait_for()
    page.keyboard.press("Control+s")
    page.locator(".lm-TabBar-tab.jp-mod-dirty").wait_for(state="detached")


def work(reader, page, line, answer, *, wrong):
    """Open the notebook, answer, look at Formgrader, and end Jupyter."""
    process, address = reader.starts(line)
    try:
        page.goto(f"{address}/lab/tree/{NOTEBOOK}?reset")
        page.locator(".jp-CodeCell").first.wait_for()
        idle = page.get_by_text("Python 3 (ipykernel) | Idle").first
        idle.wait_for()  # without a kernel, a window would ask for one
        if wrong:
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            stopped = page.locator(".jp-OutputArea").filter(has_text="Not written yet")
            stopped.first.wait_for()
            idle.wait_for()
        write(page, answer, run=wrong)
        if wrong:
            check = page.locator(".jp-CodeCell").filter(has_text="looks like a known mistake").first
            check.scroll_into_view_if_needed()
            if (news := page.get_by_role("button", name="No", exact=True)).count():
                news.click()
            SCREENS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENS / "notebook.png")
        else:
            page.get_by_role("menuitem", name="Nbgrader").click()
            page.get_by_role("menuitem", name="Formgrader").click()
            rows = page.frame_locator("iframe").first.locator("tr")
            graded = rows.filter(has_text="03_attention").locator("td.num-submissions")
            graded.filter(has_text="1").wait_for()
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
@pytest.mark.browser
def test_the_way_in_a_terminal_is_followed_word_by_word(reader, page, serve):
    asked = blocks(PAGE, "a-first-assignment")
    (wrong,) = [text for kind, text in asked if kind == "python"]
    right = wrong.replace("q @ k", "q / math.sqrt(q.shape[-1]) @ k")
    assert "`math.sqrt(q.shape[-1])`" in PAGE and right != wrong
    repository = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    first = f"git clone {repository}\ncd attention-course\nmake teacher\n. .venv/bin/activate\n"
    assert asked[0] == ("sh", first)
    jupyter, grades = "", 0
    for kind, text in asked[1:]:
        if kind == "text":
            assert text in reader.told
        for line in text.splitlines() if kind == "sh" else []:
            if line.startswith("jupyter"):
                jupyter = line
                work(reader, page, line, wrong, wrong=True)
                continue
            if line.startswith("course grade"):
                grades += 1
            if grades == 2 and line.startswith("course grade"):
                work(reader, page, jupyter, right, wrong=False)
            reader.types(line)
            if line.startswith("course grade"):
                reader.told = reader.said
                if grades == 1:
                    page.goto(
                        serve(reader.folder / "feedback/ada/03_attention") + "03_attention.html"
                    )
                    page.get_by_text("unscaled").first.wait_for()
                    page.screenshot(path=SCREENS / "feedback.png")
    assert grades == 2
    assert "03_attention" in (reader.folder / "grades.csv").read_text()


def shown():
    text = PAGE + (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"!\[([^\]]*)\]\((?:book/)?pictures/([\w-]+\.png)\)", text)


def test_the_guide_s_pictures_are_small_described_and_made_by_tests():
    assert shown()
    there = {path.name for path in (ROOT / "book" / "pictures").iterdir()}
    assert there == {name for _, name in shown()}
    hub = (
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests" / "grader" / "hub").glob("*.py")
    )
    tests = {"guide": Path(__file__).read_text(encoding="utf-8"), "hub": "".join(hub)}
    tests["readme"] = (ROOT / "tests/browser/test_page_survey.py").read_text(encoding="utf-8")
    for alt, name in shown():
        path = ROOT / "book" / "pictures" / name
        assert path.stat().st_size <= MOST and len(alt) > 60, name
        with Image.open(path) as picture:
            assert picture.width <= WIDTH and picture.width > picture.height
        way, *made = name.removesuffix(".png").split("-")
        # By its whole name, or by what goes before the name of who is at work.
        said = (f'"{"-".join(made)}"', f'"{"-".join(made)}.png"', f'"{made[0]}"', f'f"{made[0]}-')
        assert any(text in tests[way] for text in said), f"no test leaves {name}"


def test_the_three_pages_lead_to_each_other_and_stay_short():
    names = ["instructors", "instructors_term", "instructors_reference"]
    pages = {n: (ROOT / "book" / f"{n}.md").read_text(encoding="utf-8") for n in names}
    for name, text in pages.items():
        links = set(re.findall(r"\((instructors\w*)\.md\)", text))
        assert links == set(names) - {name}, name
    assert sum(len(text.split()) for text in pages.values()) <= 4650
