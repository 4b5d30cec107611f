"""Add to the list of operators what right answers run, as a program.

It is run in a checkout, whose assignments have model answers. What is listed stays: another
processor, or ``ATEN_CPU_CAPABILITY`` in the environment, may choose other kernels.
"""

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from course_tests.grader.checks.matrix import reference_source
from grader.authoring import Model, answers
from grader.checks.answer_host import AnswerHost
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import Exercise, find, identifiers, namespace
from grader.checks.grading import grade, quiet
from grader.checks.operator_recorder import EVERYDAY, recorder

x = torch.eye(4).add(0.1)
# Calls beside an answer, or in one where they are no shortcut: storage, order, draws and algebra.
BESIDE = (
    lambda: copy.deepcopy(x),
    lambda: [*DataLoader(TensorDataset(x), batch_size=2, shuffle=True)],
    lambda: x.trace() + x.rot90().addr(x[0], x[0])[0].addmv(x, x[0]),
    lambda: torch.tril_indices(3, 3) + torch.triu_indices(3, 3),
    lambda: torch.isin(torch.combinations(x[0]), x),
    lambda: x.clone().index_fill(0, torch.tensor([0]), 1.0).put_(torch.tensor([0]), x[0, :1]),
    lambda: x.take(torch.tensor([1])) + x.diagonal_scatter(x[0]),
    lambda: (x.mode(), x.kthvalue(1), x.histc(), x.cummax(0), x.cummin(0), x.nanmedian()),
    lambda: torch.searchsorted(x[0], torch.logspace(0, 1, 3)),
    lambda: torch.bernoulli(x / 9) + x.multinomial(1) + F.dropout(x, 0.5),
    lambda: F.gumbel_softmax(x) + torch.poisson(x) + torch.rand_like(x) + torch.randint(3, (4,)),
    lambda: (torch.linalg.inv(x), torch.linalg.solve(x, x), torch.linalg.pinv(x), F.glu(x)),
    lambda: (torch.linalg.qr(x), torch.linalg.svd(x), torch.linalg.eigh(x), x.det(), x.logdet()),
    lambda: torch.linalg.cholesky(x),
)


def beside() -> set[str]:
    before = recorder()()
    for call in BESIDE:
        call()
    return since(before)


def since(before: Mapping[str, int]) -> set[str]:
    return {name for name, _ in recorder()().items() - before.items()}


def main() -> None:
    models = answers(Path())
    operators: set[str] = set()
    for enabled in (True, False):
        with torch.backends.mkldnn.flags(enabled=enabled):
            operators |= beside().union(*(used(find(i), models.get(i)) for i in identifiers()))
    known = {*map(_plain, operators), *EVERYDAY.read_text(encoding="utf-8").split()}
    EVERYDAY.write_text("\n".join(sorted(known - {""})) + "\n", encoding="utf-8")


def _plain(name: str) -> str:
    library, _, operator = name.partition("::")
    return operator.rstrip("_") if library == "aten" else ""


def used(exercise: Exercise, model: Model | None = None) -> set[str]:
    sources = [reference_source(exercise), *(a.source for a in exercise.alternatives)]
    if model is not None:
        sources.append(f"{model.before}\n\n{model.source}")
    names: set[str] = set()
    for source in sources:
        with quiet():
            host = AnswerHost(namespace(exercise, source))

            def answer(frame: bytes, host: AnswerHost = host) -> bytes:
                before = recorder()()
                reply = host.answer(frame)
                names.update(since(before))
                return reply

            grade(exercise, AnswerProxy(answer), "0", examples=False)
    return names


if __name__ == "__main__":
    main()
