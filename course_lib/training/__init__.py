"""A training loop small enough to read, and what it needs.

A run is a pure function of its arguments: batches are made from the number of the epoch, dropout is
seeded anew at its start. That is why a run that was killed and resumed ends exactly where an
undisturbed one does.
"""

from course_lib.training.checkpoints import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
    write_tensors,
)
from course_lib.training.loop import fit, train_epoch, warmup_cosine
from course_lib.training.measures import accuracy, count_parameters
from course_lib.training.memory import recomputing, saved_bytes
from course_lib.training.randomness import derive_seed, minibatches, seeded_generator
