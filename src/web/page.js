// Fetches figures every two seconds while the page is visible, and draws them. Rates are computed from the difference
// between two replies. The lines of the tiles begin with the samples of the last five minutes that the server keeps
// (api/history), and go on with the replies. All texts of the server are inserted as text, never as markup.
"use strict";

const PERIOD_MS = 2000, SHOWN_MS = 300000, GAP_MS = 2.5 * PERIOD_MS;
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

// ---- Numbers in a readable form: a unit follows after a narrow space that does not break ----
const SPACE = "\u202f";
const number = (v, digits) => v.toLocaleString("en", {maximumFractionDigits: digits, minimumFractionDigits: digits});
function scaled(v, step, units, last) {
  let i = 0;
  while (v >= step * .9995 && i < units.length - 1) { v /= step; i++; }
  return number(v, i && v < 99.95 || last && v < 10 && v % 1 ? 1 : 0) + (units[i] ? SPACE + units[i] : "");
}
const short = v => isFinite(v) ? scaled(v, 1000, ["", "k", "M", "G", "T"], true) : "–";
const bytes = v => isFinite(v) ? scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]) : "–";
function micros(v) {
  if (!isFinite(v)) return "–";
  if (v < 1000) return number(v, v < 10 ? 1 : 0) + SPACE + "µs";
  return v < 1e6 ? number(v / 1000, v < 1e4 ? 1 : 0) + SPACE + "ms" : number(v / 1e6, 1) + SPACE + "s";
}
function span(s) {
  s = Math.max(0, Math.round(s));
  if (s < 120) return s + SPACE + "s";
  if (s < 7200) return Math.floor(s / 60) + SPACE + "min";
  return s < 172800 ? Math.floor(s / 3600) + SPACE + "h" : Math.floor(s / 86400) + SPACE + "d";
}
const percent = v => isFinite(v) ? number(v * 100, v && v < .0995 || v > .99 && v < 1 ? 1 : 0) + "%" : "–";

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

// ---- Tiles, each with the line of the last five minutes ----
const LINE_HEIGHT = 44;
const tiles = new Map();
function tile(key, label) {
  if (!tiles.has(key)) {
    const t = {value: el("span", {class: "value"}), more: el("span", {class: "more"}), peak: el("span", {class: "peak"}),
      line: el("path", {class: "line"}), area: el("path", {class: "area"})};
    t.svg = el("svg", {class: "spark", viewBox: `0 0 ${SHOWN_MS / 1000} ${LINE_HEIGHT}`, preserveAspectRatio: "none", role: "img"}, t.area, t.line);
    byId("tiles").append(el("li", {}, el("span", {class: "label"}, el("span", {}, label), t.peak), t.value, t.more, t.svg));
    tiles.set(key, t);
  }
  return tiles.get(key);
}
// Draws points of [time, value]; a value that is no number leaves a gap.
function drawLine(t, points, top) {
  const end = now.now, x = time => ((SHOWN_MS - end + time) / 1000).toFixed(1), y = v => (LINE_HEIGHT - 2 - v / top * (LINE_HEIGHT - 6)).toFixed(1);
  let line = "", area = "", from = null, last = null;
  const close = () => { if (from !== null) area += `L${x(last)},${LINE_HEIGHT}L${x(from)},${LINE_HEIGHT}Z`; from = null; };
  for (const [time, v] of points) {
    if (!isFinite(v)) { close(); continue; }
    line += `${from === null ? "M" : "L"}${x(time)},${y(v)}`;
    area += `${from === null ? "M" : "L"}${x(time)},${y(v)}`;
    if (from === null) from = time;
    last = time;
  }
  close();
  t.line.setAttribute("d", line);
  t.area.setAttribute("d", area);
}
// f computes the value at a sample from it and the one before. least: the scale goes up to this at least.
function show(key, label, f, format, more, least) {
  const t = tile(key, label), points = samples.map((s, i) => [s.time, i ? f(s, samples[i - 1]) : NaN]);
  const values = points.map(p => p[1]).filter(isFinite), peak = Math.max(...values), value = points.length ? points[points.length - 1][1] : NaN;
  const text = format(value), [, figure, unit] = /^([\d.,–-]+)(.*)$/.exec(text);
  t.value.replaceChildren(figure, ...(unit.trim() ? [el("small", {}, unit.trim())] : []));
  t.more.textContent = more;
  t.peak.textContent = values.length > 1 && least !== 1 ? `peak ${format(peak)}` : "";
  t.svg.setAttribute("aria-label", `${label} in the last five minutes: now ${text}, at most ${format(peak)}`);
  drawLine(t, points, Math.max(least || 0, peak) || 1);
}

