// Fetches figures every two seconds while the page is visible, and draws them. Rates are computed from the difference
// between two replies, lines from the values received so far: the server stores nothing for this page.
"use strict";

const PERIOD_MS = 2000, KEPT = 150;
const types = ["string", "hash", "list", "set", "zset", "stream", "pathhash", "module"];
const byId = id => document.getElementById(id);

// ---- Making elements: el("td", {class: "n"}, "text", child) ----
function el(name, attributes, ...children) {
  const svg = ["svg", "path", "rect"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) if (v !== null && v !== false) e.setAttribute(k, v === true ? "" : v);
  e.append(...children.filter(c => c !== null && c !== undefined).map(c => c instanceof Node ? c : String(c)));
  return e;
}
const fill = (id, ...children) => byId(id).replaceChildren(...children.filter(Boolean));
const empty = text => el("p", {class: "empty"}, text);

// ---- Numbers in a readable form ----
const number = (v, digits) => v.toLocaleString("en", {maximumFractionDigits: digits, minimumFractionDigits: digits});
function short(v) {
  if (!isFinite(v)) return "–";
  if (v < 1000) return number(v, v < 10 && v % 1 ? 1 : 0);
  const units = ["k", "M", "G", "T"];
  let i = -1;
  do { v /= 1000; i++; } while (v >= 999.5 && i < 3);
  return number(v, v < 100 ? 1 : 0) + " " + units[i];
}
function bytes(v) {
  if (!isFinite(v)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (v >= 1024 && i < 4) { v /= 1024; i++; }
  return number(v, i && v < 100 ? 1 : 0) + " " + units[i];
}
function micros(v) {
  if (!isFinite(v)) return "–";
  if (v < 1000) return number(v, v < 10 ? 1 : 0) + " µs";
  return v < 1e6 ? number(v / 1000, v < 1e4 ? 1 : 0) + " ms" : number(v / 1e6, 1) + " s";
}
function span(s) {
  s = Math.max(0, Math.round(s));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  return s < 172800 ? Math.floor(s / 3600) + " h" : Math.floor(s / 86400) + " d";
}
const percent = v => isFinite(v) ? number(v * 100, v < .1 || v > .99 && v < 1 ? 1 : 0) + " %" : "–";

// ---- Tables: columns are [title, class, width] ----
function table(title, columns, rows) {
  const head = columns.map(([text, cls, width]) => {
    const th = el("th", {scope: "col", class: cls || null}, text);
    if (width) th.style.width = width;
    return th;
  });
  return el("table", {}, el("caption", {}, title), el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...rows.map(row => el("tr", {}, ...row.map((cell, i) =>
      cell instanceof HTMLTableCellElement ? cell : el("td", {class: columns[i][1] || null}, cell))))));
}
function bar(share, cls) {
  const b = el("span", {class: "bar" + (cls ? " " + cls : ""), "aria-hidden": "true"});
  b.style.width = Math.max(1, Math.min(100, share * 100)) * .94 + "%";
  return b;
}
const tag = cls => el("span", {class: "tag " + cls, "aria-hidden": "true"});
function strip(parts, label) {
  const all = parts.reduce((sum, p) => sum + p.value, 0) || 1;
  return el("div", {class: "strip", role: "img", "aria-label": label}, ...parts.map(p => {
    const i = el("i", {class: p.cls, title: p.title || null});
    i.style.width = p.value / all * 100 + "%";
    return i;
  }));
}
function facts(rows) {
  return el("dl", {class: "facts"}, ...rows.filter(Boolean).map(([name, value, cls]) =>
    el("div", {}, el("dt", {}, name), el("dd", {class: cls || null}, value))));
}

