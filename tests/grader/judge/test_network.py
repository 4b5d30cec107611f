"""The same on hosts of a network: cables are pulled, and hosts vanish without a word.

Every host is a network namespace with a cable to a switch, which is one, too. What is pulled is
the end at the switch: packets are lost, and nobody is told.
"""

import os
import shutil
import subprocess
import time

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("distributed", reason="no dask.distributed: pip install -e '.[cluster]'")

# Seconds of silence after which all of them take a connection for dead. Dask's own are 30, and
# fewer than 11 it refuses.
DEAD = 12
SOON = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": f"{DEAD}s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
}
LOST = "lost the scheduler at tcp://10.77.0.1:8786; ungraded work is sent out again"
HOSTS = ("scheduler", "driver", "one", "two")


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Network:
    """Namespaces of this process's own; nothing that was there before is touched."""

    def __init__(self):
        self.prefix, self.made = f"course-{os.getpid()}-", []

    def lay(self):
        switch = self._make("switch")
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        for number, host in enumerate(HOSTS, 1):
            name = self._make(host)
            ip("-n", switch, "link", "add", host, "type", "veth", "peer", "eth0", "netns", name)
            ip("-n", switch, "link", "set", host, "master", "bridge", "up")
            ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", name, "link", "set", device, "up")

    def _make(self, host):
        ip("netns", "add", self.prefix + host)
        self.made.append(self.prefix + host)
        return self.made[-1]

    def on(self, host):
        return ("nsenter", f"--net=/run/netns/{self.prefix}{host}")

    def pull(self, *hosts):
        for host in hosts:
            ip("-n", self.prefix + "switch", "link", "set", host, "down")

    def plug(self, *hosts):
        for host in hosts:
            ip("-n", self.prefix + "switch", "link", "set", host, "up")

    def end(self):
        for name in self.made:
            ip("netns", "delete", name)


@pytest.fixture
def network(missing):
    if os.geteuid():
        pytest.skip("hosts are network namespaces, and only root makes those")
    if not shutil.which("ip") or not shutil.which("nsenter"):
        missing("no ip or nsenter: apt install iproute2 util-linux")
    network = Network()
    try:
        try:
            network.lay()
        except OSError as error:
            pytest.skip(f"no network namespaces on this machine: {error}")
        yield network
    finally:
        network.end()


@pytest.fixture
def hosts(network, machines):
    machines.environment |= SOON
    machines.address = "tcp://10.77.0.1:8786"
    machines.start(on=network.on("scheduler"))
    for host in ("one", "two"):
        machines.hire(on=network.on(host))
    return machines


@pytest.fixture
def run(crowd, hosts, network, grading, tmp_path):
    course = crowd.copied(tmp_path)
    run = grading(course, "--scheduler", hosts.address, on=network.on("driver"), **SOON)
    run.reach(2)
    return run


@pytest.fixture
def same(run, crowd, undisturbed, dump):
    """See that everybody was graded once, to what one machine comes to."""

    def see():
        facts = run.finished()
        assert facts["graded_now"] == facts["submissions"] == len(crowd.names)
        assert dump(run.course) == undisturbed

    return see


def test_a_short_cut_is_not_even_noticed(run, network, same):
    for host in ("driver", "scheduler", "one"):
        network.pull(host)
        time.sleep(1)
        network.plug(host)
    same()
    assert run.complaint == ""


def test_the_command_is_cut_off_and_goes_on(run, network, crowd, same):
    network.pull("driver")
    time.sleep(2 * DEAD)
    there = run.verdicts()
    assert there < len(crowd.names), "the cut came too late"
    network.plug("driver")
    same()
    assert LOST in run.complaint and "Traceback" not in run.complaint


def test_a_worker_is_cut_off_and_the_other_does_its_work(run, hosts, network, same):
    network.pull("one")
    same()
    network.plug("one")
    assert hosts.workers[1].poll() is None


def test_the_host_of_the_workers_is_gone_and_another_one_comes(run, hosts, network, same):
    network.pull("one", "two")  # first, so that no connection is ever closed
    for worker in hosts.workers:
        worker.kill()
    time.sleep(2 * DEAD)
    network.plug("two")
    hosts.hire(on=network.on("two"))
    same()


def test_the_scheduler_is_cut_off_from_everybody(run, hosts, network, same):
    network.pull("scheduler")
    for worker in hosts.workers:
        worker.wait(timeout=5 * DEAD)  # dask's worker ends when it has lost its scheduler
    network.plug("scheduler")
    for host in ("one", "two"):
        hosts.hire(on=network.on(host))
    same()
    assert LOST in run.complaint
