from course_lib.bank.prelude import F, Tensor, nn, torch
from course_lib.bank.start import see
from course_lib.bank.start.train import colleagues_train, exercise


@exercise.answer
def reference(theta: Tensor, x: Tensor, y: Tensor, steps: int, lr: float) -> Tensor:
    """Where plain gradient descent is after some steps."""
    for _ in range(steps):
        theta = theta.detach().clone().requires_grad_()
        loss = ((x @ theta.softmax(-1) - y) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, theta)
        theta = theta - lr * gradient
    return theta.detach().clone()


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


@exercise.mistake(see("loop", "With which gradient is the first step taken? Is there one yet?"))
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


@exercise.mistake(see("autograd", "Call it twice with the same `theta`. Does it start again?"))
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
