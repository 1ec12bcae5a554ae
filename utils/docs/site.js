/* SPDX-License-Identifier: BSD-3-Clause */
/* The search, the theme, and the list of pages on a narrow screen. search.js, which has the text of all sections, is loaded at the
 * first use of the search, by a script element, as a site on a disk may not read files otherwise. */
"use strict";
(() => {
const root = document.body.dataset.root;
const byId = id => document.getElementById(id);
const input = byId("search"), results = byId("results"), navigation = byId("navigation");
const shown = 20;
let chosen = -1, loading = null;

function load() {
    loading = loading || new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = root + "search.js";
        script.onload = resolve;
        script.onerror = reject;
        document.head.append(script);
    });
    return loading;
}

// Every word must occur. A page whose title is what was typed comes first, then titles of sections, then texts.
function find(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean), whole = words.join(" "), found = [];
    for (const [page, anchor, title, section, text] of window.sections) {
        const titles = title.toLowerCase(), sections = section.toLowerCase(), texts = text.toLowerCase();
        let score = 0;
        for (const word of words) {
            const points = (sections === word ? 40 : 0) + (sections.includes(word) ? 12 : 0) + (titles.includes(word) ? 8 : 0) + (texts.includes(word) ? 2 : 0);
            if (!points) { score = 0; break; }
            score += points;
        }
        if (!score) continue;
        if (titles === whole) score += 50;
        if (page.startsWith("docs/command/") && titles === whole && sections === whole) score += 100;
        if (page.includes("contributing/") || page.includes("RESULTS") || page.includes("CHANGELOG")) score -= 6;
        found.push({ score, page, anchor, title, section, text, words });
    }
    return found.sort((a, b) => b.score - a.score).slice(0, shown);
}

function marked(text, words) {
    const at = Math.max(0, Math.min(...words.map(word => { const i = text.toLowerCase().indexOf(word); return i < 0 ? text.length : i; })) - 50);
    const piece = text.slice(at, at + 160), line = document.createElement("small");
    const pattern = new RegExp("(" + words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "ig");
    piece.split(pattern).forEach((part, i) => {
        if (i % 2) { const mark = document.createElement("mark"); mark.textContent = part; line.append(mark); } else line.append(part);
    });
    return line;
}

function show(found) {
    results.replaceChildren();
    chosen = -1;
    for (const hit of found) {
        const link = document.createElement("a");
        link.href = root + hit.page + (hit.anchor ? "#" + hit.anchor : "");
        const title = document.createElement("b");
        title.textContent = hit.title + (hit.section && hit.section !== hit.title ? ": " + hit.section : "");
        link.append(title, marked(hit.text, hit.words));
        results.append(link);
    }
    if (!found.length) {
        const nothing = document.createElement("p");
        nothing.textContent = "Nothing has all of these words.";
        results.append(nothing);
    }
    results.hidden = false;
}

async function search() {
    const query = input.value.trim();
    if (query.length < 2) { results.hidden = true; return; }
    await load();
    if (query === input.value.trim()) show(find(query));
}

function choose(step) {
    const links = results.querySelectorAll("a");
    if (!links.length) return;
    if (chosen >= 0) links[chosen].classList.remove("chosen");
    chosen = (chosen + step + links.length) % links.length;
    links[chosen].classList.add("chosen");
    links[chosen].scrollIntoView({ block: "nearest" });
}

input.addEventListener("input", search);
input.addEventListener("focus", () => { load(); search(); });
input.addEventListener("keydown", event => {
    if (event.key === "ArrowDown") { choose(1); event.preventDefault(); }
    else if (event.key === "ArrowUp") { choose(-1); event.preventDefault(); }
    else if (event.key === "Escape") { results.hidden = true; input.blur(); }
    else if (event.key === "Enter") (results.querySelectorAll("a")[Math.max(chosen, 0)] || { click() {} }).click();
});
document.addEventListener("click", event => { if (!event.target.closest(".search") || event.target.closest("a")) results.hidden = true; });
document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== input) { input.focus(); event.preventDefault(); }
});
byId("theme").addEventListener("click", () => {
    const order = ["", "dark", "light"], html = document.documentElement;
    const next = order[(order.indexOf(html.dataset.theme) + 1) % 3];
    html.dataset.theme = next;
    localStorage.setItem("theme", next);
    byId("theme").textContent = next === "dark" ? "Dark" : next === "light" ? "Light" : "Theme";
});
byId("menu").addEventListener("click", () => byId("menu").setAttribute("aria-expanded", navigation.classList.toggle("open")));
const query = new URLSearchParams(location.search).get("q");
if (query) { input.value = query; search(); }
})();
