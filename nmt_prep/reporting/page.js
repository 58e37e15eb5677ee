"use strict";
// Sorting of tables, a filter by corpus, and thresholds. The page is complete without it.
(function () {
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const grouped = (value) => value.toLocaleString("en-US");
  const share = (part, whole, digits = 1) => {
    const percent = 100 * part / whole, least = 10 ** -digits;
    if (!whole) return "-";
    if (percent > 0 && percent < least) return `< ${least.toFixed(digits)}%`;
    return percent > 100 - least && percent < 100 ? `> ${(100 - least).toFixed(digits)}%` : percent.toFixed(digits) + "%";
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

  // Values of the chosen corpus, or those of all corpora of a split.
  const chosenOf = (corpora, corpus, split) => Object.entries(corpora)
    .filter(([name]) => corpus ? name === corpus : name.startsWith(split + "/")).map(([, value]) => value);

  // Examples: the dropped pairs that another threshold would keep.
  const follow = ({ rule, column }, end, edge) => {
    const box = [...document.querySelectorAll("[data-reason]")].find((each) => each.dataset.reason === rule);
    if (!box) return;
    const rows = [...box.querySelectorAll("tr[data-value]")];
    for (const row of rows) {
      const [value, limit, of] = JSON.parse(row.dataset.value);
      if (value === null || of !== column || (value > limit) !== (end === "high")) continue;
      row.classList.toggle("passing", end === "high" ? value < edge : value >= edge);
    }
    const passing = rows.filter((row) => row.classList.contains("passing")).length;
    box.querySelector("summary").dataset.passing = passing ? `, ${passing} of ${rows.length} shown here would pass` : "";
  };

  // Rules: the bars of the chosen corpus, and the share of pairs that another threshold would keep.
  const height = 100;
  const rules = [...document.querySelectorAll("[data-rule]")].map((box) => {
    const rule = JSON.parse(box.dataset.rule);
    const bins = rule.edges.length - 1;
    const drawing = box.querySelector("svg svg svg");
    const bars = { rules: new Array(bins).fill(null), kept: new Array(bins).fill(null) };
    for (const bar of drawing.querySelectorAll("rect[data-bin]")) bars[bar.classList[0]][bar.dataset.bin] = bar;
    const titles = [...drawing.querySelectorAll(".hit title")];
    const texts = titles.map((title) => title.textContent.split(": ")[0]);
    const caption = box.querySelector("figcaption .how"), rows = box.querySelector("tbody").rows;
    let counts = [], most = 0;
    const show = (corpus) => {
      const chosen = chosenOf(rule.corpora, corpus, rule.split);
      box.hidden = !chosen.length;
      const sum = (which) => Array.from({ length: bins }, (_, bin) => chosen.reduce((total, part) => total + part[which][bin], 0));
      const kept = sum(0), dropped = sum(1);
      counts = kept.map((value, bin) => value + dropped[bin]);
      const total = counts.reduce((a, b) => a + b, 0), failed = chosen.reduce((all, part) => all + part[2], 0);
      most = most || Math.log1p(Math.max(...counts)); // of all corpora, for which the axis has its labels
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
        title.textContent = `${texts[bin]}: kept ${grouped(kept[bin])}, dropped ${grouped(dropped[bin])}`;
      });
      caption.textContent = `${grouped(failed)} of ${grouped(total)} ${rule.unit} fail it (${share(failed, total)}).`;
      let above = total;
      counts.forEach((value, bin) => {
        const cells = [grouped(kept[bin]), grouped(dropped[bin])];
        if (rule.low) cells.push(share(above, total));
        above -= value;
        if (rule.high) cells.push(share(total - above, total));
        cells.forEach((text, place) => { rows[bin].cells[place + 1].textContent = text; });
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
      range.setAttribute("aria-label", `Another ${end === "low" ? "lower" : "upper"} threshold for ${rule.rule}, ${rule.column}`);
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
        follow(rule, end, rule.edges[Number(range.value)]);
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

  // Which rules agree: the numbers of the chosen corpus.
  const agreements = [...document.querySelectorAll("[data-agreement]")].map((box) => {
    const corpora = JSON.parse(box.dataset.agreement), split = Object.keys(corpora)[0].split("/")[0];
    const rows = [...box.querySelector("tbody").rows], names = rows.map((row) => row.cells[0].textContent);
    return (corpus) => {
      const chosen = chosenOf(corpora, corpus, split);
      box.hidden = !chosen.length;
      rows.forEach((row, rule) => {
        const sum = (other) => chosen.reduce((total, matrix) => total + matrix[rule][other], 0), whole = sum(rule);
        row.cells[1].textContent = grouped(whole);
        names.forEach((name, other) => {
          if (rule === other) return;
          const cell = row.cells[other + 2], both = sum(other);
          const judged = chosen.some((matrix) => matrix[rule][other] !== null);
          cell.textContent = judged ? share(both, whole, 0) : "";
          cell.title = judged ? `${grouped(both)} of ${grouped(whole)} pairs that fail ${names[rule]} also fail ${name}` : "";
          cell.className = both ? "n heat" : "n zero";
          cell.style.setProperty("--s", Math.sqrt(both / (whole || 1)).toFixed(2));
        });
      });
    };
  });

  // The filter by corpus.
  const tagged = [...document.querySelectorAll("[data-corpus]")];
  const names = [...new Set(tagged.map((element) => element.dataset.corpus))];
  if (names.length > 1) {
    const select = make("select", { id: "corpus" }, make("option", { value: "", textContent: "all corpora" }));
    select.append(...names.map((name) => make("option", { value: name, textContent: name })));
    select.addEventListener("change", () => {
      for (const element of tagged) element.hidden = select.value ? element.dataset.corpus !== select.value : "more" in element.dataset;
      document.body.classList.toggle("filtered", select.value !== "");
      for (const show of [...rules, ...agreements]) show(select.value);
      for (const box of document.querySelectorAll("details.texts:not([data-corpus])")) {
        box.hidden = [...box.querySelectorAll("tr[data-corpus]")].every((row) => row.hidden);
      }
    });
    const label = make("label", { htmlFor: "corpus", textContent: "Show " });
    document.querySelector("nav").append(make("div", { className: "tools" }, label, select));
  }
})();
