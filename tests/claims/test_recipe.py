"""What a claim writes down of another library is what that library does."""

import pytest
import torch
from transformers import get_cosine_schedule_with_warmup

from course_lib.claims.recipe import guide_rate


def test_the_guides_schedule_is_that_of_its_library() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = get_cosine_schedule_with_warmup(optimizer, 7, 40)
    for step in range(40):
        assert schedule.get_last_lr()[0] == pytest.approx(guide_rate(step, 7, 40))
        optimizer.step()
        schedule.step()
