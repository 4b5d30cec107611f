"""Exercise ``start.train``."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.bank.start import see
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(theta: Tensor, x: Tensor, y: Tensor, steps: int, lr: float) -> Tensor:
    """Where plain gradient descent is after some steps."""
    for _ in range(steps):
        theta = theta.detach().clone().requires_grad_()
        loss = ((x @ theta.softmax(-1) - y) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, theta)
        theta = theta - lr * gradient
    return theta.detach().clone()


def _data(t: Trial, width: int = 4, batch: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    return t.randn(width), t.randn(batch, width), t.randn(batch)


def _goes_on(t: Trial) -> None:
    """Expect two steps to lead where one leads from where one has led."""
    theta, x, y = _data(t)
    after_one = t.a_tensor(t.call(theta, x, y, 1, 0.5), theta.shape)
    t.expect(not torch.equal(after_one, theta), "a step changes nothing")
    twice = t.call(after_one, x, y, 1, 0.5)
    t.close(t.call(theta, x, y, 2, 0.5), twice, note="two steps at once, against one and one")


exercise = Exercise(
    id="start.train",
    function="train",
    reference=reference,
    points=3,
    minutes=15,
    difficulty=2,
    chapter="00_start.html#start-loop",
    outcomes=("start.loop",),
    example=lambda t: (*_data(t), 3, 0.5),
)


@exercise.prop(
    "one step along the gradient, and a second one from there",
    points=0.5,
    hint=see("loop", "After one turn through the five lines, where are the parameters?"),
)
def one_step(t: Trial) -> None:
    t.same(*_data(t, t.integer(2, 5)), 1, 0.7)
    _goes_on(t)


@exercise.prop(
    "several steps, each along its own gradient",
    points=1.5,
    hint=see("loop", "Print the gradient before each step. Does it hold more than this step's?"),
)
def several_steps(t: Trial) -> None:
    t.same(*_data(t), t.integer(3, 6), 0.5)


@exercise.prop(
    "no step changes nothing, and two are one after the other",
    points=0.5,
    hint=see("check", "How often does your loop run with `steps=0`? The table shows the call."),
)
def no_step(t: Trial) -> None:
    theta, x, y = _data(t)
    t.same(theta, x, y, 0, 0.5, note="steps=0")
    _goes_on(t)


@exercise.prop(
    "the parameters that were handed over are left as they were, call after call",
    points=0.5,
    hint=see("autograd", "Whose tensor does your optimiser move? A copy needs `clone`."),
)
def no_side_effect(t: Trial) -> None:
    data = _data(t)
    t.unchanged(*data, 2, 0.5)
    t.close(t.call(*data, 2, 0.5), t.call(*data, 2, 0.5), "the result of a second call")


def colleagues_train(theta, x, y, steps, lr):
    """Each backward replaces the gradient of the one before."""
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.SGD([theta], lr=lr)
    for _ in range(steps):
        out = x @ theta.softmax(dim=-1)
        loss = ((out - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return theta.detach()


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake(see("autograd", "What does `theta.grad` hold at the second step?"))(
    colleagues_train
)


@exercise.mistake(see("loop", "What is left of the gradient when the step is taken?"))
def cleared_before_the_step(theta, x, y, steps, lr):
    """Gradients are cleared between backward and step."""
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.SGD([theta], lr=lr)
    for _ in range(steps):
        loss = ((x @ theta.softmax(-1) - y) ** 2).mean()
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
    return theta.detach()


@exercise.mistake(see("loop", "Along which gradient is the first step taken? Is there one yet?"))
def step_before_backward(theta, x, y, steps, lr):
    """Step and backward may change places: it is a loop, after all."""
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.SGD([theta], lr=lr)
    for _ in range(steps):
        loss = ((x @ theta.softmax(-1) - y) ** 2).mean()
        optimizer.step()
        optimizer.zero_grad()
        loss.backward()
    return theta.detach()


@exercise.mistake(see("broadcasting", "`out - y[:, None]`: how many differences are averaged?"))
def all_pairs(theta, x, y, steps, lr):
    """Targets need a column of their own."""
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.SGD([theta], lr=lr)
    for _ in range(steps):
        loss = ((x @ theta.softmax(-1) - y[:, None]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return theta.detach()


@exercise.mistake(see("autograd", "Call it twice with the same `theta`. Does it start anew?"))
def moves_the_original(theta, x, y, steps, lr):
    """A function may move what it is given, as an optimiser does."""
    theta.requires_grad_()
    optimizer = torch.optim.SGD([theta], lr=lr)
    for _ in range(steps):
        loss = ((x @ theta.softmax(-1) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return theta.detach().clone()


@exercise.alternative
def by_formula(theta, x, y, steps, lr):
    """The gradient of the softmax written out; no autograd at all."""
    theta = theta.detach().clone()
    for _ in range(steps):
        weights = torch.softmax(theta, 0)
        by_weight = 2 * x.mT @ (x @ weights - y) / len(y)
        theta -= lr * weights * (by_weight - (weights * by_weight).sum())
    return theta


@exercise.alternative
def cleared_afterwards(theta, x, y, steps, lr):
    """The same lines with clearing last, `F.mse_loss`, and a warning."""
    import warnings

    warnings.warn("clearing last is as good", stacklevel=1)
    parameter = nn.Parameter(theta.clone())
    for _ in range(steps):
        F.mse_loss(torch.mv(x, parameter.softmax(0)), y).backward()
        with torch.no_grad():
            parameter.sub_(parameter.grad, alpha=lr)
        parameter.grad = None
    return parameter.data
