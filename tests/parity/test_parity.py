"""What every mechanism must keep, whatever it is."""

import copy
from importlib import import_module
from pkgutil import resolve_name

import pytest
import torch

from course_tests.parity.peers import Mechanism, floats, mechanisms

ALL = mechanisms()
NAMES = sorted(ALL)


def with_gradients(module, inputs, call=None):
    inputs = tuple(
        x.clone().requires_grad_() if torch.is_tensor(x) and x.is_floating_point() else x
        for x in inputs
    )
    outputs = floats((call or module)(*inputs))
    leaves = [x for x in inputs if torch.is_tensor(x) and x.requires_grad]
    leaves += [p for p in module.parameters() if p.requires_grad] if call is None else []
    generator = torch.Generator().manual_seed(7)
    total = sum(
        (out * torch.randn(out.shape, generator=generator).to(out)).sum()
        for out in outputs
        if out.requires_grad
    )
    if not torch.is_tensor(total) or not leaves:
        return outputs, []
    return outputs, torch.autograd.grad(total, leaves, allow_unused=True)


def assert_same(ours, theirs, tolerance):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:
            # A path may leave out a tensor that has no influence.
            assert all(g is None or not g.any() for g in (a, b))
            continue
        assert a.shape == b.shape
        scale = max(b.abs().max().item(), 1.0) if b.numel() else 1.0
        torch.testing.assert_close(a, b, atol=tolerance * scale, rtol=0)


@pytest.mark.parametrize("name", [n for n in NAMES if ALL[n].fast])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_explicit_and_fast_path_agree_in_outputs_and_gradients(name, dtype):
    mechanism = ALL[name]
    tolerance = mechanism.tolerance if dtype == torch.float32 else 1e-10
    fast, inputs = mechanism.make(mechanism.tiny, fast=True, dtype=dtype)
    explicit, _ = mechanism.make(mechanism.tiny, fast=False, dtype=dtype)
    explicit.load_state_dict(fast.state_dict())
    for ours, theirs in zip(
        with_gradients(fast, inputs), with_gradients(explicit, inputs), strict=True
    ):
        assert_same(ours, theirs, tolerance)


@pytest.mark.parametrize("role", ["peer", "oracle"])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_as_a_peer_or_an_independent_route(name, role):
    mechanism = ALL[name]
    make_reference = getattr(mechanism, role)
    if make_reference is None:
        assert mechanism.peer or mechanism.oracle or mechanism.fast
        return
    double = mechanism.peer_double or role == "oracle"
    dtype, tolerance = (torch.float64, 1e-9) if double else (torch.float32, mechanism.tolerance)
    for fast in {False, mechanism.fast}:
        module, inputs = mechanism.make(mechanism.tiny, fast=fast, dtype=dtype)
        reference = make_reference(module, inputs)
        with torch.no_grad():
            assert_same(
                floats(module(*inputs)), floats(reference.call(*reference.inputs)), tolerance
            )


@pytest.mark.parametrize("name", [n for n in NAMES if ALL[n].peer and ALL[n].trains])
def test_gradients_with_respect_to_the_inputs_are_the_peers(name):
    mechanism = ALL[name]
    double = mechanism.peer_double
    dtype, tolerance = (torch.float64, 1e-9) if double else (torch.float32, mechanism.tolerance)
    module, inputs = mechanism.make(mechanism.tiny, fast=mechanism.fast, dtype=dtype)
    reference = mechanism.peer(module, inputs)
    same_layout = len(reference.inputs) == len(inputs) and all(
        a is b for a, b in zip(reference.inputs, inputs, strict=True)
    )
    if not same_layout or not floats(inputs):
        # Words have no gradient, and gradients in another layout say nothing; the outputs are
        # compared all the same.
        return
    theirs = with_gradients(module, inputs, reference.call)[1]
    ours = with_gradients(module, inputs)[1][: len(theirs)]
    assert_same(ours, theirs, tolerance)


