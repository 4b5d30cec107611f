"""Packing of small photographs in the order of a scan.

The sequence-and-space essay quotes that reading row after row compresses well, which hints at how
much a model that reads in order could gain from its scan. Each pixel is written down as its
difference from the one before it *in the scan*, channel by channel, and zlib packs that: nothing is
trained. Each seed draws other pictures.
"""

import zlib
from typing import Any, get_args

import torch
from torch import Tensor

from course_lib.data.cifar import load_cifar10
from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.positions import Scan, scan_order
from course_lib.training import seeded_generator

ARMS: dict[str, dict[str, Any]] = {scan: {"scan": scan} for scan in get_args(Scan)}
QUESTIONS = from_table("scan_orders")
"""Rows beside the other scans, and a control."""


def packed_share(pictures: Tensor, order: Tensor) -> float:
    """Mean share of the bytes ``(B, C, H, W)`` that are left when differences along a scan are
    packed.
    """
    pixels = pictures.flatten(2)[:, :, order].int()
    steps = pixels.diff(dim=2, prepend=torch.zeros_like(pixels[:, :, :1])).to(torch.uint8)
    shares = [len(zlib.compress(s.numpy().tobytes(), 9)) / s.numel() for s in steps]
    return sum(shares) / len(shares)


@experiment(
    "scan-orders",
    "how well photographs can be packed, by the order in which their pixels are read",
    arms=ARMS,
    sizes={
        "cpu": Size({"n_pictures": 1_000}, (0, 1, 2, 3, 4), 0.03, "one CPU core"),
        "full": Size({"n_pictures": 10_000}, (0,), 1, "one CPU core"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Pack test pictures that the seed draws; the arms of a seed share them."""
    clock = Clock(torch.device("cpu"))
    test = load_cifar10("test")
    chosen = torch.randperm(len(test), generator=seeded_generator(job.seed))
    order = scan_order(job.config["scan"], 32, 32, generator=seeded_generator(job.seed, 1))
    share = packed_share(test.images[chosen[: job.config["n_pictures"]]], order)
    row = {"epoch": 1, "packed_share": share} | clock.lap()
    data = [DataUse("cifar10", test.variant, test.sha256)]
    return Outcome(data, [row], {"packed_share": share})