// ---- Samples: what the tiles show, at a time ----
let samples = [];
function sampleOf(stats) {
  const {stats: s = {}, memory: m = {}, clients: c = {}, cpu = {}} = stats.info;
  return {time: stats.now, commands: s.total_commands_processed, active_s: cpu.used_active_time_main_thread, cpu_s: cpu.used_cpu_user + cpu.used_cpu_sys,
    memory: m.used_memory, keys: keysOf(stats.info), hits: s.keyspace_hits, misses: s.keyspace_misses, expired: s.expired_keys, evicted: s.evicted_keys,
    clients: c.connected_clients, input: s.total_net_input_bytes, output: s.total_net_output_bytes};
}
function addSample(sample) {
  const last = samples[samples.length - 1];
  if (last && sample.time - last.time < PERIOD_MS / 2) samples.pop(); // too near for a rate
  samples.push(sample);
  while (samples.length && samples[0].time < sample.time - SHOWN_MS) samples.shift();
}
async function fetchHistory() {
  const answer = await fetch("api/history", {cache: "no-store", signal: AbortSignal.timeout(10000)});
  if (!answer.ok) return;
  const {times, series} = await answer.json(), names = Object.entries(series);
  samples = times.map((time, i) => Object.fromEntries([["time", time], ...names.map(([name, values]) => [name, values[i]])]));
}
// Per second; NaN over a gap, and after statistics were reset.
function perSecond(name) {
  return (s, old) => s.time - old.time > GAP_MS || s[name] < old[name] ? NaN : (s[name] - old[name]) / (s.time - old.time) * 1000;
}
const nowPerSecond = name => samples.length > 1 ? perSecond(name)(samples[samples.length - 1], samples[samples.length - 2]) : NaN;

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
  document.title = `${name} – Skipstone`;
  byId("what").textContent = [`Skipstone ${server.skipstone_version}`, `Valkey ${server.valkey_version}`,
    server.server_mode === "standalone" ? role : `${server.server_mode}, ${role}`,
    `up ${span(server.uptime_in_seconds)}`, `pid ${server.process_id}`].join(" · ");
}

function drawTiles() {
  const m = now.info.memory, c = now.info.clients, s = now.info.stats, per = format => v => isFinite(v) ? format(v) + "/s" : "–";
  const hitShare = (a, b) => { const hits = perSecond("hits")(a, b), all = hits + perSecond("misses")(a, b); return all ? hits / all : NaN; };
  show("ops", "Commands", perSecond("commands"), per(short), `${short(s.total_commands_processed)} in total`);
  show("busy", "Main thread", perSecond("active_s"), percent, `process ${percent(nowPerSecond("cpu_s"))} CPU`, .05);
  show("memory", "Memory", p => p.memory, bytes, m.maxmemory ? `${percent(m.used_memory / m.maxmemory)} of ${bytes(m.maxmemory)}` : `${bytes(m.used_memory_rss)} resident`);
  show("keys", "Keys", p => p.keys, short, `${short(nowPerSecond("expired"))}/s expire, ${short(nowPerSecond("evicted"))}/s evicted`);
  show("hits", "Hits", hitShare, percent, `${short(nowPerSecond("misses"))}/s missed`, 1);
  show("clients", "Clients", p => p.clients, short, `${short(c.blocked_clients)} blocked, ${short(c.pubsub_clients)} subscribed`);
  show("in", "Network in", perSecond("input"), per(bytes), `${bytes(s.total_net_input_bytes)} in total`);
  show("out", "Network out", perSecond("output"), per(bytes), `${bytes(s.total_net_output_bytes)} in total`);
}

