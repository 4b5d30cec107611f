from course_lib.bank.informer.forecast_windows import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference(
    values: Tensor, n_train: int, first: int, last: int, seq_len: int, pred_len: int
) -> tuple[Tensor, Tensor]:
    """Standardise by the training rows, and cut where the targets are in the split."""
    train = values[:n_train].double()
    scaled = (values.double() - train.mean(dim=0)) / train.std(dim=0, correction=0)
    start = max(first - seq_len, 0)
    both = scaled[start:last].unfold(0, seq_len + pred_len, 1).transpose(1, 2).float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("Which rows enter your mean? Are they known when the model is trained?")
def scaler_sees_all(values, n_train, first, last, seq_len, pred_len):
    """The scale is a property of the series."""
    scaled = (values - values.mean(0)) / values.std(0, correction=0)
    both = scaled[max(first - seq_len, 0) : last].unfold(0, seq_len + pred_len, 1).mT.float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("What would the mean of the test rows tell you before they have happened?")
def scaler_of_the_split(values, n_train, first, last, seq_len, pred_len):
    """Every split is standardised by itself."""
    part = values[first:last]
    scaled = (values - part.mean(0)) / part.std(0, correction=0)
    both = scaled[max(first - seq_len, 0) : last].unfold(0, seq_len + pred_len, 1).mT.float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("Is the first row of the split ever a target?")
def nothing_before_the_split(values, n_train, first, last, seq_len, pred_len):
    """A window lies in its split with all its rows."""
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0, correction=0)
    both = scaled[first:last].unfold(0, seq_len + pred_len, 1).mT.float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("Is the last row of the split ever a target? Count windows by hand for 5 rows.")
def last_window_lost(values, n_train, first, last, seq_len, pred_len):
    """There are as many windows as rows less the length of one."""
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0, correction=0)
    start = max(first - seq_len, 0)
    count = max(last - start - seq_len - pred_len, 1)
    rows = start + torch.arange(count)[:, None] + torch.arange(seq_len + pred_len)
    both = scaled[rows].float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("Which row comes right after the last input? And which is your first target?")
def overlap(values, n_train, first, last, seq_len, pred_len):
    """Targets begin with the last row that was read."""
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0, correction=0)
    start = max(first - seq_len, 0)
    both = scaled[start:last].unfold(0, seq_len + pred_len, 1).mT.float()
    return both[:, :seq_len], both[:, seq_len - 1 : seq_len - 1 + pred_len]


@exercise.mistake("How many rows lie between the beginnings of your first two windows?")
def windows_end_to_end(values, n_train, first, last, seq_len, pred_len):
    """No row is a target twice."""
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0, correction=0)
    start = max(first - seq_len, 0)
    both = scaled[start:last].unfold(0, seq_len + pred_len, pred_len).mT.float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("Divide by n or by n - 1? The task says which.")
def unbiased(values, n_train, first, last, seq_len, pred_len):
    """A standard deviation divides by one less than the number of rows."""
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0)
    start = max(first - seq_len, 0)
    both = scaled[start:last].unfold(0, seq_len + pred_len, 1).mT.float()
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake("In which precision is the mean subtracted? Try values around ten million.")
def rounded_first(values, n_train, first, last, seq_len, pred_len):
    """What ends in single precision may begin in it."""
    values = values.float()
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0, correction=0)
    start = max(first - seq_len, 0)
    both = scaled[start:last].unfold(0, seq_len + pred_len, 1).mT
    return both[:, :seq_len], both[:, seq_len:]


@exercise.mistake(
    "Which row is the target of your first window? Which could it be at the earliest?"
)
def first_window_lost(values, n_train, first, last, seq_len, pred_len):
    """The first row of the split is read before the first target comes."""
    train = values[:n_train]
    scaled = (values - train.mean(0)) / train.std(0, correction=0)
    both = scaled[max(first - seq_len, 0) : last].unfold(0, seq_len + pred_len, 1).mT.float()
    both = both[min(1, len(both) - 1) :]
    return both[:, :seq_len], both[:, seq_len:]


@exercise.alternative
def window_by_window(values, n_train, first, last, seq_len, pred_len):
    """A loop over the first target of each window; warns."""
    import warnings

    warnings.warn("slow but plain", stacklevel=1)
    train = values[:n_train]
    mean = train.sum(0) / n_train
    std = ((train - mean) ** 2).mean(0).sqrt()
    xs, ys = [], []
    for target in range(max(first, seq_len), last - pred_len + 1):
        xs.append((values[target - seq_len : target] - mean) / std)
        ys.append((values[target : target + pred_len] - mean) / std)
    return torch.stack(xs).float(), torch.stack(ys).float()


@exercise.alternative
def by_numbers_of_rows(values, n_train, first, last, seq_len, pred_len):
    """A table of row numbers, looked up once."""
    std, mean = torch.std_mean(values[:n_train], dim=0, correction=0)
    begin = max(first, seq_len)
    targets = begin + torch.arange(last - begin - pred_len + 1)
    offsets = torch.arange(-seq_len, pred_len)
    both = ((values[targets.unsqueeze(1) + offsets] - mean) / std).to(torch.float32)
    return both.split([seq_len, pred_len], dim=1)
