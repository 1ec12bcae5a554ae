"""scenarios.py - what the files in deploy/ promise, tried: servers start, replace each other, and keep their data.

Each function gets a Network (compose.py), and raises AssertionError."""
import os
import signal
import urllib.error
import urllib.request

import compose

SERVER = 6379
SENTINEL = 26379


def check(is_true, what):
    if not is_true:
        raise AssertionError(what)


def one_server(net, deploy):
    path, word = os.path.join(deploy, "one-server/docker-compose.yml"), "a-long-word"
    net.up(path, {"PASSWORD": word})
    server = net.services["server"]
    net.wait("the server replies", lambda: net.cli(server, "ping", password=word) == "PONG")
    check("NOAUTH" in net.cli(server, "ping"), "a client without the password is refused")
    check(net.cli(server, "config", "get", "maxmemory", password=word) == "maxmemory 1073741824", "maxmemory is 1gb")
    for number, kept in ((signal.SIGKILL, "before the kill"), (signal.SIGTERM, "before the stop")):
        check(net.cli(server, "set", "kept", kept, password=word) == "OK", "a write")
        check(net.cli(server, "waitaof", "1", "0", "5000", password=word) == "1 0", "the append-only file has it")
        net.stop(server, number)
        net.start(server)
        net.wait("the server has its data again", lambda: net.cli(server, "get", "kept", password=word) == kept)
    net.remove_all()
    net.up(path, {})
    server = net.services["server"]
    net.wait("a server without a password", lambda: net.cli(server, "ping") == "PONG")


def sentinel_view(net, at):
    """The host of the primary, as a Sentinel names it."""
    return net.cli(net.services[at], "-p", str(SENTINEL), "sentinel", "get-primary-addr-by-name", "mymaster").split(" ")[0]


def wait_for_sentinels(net):
    def complete():
        for at in ("sentinel-1", "sentinel-2", "sentinel-3"):
            line = net.cli(net.services[at], "-p", str(SENTINEL), "info", "sentinel")
            if "status=ok" not in line or "slaves=2,sentinels=3" not in line:
                return False
        return True
    net.wait("the Sentinels know all servers and each other", complete, 90)


def has_replicas(net, at, count, word=""):
    """Whether so many replicas follow, and have everything."""
    fields = dict(line.split(":", 1) for line in net.cli(net.services[at], "info", "replication", password=word).split() if ":" in line)
    replicas = [value for name, value in fields.items() if name.startswith("slave") and "state=online" in value]
    return len([r for r in replicas if "offset=%s," % fields["master_repl_offset"] in r]) == count


def role(net, name, word):
    return net.cli(net.services[name], "role", password=word).split(" ")[0]


def sentinels(net, deploy):
    word = "a-long-word"
    net.up(os.path.join(deploy, "sentinels/docker-compose.yml"), {"PASSWORD": word})
    wait_for_sentinels(net)
    check(sentinel_view(net, "sentinel-1") == "server-1", "the primary is server-1")
    first = net.services["server-1"]

    def wait_for_replicas(at):
        net.wait("%s has two replicas" % at, lambda: has_replicas(net, at, 2, word))
    wait_for_replicas("server-1")
    check(net.cli(first, "set", "kept", "one", password=word) == "OK", "a write")
    wait_for_replicas("server-1")

    net.stop(first, signal.SIGKILL)
    net.wait("the Sentinels name another primary", lambda: all(sentinel_view(net, at) in ("server-2", "server-3") for at in ("sentinel-1", "sentinel-2", "sentinel-3")))
    promoted = sentinel_view(net, "sentinel-1")
    net.wait("it is a primary", lambda: role(net, promoted, word) == "master")
    check(net.cli(net.services[promoted], "get", "kept", password=word) == "one", "the new primary has the data")
    check(net.cli(net.services[promoted], "set", "later", "two", password=word) == "OK", "a write after the failover")
    net.start(first)
    net.wait("the old primary follows", lambda: role(net, "server-1", word) == "slave", 90)
    net.wait("and has the new data", lambda: net.cli(first, "get", "later", password=word) == "two")
    wait_for_replicas(promoted)

    # Everything stops and starts again, the old primary first: nobody becomes what it was once.
    everybody = list(net.services.values())
    for service in reversed(everybody):
        net.stop(service)
    for service in everybody:
        net.start(service)
    wait_for_sentinels(net)
    check(sentinel_view(net, "sentinel-2") == promoted, "the primary is the one of before the restart")
    wait_for_replicas(promoted)
    check([role(net, s, word) for s in ("server-1", promoted)] == ["slave", "master"], "the roles are those of before the restart")
    check(net.cli(first, "mget", "kept", "later", password=word) == "one two", "all data is there")


def sentinels_without_password(net, deploy):
    net.up(os.path.join(deploy, "sentinels/docker-compose.yml"), {})
    wait_for_sentinels(net)
    net.wait("two replicas", lambda: has_replicas(net, "server-1", 2))