// ---- Warnings ----
let warningsDrawn = "";
function warning(w) {
  return el("li", {class: w.severity}, el("span", {class: "kind"}, w.severity),
    el("p", {}, `${w.text} `, el("span", {class: "muted"}, "See ", el("span", {class: "mono"}, `docs/${w.docs}`), ".")));
}
// Drawn only when they change, so that what is unfolded or selected stays so.
function drawWarnings() {
  const text = JSON.stringify(now.warnings);
  if (text === warningsDrawn) return;
  warningsDrawn = text;
  const urgent = now.warnings.filter(w => w.severity !== "note"), notes = now.warnings.filter(w => w.severity === "note");
  const open = document.querySelector("#warnings details")?.open === true;
  byId("warnings-card").hidden = !now.warnings.length;
  byId("h-warnings").textContent = urgent.length ? "Warnings" : "Nothing is wrong";
  fill("warnings",
    urgent.length ? el("ul", {class: "warnings"}, ...urgent.map(warning)) : null,
    notes.length ? el("details", {open}, el("summary", {}, `${notes.length} ${notes.length === 1 ? "note" : "notes"}`), el("ul", {class: "warnings"}, ...notes.map(warning))) : null);
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
    top.map(r => [el("td", {class: "wrap"}, el("span", {class: "mono"}, r.cmd), r.rate ? bar(r.rate / most) : null), short(r.rate), micros(r.mean),
      r.p99 === undefined ? "–" : micros(r.p99), short(r.calls), short(r.failed)])));
}

