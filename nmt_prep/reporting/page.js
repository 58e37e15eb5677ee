"use strict";
// Sorting of tables, a filter by corpus, and thresholds. The page is complete without it.
(function () {
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const grouped = (value) => value.toLocaleString("en-US");
  const share = (part, whole) => {
    const percent = 100 * part / whole;
    if (!whole) return "-";
    if (percent > 0 && percent < 0.1) return "< 0.1 %";
    return percent > 99.9 && percent < 100 ? "> 99.9 %" : percent.toFixed(1) + " %";
  };
  const short = (value) => String(Number(value.toPrecision(4)));

  // Tables: the headings become buttons that sort.
  const key = (cell) => {
    const text = cell.textContent.trim();
    const found = /^[<>]?\s*(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(kB|MB|GB|TB|B|%)?/.exec(text);
    if (!found) return text === "-" || text === "" ? -Infinity : text.toLowerCase();
    return Number(found[1].replaceAll(",", "")) * ({ kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }[found[2]] || 1);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    if (body.rows.length < 2) continue;
    for (const heading of table.tHead.rows[0].cells) {
      const button = make("button", { type: "button", textContent: heading.textContent });
      if (!button.textContent) continue;
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") === "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => [key(row.cells[heading.cellIndex]), row]);
        rows.sort(([a], [b]) => {
          const order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "string" ? 1 : -1;
          return up ? order : -order;
        });
        body.append(...rows.map(([, row]) => row));
      });
    }
  }

  // Rules: the bars of the chosen corpus, and the share of pairs that another threshold would keep.
  const height = 100;
  const rules = [...document.querySelectorAll("[data-rule]")].map((box) => {
    const rule = JSON.parse(box.dataset.rule);
    const bins = rule.edges.length - 1;
    const drawing = box.querySelector("svg svg svg");
    const bars = { rules: new Array(bins).fill(null), kept: new Array(bins).fill(null) };
    for (const bar of drawing.querySelectorAll("rect[data-bin]")) bars[bar.classList[0]][bar.dataset.bin] = bar;
    const titles = [...drawing.querySelectorAll(".hit title")];
    let counts = [];
    const show = (corpus) => {
      const chosen = corpus ? [rule.corpora[corpus]].filter(Boolean) : Object.values(rule.corpora);
      const sum = (which) => Array.from({ length: bins }, (_, bin) => chosen.reduce((total, own) => total + own[which][bin], 0));
      const kept = sum(0), dropped = sum(1);
      counts = kept.map((value, bin) => value + dropped[bin]);
      const most = Math.log1p(Math.max(...counts));
      for (const [kind, values] of [["rules", counts], ["kept", kept]]) {
        values.forEach((value, bin) => {
          const bar = bars[kind][bin];
          if (!bar) return;
          const tall = most ? height * Math.log1p(value) / most : 0;
          bar.setAttribute("y", height - tall);
          bar.setAttribute("height", tall);
        });
      }
      titles.forEach((title, bin) => {
        title.textContent = `${short(rule.edges[bin])} to ${short(rule.edges[bin + 1])}: kept ${grouped(kept[bin])}, dropped ${grouped(dropped[bin])}`;
      });
      explain();
    };
    const explainers = [];
    const explain = () => explainers.forEach((each) => each());
    const plot = box.querySelector("svg.plot"), area = plot.querySelector(".area");
    const controls = make("div", { className: "threshold" });
    for (const end of ["low", "high"]) {
      if (!rule[end] || bins < 3) continue;
      const limits = rule.limits[end];
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      line.setAttribute("class", "axis chosen");
      line.setAttribute("y1", 16);
      line.setAttribute("y2", 16 + Number(drawing.getAttribute("height")));
      const first = end === "low" ? 0 : 1;
      const distances = rule.edges.slice(first, bins + first).map((edge) => Math.abs(edge - limits[0]));
      const start = first + distances.indexOf(Math.min(...distances));
      const range = make("input", { type: "range", min: first, max: bins - 1 + first, step: 1, value: start });
      range.setAttribute("aria-label", `Another ${end === "low" ? "lower" : "upper"} limit for ${rule.rule}, ${rule.column}`);
      const output = make("output", {});
      const copy = make("button", { type: "button", className: "copy", textContent: "Copy as YAML" });
      const path = rule.option[end];
      copy.hidden = !path;
      explainers.push(() => {
        const edge = Number(range.value);
        const total = counts.reduce((a, b) => a + b, 0);
        const part = counts.slice(...(end === "low" ? [edge] : [0, edge])).reduce((a, b) => a + b, 0);
        const limit = `${end === "low" ? "From" : "Below"} ${short(rule.edges[edge])}`;
        output.textContent = `${limit}: ${share(part, total)} of the pairs (${grouped(part)})`;
        for (const side of ["x1", "x2"]) line.setAttribute(side, `${100 * edge / bins}%`);
      });
      range.addEventListener("input", () => {
        if (!line.parentNode) area.append(line);
        explain();
      });
      copy.addEventListener("click", async () => {
        const limit = short(rule.edges[Number(range.value)]);
        const name = /^[\w/]+$/.test(rule.rule) ? rule.rule : JSON.stringify(rule.rule);
        const keys = [name, ...path].map((part, depth) => "  ".repeat(depth + 2) + part + ":");
        const yaml = `clean:\n  rules:\n${keys.join("\n")} ${limit}\n`;
        try {
          await navigator.clipboard.writeText(yaml);
          copy.textContent = "Copied";
          setTimeout(() => { copy.textContent = "Copy as YAML"; }, 1500);
        } catch {
          copy.replaceWith(make("pre", { textContent: yaml }));
        }
      });
      controls.append(range, copy, output);
    }
    if (controls.childNodes.length) plot.after(controls);
    show("");
    return show;
  });

  // The filter by corpus.
  const tagged = [...document.querySelectorAll("[data-corpus]")];
  const names = [...new Set(tagged.map((element) => element.dataset.corpus))];
  if (names.length > 1) {
    const select = make("select", { id: "corpus" }, make("option", { value: "", textContent: "all corpora" }));
    select.append(...names.map((name) => make("option", { value: name, textContent: name })));
    select.addEventListener("change", () => {
      for (const element of tagged) element.hidden = select.value !== "" && element.dataset.corpus !== select.value;
      for (const show of rules) show(select.value);
    });
    const label = make("label", { htmlFor: "corpus", textContent: "Show " });
    document.querySelector("nav").append(make("div", { className: "tools" }, label, select));
  }
})();
