"""A scheduler here and workers as Slurm jobs, for `course grade --scheduler`.

Needs dask-jobqueue (`pip install dask-jobqueue`) on a node that may submit jobs, and the course
installed from one checkout that all nodes see. Written down here, not run on a cluster; only the
job script that it submits has been looked at (`--show`).
"""

import argparse
import signal
import sys

from dask_jobqueue import SLURMCluster

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--jobs", type=int, default=4, help="Slurm jobs (default: 4)")
arguments.add_argument("--processes", type=int, default=8, help="workers in a job, one core each")
arguments.add_argument("--memory", default="24GB", help="of a job; 3 GB a worker and their caps")
arguments.add_argument("--walltime", default="02:00:00", help="of a job")
arguments.add_argument("--partition", help="where jobs go")
arguments.add_argument("--interface", help="network that all nodes share, such as ib0")
arguments.add_argument("--show", action="store_true", help="only print the job script")
asked = arguments.parse_args()

cluster = SLURMCluster(
    queue=asked.partition,
    interface=asked.interface,
    # One thread a worker: each keeps a process that judges, which takes one core.
    cores=asked.processes,
    processes=asked.processes,
    memory=asked.memory,
    walltime=asked.walltime,
    python=sys.executable,
    # What a submission may use is capped by the grader itself.
    worker_extra_args=["--memory-limit", "0"],
    job_script_prologue=["export OMP_NUM_THREADS=1"],
)
if asked.show:
    print(cluster.job_script())
else:
    cluster.scale(jobs=asked.jobs)
    print(f"course grade ASSIGNMENT --scheduler {cluster.scheduler_address}", flush=True)
    print("Ctrl-C ends scheduler and workers; what is graded stays.", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    cluster.close()
