"""Where to look at a run while it goes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def tensorboard_log(folder: Path) -> Iterator[Callable[[Mapping[str, float]], None]]:
    """Write the rows of a run for TensorBoard, a curve for each column.

    ``with tensorboard_log(folder) as log: fit(..., log=log)``, and ``tensorboard --logdir`` with
    the folder above shows all runs beside each other. A run that is resumed goes on in the same
    folder.

    Raises:
        RuntimeError: If TensorBoard is not installed, which the course does without.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise RuntimeError(
            "TensorBoard is not installed: run `pip install 'attention-course[logs]'`, "
            "or keep the rows that `fit` returns"
        ) from error
    writer = SummaryWriter(str(folder))

    def log(row: Mapping[str, float]) -> None:
        for name, value in row.items():
            if name != "epoch":
                writer.add_scalar(name, value, int(row["epoch"]))

    try:
        yield log
    finally:
        writer.close()
