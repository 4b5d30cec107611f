"""What holds of every public module in each of its settings, on the devices and types of others."""

import copy
import importlib
import inspect
import pkgutil

import pytest
import torch
from torch import nn, rand, randint, randn

import course_lib
from course_lib import whole
from course_lib.attention_maps import (
    ARCHETYPES,
    archetype,
    block_score,
    column_score,
    diagonality,
    entropy,
    max_weight,
    mean_relative_position,
    monotonicity,
    offset_score,
    received,
    relation_score,
    stripe_score,
    top_mass,
)
from course_lib.calibration import reliability
from course_lib.efficient import GatedDeltaAttention, PerformerAttention
from course_lib.informer import Informer, InformerConfig
from course_lib.informer.places import LayerPositions, PositionVectors
from course_lib.informer.rivals import ChannelForecast, Levelled, PatchForecast
from course_lib.positions import (
    Alibi,
    ComputedTables,
    HeadProjections,
    LearnedPositions,
    LegendrePE,
    MixedRotary,
    RelativeBias,
    WindowBias,
    mixed_angles,
)
from course_lib.positions.previous import PlacedAttention, PreviousToken
from course_lib.resnet import ResNet, ResNetConfig
from course_lib.trained import Reader, ReaderConfig
from course_lib.transformer import EncoderDecoder, TransformerConfig
from course_lib.transformer.mirror import Mirror
from course_tests.parity.peers import floats, mechanisms

WORDS, IMAGE = (lambda: (randint(3, 9, (2, 6)),)), (lambda: (randn(2, 3, 32, 32),))
SERIES = dict(seq_len=24, label_len=12, pred_len=6, d_model=32, n_heads=4, d_ff=16)


def window(config=None):
    fields = config and config.time == "learned"
    times = [randint(0, 4, (2, n, 4)) if fields else rand(2, n, 4) - 0.5 for n in (24, 6)]
    return (randn(2, 24, 7), *times)


CASES = {
    "EncoderDecoder": (
        lambda: EncoderDecoder(TransformerConfig(9, 9, max_len=8, d_model=16, n_heads=2, d_ff=16)),
        lambda: (randint(3, 9, (2, 6)), torch.tensor([6, 4]), randint(3, 9, (2, 5))),
    ),
    "Informer": (lambda: Informer(InformerConfig(**SERIES)), window),
    **{
        f"Informer {name}={value}": (
            lambda name=name, value=value: Informer(InformerConfig(**SERIES | {name: value})),
            lambda name=name, value=value: window(InformerConfig(**SERIES | {name: value})),
        )
        for name, value in (("attention", "full"), ("positions", "relative"), ("time", "learned"))
    },
    "GPT": (lambda: whole.GPT(9, 8, 16, 2, 16, 1), WORDS),
    "VisionTransformer": (lambda: whole.VisionTransformer(32, 8, 5, 16, 2, 16, 1), IMAGE),
    "Reader": (lambda: Reader(ReaderConfig(9)), lambda: (*WORDS(), torch.ones(2, 6) > 0)),
    "ResNet": (lambda: ResNet(ResNetConfig(widths=(8, 8), n_blocks=(1, 1))), IMAGE),
    "PatchForecast": (lambda: Levelled(PatchForecast(24, 6), "window"), window),
    "ChannelForecast": (lambda: Levelled(ChannelForecast(24, 6), "last"), window),
    "PlacedAttention": (lambda: PlacedAttention(8, 2, bias=Alibi(2)), lambda: (randn(2, 5, 8),)),
    "PreviousToken": (lambda: PreviousToken(d_model=8, n_heads=2), WORDS),
    "Mirror": (lambda: Mirror("pre", 1, length=6), WORDS),
    "LearnedPositions": (lambda: LearnedPositions(8, 4), lambda: (randn(2, 5, 4),)),
    "LegendrePE": (lambda: LegendrePE(8, 9), lambda: (randn(2, 5, 8),)),
    "GatedDeltaAttention": (lambda: GatedDeltaAttention(8, 2), lambda: (randn(2, 5, 8),)),
    "PerformerAttention": (lambda: PerformerAttention(8, 2), lambda: (randn(2, 5, 8),)),
    "MixedRotary": (
        lambda: MixedRotary(8, 2, 3, 3, n_prefix=1),
        lambda: (randn(2, 2, 10, 8), randn(2, 2, 10, 8)),
    ),
    # Another bound than the usual, which the module has to remember.
    "RelativeBias": (lambda: RelativeBias(2, max_distance=50), lambda: (60,)),
    "WindowBias": (lambda: WindowBias(2, 3, 4), tuple),
    **{
        f"{part.__name__} {kind}": (
            lambda part=part, kind=kind, rest=rest: part(
                InformerConfig(**SERIES, positions=kind, positions_at="layers"), 24, **rest
            ),
            lambda: (7,),
        )
        for part, rest in ((PositionVectors, {}), (LayerPositions, {"causal": True}))
        for kind in ("sinusoidal", "legendre", "learned")
    },
}
MECHANISMS = mechanisms()
for _name, _mechanism in MECHANISMS.items():
    for _fast in {False, _mechanism.fast}:

        def _build(mechanism=_mechanism, fast=_fast):
            return mechanism.build(fast=fast, **mechanism.tiny)

        def _feed(mechanism=_mechanism):
            return mechanism.inputs(torch.Generator().manual_seed(1), **mechanism.tiny)

        CASES[f"{_name}, {'fast' if _fast else 'explicit'}"] = _build, _feed