@pytest.mark.parametrize("name", [n for n in NAMES if ALL[n].half])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_low_precision_stays_finite(name, dtype):
    mechanism = ALL[name]
    for fast in {False, mechanism.fast}:
        module, inputs = mechanism.make(mechanism.tiny, fast=fast, dtype=dtype)
        outputs, gradients = with_gradients(module, inputs)
        assert outputs
        for tensor in [*outputs, *gradients]:
            assert tensor is None or tensor.isfinite().all()


@pytest.mark.parametrize("name", [n for n in NAMES if ALL[n].trains])
def test_gradients_reach_every_weight(name):
    mechanism = ALL[name]
    module, inputs = mechanism.make(mechanism.tiny, fast=mechanism.fast)
    outputs = floats(module(*inputs))
    if not list(module.parameters()):
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
        outputs = floats(module(*inputs))
    sum(out.square().sum() for out in outputs if out.requires_grad).backward()
    unreached = [n for n, p in module.named_parameters() if p.requires_grad and p.grad is None]
    assert not unreached


def assert_traced(name, fast):
    torch._dynamo.reset()
    module, inputs = ALL[name].make(ALL[name].tiny, fast=fast)
    # The tracing is what may fail; the code it generates is the compiler's affair.
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        assert_same(floats(compiled(*inputs)), floats(module(*inputs)), 1e-5)


COMPILES = [n for n in NAMES if ALL[n].compiles]


# The path that is there to be fast, of each family of mechanisms.
FAST = """scaled_dot_product multi_head bahdanau performer block_sparse longformer prob_sparse alibi
rotary_half_split t5_bias window_attention encoder_pre_norm decoder_only vit
gated_cross_attention"""


@pytest.mark.sample(*FAST.split())
@pytest.mark.parametrize("name", COMPILES)
def test_compile_traces_it_whole(name):
    assert_traced(name, ALL[name].fast)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_generator_gives_the_same(name):
    mechanism = ALL[name]
    results = []
    for _ in range(2):
        module, inputs = mechanism.make(mechanism.tiny, fast=mechanism.fast)
        before = torch.random.get_rng_state()
        with torch.no_grad():
            results.append(floats(module(*inputs)))
        assert torch.equal(before, torch.random.get_rng_state()), "draws from the global generator"
    assert_same(*results, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_left_as_they_were(name):
    mechanism = ALL[name]
    for fast in {False, mechanism.fast}:
        module, inputs = mechanism.make(mechanism.tiny, fast=fast)
        before = copy.deepcopy(inputs)
        with torch.no_grad():
            module(*inputs)
        for x, y in zip(inputs, before, strict=True):
            assert torch.equal(x, y) if torch.is_tensor(x) else x == y


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", NAMES)
def test_on_cuda_it_is_the_same(name):
    mechanism = ALL[name]
    module, inputs = mechanism.make(mechanism.tiny, fast=mechanism.fast, dtype=torch.float64)
    with torch.no_grad():
        here = floats(module(*inputs))
        module.to("cuda")
        there = floats(module(*(x.cuda() if torch.is_tensor(x) else x for x in inputs)))
    assert_same([out.cpu() for out in there], here, 1e-9)


def test_the_code_behind_a_measurement_is_the_module_of_its_mechanism():
    for mechanism in mechanisms().values():
        assert mechanism in import_module(mechanism.module).MECHANISMS, mechanism.name


@pytest.mark.parametrize("name", [n for n in NAMES if ALL[n].peer])
def test_the_peers_name_is_that_of_something(name):
    assert callable(resolve_name(ALL[name].peer_name))


def test_a_mechanism_that_nothing_holds_is_refused():
    arguments = dict(name="x", source="", build=None, inputs=None, tiny={})
    with pytest.raises(ValueError, match="no peer, no oracle"):
        Mechanism(**arguments, fast=False)
    with pytest.raises(ValueError, match="without a note"):
        Mechanism(**arguments, half=False)
    with pytest.raises(ValueError, match="a name without a peer"):
        Mechanism(**arguments, peer_name="torch.add")
