"""Caps on the memory and number of all processes of a worker together, where the kernel lets us."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


@dataclass
class Group:
    """A control group a worker, or nothing where none can be made.

    ``parents`` are a folder for memory and one for processes, or one folder for both.
    """

    parents: list[Path]
    memory: int = 4 * 2**30  # bytes for all processes of one worker
    processes: int = 128
    made: list[Path] = field(default_factory=list)

    @classmethod
    def create(cls) -> "Group":
        """Make the groups' parent, in either version of control groups; empty if not allowed."""
        name = f"course-{os.getpid()}"
        for wanted in ([_ROOT / "memory" / name, _ROOT / "pids" / name], [_ROOT / name]):
            try:
                for folder in wanted:
                    folder.mkdir()
                if len(wanted) == 1:
                    (wanted[0] / "cgroup.subtree_control").write_text("+memory +pids")
                return cls(wanted)
            except OSError:
                for folder in wanted:
                    with contextlib.suppress(OSError):
                        folder.rmdir()
        return cls([])

    def __bool__(self) -> bool:
        return bool(self.parents)

    def add(self, pid: int) -> None:
        """Put a worker into a group of its own, before it has started anything."""
        self._sweep()
        for parent in self.parents:
            folder = parent / str(pid)
            try:
                folder.mkdir()
                caps = dict.fromkeys(("memory.limit_in_bytes", "memory.max"), self.memory)
                for name, value in {**caps, "pids.max": self.processes}.items():
                    if (folder / name).exists():
                        (folder / name).write_text(str(value))
                (folder / "cgroup.procs").write_text(str(pid))
            except OSError:
                continue
            self.made.append(folder)

    def _sweep(self) -> None:
        folders = []
        for folder in self.made:
            try:
                folder.rmdir()
            except OSError:
                folders.append(folder)
        self.made = [folder for folder in folders if folder.exists()]

    def remove(self) -> None:
        """Remove everything."""
        for folder in self.parents:
            for subfolder in folder.glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    subfolder.rmdir()
            with contextlib.suppress(OSError):
                folder.rmdir()