// ---- Tiles, each with its line ----
const tiles = new Map();
function tile(key, label) {
  if (!tiles.has(key)) {
    const t = {label, values: [], value: el("span", {class: "value"}), more: el("span", {class: "more"}),
      line: el("path", {class: "line"}), area: el("path", {class: "area"})};
    t.svg = el("svg", {class: "spark", preserveAspectRatio: "none", role: "img"}, t.area, t.line);
    byId("tiles").append(el("li", {}, el("span", {class: "label"}, label), t.value, t.more, t.svg));
    tiles.set(key, t);
  }
  return tiles.get(key);
}
function drawLine(t, least) {
  const values = t.values.filter(isFinite), top = Math.max(least || 0, ...values) || 1;
  const right = Math.max(30, values.length) - 1, from = right + 1 - values.length;
  const points = values.map((v, i) => `${from + i},${(36 - v / top * 32).toFixed(1)}`);
  t.svg.setAttribute("viewBox", `0 0 ${right} 38`);
  t.line.setAttribute("d", points.length > 1 ? "M" + points.join("L") : "");
  t.area.setAttribute("d", points.length > 1 ? `M${from},38L${points.join("L")}L${right},38Z` : "");
}
function show(key, label, value, text, more, least) {
  const t = tile(key, label), [figure, unit] = text.split(" ");
  t.values.push(value);
  if (t.values.length > KEPT) t.values.shift();
  t.value.replaceChildren(figure, ...(unit ? [el("small", {}, unit)] : []));
  t.more.textContent = more || "";
  t.more.title = more || "";
  t.svg.setAttribute("aria-label", `${label} over time, now ${text}`);
  drawLine(t, least);
}

// ---- Interpreting the replies ----
// "calls=4,usec=12" as an object.
const parts = text => Object.fromEntries(String(text).split(",").map(p => p.split(/=(.*)/s)).map(([k, v]) => [k, +v === +v ? +v : v]));
const texts = text => Object.fromEntries(String(text).split(",").map(p => p.split(/=(.*)/s).slice(0, 2)));
let before = null, now = null;
const field = (section, name) => now.info[section] ? now.info[section][name] : undefined;
function rate(section, name) {
  const seconds = before ? (now.now - before.now) / 1000 : 0, old = before && before.info[section];
  if (!seconds || !old) return NaN;
  return Math.max(0, (now.info[section][name] - old[name]) / seconds);
}
const cluster = () => now.info["cluster info"] || {};
const keysOf = info => Object.entries(info.keyspace || {}).filter(([k]) => /^db\d/.test(k)).reduce((n, [, v]) => n + parts(v).keys, 0);

function drawHead() {
  const server = now.info.server, role = field("replication", "role") === "slave" ? "replica" : "primary";
  const name = `${location.hostname}:${server.tcp_port}`;
  byId("name").textContent = name;
  document.title = `${name} – Valkey`;
  byId("what").textContent = [`Valkey ${server.valkey_version || server.redis_version}`,
    server.server_mode === "standalone" ? role : `${server.server_mode}, ${role}`,
    `up ${span(server.uptime_in_seconds)}`, `pid ${server.process_id}`].join(" · ");
}

function drawTiles() {
  const m = now.info.memory, c = now.info.clients;
  const hits = rate("stats", "keyspace_hits"), misses = rate("stats", "keyspace_misses");
  const input = rate("stats", "total_net_input_bytes"), output = rate("stats", "total_net_output_bytes");
  const ops = rate("stats", "total_commands_processed");
  const cpu = rate("cpu", "used_cpu_user") + rate("cpu", "used_cpu_sys"), active = rate("cpu", "used_active_time_main_thread");
  const keys = keysOf(now.info), share = hits + misses ? hits / (hits + misses) : NaN;
  show("ops", "Commands", ops, isFinite(ops) ? short(ops).replace(" ", "") + " /s" : "– /s", `${short(now.info.stats.total_commands_processed)} in total`);
  show("busy", "Main thread", active, percent(active), isFinite(cpu) ? `process ${percent(cpu)} CPU` : "", .05);
  show("memory", "Memory", m.used_memory, bytes(m.used_memory), m.maxmemory ? `of ${bytes(m.maxmemory)}, ${percent(m.used_memory / m.maxmemory)}` : `RSS ${bytes(m.used_memory_rss)}`);
  show("keys", "Keys", keys, short(keys), `${short(rate("stats", "expired_keys") || 0)}/s expire, ${short(rate("stats", "evicted_keys") || 0)}/s evicted`);
  show("hits", "Hits", share, percent(share), isFinite(hits) ? `${short(misses)}/s missed` : "", 1);
  show("clients", "Clients", c.connected_clients, short(c.connected_clients), `${c.blocked_clients} blocked, ${c.pubsub_clients || 0} subscribed`);
  show("in", "Network in", input, isFinite(input) ? bytes(input) + "/s" : "–", `${bytes(now.info.stats.total_net_input_bytes)} in total`);
  show("out", "Network out", output, isFinite(output) ? bytes(output) + "/s" : "–", `${bytes(now.info.stats.total_net_output_bytes)} in total`);
}