// ---- Latency: for each command how many calls took how long, in powers of two of nanoseconds ----
function distribution(l, from, n) {
  const most = Math.log1p(Math.max(...l.counts)), rects = l.counts.map((count, i) => {
    const h = count ? Math.max(2, Math.log1p(count) / most * 22) : 0;
    return h ? el("rect", {x: (l.first - from + i) * 10 + .5, y: (24 - h).toFixed(1), width: 9, height: h.toFixed(1)}) : null;
  });
  return el("svg", {class: "distribution", viewBox: `0 0 ${n * 10} 24`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Half of the calls took up to ${micros(l.p50)}, the slowest ${micros(l.max)}`}, ...rects);
}
function drawLatency() {
  const all = now.latency;
  byId("latency").closest("section").hidden = !all.length; // nothing was measured, or latency-tracking is off
  if (!all.length) return;
  const from = Math.min(...all.map(l => l.first)), n = Math.max(...all.map(l => l.first + l.counts.length)) - from;
  const axis = el("div", {class: "log-axis", "aria-hidden": "true"});
  for (let ns = 1000; ns < 2 ** (from + n); ns *= n > 16 ? 1000 : n > 9 ? 100 : 10) {
    const at = (Math.log2(ns) - from) / n * 100, mark = el("span", {}, micros(ns / 1000).replace(".0", ""));
    mark.style.left = at + "%";
    if (at > 4 && at < 94) axis.append(mark);
  }
  fill("latency", table("Latency by command", [["Command", "", "28%"], ["Calls by time", "", "30%"], ["p50", "n"], ["p99", "n"], ["p99.9", "n wide"], ["Slowest", "n wide"]],
    [...all.map(l => [el("td", {class: "mono wrap"}, l.cmd), el("td", {class: "plot"}, distribution(l, from, n)), micros(l.p50), micros(l.p99), micros(l.p999), micros(l.max)]),
      [el("td", {}), el("td", {class: "plot"}, axis), "", "", "", ""]]),
    el("p", {class: "aside"}, "Calls since the start or the last CONFIG RESETSTAT; a bar is a power of two of time, its height is logarithmic, so that few slow calls show."));
}

const byType = survey => [...survey.types].sort((a, b) => types.indexOf(a.type) - types.indexOf(b.type));
const cls = type => "c-" + (types.includes(type) ? type : "module");
// The rows of the types add up to Data: what they lack is a row of its own; what they have too much is explained.
function memoryByType(data) {
  const survey = now.survey, found = byType(survey), total = keysOf(now.info), scale = survey.seen && !survey.whole ? total / survey.seen : 1;
  const sum = found.reduce((n, t) => n + t.bytes * scale, 0), all = Math.max(data, sum) || 1, rest = data - sum;
  if (!total) return [];
  if (!found.length) return [el("h3", {}, "By type"), empty("Scanning the keys …")];
  const rows = found.map(t => [el("td", {}, tag(cls(t.type)), t.type), short(t.keys * scale), bytes(t.bytes * scale), percent(t.bytes * scale / all), bytes(t.bytes / t.keys)]);
  if (rest > 0) rows.push([el("td", {}, tag("c-rest"), "other"), "", bytes(rest), percent(rest / all), ""]);
  rows.push([el("th", {scope: "row"}, rest < 0 ? "Sum" : "Data"), short(total), bytes(Math.max(data, sum)), "", ""]);
  return [el("h3", {}, "By type"),
    strip([...found.map(t => ({value: t.bytes * scale, cls: cls(t.type), title: t.type})), {value: Math.max(0, rest), cls: "c-rest", title: "other"}], "Memory by type"),
    table("Memory by type", [["Type", "", "30%"], ["Keys", "n"], ["Memory", "n"], ["Share", "n wide"], ["Mean", "n"]], rows),
    el("p", {class: "aside"}, (survey.whole ? "" : `Estimated from ${short(survey.seen)} of ${short(total)} keys, as the scan is not complete. `) +
      (rest > 0 ? "Other: statistics, logs, and what measuring a few elements of each value misses." :
        `The types add up to ${bytes(-rest)} more than Data, since of large values a few elements are measured, and keys have changed since the scan.`))];
}
function drawMemory() {
  const m = now.info.memory, rss = Math.max(m.used_memory_rss, m.used_memory), buffers = m.mem_clients_normal + m.mem_clients_slaves + m.mem_replication_backlog + m.mem_aof_buffer;
  const composition = [["Data", m.used_memory_dataset, "c-1"], ["Tables and program", Math.max(0, m.used_memory_overhead - buffers), "c-2"], ["Buffers", buffers, "c-3"],
    ["Unused", Math.max(0, rss - m.used_memory), "c-rest"]];
  fill("memory",
    strip(composition.map(([name, value, c]) => ({value, cls: c, title: `${name}: ${bytes(value)}`})), "What the memory of the process is used for"),
    el("ul", {class: "legend"}, ...composition.map(([name, value, c]) => el("li", {}, tag(c), `${name} `, el("b", {}, bytes(value))))),
    ...memoryByType(m.used_memory_dataset),
    el("h3", {}, "Process"),
    facts([["Resident", bytes(m.used_memory_rss)], ["Peak of used", bytes(m.used_memory_peak)], ["Resident / used", number(m.mem_fragmentation_ratio || 0, 2)],
      ["Limit", m.maxmemory ? bytes(m.maxmemory) : "none"], ["At the limit", m.maxmemory_policy]]));
}

// ---- Databases ----
const DATABASES_SHOWN = 16;
function drawDatabases() {
  const all = Object.entries(now.info.keyspace || {}).filter(([name]) => /^db\d+$/.test(name)).map(([name, text]) => ({name, ...parts(text)}));
  all.sort((a, b) => b.keys - a.keys);
  const most = Math.max(1, ...all.map(d => d.keys));
  fill("databases", table("Keys by database", [["Database", "", "21%"], ["Keys", "n"], ["With expiry", "n", "37%"], ["Mean TTL", "n", "21%"]],
    all.slice(0, DATABASES_SHOWN).map(d => [el("td", {}, d.name, bar(d.keys / most)), short(d.keys), `${short(d.expires)} (${percent(d.expires / d.keys)})`, d.avg_ttl ? span(d.avg_ttl / 1000) : "–"])),
    all.length > DATABASES_SHOWN ? el("p", {class: "aside"}, `The ${DATABASES_SHOWN} largest of ${all.length} databases.`) : null);
}

function drawSizes() {
  const survey = now.survey, found = byType(survey);
  if (!found.length) { fill("sizes", empty("Scanning the keys …")); return; }
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
  return el("td", {class: "mono wrap", title: k.key}, el("span", {class: "clamp"}, k.key === "" ? '""' : k.key), k.db ? el("span", {class: "muted"}, ` db${k.db}`) : null);
}
function drawKeys() {
  const hot = now.hot.filter(k => k.share > .001).slice(0, 8), largest = now.largest.slice(0, 8);
  if (!now.rights.keys) { fill("keys", empty("Key names are visible to users who may run MEMORY USAGE.")); return; }
  fill("keys", el("div", {class: "pair"},
    el("div", {}, el("h3", {}, "Most used recently"),
      hot.length ? table("Hot keys", [["Key", ""], ["Share", "n", "56px"]],
        hot.map(k => { const cell = keyCell(k); cell.append(bar(k.share)); return [cell, percent(k.share)]; })) : empty("No key is being used.")),
    el("div", {}, el("h3", {}, "Largest"),
      largest.length ? table("Largest keys", [["Key", ""], ["Type", "wide", "72px"], ["Memory", "n", "74px"]],
        largest.map(k => { const cell = keyCell(k); cell.append(bar(k.bytes / largest[0].bytes, cls(k.type))); return [cell, k.type, bytes(k.bytes)]; })) : empty("There are none."))));
}

function drawSlow() {
  if (!now.rights.slow) { fill("slow", empty("Slow commands are visible to users who may run COMMANDLOG GET.")); return; }
  if (!now.slow.length) { fill("slow", empty("The slow log is empty.")); return; }
  fill("slow", table("Slow commands, newest first", [["Command", ""], ["Client", "wide", "24%"], ["Time", "n", "66px"], ["Ago", "n", "58px"]],
    now.slow.slice(0, 8).map(s => [el("td", {class: "mono wrap", title: s.args.join(" ")}, el("span", {class: "clamp"}, s.args.join(" "))),
      el("td", {class: "wide wrap", title: s.client}, el("span", {class: "clamp"}, s.name || s.client)), micros(s.usec), span(now.now / 1000 - s.time)])));
}

function drawClients() {
  const c = now.info.clients, seconds = before ? (now.now - before.now) / 1000 : 0;
  const head = facts([["Connected", short(c.connected_clients)], ["Limit", short(c.maxclients)], ["Blocked", short(c.blocked_clients)],
    ["New", `${short(rate("stats", "total_connections_received"))}/s`],
    ["Rejected", short(now.info.stats.rejected_connections), now.info.stats.rejected_connections ? "bad" : ""]]);
  if (!now.rights.clients) { fill("clients", head, el("h3", {}, "List"), empty("Clients are visible to users who may run CLIENT LIST.")); return; }
  const old = new Map((before ? before.clients : []).map(k => [k.id, k.commands]));
  const rows = now.clients.map(k => ({...k, rate: seconds && old.has(k.id) ? (k.commands - old.get(k.id)) / seconds : 0}));
  rows.sort((a, b) => b.rate - a.rate || b.commands - a.commands);
  fill("clients", head, el("h3", {}, "Busiest"), rows.length ? table("Busiest clients", [["Client", "", "36%"], ["Last", ""], ["Per second", "n"], ["Idle", "n wide"], ["Memory", "n wide"]],
    rows.slice(0, 8).map(k => [el("td", {class: "wrap", title: `${k.addr}, user ${k.user}${k.lib ? `, ${k.lib}` : ""}`}, el("span", {class: "clamp"}, k.name || k.addr)), el("td", {class: "mono wrap"}, k.cmd || "–"),
      short(k.rate), span(k.idle), bytes(k.memory)])) : empty("No client is connected."));
}

// ---- Nodes ----
// The page of another node, where metrics-node-url says how its address is made; else, and where that makes no address,
// its name as text. A node chooses what it announces as its host, so all but addresses of IPv6 are encoded.
function nodeName(host, port) {
  const ip6 = host.includes(":"), name = `${ip6 ? `[${host}]` : host}:${port}`;
  if (!now.node_url) return name;
  const part = /^[0-9a-f:.]+$/i.test(host) && ip6 ? `[${host}]` : encodeURIComponent(host);
  try {
    return el("a", {href: new URL(now.node_url.replaceAll("{host}", () => part).replaceAll("{port}", () => port)).href, rel: "noreferrer"}, name);
  } catch {
    return name;
  }
}
// A node in a list where each replica stands under its primary.
function nodeCell(depth, name, note) {
  const td = el("td", {class: "wrap"}, depth ? el("span", {class: "branch", "aria-hidden": "true"}, "└") : null, name, note ? el("span", {class: "muted"}, ` ${note}`) : null);
  td.style.paddingLeft = Math.max(0, depth - 1) * 18 + "px";
  return td;
}
const state = (text, good) => el("td", {class: good ? "good" : "bad"}, text);

function drawReplication() {
  const r = now.info.replication, replicas = Object.entries(r).filter(([k]) => /^slave\d+$/.test(k)).map(([, v]) => texts(v));
  const replica = r.role === "slave", link = r.master_sync_in_progress ? "copying" : r.master_link_status;
  const rows = [];
  if (replica) rows.push([nodeCell(0, nodeName(r.master_host, r.master_port), "primary"), "–", "–", "–"]);
  rows.push([nodeCell(replica ? 1 : 0, `${location.hostname}:${now.info.server.tcp_port}`, "this server"), replica ? state(link, link === "up") : "primary",
    replica && link === "up" ? bytes(Math.max(0, r.slave_read_repl_offset - r.slave_repl_offset)) : "–",
    replica && link === "up" ? span(r.master_last_io_seconds_ago) : "–"]);
  for (const s of replicas)
    rows.push([nodeCell(replica ? 2 : 1, nodeName(s.ip, s.port)), state(s.state, s.state === "online"), bytes(Math.max(0, r.master_repl_offset - s.offset)), span(+s.lag)]);
  fill("replication",
    rows.length > 1 ? table("The primary and its replicas", [["Node", "", "45%"], ["State", ""], ["Behind", "n"], ["Seen", "n", "44px"]], rows) : null,
    rows.length > 1 ? el("h3", {}, "This server") : null,
    facts([rows.length > 1 ? null : ["Role", "primary"], rows.length > 1 ? null : ["Replicas", "none"],
      ["Offset", short(r.master_repl_offset)],
      ["Backlog", r.repl_backlog_active ? `${bytes(r.repl_backlog_histlen)} of ${bytes(r.repl_backlog_size)}` : "none"],
      ["Full syncs", short(now.info.stats.sync_full)], ["Partial syncs", `${short(now.info.stats.sync_partial_ok)} ok, ${short(now.info.stats.sync_partial_err)} refused`]]));
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

// ---- The cluster: its slots, and each primary with its replicas ----
const SHARDS_SHOWN = 24;
const slotCount = shard => shard.slots.reduce((n, [first, last]) => n + last - first + 1, 0);
const nodeOf = shard => shard.nodes.find(n => n.primary) || shard.nodes[0];
function slotMap(shards, colours) {
  const ranges = shards.flatMap(shard => shard.slots.map(([first, last]) => ({first, last, shard}))).sort((a, b) => a.first - b.first), map = [];
  let next = 0;
  const unassigned = to => { if (to > next) map.push({value: to - next, cls: "c-free", title: `${next}–${to - 1}: unassigned`}); };
  for (const {first, last, shard} of ranges) {
    unassigned(first);
    map.push({value: last - first + 1, cls: colours.get(shard), title: `${first}–${last}: ${nodeOf(shard).host || location.hostname}:${nodeOf(shard).port}`});
    next = last + 1;
  }
  unassigned(16384);
  return map;
}
function shardBlock(shard, colour) {
  const count = slotCount(shard), primary = nodeOf(shard), shown = shard.slots.slice(0, 3).map(([a, b]) => a === b ? a : `${a}–${b}`).join(", ");
  const line = n => {
    const behind = n.primary || !primary.primary ? "" : n.health === "online" ? `${bytes(Math.max(0, primary.offset - n.offset))} behind` : "";
    return el("li", {class: n.primary ? "primary" : "replica"}, el("span", {}, nodeName(n.host || location.hostname, n.port), n.me ? el("span", {class: "muted"}, " this node") : null),
      el("span", {class: n.health === "online" ? "muted" : "bad"}, n.health === "online" ? behind || (n.primary ? "primary" : "replica") : n.health === "fail" ? "failed" : n.health));
  };
  return el("div", {class: "shard"},
    el("p", {}, tag(colour), el("b", {}, count ? `${number(count, 0)} slots` : "no slots"), count ? el("span", {class: "muted"}, ` ${shown}${shard.slots.length > 3 ? " …" : ""}`) : null),
    el("ul", {}, ...[primary, ...shard.nodes.filter(n => n !== primary)].map(line)));
}
function drawCluster() {
  byId("cluster-card").hidden = !now.shards;
  if (!now.shards) return;
  const c = cluster(), shards = [...now.shards].filter(s => s.nodes.length).sort((a, b) => (a.slots[0] || [99999])[0] - (b.slots[0] || [99999])[0]);
  const colours = new Map(shards.map((s, i) => [s, slotCount(s) ? "c-" + types[i % types.length] : "c-rest"]));
  fill("cluster", strip(slotMap(shards, colours), "The 16384 slots by their owner"),
    el("div", {class: "shards"}, ...shards.slice(0, SHARDS_SHOWN).map(s => shardBlock(s, colours.get(s)))),
    shards.length > SHARDS_SHOWN ? el("p", {class: "aside"}, `${SHARDS_SHOWN} of ${shards.length} shards are listed.`) : null,
    el("h3", {}, "As this node sees it"),
    facts([["State", c.cluster_state, c.cluster_state === "ok" ? "good" : "bad"], ["Nodes", short(c.cluster_known_nodes)], ["Primaries with slots", short(c.cluster_size)],
      ["Slots assigned", number(c.cluster_slots_assigned || 0, 0)], ["Epoch", short(c.cluster_current_epoch)]]));
}

// ---- Columns: cards keep their column, so that none moves while figures change ----
// For one, two and three columns; without keys, some cards are hidden and others fill their place.
const columns = [
  [["commands", "latency", "memory", "databases", "keys", "sizes", "slow", "clients", "replication", "files"]],
  [["commands", "latency", "replication", "slow", "clients"], ["memory", "databases", "sizes", "keys", "files"]],
  [["commands", "latency", "slow"], ["memory", "databases", "sizes"], ["keys", "clients", "replication", "files"]],
];
const columnsWithoutKeys = [columns[0],
  [["commands", "latency", "databases", "keys"], ["memory", "replication", "slow", "clients", "files", "sizes"]],
  [["commands", "slow", "databases"], ["latency", "clients", "keys"], ["memory", "replication", "files", "sizes"]],
];
const twoColumns = matchMedia("(min-width: 901px)"), threeColumns = matchMedia("(min-width: 1700px)");
let withKeys = true;
function arrangeCards() {
  const cards = byId("cards"), wanted = (withKeys ? columns : columnsWithoutKeys)[twoColumns.matches + threeColumns.matches];
  const filled = wanted.map(ids => el("div", {class: "column"}, ...ids.map(id => byId(id).closest("section"))));
  cards.replaceChildren(...filled);
}
for (const query of [twoColumns, threeColumns]) query.addEventListener("change", arrangeCards);
arrangeCards();

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
  const keys = keysOf(now.info) > 0;
  if (keys !== withKeys) { withKeys = keys; arrangeCards(); }
  for (const id of ["databases", "sizes", "keys"]) byId(id).closest("section").hidden = !keys;
  for (const part of [drawHead, drawState, drawTiles, drawWarnings, drawCommands, drawLatency, drawMemory, drawSlow, drawClients, drawReplication, drawFiles, drawCluster]) part();
  if (keys) for (const part of [drawDatabases, drawSizes, drawKeys]) part();
}

let timer = 0, paused = false, fetchedAt = 0;
async function fetchStats() {
  clearTimeout(timer);
  if (paused || document.hidden) return;
  try {
    const last = samples[samples.length - 1];
    if (!last || Date.now() - fetchedAt > GAP_MS) await fetchHistory();
    const answer = await fetch("api/stats", {cache: "no-store", signal: AbortSignal.timeout(10000)});
    if (!answer.ok) throw new Error(answer.status === 401 || answer.status === 403 ? "not allowed" : `status ${answer.status}`);
    [before, now] = [now, await answer.json()];
    fetchedAt = Date.now();
    // The server was restarted, or its statistics were reset, so there is no difference to show.
    if (before && (before.info.server.run_id !== now.info.server.run_id || now.info.stats.total_commands_processed < before.info.stats.total_commands_processed)) before = null;
    addSample(sampleOf(now));
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
