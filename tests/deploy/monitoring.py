"""monitoring.py - the dashboard and the alerts, compared with living servers and tried in Prometheus."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import yaml

from scenarios import check

METRIC = re.compile(r"\bredis_\w+")


def dashboard(deploy):
    with open(os.path.join(deploy, "monitoring/grafana.json")) as f:
        return json.load(f)


def alerts(deploy):
    with open(os.path.join(deploy, "monitoring/alerts.yml")) as f:
        return [rule for group in yaml.safe_load(f)["groups"] for rule in group["rules"]]


def panels(board):
    """(title, expression) of each target, with Grafana's variables filled in."""
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5s").replace("$instance", ".*")


def check_layout(deploy):
    board = dashboard(deploy)
    identities = [p["id"] for p in board["panels"]]
    check(len(set(identities)) == len(identities), "the ids of panels are unique")
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        check(at["x"] + at["w"] <= 24, "%s is too wide" % panel["title"])
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        check(not cells & taken, "%s is on another panel" % panel["title"])
        taken |= cells
        check(panel["type"] == "row" or all(t["datasource"]["uid"] == "${datasource}" for t in panel["targets"]), "a target without the data source")
    names = [v["name"] for v in board["templating"]["list"]]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(board["panels"]))) - {"__rate_interval"}
    check(used == set(names), "variables %s, used %s" % (names, sorted(used)))


class Servers:
    """A primary with TLS, its replica, and a node of a cluster, with data and metrics."""

    def __init__(self, server, folder, ports):
        self.cli = os.path.join(os.path.dirname(server), "valkey-cli")
        self.ports, self.metrics, self.processes = ports[:3], ports[3:6], []
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-days", "90", "-keyout", "key", "-out", "cert"],
                       cwd=folder, check=True, capture_output=True)
        tls = ["--tls-port", str(ports[6]), "--tls-cert-file", os.path.join(folder, "cert"), "--tls-key-file", os.path.join(folder, "key"),
               "--tls-ca-cert-file", os.path.join(folder, "cert")]
        more = [tls + ["--maxmemory", "1gb", "--appendonly", "yes"], ["--replicaof", "127.0.0.1 %d" % ports[0]],
                ["--cluster-enabled", "yes", "--cluster-port", str(ports[7])]]
        for port, metrics, words in zip(self.ports, self.metrics, more):
            home = os.path.join(folder, str(port))
            os.mkdir(home)
            self.processes.append(subprocess.Popen([server, "--port", str(port), "--metrics-port", str(metrics), "--dir", home, "--repl-diskless-sync-delay", "0", *words],
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for port in self.ports:
            self.until(port, "ping", "PONG")
        self.until(self.ports[1], "info replication", "master_link_status:up")
        self.ask(self.ports[2], "cluster addslotsrange 0 16383")
        self.until(self.ports[2], "cluster info", "cluster_state:ok")
        self.ask(self.ports[0], "config set slowlog-log-slower-than 0")
        self.work()

    def ask(self, port, line):
        return subprocess.run([self.cli, "-p", str(port), *line.split()], capture_output=True, text=True, timeout=30).stdout

    def until(self, port, line, wanted):
        for _ in range(300):
            if wanted in self.ask(port, line):
                return
            time.sleep(0.1)
        raise AssertionError("port %d, %s: no %s" % (port, line, wanted))

    def work(self):
        for line in ("set key value ex 1000", "get key", "get nosuch", "lpush key x", "nosuch"):
            self.ask(self.ports[0], line)
        self.ask(self.ports[2], "set key value")

    def names(self):
        """All metrics that these servers have."""
        text = ""
        for port in self.metrics:
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=10) as reply:
                text += reply.read().decode()
        return set(METRIC.findall("\n".join(line.split("{")[0].split(" ")[0] for line in text.splitlines())))

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def check_names(deploy, servers):
    expressions = [e for _, e in panels(dashboard(deploy))] + [rule["expr"] for rule in alerts(deploy)]
    used = set(METRIC.findall(" ".join(expressions)))
    check(len(used) > 40, "%d metrics are used" % len(used))
    missing = sorted(used - servers.names())
    check(not missing, "the server has no " + " ".join(missing))


def promtool(*words):
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, "promtool %s: %s%s" % (" ".join(words), done.stdout, done.stderr))


def check_rules(deploy, tests):
    """promtool reads the alerts and the dashboard's expressions, and each alert fires when it should."""
    rules = os.path.join(deploy, "monitoring/alerts.yml")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "panels.yml"), "w") as f:
            records = [{"record": "panel:%d" % i, "expr": e} for i, (_, e) in enumerate(panels(dashboard(deploy)))]
            yaml.safe_dump({"groups": [{"name": "panels", "rules": records}]}, f)
        with open(os.path.join(tests, "alerts_test.yml")) as f:
            text = f.read()
        missing = [rule["alert"] for rule in alerts(deploy) if 'alertname="%s"' % rule["alert"] not in text]
        check(not missing, "no test of the alerts " + " ".join(missing))
        with open(os.path.join(folder, "test.yml"), "w") as f:
            f.write(text.replace("RULES", rules))
        promtool("check", "rules", rules)
        promtool("check", "rules", os.path.join(folder, "panels.yml"))
        promtool("test", "rules", os.path.join(folder, "test.yml"))


def check_living(deploy, servers, folder, port):
    """Prometheus scrapes the servers for some seconds; then every panel has data, and no alert is on that should not."""
    configuration = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [os.path.abspath(os.path.join(deploy, "monitoring/alerts.yml"))],
                     "scrape_configs": [{"job_name": "valkey", "static_configs": [{"targets": ["127.0.0.1:%d" % p for p in servers.metrics]}]}]}
    with open(os.path.join(folder, "prometheus.yml"), "w") as f:
        yaml.safe_dump(configuration, f)

    def query(expression):
        address = "http://127.0.0.1:%d/api/v1/query?" % port + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(address, timeout=10) as reply:
            return json.load(reply)["data"]["result"]
    process = subprocess.Popen([shutil.which("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:%d" % port],
                               cwd=folder, stdout=open(os.path.join(folder, "log"), "w"), stderr=subprocess.STDOUT)
    try:
        empty, until = None, time.time() + 40
        while time.time() < until and empty != []:
            time.sleep(1)
            servers.work()
            try:
                empty = [title for title, expression in panels(dashboard(deploy)) if not query(expression)]
            except OSError:
                continue  # it starts
        check(empty == [], "no data in the panels: %s" % empty)
        firing = [r["metric"]["alertname"] for r in query('ALERTS{alertstate="firing"}')]
        check(not firing, "healthy servers, and these alerts: %s" % firing)
    finally:
        process.terminate()
        process.wait()
