"""compose.py - runs the services of a docker-compose.yml without Docker.

Each service has a network namespace of its own, with an address on a common bridge, as containers have. It is started
by the image's own start script (packaging/docker/entrypoint), as a user without rights, with the command and the
environment of the file, in a folder that stands for its volume. Names of services are in /etc/hosts while they run, as
Docker's name server has them. All of it is in namespaces of this process (`inside` makes them), and ends with it.

What the file says about images, published ports and health is not used.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import yaml

HOSTS = "/etc/hosts"
SUBNET = "10.77.0.0/24"  # of a file that names none
UNSHARE = ("unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")


def impossible():
    """Why services cannot run here; None if they can."""
    for program in ("unshare", "ip"):
        if not shutil.which(program):
            return "no %s here" % program
    tried = subprocess.run([*UNSHARE, "sh", "-c", "ip link add name br0 type bridge && ip link add name v0 type veth peer name v1"],
                           capture_output=True, text=True)
    return None if tried.returncode == 0 else "no namespaces here: " + tried.stderr.strip()


def inside(arguments):
    """Runs this program again, in namespaces of its own; returns its exit code."""
    return subprocess.run([*UNSHARE, sys.executable, *arguments], timeout=900).returncode


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def fill_in(value, variables):
    """Replaces ${NAME:-default} and $$ in all texts within the value."""
    if isinstance(value, dict):
        return {key: fill_in(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_in(item, variables) for item in value]
    if not isinstance(value, str):
        return value

    def replace(match):
        return "$" if match[0] == "$$" else variables.get(match[1]) or match[2] or ""
    return re.sub(r"\$\$|\$\{(\w+)(?::-([^}]*))?\}", replace, value)


def load(path, variables=()):
    with open(path) as f:
        return fill_in(yaml.safe_load(f), dict(variables))


class Service:
    def __init__(self, name, entry, address, folder):
        self.name, self.entry, self.address, self.folder = name, entry, address, folder
        self.hostname = entry.get("hostname", name)
        self.process = None
        self.wanted = False


class Network:
    """The bridge and the names. There is one at a time."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.services = {}
        self.namespaces = 0
        self.bridge_networks = set()
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)  # for ip netns
        self.hosts = os.path.join(folder, "hosts")
        self.write_hosts()
        subprocess.run(["mount", "--bind", self.hosts, HOSTS], check=True)
        ip("link", "set", "lo", "up")
        ip("link", "add", "name", "br0", "type", "bridge")
        ip("link", "set", "br0", "up")

    def write_hosts(self):
        with open(self.hosts, "r+" if os.path.exists(self.hosts) else "w") as f:  # in place: it is mounted
            f.write("127.0.0.1 localhost\n" + "".join("%s %s %s\n" % (s.address, s.name, s.hostname)
                                                       for s in self.services.values() if s.wanted))
            f.truncate()

    def add(self, name, entry, subnet=SUBNET):
        networks = entry.get("networks")
        address = networks["default"]["ipv4_address"] if isinstance(networks, dict) else None
        self.namespaces += 1
        n = self.namespaces
        address = address or "%s.%d" % (subnet.rsplit(".", 1)[0], n + 100)
        network = address.rsplit(".", 1)[0]
        if network not in self.bridge_networks:
            self.bridge_networks.add(network)
            ip("addr", "add", network + ".1/24", "dev", "br0")
        ip("netns", "add", "n%d" % n)
        ip("link", "add", "name", "v%d" % n, "type", "veth", "peer", "name", "eth0", "netns", "n%d" % n)
        ip("link", "set", "v%d" % n, "master", "br0", "up")
        for words in (("addr", "add", address + "/24", "dev", "eth0"), ("link", "set", "eth0", "up"), ("link", "set", "lo", "up")):
            ip("-n", "n%d" % n, *words)
        folder = os.path.join(self.folder, "%s.%d" % (name, n))
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        service = Service(name, entry, address, folder)
        service.namespace = "n%d" % n
        self.services[name] = service
        return service

    def start(self, service):
        service.wanted = True
        self.write_hosts()
        self.spawn(service)

    def spawn(self, service):
        environment = {"PATH": self.programs + ":/usr/bin:/bin", "HOSTNAME": service.hostname}
        environment.update({k: str(v) for k, v in (service.entry.get("environment") or {}).items()})
        with open(service.folder + ".log", "a") as log:
            service.process = subprocess.Popen(["ip", "netns", "exec", service.namespace, *USER, "entrypoint", *service.entry["command"]],
                                               cwd=service.folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def keep_running(self):
        """Starts again what has ended, as its restart policy says."""
        for service in self.services.values():
            code = service.process.poll() if service.wanted and service.process else None
            policy = service.entry.get("restart", "no")
            if code is not None and (policy in ("always", "unless-stopped") or (policy == "on-failure" and code)):
                self.spawn(service)

    def stop(self, service, number=signal.SIGTERM, limit_s=30):
        service.wanted = False
        self.write_hosts()
        service.process.send_signal(number)
        service.process.wait(limit_s)

    def remove_all(self):
        for service in self.services.values():
            if service.process and service.process.poll() is None:
                service.process.kill()
                service.process.wait()
            ip("netns", "del", service.namespace)
        self.services = {}
        self.write_hosts()

    def up(self, path, variables):
        """Starts all services of a file, each after those that it depends on."""
        file = load(path, variables)
        entries, networks = file["services"], file.get("networks") or {}
        subnet = networks["default"]["ipam"]["config"][0]["subnet"] if networks else SUBNET
        order = []

        def visit(name):
            for other in entries[name].get("depends_on", ()):
                visit(other)
            if name not in order:
                order.append(name)
        for name in entries:
            visit(name)
        for name in order:
            self.start(self.add(name, entries[name], subnet))

    def cli(self, service, *words, password="", host=None):
        """valkey-cli in the container's network: its output, in one line."""
        done = subprocess.run(["ip", "netns", "exec", service.namespace, os.path.join(self.programs, "valkey-cli"), "-h", host or service.address,
                               "-t", "5", *words], capture_output=True, text=True, timeout=60, env={"VALKEYCLI_AUTH": password, "PATH": os.environ["PATH"]})
        return " ".join((done.stdout + done.stderr).split())

    def wait(self, what, condition, limit_s=60):
        until = time.time() + limit_s
        while time.time() < until:
            self.keep_running()
            if condition():
                return
            time.sleep(0.1)
        logs = "".join("--- %s\n%s" % (s.name, "".join([line for line in open(s.folder + ".log") if "resolv" not in line][-12:])) for s in self.services.values())
        raise AssertionError("%s: not within %d s\n%s" % (what, limit_s, logs))