def cluster(net, deploy):
    word = "a-long-word"
    net.up(os.path.join(deploy, "cluster/docker-compose.yml"), {"PASSWORD": word})
    create, nodes = net.services["create"], [net.services["node-%d" % n] for n in range(1, 7)]

    def info(node):
        return net.cli(node, "cluster", "info", password=word)
    net.wait("`create` has ended", lambda: create.process.poll() == 0, 120)
    create.wanted = False
    for node in nodes:
        net.wait("the cluster is up for " + node.name, lambda: "cluster_state:ok" in info(node) and "cluster_known_nodes:6" in info(node))

    def write(value, at):
        for n in range(60):
            check(net.cli(at, "-c", "set", "key:%d" % n, value, password=word) == "OK", "a write to key:%d" % n)
    write("before", nodes[0])
    primaries = [node for node in nodes if role(net, node.name, word) == "master"]
    check(len(primaries) == 3, "there are three primaries")
    victim, other = primaries[0], primaries[1]
    net.wait("each primary has a replica", lambda: all(has_replicas(net, p.name, 1, word) for p in primaries))
    net.stop(victim, signal.SIGKILL)
    net.wait("a replica takes over", lambda: sum(role(net, n.name, word) == "master" for n in nodes if n is not victim) == 3, 90)
    net.wait("the cluster serves", lambda: all("cluster_state:ok" in info(node) for node in nodes if node is not victim))
    found = {net.cli(other, "-c", "get", "key:%d" % n, password=word) for n in range(60)}
    check(found == {"before"}, "all data is there: %s" % found)
    write("after", other)
    net.start(victim)
    net.wait("the old primary is a replica", lambda: role(net, victim.name, word) == "slave" and "cluster_state:ok" in info(victim))
    net.start(create)
    check(create.process.wait(60) == 0, "`create` does nothing to a cluster that is there")
    check(net.cli(other, "-c", "get", "key:1", password=word) == "after", "the data is still there")


def fetch(address, port, path, token=None):
    request = urllib.request.Request("http://%s:%d%s" % (address, port, path))
    if token:
        request.add_header("Authorization", "Bearer " + token)
    try:
        with urllib.request.urlopen(request, timeout=3) as reply:
            return reply.status
    except urllib.error.HTTPError as e:
        return e.code
    except OSError:
        return 0


def container_entry(documents, folder):
    """The container of the StatefulSet as a service of compose.py: files of the ConfigMap are in `folder`, and the
    volume is the service's folder."""
    by_kind = {d["kind"]: d for d in documents}
    pod = by_kind["StatefulSet"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    secrets = {"password": "a-long-word", "metrics-token": "another-word"}
    environment = {e["name"]: secrets[e["valueFrom"]["secretKeyRef"]["key"]] for e in container["env"]}
    if pod.get("enableServiceLinks", True):  # Kubernetes adds these
        name = by_kind["Service"]["metadata"]["name"].upper()
        environment.update({name + "_PORT": "tcp://10.0.0.1:6379", name + "_SERVICE_HOST": "10.0.0.1"})
    configuration = next(m["mountPath"] for m in container["volumeMounts"] if m["name"] == "configuration")
    for name, text in by_kind["ConfigMap"]["data"].items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text.replace("dir /data\n", "dir .\n"))
    command = [word.replace(configuration, folder) for word in container["args"]]
    return container, {"command": command, "environment": environment, "restart": "always"}, secrets


def kubernetes(net, deploy):
    documents = list(compose.yaml.safe_load_all(open(os.path.join(deploy, "kubernetes/valkey.yaml"))))
    folder = os.path.join(net.folder, "configuration")
    os.mkdir(folder)
    container, entry, secrets = container_entry(documents, folder)
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    server = net.add("valkey-0", entry)
    net.start(server)
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        probe = container[name]["httpGet"]
        net.wait(name, lambda: fetch(server.address, ports[probe["port"]], probe["path"]) == 200, 20)
    word = secrets["password"]
    check(net.cli(server, "-p", str(ports["valkey"]), "ping", password=word) == "PONG", "a client with the password")
    check("NOAUTH" in net.cli(server, "ping"), "a client without it is refused")
    check(fetch(server.address, ports["metrics"], "/metrics") == 401, "metrics need the token")
    check(fetch(server.address, ports["metrics"], "/metrics", secrets["metrics-token"]) == 200, "metrics with the token")
    check(net.cli(server, "set", "kept", "x", password=word) == "OK", "a write")
    check(net.cli(server, "waitaof", "1", "0", "5000", password=word) == "1 0", "the append-only file has it")
    server.process.kill()
    server.process.wait()
    net.wait("the data after a restart", lambda: net.cli(server, "get", "kept", password=word) == "x")
    # A replica whose primary is gone is alive, and not ready.
    net.cli(server, "replicaof", "127.0.0.1", "1", password=word)
    probe = container["readinessProbe"]["httpGet"]
    net.wait("not ready", lambda: fetch(server.address, ports[probe["port"]], probe["path"]) == 503, 20)
    check(fetch(server.address, ports["metrics"], container["livenessProbe"]["httpGet"]["path"]) == 200, "but alive")
