"""Tables that are computed anew when a module changes its precision."""

import copy

import pytest
import torch

from course_lib.positions import ComputedTables


class Sevenths(ComputedTables):
    def __init__(self):
        super().__init__()
        self.keep_tables()

    def compute_tables(self):
        return {"sevenths": torch.arange(8, dtype=torch.float64) / 7}


EXACT = torch.arange(8, dtype=torch.float64) / 7


def test_every_precision_is_rounded_once():
    module = torch.nn.Sequential(Sevenths())
    for dtype, kept in [
        (torch.float16, torch.float32),
        (torch.float64, torch.float64),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
    ]:
        assert torch.equal(module.to(dtype)[0].sevenths, EXACT.to(kept))


def test_tables_are_buffers_that_are_not_saved():
    module = Sevenths()
    assert [name for name, _ in module.named_buffers()] == ["sevenths"]
    assert not module.state_dict()
    assert torch.equal(copy.deepcopy(module).double().sevenths, EXACT)
    assert module.to("meta").sevenths.device.type == "meta"


def test_what_needs_double_precision_keeps_it():
    class Finer(Sevenths):
        least = torch.float64

    for dtype in (torch.float16, torch.float32, torch.float64):
        assert torch.equal(Finer().to(dtype).sevenths, EXACT)


def test_a_subclass_must_say_what_its_tables_are():
    with pytest.raises(NotImplementedError):
        ComputedTables().keep_tables()
