/* Copyright (c) 2026, fleetops.instinct contributors
   GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
   SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const CELLS = {
    F: ["fail", "F"], U: ["unknown", "?"], W: ["warn", "!"], V: ["waived", "W"], P: ["pass", "\u00b7"],
    ".": ["none", ""], "-": ["not-asked", "\u2013"],
  };
  const SAID = {
    fail: "fail", unknown: "unknown", warn: "warning", waived: "waived", pass: "passed",
    none: "nothing said", "not-asked": "not asked",
  };
  const LETTER = { fail: "F", unknown: "U", warn: "W", waived: "V" };
  const FOUND = /[FUWV]/;
  const ROW = 26;
  const BEYOND = 12; // rows drawn above and below what can be seen
  const rules = data.rules.map(([id, area, deciding], index) => ({ id, area, deciding, index }));
  const byId = (id) => document.getElementById(id);
  const text = (number) => (number < 0 ? null : data.strings[number]);
  const said = (value) => (value === null || value === undefined ? "unknown" : String(value));
  const words = (name) => name.replaceAll("_", " ");
  const lower = (value) => said(value).toLowerCase();

  // Data gets into the page as text and attributes only, through this one function.
  function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  const nodes = data.nodes.map((row, index) => {
    const [name, rack, product, rocm, driver] = row.slice(0, 5).map(text);
    const [kind, found, cells, versions, answers, unread] = row.slice(5);
    const [os, kernel, bios] = data.versions[versions].slice(0, 3).map(text);
    const own = [name, rack, product, rocm, driver, os, kernel, bios, words(data.classes[kind])].map(lower).join("\n");
    return { index, name, rack, product, rocm, driver, os, kernel, bios, kind, found, versions, own,
      cells: data.cells[cells], answers: data.answers[answers],
      unread: data.unread[unread].map(text) };
  });

  function firmware(node) {
    const flat = data.versions[node.versions].slice(3);
    const rows = [];
    for (let at = 0; at < flat.length; at += 3) rows.push([text(flat[at]), text(flat[at + 1]), flat[at + 2]]);
    return rows;
  }

  // Search: words anywhere in what a node is and says, and key:value for what it is.
  const KEYS = {
    node: (n) => [n.name], rack: (n) => [n.rack], product: (n) => [n.product], rocm: (n) => [n.rocm],
    driver: (n) => [n.driver], os: (n) => [n.os], kernel: (n) => [n.kernel], bios: (n) => [n.bios],
    class: (n) => [data.classes[n.kind], words(data.classes[n.kind])],
  };
  const blocks = new Set(data.versions.flatMap((row) => row.slice(3).filter((_, at) => at % 3 === 0).map(text)));
  for (const block of blocks) {
    KEYS[block] ??= (n) => firmware(n).filter((row) => row[0] === block).map((row) => row[1]);
  }
  const spoken = data.texts.map(([rule, verdict, ...parts]) =>
    [rules[rule].id, data.verdicts[verdict], ...parts.map((part) => text(part) ?? "")].join("\n").toLowerCase());

  function wordTest(word) {
    const hits = spoken.map((one) => one.includes(word));
    const subjects = new Map();
    const subject = (number) => {
      if (!subjects.has(number)) subjects.set(number, number >= 0 && lower(text(number)).includes(word));
      return subjects.get(number);
    };
    const lists = data.found.map((list) => list.some((number, at) => (at % 2 ? subject(number) : hits[number])));
    return (node) => node.own.includes(word) || lists[node.found];
  }

  function searchTests(query) {
    const tests = [];
    for (const [whole, key, quoted, bare] of query.matchAll(/([\w.]+):(?:"([^"]*)"|(\S+))|"[^"]+"|\S+/g)) {
      const values = key && KEYS[key.toLowerCase()];
      const wanted = (quoted ?? bare ?? "").toLowerCase();
      if (values) tests.push((node) => values(node).some((value) => lower(value) === wanted));
      else tests.push(wordTest(whole.replaceAll('"', "").toLowerCase()));
    }
    return tests;
  }

  // What is shown now.
  const state = { rows: nodes, columns: [], at: { row: 0, column: 0 }, open: null };
  const controls = Object.fromEntries(
    ["search", "class", "product", "rack", "rule", "verdict", "order", "all"].map((id) => [id, byId(id)]));
  const collator = new Intl.Collator("en", { numeric: true });

  function options(select, values, name = words) {
    select.replaceChildren(el("option", { value: "" }, "any"),
      ...values.map((value) => el("option", { value }, name(value))));
  }
  const different = (key) => [...new Set(nodes.map((node) => said(node[key])))].sort(collator.compare);
  options(controls.class, data.classes.filter((_, kind) => nodes.some((node) => node.kind === kind)));
  options(controls.product, different("product"), String);
  options(controls.rack, different("rack"), String);
  const spokenRules = rules.filter((rule) => nodes.some((node) => FOUND.test(node.cells[rule.index])));
  options(controls.rule, spokenRules.map((rule) => rule.id), String);
  options(controls.verdict, Object.keys(LETTER));

  function chosenTests() {
    const value = (id) => controls[id].value;
    const tests = searchTests(value("search"));
    if (value("class")) tests.push((node) => data.classes[node.kind] === value("class"));
    for (const key of ["product", "rack"]) {
      if (value(key)) tests.push((node) => said(node[key]) === value(key));
    }
    const rule = rules.find((one) => one.id === value("rule"));
    const letter = LETTER[value("verdict")];
    // A cell shows the worst verdict; a rule may have said others as well.
    const says = (node) => data.found[node.found].some((number, at) => at % 2 === 0
      && (!rule || data.texts[number][0] === rule.index)
      && (!letter || data.verdicts[data.texts[number][1]] === value("verdict")));
    if (rule || letter) tests.push(says);
    return tests;
  }

  // What keeps a node where it is, as in problems.py; the rest is what a rollout changes, or advice.
  function inTheWay(rule, verdict) {
    return rule.deciding && (verdict === "unknown" || (verdict === "fail" && rule.area !== "compliance"));
  }
  const looks = (node, rule) => {
    const [look, sign] = CELLS[node.cells[rule.index]];
    return { look, sign, aside: (look === "fail" || look === "unknown") && !inTheWay(rule, look) };
  };
  const weight = (node) => rules.filter((rule) => inTheWay(rule, CELLS[node.cells[rule.index]][0])).length;

  function choose() {
    const tests = chosenTests();
    state.rows = nodes.filter((node) => tests.every((test) => test(node)));
    if (controls.order.value === "worst") {
      const weights = new Map(state.rows.map((node) => [node, weight(node)]));
      state.rows.sort((a, b) => a.kind - b.kind || weights.get(b) - weights.get(a) || a.index - b.index);
    }
    state.columns = controls.all.checked ? rules : spokenRules;
    state.at.row = Math.min(state.at.row, Math.max(0, state.rows.length - 1));
    state.at.column = Math.min(state.at.column, state.columns.length);
    const count = (number) => number.toLocaleString("en");
    byId("shown").textContent = state.rows.length === nodes.length
      ? `${count(nodes.length)} nodes` : `${count(state.rows.length)} of ${count(nodes.length)} nodes`;
    drawHead();
    matrix.scrollTop = 0;
    draw(true);
    remember();
  }

  // The matrix: only the rows that can be seen are in the document.
  const matrix = byId("matrix");
  const above = el("tbody", { "aria-hidden": "true" });
  const below = el("tbody", { "aria-hidden": "true" });
  const head = el("thead");
  const body = el("tbody");
  const table = el("table", { role: "grid", "aria-label": "Nodes and rules" }, head, above, body, below);
  matrix.append(table);
  let drawn = "";

  function drawHead() {
    const chosen = controls.rule.value;
    const columns = state.columns.map((rule, column) => {
      const bad = nodes.filter((node) => FOUND.test(node.cells[rule.index])).length;
      const kind = rule.deciding ? "decides" : "advice";
      return el("th", { scope: "col", class: `mark ${rule.deciding ? "" : "advice"} ${rule.id === chosen ? "chosen" : ""}`,
        "aria-colindex": column + 2 },
      el("button", { type: "button", tabindex: "-1", "data-column": column, "aria-pressed": String(rule.id === chosen),
        title: `${rule.id} (${rule.area}, ${kind}): findings on ${bad} nodes` }, rule.id));
    });
    head.replaceChildren(el("tr", {}, el("th", { scope: "col", class: "first", "aria-colindex": 1 }, "Node"),
      el("th", { scope: "col", class: "rack" }, "Rack"), el("th", { scope: "col", class: "ver" }, "ROCm / driver"),
      ...columns));
    table.setAttribute("aria-colcount", state.columns.length + 1);
    table.setAttribute("aria-rowcount", state.rows.length + 1);
  }

  function versions(node) {
    return node.rocm === node.driver ? said(node.rocm) : `${said(node.rocm)} / ${said(node.driver)}`;
  }

  function drawRow(row) {
    const node = state.rows[row];
    const here = (column) => (state.at.row === row && state.at.column === column ? "0" : "-1");
    const kind = data.classes[node.kind];
    const cells = state.columns.map((rule, at) => {
      const { look, sign, aside } = looks(node, rule);
      return el("td", { class: `mark ${look}${aside ? " aside" : ""}`, role: "gridcell", tabindex: here(at + 1), "data-row": row,
        "data-column": at + 1, title: `${node.name}, ${rule.id}: ${SAID[look]}`,
        "aria-label": `${rule.id}: ${SAID[look]}` }, sign);
    });
    return el("tr", { "aria-rowindex": row + 2, class: state.open === node ? "open" : null },
      el("th", { scope: "row", class: "first", tabindex: here(0), "data-row": row, "data-column": 0 },
        el("div", { class: `class-${kind}` }, el("span", { class: "name", title: node.name }, node.name),
          el("span", { class: "class" }, words(kind)))),
      el("td", { class: "rack", title: said(node.rack) }, said(node.rack)),
      el("td", { class: "ver", title: versions(node) }, versions(node)), ...cells);
  }

  function draw(force) {
    const seen = Math.ceil((matrix.clientHeight || 600) / ROW);
    const first = Math.max(0, Math.floor(matrix.scrollTop / ROW) - BEYOND);
    const last = Math.min(state.rows.length, first + seen + 2 * BEYOND);
    if (!force && drawn === `${first} ${last}`) return;
    drawn = `${first} ${last}`;
    const focused = body.contains(document.activeElement);
    const rows = [];
    for (let row = first; row < last; row += 1) rows.push(drawRow(row));
    if (!rows.length) rows.push(el("tr", {}, el("td", { class: "empty" }, "No node is like that.")));
    body.replaceChildren(...rows);
    for (const [part, size] of [[above, first], [below, state.rows.length - last]]) {
      const pad = el("td", {});
      pad.style.height = `${size * ROW}px`;
      part.replaceChildren(...(size ? [el("tr", {}, pad)] : []));
    }
    if (focused) cellAt()?.focus({ preventScroll: true });
  }

  function cellAt() {
    return body.querySelector(`[data-row="${state.at.row}"][data-column="${state.at.column}"]`);
  }

  function move(row, column) {
    state.at.row = Math.max(0, Math.min(state.rows.length - 1, row));
    state.at.column = Math.max(0, Math.min(state.columns.length, column));
    const top = state.at.row * ROW;
    const height = matrix.clientHeight - head.offsetHeight;
    if (top < matrix.scrollTop) matrix.scrollTop = top;
    if (top + ROW > matrix.scrollTop + height) matrix.scrollTop = top + ROW - height;
    draw(true);
    const cell = cellAt();
    cell?.focus({ preventScroll: true });
    if (cell && state.at.column) showColumn(cell);
  }

  function showColumn(cell) {
    const left = cell.offsetLeft - body.querySelector(".first").offsetWidth;
    if (left < matrix.scrollLeft) matrix.scrollLeft = left;
    const right = cell.offsetLeft + cell.offsetWidth - matrix.clientWidth;
    if (right > matrix.scrollLeft) matrix.scrollLeft = right;
  }

  let waiting = false;
  matrix.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(false); });
  });
  addEventListener("resize", () => draw(true));

  table.addEventListener("click", (event) => {
    const column = event.target.closest("thead button");
    if (column) {
      const rule = state.columns[Number(column.dataset.column)].id;
      if (controls.rule.querySelector(`option[value="${CSS.escape(rule)}"]`)) {
        controls.rule.value = controls.rule.value === rule ? "" : rule;
        choose();
      }
      return;
    }
    const cell = event.target.closest("[data-row]");
    if (!cell) return;
    state.at = { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
    openAt();
  });

  const STEPS = {
    ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [20, 0], PageUp: [-20, 0],
    Home: [0, -Infinity], End: [0, Infinity],
  };
  table.addEventListener("keydown", (event) => {
    if (!event.target.closest("[data-row]")) return;
    const step = STEPS[event.key];
    if (step) {
      const [down, right] = event.ctrlKey ? [step[1] || step[0] * 1e6, 0] : step;
      move(state.at.row + down, state.at.column + right);
    } else if (event.key === "Enter" || event.key === " ") openAt();
    else return;
    event.preventDefault();
  });

  // What a node said.
  const detail = byId("detail");

  function list(...pairs) {
    return el("dl", {}, ...pairs.filter(([, value]) => value !== null && value !== "")
      .flatMap(([name, value, look]) => [el("dt", {}, name), el("dd", { class: look }, value)]));
  }

  function findings(node, asked) {
    const groups = new Map();
    const flat = data.found[node.found];
    for (let at = 0; at < flat.length; at += 2) {
      if (!groups.has(flat[at])) groups.set(flat[at], []);
      groups.get(flat[at]).push(flat[at + 1] < 0 ? node.name : said(text(flat[at + 1])));
    }
    const first = (number) => (asked && data.texts[number][0] === asked.index ? 0 : 1);
    const weighs = (number) => (inTheWay(rules[data.texts[number][0]], data.verdicts[data.texts[number][1]]) ? 0 : 1);
    const order = [...groups.keys()].sort((a, b) => first(a) - first(b) || weighs(a) - weighs(b)
      || data.texts[a][1] - data.texts[b][1] || data.texts[a][0] - data.texts[b][0]);
    return order.map((number) => finding(number, groups.get(number), first(number) === 0));
  }

  function finding(number, subjects, asked) {
    const [ruleIndex, verdict, area, ...parts] = data.texts[number];
    const [expected, observed, why, fix, source] = parts.map(text);
    const rule = rules[ruleIndex];
    const name = data.verdicts[verdict];
    return el("article", { class: asked ? "asked" : null, "data-rule": rule.id },
      el("h3", {}, el("span", { class: `badge verdict-${name}${inTheWay(rule, name) ? "" : " aside"}` }, name), rule.id,
        el("span", { class: "soft" }, `${said(text(area))}${rule.deciding ? "" : ", advice"}`)),
      list(["Subject", subjects.join(", "), "mono"], ["Expected", expected], ["Observed", said(observed)], ["Why", why],
        ["Fix", fix, "fix"], ["Source", source]));
  }

  function ruleLists(node) {
    const named = (letter) => rules.filter((rule) => node.cells[rule.index] === letter).map((rule) => rule.id);
    return [["P", "rules passed"], [".", "rules said nothing"], ["-", "rules were not asked"]]
      .map(([letter, label]) => [named(letter), label]).filter(([found]) => found.length)
      .map(([found, label]) => el("details", {}, el("summary", {}, `${found.length} ${label}`), el("p", {}, found.join(", "))));
  }

  function about(node) {
    const [compliance, transition, health, toRocm, toDriver, gpus, expected, gathered, steps, before, ready, why] = node.answers;
    const wanted = [toRocm, toDriver].map(text);
    const target = wanted[0] === wanted[1] ? said(wanted[0]) : wanted.map(said).join(" / ");
    const back = ready ? "ready" : `not ready${why.length ? `: ${why.map(text).join("; ")}` : ""}`;
    const one = (verdict) => words(said(text(verdict)));
    return list(["Product", `${said(node.product)}, ${said(gpus)} of ${said(expected)} GPUs, rack ${said(node.rack)}`],
      ["Runs", `ROCm and driver ${versions(node)}; target ${target}`],
      ["Answers", `compliance ${one(compliance)}, transition ${one(transition)}, health ${one(health)}`],
      ["Do first", before.map(text).join("; ")],
      ["Steps", steps.length ? steps.map(text).join(", ") : "none"], ["Way back", back],
      ["System", `${said(node.os)}, kernel ${said(node.kernel)}, BIOS ${said(node.bios)}`],
      ["Gathered", text(gathered)]);
  }

  function unreadList(node) {
    if (!node.unread.length) return null;
    return el("details", {}, el("summary", {}, "What could not be read, and why"),
      el("ul", {}, ...node.unread.map((line) => el("li", {}, line))));
  }

  function firmwareList(node) {
    const rows = firmware(node);
    if (!rows.length) return null;
    return el("details", {}, el("summary", {}, "Firmware"), el("table", { class: "plain" }, el("tbody", {},
      ...rows.map(([block, value, gpus]) => el("tr", {}, el("th", { scope: "row" }, block), el("td", {}, said(value)),
        el("td", { class: "num" }, `${gpus} GPUs`))))));
  }

  function open(node, asked) {
    state.open = node;
    const kind = data.classes[node.kind];
    const articles = findings(node, asked);
    const quiet = asked && !FOUND.test(node.cells[asked.index])
      ? el("p", { class: "soft" }, `${asked.id}: ${SAID[CELLS[node.cells[asked.index]][0]]}.`) : null;
    const step = (by, label) => el("button", { type: "button", "data-step": by,
      disabled: !state.rows[state.rows.indexOf(node) + by] }, label);
    detail.replaceChildren(
      el("div", { class: "bar" }, el("h2", { id: "detail-title" }, node.name),
        el("span", { class: `badge class-${kind}` }, words(kind)), el("span", { class: "grow" }),
        step(-1, "Previous"), step(1, "Next"), el("button", { type: "button", "data-close": true }, "Close")),
      ...[quiet, about(node), ...(articles.length ? articles : [el("p", {}, "No rule found anything.")]),
        unreadList(node), ...ruleLists(node), firmwareList(node)].filter(Boolean));
    detail.hidden = false;
    detail.scrollTop = 0;
    detail.focus();
    draw(true);
    remember();
  }

  function openAt() {
    const node = state.rows[state.at.row];
    if (node) open(node, state.at.column ? state.columns[state.at.column - 1] : null);
  }

  function close() {
    if (detail.hidden) return;
    detail.hidden = true;
    state.open = null;
    move(state.at.row, state.at.column);
    remember();
  }

  detail.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("close" in button.dataset) close();
    if (button.dataset.step) {
      state.at.row = state.rows.indexOf(state.open) + Number(button.dataset.step);
      move(state.at.row, state.at.column);
      openAt();
    }
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  // The address keeps what is shown, so that it can be sent to somebody who has the same file.
  let restoring = true;
  function remember() {
    if (restoring) return;
    const kept = new URLSearchParams();
    for (const [id, control] of Object.entries(controls)) {
      const value = control.type === "checkbox" ? (control.checked ? "1" : "") : control.value;
      if (value && !(id === "order" && value === "worst")) kept.set(id, value);
    }
    if (state.open) kept.set("node", state.open.name);
    try { history.replaceState(null, "", `#${kept}`); } catch { /* some browsers refuse it for files */ }
  }

  function restore() {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const [id, control] of Object.entries(controls)) {
      if (!kept.has(id)) continue;
      if (control.type === "checkbox") control.checked = kept.get(id) === "1";
      else if (control.tagName !== "SELECT" || [...control.options].some((one) => one.value === kept.get(id))) {
        control.value = kept.get(id);
      }
    }
    return nodes.find((node) => node.name === kept.get("node"));
  }

  const filters = byId("filters");
  let typing = 0;
  filters.addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(choose, event.target === controls.search ? 120 : 0);
  });
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(choose, 0));

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-class], button[data-search], button[data-rule]");
    if (!button) return;
    filters.reset();
    for (const key of ["class", "search", "rule", "verdict"]) {
      if (button.dataset[key]) controls[key].value = button.dataset[key];
    }
    setTimeout(() => { choose(); byId("fleet").scrollIntoView(); }, 0);
  });

  const theme = byId("theme");
  const THEMES = ["system", "dark", "light"];
  function setTheme(name) {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
    theme.dataset.now = name;
  }
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(theme.dataset.now) + 1) % THEMES.length];
    setTheme(next);
    try { localStorage.setItem("fleetops-theme", next); } catch { /* not kept for files in some browsers */ }
  });
  let kept = null;
  try { kept = localStorage.getItem("fleetops-theme"); } catch { /* as above */ }
  setTheme(THEMES.includes(kept) ? kept : "system");

  document.documentElement.classList.add("js");
  const asked = restore();
  choose();
  restoring = false;
  if (asked) {
    state.at.row = Math.max(0, state.rows.indexOf(asked));
    open(asked, rules.find((rule) => rule.id === controls.rule.value) ?? null);
  }
  document.documentElement.dataset.ready = String(nodes.length);
})();