function drawCommands() {
  const seconds = before ? (now.now - before.now) / 1000 : 0, rows = [];
  for (const [name, text] of Object.entries(now.info.commandstats || {})) {
    const cmd = name.replace("cmdstat_", ""), s = parts(text);
    const old = before && before.info.commandstats && before.info.commandstats[name] ? parts(before.info.commandstats[name]) : {calls: 0, usec: 0};
    const calls = s.calls - old.calls, lat = parts(field("latencystats", "latency_percentiles_usec_" + cmd) || "");
    rows.push({cmd, calls: s.calls, rate: seconds && before ? calls / seconds : 0, mean: calls > 0 && before ? (s.usec - old.usec) / calls : s.usec_per_call,
      p99: lat.p99, failed: s.failed_calls + s.rejected_calls});
  }
  rows.sort((a, b) => b.rate - a.rate || b.calls - a.calls);
  const top = rows.slice(0, 10), most = Math.max(...top.map(r => r.rate), 1e-9);
  if (!top.length) { fill("commands", empty("No command has run yet.")); return; }
  fill("commands", table("Commands by calls per second", [["Command", "", "32%"], ["Calls/s", "n"], ["Mean", "n"], ["p99", "n wide"], ["Calls", "n wide"], ["Errors", "n"]],
    top.map(r => [el("td", {}, el("span", {class: "mono"}, r.cmd), r.rate ? bar(r.rate / most) : null), short(r.rate), micros(r.mean),
      r.p99 === undefined ? "–" : micros(r.p99), short(r.calls), r.failed ? short(r.failed) : "0"])));
}

const byType = survey => [...survey.types].sort((a, b) => types.indexOf(a.type) - types.indexOf(b.type));
const cls = type => "c-" + (types.includes(type) ? type : "module");
function drawMemory() {
  const m = now.info.memory, rss = Math.max(m.used_memory_rss, m.used_memory), buffers = m.mem_clients_normal + m.mem_clients_slaves + m.mem_replication_backlog + m.mem_aof_buffer;
  const other = Math.max(0, m.used_memory_overhead - buffers), survey = now.survey, total = keysOf(now.info);
  const composition = [["Data", m.used_memory_dataset, "c-1"], ["Tables and program", other, "c-2"], ["Buffers", buffers, "c-3"],
    ["Unused", Math.max(0, rss - m.used_memory), "c-rest"]];
  const scale = survey.seen ? (survey.whole ? 1 : total / survey.seen) : 0;
  const found = byType(survey);
  const all = found.reduce((sum, s) => sum + s.bytes, 0) || 1;
  fill("memory",
    strip(composition.map(([name, value, c]) => ({value, cls: c, title: `${name}: ${bytes(value)}`})), "What the memory of the process is used for"),
    el("ul", {class: "legend"}, ...composition.map(([name, value, c]) => el("li", {}, tag(c), `${name} `, el("b", {}, bytes(value))))),
    el("h3", {}, "By type" + (survey.seen && !survey.whole ? ` (from ${short(survey.seen)} keys so far)` : "")),
    found.length ? strip(found.map(s => ({value: s.bytes, cls: cls(s.type), title: s.type})), "Memory by type") : empty(total ? "Scanning the keys …" : "There are no keys."),
    found.length ? table("Memory by type", [["Type", "", "30%"], ["Keys", "n"], ["Memory", "n"], ["Share", "n wide"], ["Mean", "n"]],
      found.map(s => [el("td", {}, tag(cls(s.type)), s.type), short(s.keys * scale), bytes(s.bytes * scale), percent(s.bytes / all), bytes(s.bytes / s.keys)])) : null,
    el("h3", {}, "Process"),
    facts([["Peak", bytes(m.used_memory_peak)], ["Resident", bytes(m.used_memory_rss)], ["RSS / used", number(m.mem_fragmentation_ratio || 0, 2)],
      ["Limit", m.maxmemory ? bytes(m.maxmemory) : "none"], ["At the limit", m.maxmemory_policy]]));
}

