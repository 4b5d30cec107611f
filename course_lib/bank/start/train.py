from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from course_lib.bank.start import see


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
    points=3,
    minutes=15,
    difficulty=2,
    chapter="00_tools.html#tools-loop",
    outcomes=("start.loop",),
    example=lambda t: (*_data(t), 3, 0.5),
)


@exercise.prop(0.5, see("loop", "After one turn through the five lines, where are the parameters?"))
def one_step(t: Trial) -> None:
    """one step of gradient descent, and a second one from there"""
    t.same(*_data(t, t.integer(2, 5)), 1, 0.7)
    _goes_on(t)


@exercise.prop(
    1.5, see("loop", "Print the gradient before each step. Does it hold more than this step's?")
)
def several_steps(t: Trial) -> None:
    """several steps, each with its own gradient"""
    t.same(*_data(t), t.integer(3, 6), 0.5)


@exercise.prop(
    0.5, see("check", "How often does your loop run with `steps=0`? The table shows the call.")
)
def no_step(t: Trial) -> None:
    """zero steps change nothing, and two steps are one step followed by another"""
    theta, x, y = _data(t)
    t.same(theta, x, y, 0, 0.5, note="steps=0")
    _goes_on(t)


@exercise.prop(0.5, see("autograd", "Whose tensor does your optimiser move? A copy needs `clone`."))
def no_side_effect(t: Trial) -> None:
    """the parameters that were handed over are left as they were, call after call"""
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
