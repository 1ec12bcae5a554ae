#!/usr/bin/env python3
"""Shows a page of the metrics port in a real browser, without a screen, and says what is there.

    browser.py CHROMIUM URL SECONDS [--user NAME:PASSWORD] [--pictures FOLDER] WIDTHxHEIGHT:light|dark ...

Prints one line of JSON for each size: problems (what the console says, failed requests, requests to somebody else), the
figures of the page, how wide it is, and the texts of its parts. Speaks the protocol of Chromium's developer tools over a pipe
(--remote-debugging-pipe): messages of JSON, each ended by a NUL.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

LOOK = """(() => {
  const text = id => document.getElementById(id).innerText;
  const wide = [...document.querySelectorAll('body *')].filter(e => {
    const r = e.getBoundingClientRect();
    return r.width > 0 && (r.right > innerWidth + 1 || r.left < -1) && !e.closest('svg') && !e.closest('caption');
  }).map(e => e.tagName + '.' + e.className + ' in ' + (e.closest('[id]') || {}).id);
  const cut = [...document.querySelectorAll('td, th, dt, dd, p, li, h1, .value, .more, .label')].filter(e =>
    e.scrollWidth > e.clientWidth + 1 && e.clientWidth && !['inline', 'none'].includes(getComputedStyle(e).display) && !e.closest('caption')
  ).map(e => e.innerText.slice(0, 40) + ' in ' + (e.closest('[id]') || {}).id);
  const small = [...document.querySelectorAll('button')].filter(e => e.getBoundingClientRect().height < 32).length;
  return {
    scrolls: document.documentElement.scrollWidth > innerWidth, wide: wide.slice(0, 5), cut: cut.slice(0, 5), small,
    state: text('state'), name: text('name'), title: document.title,
    tiles: [...document.querySelectorAll('#tiles li')].map(e => e.innerText.replace(/\\n/g, ' | ')),
    lines: [...document.querySelectorAll('#tiles .line')].filter(e => (e.getAttribute('d') || '').length > 10).length,
    parts: Object.fromEntries(['warnings', 'commands', 'latency', 'memory', 'databases', 'sizes', 'keys', 'slow', 'clients', 'replication', 'files', 'cluster'].map(id => [id, text(id)])),
    links: [...document.querySelectorAll('#replication a, #cluster a')].map(e => e.href),
    unnamed: document.querySelectorAll('svg[role=img]:not([aria-label]), section:not([aria-labelledby]), th:not([scope])').length,
    background: getComputedStyle(document.body).backgroundColor,
  };
})()"""


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp()
        to_us, to_it = os.pipe(), os.pipe()

        def pipes():  # the browser reads from 3 and writes to 4
            os.dup2(to_it[0], 13)
            os.dup2(to_us[1], 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.out, self.inn = os.fdopen(to_it[1], "wb", 0), os.fdopen(to_us[0], "rb")
        os.close(to_it[0])
        os.close(to_us[1])
        self.id, self.rest, self.events = 0, b"", []

    def read(self):
        while b"\0" not in self.rest:
            piece = os.read(self.inn.fileno(), 1 << 20)
            if not piece:
                raise SystemExit("the browser has gone")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.id += 1
        message = {"id": self.id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.id:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def problems(events, host):
    found = []
    for e in events:
        p = e.get("params", {})
        if e.get("method") == "Runtime.exceptionThrown":
            found.append("exception: " + p["exceptionDetails"].get("exception", {}).get("description", p["exceptionDetails"]["text"]))
        elif e.get("method") == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            found.append("console: " + str(p["args"]))
        elif e.get("method") == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            found.append("log: " + p["entry"]["text"] + " " + p["entry"].get("url", ""))
        elif e.get("method") == "Network.requestWillBeSent":
            url = urlsplit(p["request"]["url"])
            if url.scheme != "data" and url.netloc != host:
                found.append("asks somebody else: " + p["request"]["url"])
    return found


def main():
    program, url, seconds, *rest = sys.argv[1:]
    user = pictures = None
    sizes = []
    while rest:
        word = rest.pop(0)
        if word == "--user":
            user = rest.pop(0)
        elif word == "--pictures":
            pictures = rest.pop(0)
        else:
            sizes.append(word)
    browser = Browser(program)
    try:
        for size in sizes:
            dimensions, theme = size.split(":")
            width, height = map(int, dimensions.split("x"))
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable", session)
            browser.events.clear()
            browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
            browser.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": theme}])
            if user:
                browser.call("Network.setExtraHTTPHeaders", session,
                             headers={"Authorization": "Basic " + base64.b64encode(user.encode()).decode()})
            browser.call("Page.navigate", session, url=url)
            time.sleep(float(seconds))
            result = browser.call("Runtime.evaluate", session, expression=LOOK, returnByValue=True)
            look = result["result"].get("value") or {"failed": result}
            look.update(size=size, problems=problems(browser.events, urlsplit(url).netloc))
            if pictures:
                content = browser.call("Page.getLayoutMetrics", session)["cssContentSize"]
                shot = browser.call("Page.captureScreenshot", session, captureBeyondViewport=True,
                                    clip={"x": 0, "y": 0, "width": width, "height": content["height"], "scale": 1})
                with open(os.path.join(pictures, f"{dimensions}-{theme}.png"), "wb") as f:
                    f.write(base64.b64decode(shot["data"]))
            browser.call("Target.closeTarget", targetId=target)
            print(json.dumps(look))
    finally:
        browser.close()


main()