function drawSizes() {
  const survey = now.survey, found = byType(survey);
  if (!found.length) { fill("sizes", empty(keysOf(now.info) ? "Scanning the keys …" : "There are no keys.")); return; }
  const last = Math.max(...found.map(s => s.sizes.length)), first = Math.min(...found.map(s => s.sizes.findIndex(n => n)));
  const from = Math.max(0, Math.min(first, last - 8)), n = Math.max(8, last - from);
  const sum = i => found.reduce((total, s) => total + (s.sizes[i] || 0), 0);
  let most = 1;
  for (let i = from; i < from + n; i++) most = Math.max(most, sum(i));
  const height = v => v ? Math.max(1.5, v / most * 128) : 0, rects = [];
  for (let i = 0; i < n; i++) {
    let y = 132;
    for (const s of found) {
      const h = height(s.sizes[from + i] || 0);
      y -= h;
      if (h) rects.push(el("rect", {x: i * 20 + 1, y: y.toFixed(2), width: 18, height: h.toFixed(2), class: cls(s.type)}));
    }
  }
  const mark = i => bytes(2 ** i).replace(".0", ""), marks = [0, 1, 2, 3, 4].map(k => from + Math.round(k * n / 4));
  fill("sizes",
    el("svg", {class: "histogram", viewBox: `0 0 ${n * 20} 132`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Keys by size: ${found.map(s => `${s.type} ${short(s.keys)} keys, mean ${bytes(s.bytes / s.keys)}`).join("; ")}`}, ...rects),
    el("div", {class: "axis", "aria-hidden": "true"}, ...marks.map(i => el("span", {}, mark(i)))),
    el("ul", {class: "legend"}, ...found.map(s => el("li", {}, tag(cls(s.type)), `${s.type} `, el("b", {}, short(s.keys))))),
    el("p", {class: "aside"}, `Memory of a key with its value, in powers of two${survey.whole ? "" : `; ${short(survey.seen)} keys scanned so far`}`));
}

function keyCell(k) {
  return el("td", {class: "mono wrap"}, k.key === "" ? '""' : k.key, k.db ? el("span", {class: "muted"}, ` db${k.db}`) : null);
}
function drawKeys() {
  const hot = now.hot.filter(k => k.share > .001).slice(0, 8), largest = now.largest.slice(0, 8);
  if (!now.rights.keys) { fill("keys", empty("Key names are visible to users who may run MEMORY USAGE.")); return; }
  fill("keys", el("div", {class: "pair"},
    el("div", {}, el("h3", {}, "Most used recently"),
      hot.length ? table("Hot keys", [["Key", ""], ["Share", "n", "56px"]],
        hot.map(k => { const cell = keyCell(k); cell.append(bar(k.share)); return [cell, percent(k.share)]; })) : empty("No key is being used.")),
    el("div", {}, el("h3", {}, "Largest"),
      largest.length ? table("Largest keys", [["Key", ""], ["Type", "wide", "52px"], ["Memory", "n", "74px"]],
        largest.map(k => { const cell = keyCell(k); cell.append(bar(k.bytes / largest[0].bytes, cls(k.type))); return [cell, k.type, bytes(k.bytes)]; })) : empty("There are none."))));
}

function drawSlow() {
  if (!now.rights.slow) { fill("slow", empty("Slow commands are visible to users who may run COMMANDLOG GET.")); return; }
  if (!now.slow.length) { fill("slow", empty("The slow log is empty.")); return; }
  fill("slow", table("Slow commands, newest first", [["Time", "n", "64px"], ["Command", ""], ["Client", "wide", "25%"], ["Ago", "n", "58px"]],
    now.slow.slice(0, 10).map(s => [micros(s.usec), el("td", {class: "mono", title: s.args.join(" ")}, s.args.join(" ")),
      el("td", {class: "wide", title: s.client}, s.name || s.client), span(now.now / 1000 - s.time)])));
}

function drawClients() {
  const c = now.info.clients, seconds = before ? (now.now - before.now) / 1000 : 0;
  const head = facts([["Connected", short(c.connected_clients)], ["Limit", short(c.maxclients)], ["Blocked", short(c.blocked_clients)],
    ["New", isFinite(rate("stats", "total_connections_received")) ? number(rate("stats", "total_connections_received"), 1) + "/s" : "–"],
    ["Rejected", short(now.info.stats.rejected_connections), now.info.stats.rejected_connections ? "bad" : ""]]);
  if (!now.rights.clients) { fill("clients", head, el("h3", {}, "List"), empty("Clients are visible to users who may run CLIENT LIST.")); return; }
  const old = new Map((before ? before.clients : []).map(k => [k.id, k.commands]));
  const rows = now.clients.map(k => ({...k, rate: seconds && old.has(k.id) ? (k.commands - old.get(k.id)) / seconds : 0}));
  rows.sort((a, b) => b.rate - a.rate || b.commands - a.commands);
  fill("clients", head, el("h3", {}, "Busiest"), rows.length ? table("Busiest clients", [["Client", "", "38%"], ["Last", ""], ["Commands/s", "n"], ["Idle", "n wide"], ["Memory", "n wide"]],
    rows.slice(0, 8).map(k => [el("td", {title: `${k.addr}, user ${k.user}${k.lib ? `, ${k.lib}` : ""}`}, k.name || k.addr), el("td", {class: "mono"}, k.cmd || "–"),
      short(k.rate), span(k.idle), bytes(k.memory)])) : empty("No client is connected."));
}

function drawReplication() {
  const r = now.info.replication, replicas = Object.entries(r).filter(([k]) => /^slave\d+$/.test(k)).map(([, v]) => texts(v));
  const replica = r.role === "slave", up = r.master_link_status === "up";
  fill("replication",
    facts([["Role", replica ? "replica" : "primary"],
      replica ? ["Primary", `${r.master_host}:${r.master_port}`] : ["Replicas", short(r.connected_slaves)],
      replica ? ["Link", r.master_sync_in_progress ? "full synchronization" : r.master_link_status, up ? "good" : "bad"] : null,
      replica && up ? ["Last message", `${r.master_last_io_seconds_ago} s ago`] : null,
      ["Offset", number(r.master_repl_offset, 0)],
      ["Backlog", r.repl_backlog_active ? bytes(r.repl_backlog_histlen) : "none"],
      ["Full syncs", short(now.info.stats.sync_full)], ["Partial", `${short(now.info.stats.sync_partial_ok)} ok, ${short(now.info.stats.sync_partial_err)} refused`]]),
    replicas.length ? el("h3", {}, "Replicas") : null,
    replicas.length ? table("Replicas", [["Replica", "", "40%"], ["State", ""], ["Behind", "n"], ["Lag", "n"]],
      replicas.map(s => [`${s.ip}:${s.port}`, s.state, bytes(Math.max(0, r.master_repl_offset - s.offset)), `${s.lag} s`])) : null);
}

function drawFiles() {
  const p = now.info.persistence, errors = Object.entries(now.info.errorstats || {}).map(([k, v]) => [k.replace("errorstat_", ""), parts(v).count]).sort((a, b) => b[1] - a[1]);
  const ok = text => text === "ok" ? "good" : "bad";
  fill("files",
    facts([["Last snapshot", p.rdb_saves || p.rdb_last_bgsave_time_sec >= 0 ? `${span(now.now / 1000 - p.rdb_last_save_time)} ago` : "none yet"],
      ["Snapshot", p.rdb_bgsave_in_progress ? "being written" : p.rdb_last_bgsave_status, ok(p.rdb_last_bgsave_status)],
      ["Changes since", short(p.rdb_changes_since_last_save)],
      ["AOF", p.aof_enabled ? p.aof_last_write_status : "off", p.aof_enabled ? ok(p.aof_last_write_status) : ""],
      p.aof_enabled ? ["AOF size", bytes(p.aof_current_size)] : null,
      p.aof_enabled ? ["AOF rewrite", p.aof_rewrite_in_progress ? "running" : p.aof_last_bgrewrite_status, ok(p.aof_last_bgrewrite_status)] : null,
      ["Last fork", now.info.stats.total_forks ? micros(now.info.stats.latest_fork_usec) : "none"]]),
    el("h3", {}, "Error replies"),
    errors.length ? table("Errors", [["Kind", ""], ["Count", "n"], ["Per second", "n"]], errors.slice(0, 6).map(([kind, count]) => {
      const key = "errorstat_" + kind, old = before && before.info.errorstats && before.info.errorstats[key] ? parts(before.info.errorstats[key]).count : count;
      return [el("td", {class: "mono"}, kind), short(count), before ? number((count - old) / ((now.now - before.now) / 1000), 1) : "–"];
    })) : empty("None."));
}

function drawSlots() {
  byId("slots-card").hidden = !now.slots;
  if (!now.slots) return;
  const owners = [...new Set(now.slots.map(s => s.id))], colour = id => "c-" + types[owners.indexOf(id) % types.length];
  const map = [], sorted = [...now.slots].sort((a, b) => a.from - b.from);
  let next = 0;
  for (const s of sorted) {
    if (s.from > next) map.push({value: s.from - next, cls: "c-free", title: `${next}–${s.from - 1}: unassigned`});
    map.push({value: s.to - s.from + 1, cls: colour(s.id), title: `${s.from}–${s.to}: ${s.host || location.hostname}:${s.port}`});
    next = s.to + 1;
  }
  if (next < 16384) map.push({value: 16384 - next, cls: "c-free", title: `${next}–16383: unassigned`});
  const c = cluster();
  fill("slots", strip(map, "The 16384 slots by their owner"),
    el("ul", {class: "legend"}, ...owners.map(id => {
      const own = now.slots.filter(s => s.id === id), slots = own.reduce((n, s) => n + s.to - s.from + 1, 0);
      return el("li", {}, tag(colour(id)), `${own[0].host || location.hostname}:${own[0].port}${own[0].me ? " (this node)" : ""} `, el("b", {}, number(slots, 0)));
    })),
    el("h3", {}, "Cluster, as this node sees it"),
    facts([["State", c.cluster_state, c.cluster_state === "ok" ? "good" : "bad"], ["Nodes", short(c.cluster_known_nodes)], ["Primaries", short(c.cluster_size)],
      ["Slots assigned", number(c.cluster_slots_assigned || 0, 0)], ["Epoch", short(c.cluster_current_epoch)]]));
}

// ---- Time ----
function showState(text, cls) {
  const state = byId("state");
  if (state.textContent !== text) state.textContent = text;
  state.className = "state " + cls;
}
function drawState() {
  const p = now.info.persistence, r = now.info.replication;
  if (p.loading) showState("loading data", "warn");
  else if (r.role === "slave" && r.master_link_status !== "up") showState("disconnected from its primary", "warn");
  else if (cluster().cluster_state === "fail") showState("the cluster does not serve", "bad");
  else if (p.rdb_last_bgsave_status !== "ok" || p.aof_last_write_status === "err") showState("cannot write its files", "bad");
  else showState("live", "good");
}
function draw() {
  drawHead();
  for (const part of [drawState, drawTiles, drawCommands, drawMemory, drawSizes, drawKeys, drawSlow, drawClients, drawReplication, drawFiles, drawSlots]) part();
}

let timer = 0, paused = false;
async function fetchStats() {
  clearTimeout(timer);
  if (paused || document.hidden) return;
  try {
    const answer = await fetch("api/stats", {cache: "no-store", signal: AbortSignal.timeout(10000)});
    if (!answer.ok) throw new Error(answer.status === 401 || answer.status === 403 ? "not allowed" : `status ${answer.status}`);
    [before, now] = [now, await answer.json()];
    // The server was restarted, or its statistics were reset, so there is no difference to show.
    if (before && (before.info.server.run_id !== now.info.server.run_id || now.info.stats.total_commands_processed < before.info.stats.total_commands_processed)) before = null;
    draw();
  } catch (error) {
    showState(error instanceof TypeError || error.name === "TimeoutError" ? "no reply" : error.message, "bad");
  }
  timer = setTimeout(fetchStats, PERIOD_MS);
}
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", paused);
  byId("pause").textContent = paused ? "Resume" : "Pause";
  if (paused) showState("paused", "");
  else fetchStats();
});
document.addEventListener("visibilitychange", fetchStats);
fetchStats();