def family(name):
    first = name.replace(",", " ").split()[0]
    return MECHANISMS[first].module.split(".")[1] if first in MECHANISMS else first


FIRST = {family(name): name for name in reversed(CASES)}


def every_case(test):
    """All cases of a test, of which every run takes the first of each family."""
    return pytest.mark.sample(*FIRST.values())(pytest.mark.parametrize("name", CASES)(test))


# Nothing can be decided on a device without numbers: packed sentences, the end of a text, whether
# places are given twice, and how many queries of a causal Informer are active.
BY_NUMBERS = {
    name
    for name in CASES
    if name.startswith(("recurrent", "cached_generation", "longformer", "Informer"))
    or name == "block_sparse, fast"
} - {"Informer attention=full"}
# torch packs sentences by their lengths, of which an exported model would know nothing.
PACKED = {n for n in CASES if n.startswith("recurrent")}


def made(name, seed=0):
    torch.manual_seed(seed)
    build, feed = CASES[name]
    return build().eval(), feed()


def outputs(module, inputs):
    with torch.no_grad():
        return floats(module(*inputs))


def tables(module):
    saved = module.state_dict()
    return {name: x for name, x in module.named_buffers() if name not in saved}


def public_modules():
    machinery = {"bank", "book", "claims", "cli", "drawings", "experiments", "figures", "graded"}
    for info in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        if info.name.split(".")[1] not in machinery:
            module = importlib.import_module(info.name)
            yield from (
                value
                for name, value in vars(module).items()
                if inspect.isclass(value)
                and issubclass(value, nn.Module)
                and value.__module__ == info.name
                and not name.startswith("_")
            )


def test_every_public_module_is_among_the_cases():
    seen = {type(part) for name in CASES for part in made(name)[0].modules()}
    bases = {ComputedTables, HeadProjections}  # made to be derived from
    assert set(public_modules()) - seen - bases == set()


@pytest.fixture
def filled_memory():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@every_case
@pytest.mark.usefixtures("filled_memory")
def test_made_on_no_device_and_loaded_it_is_the_same(name):
    good, inputs = made(name)
    with torch.device("meta"):
        other = CASES[name][0]()
    other.to_empty(device="cpu").eval().load_state_dict(good.state_dict())
    for table, numbers in tables(good).items():
        assert torch.equal(other.get_buffer(table), numbers), table
    for ours, theirs in zip(outputs(other, inputs), outputs(good, inputs), strict=True):
        assert torch.equal(ours, theirs)


@every_case
def test_half_precision_and_back_leaves_tables_as_they_were(name):
    module, _ = made(name)
    before = copy.deepcopy(tables(module))
    for table, numbers in tables(module.half().float()).items():
        assert torch.equal(numbers, before[table]), table


@every_case
def test_it_runs_where_its_inputs_are(name):
    module, inputs = made(name)
    shapes = [out.shape for out in outputs(module, inputs)]
    module.to("meta")
    there = tuple(x.to("meta") if torch.is_tensor(x) else x for x in inputs)
    if name in BY_NUMBERS:
        with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
            outputs(module, there)
        return
    found = outputs(module, there)
    assert [out.shape for out in found] == shapes
    assert all(out.is_meta for out in found)


