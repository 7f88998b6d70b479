"""Starts real Slurm on this machine, with nodes of its own, for the oracles: Debian's packages
slurm-wlm and munge, no systemd, nothing outside one folder, and ports that are free, so several
clusters may run at once."""
import os
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "scontrol")
PACKAGES = "slurm-wlm munge"
PATIENCE = 30.0
CONFIGURATION = """\
ClusterName=godwit
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
RequeueExit=75
MaxArraySize=10001
SlurmdTimeout={timeout}
KillWait=5
MinJobAge=300
SchedulerParameters=batch_sched_delay=0,sched_interval=1
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why Slurm cannot be started here, None if it can."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if absent:
        return f"{', '.join(absent)}: not installed (scripts/packages {PACKAGES})"
    return "only root can start slurmd" if os.geteuid() else None


class Slurm:
    """A cluster with nodes n1, n2, ... of so many processors each; `environment` leads its commands
    there. Ends with all its processes when the `with` statement does."""

    def __init__(self, folder, nodes=2, processors=1, lost_after=10):
        self.folder = os.path.abspath(folder)
        self.nodes = [f"n{number + 1}" for number in range(nodes)]
        self.processors, self.lost_after = processors, lost_after
        self.configuration = os.path.join(self.folder, "slurm.conf")
        self.environment = {
            **os.environ, "SLURM_CONF": self.configuration,
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
            # Without it slurmd waits for the system's bus, where there is none.
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}
        self.munged = None

    def __enter__(self):
        os.makedirs(os.path.join(self.folder, "state"))
        os.chmod(self.folder, 0o755)
        self.write_configuration()
        try:
            self.start_munged()
            self.run("slurmctld", "-f", self.configuration)
            for node in self.nodes:
                os.makedirs(os.path.join(self.folder, f"spool-{node}"))
                self.start_node(node)
            self.wait_until_idle(self.nodes)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            self.stop_node(node)
        self.stop("slurmctld")
        self.stop("munged")
        if self.munged:
            self.munged.wait()

    def write_configuration(self):
        ports = free_ports(1 + len(self.nodes))
        lines = [f"NodeName={node} NodeHostname={host()} NodeAddr=127.0.0.1 Port={port} "
                 f"CPUs={self.processors} RealMemory=1000 State=UNKNOWN"
                 for node, port in zip(self.nodes, ports[1:])]
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(
                host=host(), controller=ports[0], folder=self.folder, timeout=self.lost_after,
                user="root", nodes="\n".join(lines)))

    def start_munged(self):
        key = os.path.join(self.folder, "munge.key")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(1024))
        # Its folders may be anybody's, such as one below /tmp: --force.
        self.munged = subprocess.Popen(
            ["munged", "--foreground", "--force", f"--key-file={key}",
             *(f"--{what}={self.folder}/munge{end}" for what, end in (
                 ("socket", ".socket"), ("log-file", ".log"), ("seed-file", ".seed"))),
             f"--pid-file={self.folder}/munged.pid"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.wait("munged has a socket",
                  lambda: os.path.exists(os.path.join(self.folder, "munge.socket")))

    def start_node(self, node):
        """Starts a node, also one that was stopped."""
        self.run("slurmd", "-f", self.configuration, "-N", node)

    def stop_node(self, node, number=signal.SIGTERM):
        """Stops a node's slurmd; its steps live on, unless `scontrol` says that it is down."""
        self.stop(f"slurmd-{node}", number)

    def down(self, node):
        """Has the controller give up a node, which ends its jobs and steps as lost."""
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def resume(self, node):
        """Takes back a node that was given up."""
        self.run("scontrol", "update", f"nodename={node}", "state=resume")

    def states(self):
        """The state of each node, such as idle, alloc, down* or mix."""
        lines = self.run("sinfo", "--noheader", "--Node", "--format", "%N %T").splitlines()
        return dict(line.split() for line in lines if line.strip())

    def wait_until_idle(self, nodes):
        self.wait(f"{', '.join(nodes)} idle",
                  lambda: all(self.states().get(node) == "idle" for node in nodes))

    def run(self, *command, expect=0, **options):
        """Runs a command of Slurm's: what it prints."""
        done = subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=PATIENCE * 2, **options)
        if done.returncode != expect:
            raise OSError(f"{' '.join(command)}: exit {done.returncode}, expected {expect}: "
                          f"{(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def wait(self, words, fits, patience=PATIENCE):
        end = time.monotonic() + patience
        while True:
            try:
                if fits():
                    return
            except OSError:  # slurmctld answers nobody while it starts
                pass
            if time.monotonic() > end:
                raise OSError(f"after {patience:.0f} s not yet: {words}; {self.logs()}")
            time.sleep(0.1)

    def logs(self):
        """The last lines of its logs, for a failure's sentence."""
        found = []
        for name in ("munge.log", "slurmctld.log", *(f"slurmd-{n}.log" for n in self.nodes)):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    found.append(f"{name}: {' | '.join(file.read().splitlines()[-3:])}")
        return "; ".join(found)

    def process(self, name):
        """The process that a pid file names, None where there is none."""
        try:
            with open(os.path.join(self.folder, f"{name}.pid"), encoding="utf-8") as file:
                return int(file.read())
        except (FileNotFoundError, ValueError):
            return None

    def stop(self, name, number=signal.SIGTERM):
        process = self.process(name)
        if process is None:
            return
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return
        end = time.monotonic() + PATIENCE / 3
        while alive(process):
            if time.monotonic() > end:
                os.kill(process, signal.SIGKILL)
                break
            time.sleep(0.05)
        path = os.path.join(self.folder, f"{name}.pid")
        if os.path.exists(path):
            os.remove(path)


def alive(process):
    """Whether a process runs: one that ended and was not waited for does not."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def host():
    return socket.gethostname().partition(".")[0]


def free_ports(count):
    """So many ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
