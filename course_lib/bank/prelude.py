"""What exercises are written with: the names of every notebook's first cell, and the engine's."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.checks.exercise import Exercise, changed
from grader.checks.trial import Trial, Wrong

__all__ = ["Exercise", "F", "Tensor", "Trial", "Wrong", "changed", "math", "nn", "torch"]