@every_case
def test_under_autocast_it_is_nearly_the_same(name):
    module, inputs = made(name)
    exact = outputs(module, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = outputs(module, inputs)
        leaves = [p for p in module.parameters() if p.requires_grad]
        total = sum(out.float().square().sum() for out in floats(module(*inputs)))
    for ours, theirs in zip(rounded, exact, strict=True):
        scale = max(theirs.abs().max().item(), 1.0) if theirs.numel() else 1.0
        torch.testing.assert_close(ours.to(theirs.dtype), theirs, atol=0.06 * scale, rtol=0)
    if leaves and torch.is_tensor(total) and total.requires_grad:
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
        assert all(g is None or g.isfinite().all() for g in gradients)


def test_autocast_does_not_round_the_angles_of_learned_directions():
    module, inputs = made("MixedRotary")
    exact = outputs(module, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        assert all(map(torch.equal, outputs(module, inputs), exact))
        angles = mixed_angles(3, 3, module.frequencies)
    assert angles.shape == (2, 9, 4)


@pytest.mark.parametrize(
    "name",
    [
        "decoder_only, fast",
        "vit, fast",
        "interleaved_sequence, fast",
        "GPT",
        "MixedRotary",
        "Informer positions=relative",
        "RelativeBias",
        "longformer, fast",
    ],
)
def test_it_can_be_exported(name):
    module, inputs = made(name)
    exported = torch.export.export(module, inputs).module()
    for ours, theirs in zip(outputs(exported, inputs), outputs(module, inputs), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


WITH_NUMBERS = [
    name
    for name, (_, feed) in CASES.items()
    if any(torch.is_tensor(x) and x.is_floating_point() and x.ndim > 2 for x in feed())
]


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_what_is_nan_stays_in_its_example(name):
    module, inputs = made(name)
    before = outputs(module, inputs)
    for place, x in enumerate(inputs):
        if not torch.is_tensor(x) or not x.is_floating_point() or x.ndim < 3:
            continue
        spoiled = x.clone()
        spoiled[0] = torch.nan
        after = outputs(module, (*inputs[:place], spoiled, *inputs[place + 1 :]))
        for ours, theirs in zip(after, before, strict=True):
            if theirs.ndim and theirs.shape[0] == x.shape[0]:
                assert torch.equal(ours[1:], theirs[1:])


@pytest.mark.parametrize(
    "measure",
    [
        lambda w: ARCHETYPES.index(archetype(w)),
        diagonality,
        entropy,
        max_weight,
        mean_relative_position,
        monotonicity,
        received,
        stripe_score,
        lambda w: top_mass(w, 2),
        lambda w: offset_score(w, 1),
        lambda w: block_score(w, torch.tensor([0, 0, 1, 1])),
        lambda w: column_score(w, torch.tensor([True, False, False, True])),
        lambda w: relation_score(w, torch.eye(4) > 0),
        lambda w: relation_score(w, torch.eye(4) > 0, by="mass"),
    ],
)
def test_a_row_of_nan_counts_as_an_empty_one(measure):
    weights = torch.tensor(
        [[0.7, 0.1, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.1, 0.2, 0.3, 0.4]]
    )
    empty, spoiled = weights.clone(), weights.clone()
    empty[1], spoiled[1, 2] = 0.0, torch.nan
    assert torch.equal(torch.as_tensor(measure(spoiled)), torch.as_tensor(measure(empty)))


def test_calibration_is_measured_where_the_logits_are():
    bins = reliability(randn(8, 3, device="meta"), randint(0, 3, (8,), device="meta"), n_bins=4)
    assert all(part.is_meta for part in bins)


@pytest.mark.parametrize("name", sorted(PACKED))
def test_recurrent_layers_go_backwards_in_either_mode(name):
    # cuDNN does so in training mode only: in the other its kernels have to be left aside.
    module, inputs = made(name)
    enabled = []
    for part in module.modules():
        if isinstance(part, nn.RNNBase):
            part.register_forward_pre_hook(lambda *_: enabled.append(torch.backends.cudnn.enabled))
    for training in (True, False):
        enabled.clear()
        module.train(training)(*inputs)
        assert enabled and set(enabled) == {training}
    enabled.clear()
    outputs(module, inputs)
    assert set(enabled) == {True}
