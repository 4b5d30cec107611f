from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="block.route_tokens",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="06_experts.html#experts-by-hand",
    outcomes=("block.assemble",),
    example=lambda t: (t.randn(3, 4), 2),
    returns=("the experts", "their weights", "the loss"),
)


def part(t: Trial, index: int, scores: Tensor, k: int) -> None:
    """Compare the experts, their weights or the loss."""
    got, want = t.values(t.call(scores, k))[index], t.want(scores, k)[index]
    t.close(got, want, exercise.returns[index], note=f"{k} of {scores.shape[1]} experts")


@exercise.prop(1, "Sort the scores of one token by hand. Which k come first?")
def experts(t: Trial) -> None:
    """each token uses the k experts with its largest scores, the largest first"""
    for k in (1, 2, 3):
        part(t, 0, t.randn(5, 6), k)


@exercise.prop(1, "What must the weights of one token sum to, and which scores make them?")
def weights(t: Trial) -> None:
    """the weights are a softmax over the scores of the chosen experts, however large they are"""
    for k in (1, 2, 3, 6):
        part(t, 1, t.randn(5, 6), k)
    part(t, 1, t.randn(2, 6) + torch.tensor([[1000.0], [-1000.0]]), 3)


@exercise.prop(0.5, "Two scores are equal. Which of them does your function put first?")
def ties(t: Trial) -> None:
    """of equal scores the expert with the lower number comes first"""
    t.usual(t.randn(5, 6), 2)
    part(t, 0, torch.zeros(2, 16), 2)
    for k in (1, 2, 3):
        part(t, 0, torch.tensor([[1.0, 3, 3, 1, 3], [2, 1, 2, 2, 0], [0, 1, 1, 1, 0]]), k)


@exercise.prop(1, "All experts are used equally, and every score is 0. What are f, P and the loss?")
def balance(t: Trial) -> None:
    """the balancing loss is E times the sum of f P"""
    for k in (1, 2, 3):
        part(t, 2, t.randn(5, 6), k)
    part(t, 2, 9 * torch.eye(4)[torch.zeros(8, dtype=torch.long)], 1)


@exercise.prop(0.5, "Which of f and P changes a little when a score does? Is anything detached?")
def gradients(t: Trial) -> None:
    """gradients reach the scores, through the weights and through the loss"""
    for output in (1, 2):
        t.gradient(t.randn(4, 5, dtype=torch.float64), 2, output=output)
