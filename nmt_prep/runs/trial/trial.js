"use strict";
// Decides about the pairs of the sample as a run does, from the values of the rules and the limits on the page.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { pairs, controls, corpora } = data;
  const size = pairs.row.length, sides = ["source", "target"];
  const values = data.values.map((column) => column.map((value) => value === null ? null : Number(value)));
  const added = new Set(pairs.added), empty = new Set(pairs.empty);
  const pairsOf = corpora.map(() => []);
  pairs.corpus.forEach((corpus, pair) => pairsOf[corpus].push(pair));

  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  };
  const grouped = (value) => Math.round(value).toLocaleString("en-US");
  const short = (value) => Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  const percent = (part, whole) => whole ? `${(100 * part / whole).toFixed(1)}%` : "-";

  // What the page holds beside the config: the preset, and for each rule whether it is on and its moved limits.
  const state = { preset: data.preset, edits: new Map(), focus: null, current: -1, shown: [], from: 0, to: 0 };
  const idOf = (layer, key) => `${layer}\n${key}`;
  const editOf = (id) => {
    if (!state.edits.has(id)) state.edits.set(id, { on: null, limits: {} });
    return state.edits.get(id);
  };
  const ORDER = ["translation", "adequacy", "top"];

  // The rules of a layer before the user's changes, in order: key, control (null: off), and whether the config has it.
  const baseRules = () => {
    const rules = new Map(data.presets[state.preset].map(([key, control]) => [key, { layer: "", key, control, on: true }]));
    for (const [key, control] of data.rules) {
      const before = rules.get(key);
      rules.set(key, { layer: "", key, control: control ?? before?.control ?? offered(key), on: control !== null });
    }
    for (const preset of ["strict", "standard", "light"]) {
      for (const [key, control] of data.presets[preset] || []) {
        if (!rules.has(key)) rules.set(key, { layer: "", key, control, on: false });
      }
    }
    return [...rules.values()].filter((rule) => rule.control !== null && rule.control !== undefined);
  };
  const offered = (key) => {
    for (const preset of ["standard", "strict", "light"]) {
      const found = data.presets[preset].find(([name]) => name === key);
      if (found) return found[1];
    }
    return null;
  };
  const overrideRules = (layer) => data.overrides[layer].map(([key, control]) => ({ layer, key, control, on: control !== null }));
  const isOn = (rule) => state.edits.get(idOf(rule.layer, rule.key))?.on ?? rule.on;
  const allRules = () => [...baseRules(), ...Object.keys(data.overrides).flatMap(overrideRules).filter((rule) => rule.control !== null)];

  // The rules in force in a corpus, in the order in which they are tried.
  const rulesOf = (corpus, base) => {
    const rules = new Map(base.filter(isOn).map((rule) => [rule.key, rule]));
    for (const layer of corpora[corpus].overrides) {
      for (const rule of overrideRules(layer)) {
        if (rule.control !== null && isOn(rule)) rules.set(rule.key, rule);
        else rules.delete(rule.key);
      }
    }
    const list = [...rules.values()];
    const whole = list.filter((rule) => controls[rule.control].whole);
    whole.sort((a, b) => ORDER.indexOf(a.key) - ORDER.indexOf(b.key));
    return [list.filter((rule) => !controls[rule.control].whole), whole];
  };
  const pathOf = (limit) => limit.path.join(".");
  const limitOf = (rule, limit, corpus) => {
    const moved = state.edits.get(idOf(rule.layer, rule.key))?.limits[pathOf(limit)];
    if (moved !== undefined) return moved;
    return limit.value === "auto" ? controls[rule.control].thresholds[corpora[corpus].name] ?? -Infinity : limit.value;
  };
  const boundsOf = (rule, corpus) => {
    const control = controls[rule.control];
    const bounds = control.columns.map(({ low, high, above, below }) => ({ low: low ?? -Infinity, high: high ?? Infinity, above, below }));
    for (const limit of control.limits) for (const [column, end] of limit.targets) bounds[column][end] = limitOf(rule, limit, corpus);
    return bounds;
  };
  // As judge() does: NaN passes only if there are no limits. A value that is not known passes.
  const passes = (value, { low, high, above, below }) => value === null || (low === -Infinity && high === Infinity && !above && !below)
    || ((above ? value > low : value >= low) && (below ? value < high : value <= high));
  const cache = new Map();
  const failing = (rule, corpus) => {
    const bounds = boundsOf(rule, corpus), control = controls[rule.control];
    const name = `${rule.control} ${corpus}`, state_ = bounds.map((bound) => Object.values(bound).join()).join();
    const known = cache.get(name);
    if (known && known.state === state_) return known.fails;
    const fails = new Uint8Array(pairsOf[corpus].length);
    control.columns.forEach((column, number) => {
      const own = values[column.values], bound = bounds[number];
      pairsOf[corpus].forEach((pair, place) => { if (!passes(own[pair], bound)) fails[place] = 1; });
    });
    cache.set(name, { state: state_, fails });
    return fails;
  };
  const ranked = new Map();
  const topThreshold = (rule, corpus, left) => {
    const limit = controls[rule.control].limits[0], own = values[controls[rule.control].columns[0].values];
    const scores = left.map((pair) => own[pair]).filter((value) => value !== null).map((value) => Number.isNaN(value) ? -Infinity : value).sort((a, b) => b - a);
    const name = `${rule.control} ${corpus}`, given = controls[rule.control].thresholds[corpora[corpus].name];
    if (!ranked.has(name)) ranked.set(name, scores.length); // as the config ranks them
    if (given !== undefined && ranked.get(name) === scores.length && limitOf(rule, limit, corpus) === limit.value) return given;
    const kept = Math.ceil(Number((scores.length * limitOf(rule, limit, corpus)).toFixed(9)));
    return scores.length ? scores[kept - 1] : -Infinity;
  };

  // Returns for each pair its reason (null if it is kept), and for each rule the pairs that fail it and those it drops.
  const decide = () => {
    const reasons = new Array(size).fill(null), counts = new Map(), base = baseRules();
    const count = (id) => counts.get(id) || counts.set(id, { fails: 0, drops: 0 }).get(id);
    corpora.forEach((_, corpus) => {
      const [single, whole] = rulesOf(corpus, base);
      const own = pairsOf[corpus];
      const judge = (rule, fails) => {
        const id = idOf(rule.layer, rule.key), counted = count(id);
        own.forEach((pair, place) => {
          if (!fails[place] || empty.has(pair)) return;
          const inSample = !added.has(pair);
          counted.fails += inSample;
          if (reasons[pair] === null) { reasons[pair] = id; counted.drops += inSample; }
        });
      };
      for (const pair of own) if (empty.has(pair)) reasons[pair] = "empty";
      for (const rule of single) judge(rule, failing(rule, corpus));
      const apply = (rule) => {
        if (rule.key !== "top") { judge(rule, failing(rule, corpus)); return; }
        const low = topThreshold(rule, corpus, own.filter((pair) => reasons[pair] === null && !added.has(pair)));
        const scores = values[controls[rule.control].columns[0].values];
        judge(rule, own.map((pair) => reasons[pair] === null && scores[pair] !== null && !(scores[pair] >= low)));
      };
      const early = (rule) => controls[rule.control].early;
      const isLeak = (reason) => (reason ?? "").startsWith("in_test_set:");
      const ofRun = (wanted) => {
        for (const pair of own) if (reasons[pair] === null && pair in pairs.run && wanted(pairs.run[pair])) reasons[pair] = `run\n${pairs.run[pair] ?? "the run"}`;
      };
      const { leaks, duplicates } = data.comparing[state.preset];
      ofRun((reason) => isLeak(reason) && leaks.includes(reason.slice("in_test_set:".length))); // in the order of a run
      whole.filter(early).forEach(apply);
      ofRun((reason) => reason === null ? leaks.length + duplicates.length + whole.length > 0 : duplicates.includes(reason));
      whole.filter((rule) => !early(rule)).forEach(apply);
    });
    return { reasons, counts };
  };
  const named = (reason) => {
    if (reason === null) return "kept";
    const [layer, key] = reason.includes("\n") ? reason.split("\n") : ["", reason];
    return layer && layer !== "run" ? `${key} (${layer})` : key;
  };
  const configured = decide().reasons;
  let now = decide();

  // Estimates for the corpora, with the half-width of a 95 % interval; null if the size of a corpus is not known.
  const estimate = (reasons) => {
    let pairsKept = 0, variance = 0, whole = 0;
    for (const [number, corpus] of corpora.entries()) {
      const sample = pairsOf[number].filter((pair) => !added.has(pair)), n = sample.length;
      if (corpus.size === null) return null;
      if (!n) continue;
      const kept = sample.filter((pair) => reasons[pair] === null).length / n;
      whole += corpus.size;
      pairsKept += corpus.size * kept;
      if (corpus.size > n) variance += corpus.size ** 2 * kept * (1 - kept) / n * (corpus.size - n) / (corpus.size - 1);
    }
    return { kept: pairsKept, margin: 1.96 * Math.sqrt(variance), whole };
  };
  const interval = (right, all) => { // Wilson's, at 95 %
    if (!all) return "";
    const z = 1.96, share = right / all, middle = share + z * z / (2 * all);
    const wide = z * Math.sqrt(share * (1 - share) / all + z * z / (4 * all * all)), whole = 1 + z * z / all;
    return `${Math.round(100 * share)}% right of ${all} judged (${Math.round(100 * (middle - wide) / whole)}–${Math.round(100 * (middle + wide) / whole)}%)`;
  };

  // Judgements: whether a pair should be kept (good) or not (bad), whatever the limits are.
  const store = `nmt-prep try ${data.name}`;
  const judged = new Map();
  const judgementKey = (pair) => `${corpora[pairs.corpus[pair]].name}\t${pairs.row[pair]}\t${pairs.key[pair]}`;
  try { for (const [key, value] of JSON.parse(localStorage.getItem(store) || "[]")) judged.set(key, value); } catch { /* no storage */ }
  for (const [pair, value] of data.judged || []) judged.set(judgementKey(pair), value);
  const judge = (pair, right) => {
    const key = judgementKey(pair), kept = now.reasons[pair] === null;
    const value = right === null ? null : right === kept ? "good" : "bad";
    if (value === null || judged.get(key) === value) judged.delete(key);
    else judged.set(key, value);
    try { localStorage.setItem(store, JSON.stringify([...judged])); } catch { /* no storage */ }
    showPair(pair);
    showFigures();
    showCards();
  };
  const judgedPairs = () => {
    const found = [];
    if (judged.size) for (let pair = 0; pair < size; pair++) { const value = judged.get(judgementKey(pair)); if (value) found.push([pair, value]); }
    return found;
  };

  // Figures.
  const figures = document.getElementById("figures");
  const showFigures = () => {
    const sampled = size - added.size;
    let kept = 0, lost = 0, won = 0;
    now.reasons.forEach((reason, pair) => {
      if (added.has(pair)) return;
      kept += reason === null;
      lost += reason !== null && configured[pair] === null;
      won += reason === null && configured[pair] !== null;
    });
    const all = estimate(now.reasons);
    const figure = (strong, text) => make("span", {}, make("strong", { textContent: strong }), ` ${text}`);
    const verdicts = judgedPairs();
    const right = verdicts.filter(([pair, value]) => (value === "good") === (now.reasons[pair] === null)).length;
    figures.replaceChildren(
      figure(percent(kept, sampled), `kept: ${grouped(kept)} of ${grouped(sampled)} in the sample`),
      all ? figure(grouped(all.kept), all.margin ? `± ${grouped(all.margin)} of about ${grouped(all.whole)} pairs, estimated` : `of all ${grouped(all.whole)} pairs`) : figure("?", "of the corpora, whose sizes are not known"),
      figure(lost || won ? `−${grouped(lost)} +${grouped(won)}` : "no", "pairs changed against the config"),
      verdicts.length ? figure(String(verdicts.length), `judged; ${interval(right, verdicts.length)}`) : make("span", { textContent: "Nothing is judged yet." }));
  };

  // Cards of the rules.
  const panel = document.getElementById("rules");
  const presets = make("select", { id: "preset" }, ...Object.keys(data.presets).map((name) => make("option", { value: name, textContent: name, selected: name === state.preset })));
  const reset = make("button", { type: "button", className: "plain", textContent: "Back to the config" });
  const list = make("div", { id: "cards" });
  const yaml = make("pre", { id: "yaml", tabIndex: 0 }), copy = make("button", { type: "button", className: "plain", textContent: "Copy as YAML" });
  panel.append(make("div", { className: "row" }, make("label", {}, "Preset", presets), reset), list, make("h2", { textContent: "Changes" }), yaml, copy);
  const STEPS = 20;
  const scaleOf = (rule, limit) => {
    const control = controls[rule.control], { edges } = control;
    if (limit.grid.length) {
      return { last: limit.grid.length - 1, valueAt: (place) => limit.grid[place], placeOf: (value) => {
        let best = 0;
        limit.grid.forEach((other, place) => { if (Math.abs(other - value) < Math.abs(limit.grid[best] - value)) best = place; });
        return best;
      } };
    }
    if (rule.key === "top") return { last: 100, valueAt: (place) => Math.max(place, 1) / 100, placeOf: (value) => Math.round(value * 100) };
    const whole = limit.integer || (limit.value !== "auto" && Number.isInteger(limit.value) && limit.targets.every(([column]) => values[control.columns[column].values].every((value) => value === null || Number.isInteger(value) || !Number.isFinite(value))));
    const bins = edges.length - 1;
    const valueAt = (place) => {
      const bin = Math.min(Math.floor(place / STEPS), bins - 1);
      const value = edges[bin] + (edges[bin + 1] - edges[bin]) * (place / STEPS - bin);
      return whole ? Math.round(value) : Number(value.toPrecision(3));
    };
    const placeOf = (value) => {
      if (value <= edges[0]) return 0;
      if (value >= edges[bins]) return bins * STEPS;
      let bin = 0;
      while (edges[bin + 1] <= value) bin++;
      return Math.round(STEPS * (bin + (value - edges[bin]) / (edges[bin + 1] - edges[bin])));
    };
    return { last: bins * STEPS, valueAt, placeOf };
  };
  const worst = (rule, limit) => {
    const control = controls[rule.control];
    const columns = (limit.targets.length ? limit.targets : [[0, "low"]]).map(([column]) => values[control.columns[column].values]);
    const high = endOf(limit) === "high";
    return (pair) => {
      let found = null;
      for (const column of columns) {
        const value = column[pair];
        if (value === null) continue;
        if (Number.isNaN(value)) return high ? Infinity : -Infinity;
        if (found === null || (high ? value > found : value < found)) found = value;
      }
      return found;
    };
  };
  // The bounds of a limit alone.
  const boundOf = (rule, limit, at) => {
    const { above, below } = controls[rule.control].columns[(limit.targets[0] || [0])[0]];
    return { low: -Infinity, high: Infinity, above, below, [endOf(limit)]: at };
  };
  const endOf = (limit) => limit.targets.length ? limit.targets[0][1] : "low";
  const histogram = (rule, limit) => {
    const scale = scaleOf(rule, limit), bins = Math.min(scale.last + 1, 40), counts = new Array(bins).fill(0);
    const value = worst(rule, limit), seen = new Array(bins).fill(null);
    for (let pair = 0; pair < size; pair++) {
      const own = value(pair);
      if (own === null) continue;
      const bin = Math.min(Math.floor(scale.placeOf(own) * bins / (scale.last + 1)), bins - 1);
      counts[bin]++;
      seen[bin] = own;
    }
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), most = Math.log1p(Math.max(...counts, 1));
    svg.setAttribute("viewBox", `0 0 ${bins} 34`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const bars = counts.map((count, bin) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect"), height = 34 * Math.log1p(count) / most;
      for (const [name, of] of Object.entries({ x: bin + 0.06, y: 34 - height, width: 0.88, height })) bar.setAttribute(name, of);
      svg.append(bar);
      return bar;
    });
    const show = () => {
      const bound = boundOf(rule, limit, limitOf(rule, limit, 0));
      bars.forEach((bar, bin) => bar.setAttribute("class", passes(seen[bin], bound) ? "passes" : "fails"));
    };
    return [svg, show];
  };
  let cards = [];
  const cardOf = (rule) => {
    const id = idOf(rule.layer, rule.key), control = controls[rule.control];
    const box = make("input", { type: "checkbox", checked: isOn(rule) });
    box.setAttribute("aria-label", `Apply the rule ${named(id)}`);
    const name = make("button", { type: "button", className: "name", textContent: named(id), title: "Show the pairs that this rule drops" });
    const count = make("span", { className: "count" }), precision = make("p", { className: "note" });
    const card = make("div", { className: "rule" }, make("div", { className: "head" }, box, name, count));
    const shows = [], advice = make("p", { className: "note" });
    control.limits.forEach((limit, number) => {
      const scale = scaleOf(rule, limit), label = `${pathOf(limit)} of ${named(id)}`;
      const range = make("input", { type: "range", min: 0, max: scale.last, step: 1 });
      const exact = make("input", { type: "number", step: "any" });
      range.setAttribute("aria-label", label);
      exact.setAttribute("aria-label", `${label}, as a number`);
      const [svg, shade] = number ? [null, null] : histogram(rule, limit);
      const row = make("div", { className: "slider" }, svg, make("span", { textContent: pathOf(limit) }), range, exact);
      card.append(row);
      const move = (wanted) => {
        const edit = editOf(id), [column, end] = limit.targets[0] || [];
        const opposite = control.limits.find((other) => other !== limit && other.targets.some(([on]) => on === column));
        const bound = opposite ? limitOf(rule, opposite, 0) : end === "high" ? -Infinity : Infinity;
        const value = Math.min(Math.max(wanted, limit.least, end === "high" ? bound : -Infinity), limit.most, end === "low" ? bound : Infinity);
        if (value === limit.value) delete edit.limits[pathOf(limit)];
        else edit.limits[pathOf(limit)] = value;
        if (!isOn(rule)) { edit.on = true; box.checked = true; }
        focusOn(rule, number);
        changed();
      };
      range.addEventListener("input", () => move(scale.valueAt(Number(range.value))));
      exact.addEventListener("change", () => {
        const value = limit.grid.length ? scale.valueAt(scale.placeOf(Number(exact.value))) : Number(exact.value);
        if (exact.value !== "" && Number.isFinite(value)) move(limit.integer ? Math.round(value) : value);
      });
      shows.push((verdicts) => {
        const value = limitOf(rule, limit, 0);
        range.value = scale.placeOf(value);
        range.setAttribute("aria-valuetext", short(value));
        if (document.activeElement !== exact) exact.value = Number.isFinite(value) ? short(value) : "";
        row.classList.toggle("moved", state.edits.get(id)?.limits[pathOf(limit)] !== undefined);
        if (shade) shade();
        const better = verdicts.length ? suggestion(rule, limit, verdicts) : null;
        if (better) {
          const use = make("button", { type: "button", className: "plain", textContent: `${pathOf(limit)} ${short(better.value)}` });
          use.addEventListener("click", () => move(better.value));
          advice.append(use, ` is wrong about ${better.wrong} of ${better.of} judged pairs instead of ${better.instead}. `);
        }
      });
    });
    if (control.note) card.append(make("p", { className: "note", textContent: control.note }));
    card.append(precision, advice);
    box.addEventListener("change", () => { editOf(id).on = box.checked === rule.on ? null : box.checked; changed(); });
    name.addEventListener("click", () => { controls[rule.control].limits.length ? focusOn(rule, 0) : onlyReason(id); changed(); });
    return { rule, id, card, show: (verdicts) => {
      const counted = now.counts.get(id);
      count.textContent = counted ? `${grouped(counted.drops)} dropped` + (counted.fails > counted.drops ? ` of ${grouped(counted.fails)}` : "") : "off";
      card.classList.toggle("off", !isOn(rule));
      card.classList.toggle("chosen", state.focus?.id === id);
      const own = verdicts.filter(([pair]) => now.reasons[pair] === id);
      precision.hidden = !own.length;
      precision.textContent = interval(own.filter(([, value]) => value === "bad").length, own.length);
      advice.replaceChildren();
      for (const show of shows) show(verdicts);
    } };
  };
  const showCards = () => { const verdicts = judgedPairs(); for (const card of cards) card.show(verdicts); };
  // The limit with the fewest wrong decisions about the judged pairs that no other rule drops; null if none is better.
  const suggestion = (rule, limit, verdicts) => {
    const id = idOf(rule.layer, rule.key), value = worst(rule, limit), present = limitOf(rule, limit, 0);
    if (!limit.targets.length || !isOn(rule)) return null;
    const own = verdicts.filter(([pair]) => (now.reasons[pair] === null || now.reasons[pair] === id) && value(pair) !== null)
      .map(([pair, verdict]) => [value(pair), verdict === "good"]);
    const wrong = (at) => own.filter(([of, good]) => passes(of, boundOf(rule, limit, at)) !== good).length;
    const places = [...new Set(own.map(([of]) => of).filter(Number.isFinite))].sort((a, b) => a - b);
    const between = places.slice(1).map((place, number) => nice(places[number], place));
    const candidates = limit.grid.length ? limit.grid : [...places, ...between];
    let best = present, fewest = wrong(present);
    for (const candidate of candidates) {
      if (candidate < limit.least || candidate > limit.most || (limit.integer && !Number.isInteger(candidate))) continue;
      const count = wrong(candidate);
      if (count < fewest || (count === fewest && Math.abs(candidate - present) < Math.abs(best - present))) [best, fewest] = [candidate, count];
    }
    return best === present || own.length < 5 ? null : { value: best, wrong: fewest, instead: wrong(present), of: own.length };
  };
  const nice = (low, high) => { // the shortest number above low, up to high
    for (let digits = 0; digits < 16; digits++) {
      const rounded = Math.floor(high * 10 ** digits) / 10 ** digits;
      if (rounded > low) return rounded;
    }
    return high;
  };
  const buildCards = () => {
    cards = allRules().map(cardOf);
    const [on, off] = [cards.filter(({ rule }) => isOn(rule)), cards.filter(({ rule }) => !isOn(rule))];
    list.replaceChildren(...on.map(({ card }) => card));
    if (off.length) list.append(make("details", {}, make("summary", { textContent: `${off.length} more rules` }), ...off.map(({ card }) => card)));
  };
  presets.addEventListener("change", () => { state.preset = presets.value; state.edits.clear(); state.focus = null; cache.clear(); buildCards(); changed(); });
  reset.addEventListener("click", () => { state.preset = presets.value = data.preset; state.edits.clear(); cache.clear(); buildCards(); changed(); });

  // The difference to the config.
  const scalar = (value) => typeof value === "string" && /^[A-Za-z_][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value) ? value : JSON.stringify(value);
  const flow = (value) => Array.isArray(value) ? `[${value.map(flow).join(", ")}]`
    : value !== null && typeof value === "object" ? `{${Object.entries(value).map(([key, inner]) => `${scalar(key)}: ${flow(inner)}`).join(", ")}}` : scalar(value);
  const changedSpec = (rule) => {
    const spec = structuredClone(controls[rule.control].spec);
    for (const [path, value] of Object.entries(state.edits.get(idOf(rule.layer, rule.key))?.limits || {})) {
      const keys = controls[rule.control].limits.find((limit) => pathOf(limit) === path).path;
      let inside = spec;
      for (const key of keys.slice(0, -1)) inside = inside[key] = { ...(typeof inside[key] === "object" ? inside[key] : {}) };
      inside[keys.at(-1)] = value;
    }
    return spec;
  };
  const differences = () => {
    const lines = [], layers = new Map();
    for (const rule of allRules()) {
      const edit = state.edits.get(idOf(rule.layer, rule.key));
      if (!edit || (edit.on === null && !Object.keys(edit.limits).length) || (!isOn(rule) && !rule.on)) continue;
      if (!layers.has(rule.layer)) layers.set(rule.layer, []);
      layers.get(rule.layer).push(`${scalar(rule.key)}: ${isOn(rule) ? flow(changedSpec(rule)) : "off"}`);
    }
    if (state.preset !== data.preset) {
      lines.push(`  preset: ${state.preset}`);
      if (data.fixes[state.preset] && flow(data.fixes[state.preset]) !== flow(data.fix)) lines.push(`  fix: ${flow(data.fix)}`);
    }
    if (layers.has("")) lines.push("  rules:", ...layers.get("").map((line) => `    ${line}`));
    const others = [...layers.keys()].filter(Boolean);
    if (others.length) lines.push("  overrides:");
    for (const layer of others) lines.push(`    ${scalar(layer)}:`, "      rules:", ...layers.get(layer).map((line) => `        ${line}`));
    return lines.length ? `clean:\n${lines.join("\n")}\n` : "";
  };
  const showYaml = () => { const text = differences(); yaml.textContent = text || "None yet: move a threshold, or switch a rule off."; copy.disabled = !text; };
  copy.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(differences()); copy.textContent = "Copied"; } catch {
      getSelection().selectAllChildren(yaml);
      copy.textContent = "Selected: copy it";
    }
    setTimeout(() => { copy.textContent = "Copy as YAML"; }, 1500);
  });

  // The list of pairs: filters and order.
  const area = document.getElementById("pairs");
  const choice = (label, entries) => {
    const select = make("select", {}, ...entries.map(([value, text]) => make("option", { value, textContent: text })));
    return [make("label", {}, label, select), select];
  };
  const [stateLabel, whichState] = choice("Show", [["all", "all pairs"], ["kept", "kept"], ["dropped", "dropped"], ["lost", "newly dropped"], ["won", "newly kept"], ["judged", "judged"], ["repaired", "repaired"]]);
  const [corpusLabel, whichCorpus] = choice("of", [["", "all corpora"], ...corpora.map(({ name }, number) => [String(number), name])]);
  const [reasonLabel, whichReason] = choice("dropped by", [["", "any rule"]]);
  const [orderLabel, order] = choice("Order", [["", "rows"]]);
  const search = make("input", { type: "search", placeholder: "Search" });
  search.setAttribute("aria-label", "Search the text");
  const [sideLabel, side] = choice("in", [["", "both sides"], ...sides.map((name) => [name, name])]);
  const shownCount = make("span", { className: "where" });
  const download = make("button", { type: "button", className: "plain", textContent: "Export judgments" });
  const items = make("ol", { id: "list" });
  items.setAttribute("aria-label", "Pairs");
  const help = make("details", { className: "keys" }, make("summary", { textContent: "Keys" }), make("p", {},
    ...[["j", "next pair, "], ["k", "previous pair, "], ["r", "rightly kept or dropped, "], ["w", "wrongly, "], ["u", "not judged, "], ["/", "search."]]
      .flatMap(([key, text]) => [make("kbd", { textContent: key }), ` ${text}`])));
  if (corpora.length < 2) corpusLabel.hidden = true;
  area.append(make("div", { className: "row" }, stateLabel, corpusLabel, reasonLabel, orderLabel, search, sideLabel),
    make("div", { className: "row" }, shownCount, download), help, items);
  for (const control of [whichState, whichCorpus, whichReason, side]) control.addEventListener("change", () => { refilter(); });
  search.addEventListener("input", () => { refilter(); });
  order.addEventListener("change", () => {
    const [id, number] = order.value.split("\t");
    const rule = order.value && allRules().find((rule) => idOf(rule.layer, rule.key) === id);
    if (rule) focusOn(rule, Number(number)); else state.focus = null;
    showCards();
    refilter();
  });
  const focusOn = (rule, number) => {
    state.focus = { rule, id: idOf(rule.layer, rule.key), number };
    whichReason.value = "";
    if (whichState.value !== "all") whichState.value = "all";
  };
  const onlyReason = (id) => { state.focus = null; showSelects(); whichReason.value = id; whichState.value = "dropped"; };
  const showSelects = () => {
    const reasons = new Map();
    now.reasons.forEach((reason, pair) => { if (reason !== null) reasons.set(reason, (reasons.get(reason) || 0) + !added.has(pair)); });
    const before = whichReason.value;
    const entries = [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, count]) => make("option", { value: reason, textContent: `${named(reason)} (${grouped(count)})` }));
    whichReason.replaceChildren(make("option", { value: "", textContent: "any rule" }), ...entries);
    whichReason.value = reasons.has(before) ? before : "";
    const orders = cards.filter(({ rule }) => isOn(rule)).flatMap(({ rule, id }) => controls[rule.control].limits.map((limit, number) =>
      make("option", { value: `${id}\t${number}`, textContent: `${named(id)}, ${pathOf(limit)}` })));
    order.replaceChildren(make("option", { value: "", textContent: "rows" }), ...orders);
    order.value = state.focus ? `${state.focus.id}\t${state.focus.number}` : "";
  };
  const PAGE = 20;
  let border = null, valueOf = () => null;
  const refilter = () => {
    const wanted = search.value.toLowerCase(), which = whichState.value, corpus = whichCorpus.value, reason = whichReason.value;
    const focus = state.focus;
    const limit = focus && controls[focus.rule.control].limits[focus.number];
    valueOf = focus ? worst(focus.rule, limit) : () => null;
    const found = [];
    for (let pair = 0; pair < size; pair++) {
      const own = now.reasons[pair];
      if (corpus !== "" && pairs.corpus[pair] !== Number(corpus)) continue;
      if (reason && own !== reason) continue;
      if (which === "kept" ? own !== null : which === "dropped" ? own === null : which === "lost" ? own === null || configured[pair] !== null
        : which === "won" ? own !== null || configured[pair] === null : which === "judged" ? !judged.has(judgementKey(pair)) : which === "repaired" && !pairs.raw[pair]) continue;
      if (wanted && !(side.value ? [side.value] : sides).some((name) => pairs[name][pair].toLowerCase().includes(wanted))) continue;
      if (focus && (valueOf(pair) === null || (own !== null && own !== focus.id))) continue;
      found.push(pair);
    }
    border = null;
    if (focus) {
      const sign = endOf(limit) === "high" ? 1 : -1;
      const keyed = found.map((pair) => [sign * valueOf(pair), now.reasons[pair] === focus.id ? 1 : 0, pair]);
      keyed.sort((a, b) => a[1] - b[1] || a[0] - b[0] || a[2] - b[2]);
      found.splice(0, found.length, ...keyed.map(([, , pair]) => pair));
      border = keyed.filter(([, fails]) => !fails).length;
    }
    state.shown = found;
    state.from = border === null ? 0 : Math.max(border - PAGE / 4, 0);
    state.to = Math.min(state.from + PAGE + (border === null ? PAGE : 0), found.length);
    state.current = -1;
    shownCount.textContent = `${grouped(found.length)} pairs` + (focus ? `, around ${pathOf(limit)} of ${named(focus.id)}` : "");
    showList();
  };
  const more = (text, change) => {
    const button = make("button", { type: "button", className: "plain", textContent: text });
    button.addEventListener("click", () => { change(); showList(); });
    return make("li", {}, button);
  };
  const showList = () => {
    const rows = [];
    if (state.from > 0) rows.push(more("Show earlier pairs", () => { state.from = Math.max(state.from - 2 * PAGE, 0); }));
    for (let place = state.from; place < state.to; place++) {
      if (place === border) rows.push(borderOf());
      rows.push(itemOf(state.shown[place]));
    }
    if (border !== null && border === state.to) rows.push(borderOf());
    if (state.to < state.shown.length) rows.push(more("Show more pairs", () => { state.to = Math.min(state.to + 2 * PAGE, state.shown.length); }));
    items.replaceChildren(...rows);
    const first = items.querySelector(".item");
    if (first && !items.querySelector('[tabindex="0"]')) first.tabIndex = 0;
  };
  const borderOf = () => {
    const limit = controls[state.focus.rule.control].limits[state.focus.number], value = limitOf(state.focus.rule, limit, 0);
    return make("li", { className: "border", textContent: `kept above, dropped below: ${pathOf(limit)} ${Number.isFinite(value) ? short(value) : "not set"}` });
  };

  // A pair.
  const LONG = 500, opened = new Set();
  const unpacked = (text) => Array.from(text, (character) => character.charCodeAt(0) - 40);
  const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]|[\u{e0000}-\u{e007f}]/u;
  const SCRIPTS = { Jpan: ["Han", "Hira", "Kana"], Kore: ["Hang", "Han"], Hans: ["Han"], Hant: ["Han"] };
  const scriptPattern = (language) => {
    try {
      const script = new Intl.Locale(language).maximize().script;
      return new RegExp(`(?![${(SCRIPTS[script] || [script]).map((name) => `\\p{scx=${name}}`).join("")}])\\p{L}`, "gu");
    } catch { return null; }
  };
  const languagesOf = (pair) => corpora[pairs.corpus[pair]].languages;
  const URLS = /(?:https?:\/\/|www\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,6}\b(?:\/\S*)?/giu;
  const PATTERNS = {
    html: () => /<\/?[a-z!][^<>]*>|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});/giu,
    url_only: () => URLS, urls: () => URLS,
    only_digits: () => /\p{N}+/gu, numerals: () => /\p{N}+/gu,
    only_symbols: () => /[^\p{L}\p{M}\p{N}\s]+/gu, alphabetic: () => /[^\p{L}\p{M}\s]+/gu,
    brackets: () => /[()[\]{}<>«»]/gu, currency: () => /\p{Sc}|\b(?:USD|EUR|GBP|JPY|CNY|CHF)\b/gu,
    repetition: (spec) => new RegExp(`(\\S.{${(spec.min ?? 3) - 1},${Math.min(spec.max ?? 100, 100)}}?)(?: *\\1){1,}`, "gu"),
    noise: () => / (?:[>|»›→•·]|::) |\S*(?:\p{Lu}\p{Ll}+){4,}\S*|(?:(?<!\S)\p{L} ){4,}\p{L}(?!\S)|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|(?:%[0-9A-Fa-f]{2}){2,}|[ÃÂÐÑ][\u0080-\u00bf]+|â€.?|\ufffd|[\p{Cn}\p{Co}\u0080-\u009f]/gu,
    script: (spec, language) => scriptPattern(language), language: (spec, language) => scriptPattern(language),
    length: () => null,
  };
  const numbersIn = (text) => text.match(/\p{Nd}+(?:[.,]\p{Nd}+)*/gu) || [];
  // The ranges of a text that explain a rule: what it matched, or the words that the other side lacks.
  const rangesOf = (key, spec, pair, number) => {
    const text = pairs[sides[number]][pair], other = pairs[sides[1 - number]][pair], kind = key.split("/")[0];
    const ranges = [];
    const every = (pattern, wanted = () => true) => {
      if (pattern) for (const match of text.slice(0, 2000).matchAll(pattern)) if (match[0] && wanted(match[0])) ranges.push([match.index, match.index + match[0].length]);
    };
    if (PATTERNS[kind]) every(PATTERNS[kind](spec, languagesOf(pair)[number]));
    if (kind === "numbers") {
      const digits = new Set(numbersIn(other).map((found) => found.replace(/[.,]/g, "")));
      every(/\p{Nd}+(?:[.,]\p{Nd}+)*/gu, (found) => !digits.has(found.replace(/[.,]/g, "")));
    }
    if (kind === "longest_word") {
      const longest = Math.max(...text.split(/\s+/u).map((word) => word.length));
      every(/\S+/gu, (word) => word.length === longest);
    }
    if (kind === "copy" || kind === "language") {
      const words = new Set(other.toLowerCase().match(/\p{L}{3,}/gu) || []);
      every(/\p{L}{3,}/gu, (word) => words.has(word.toLowerCase()));
    }
    if (kind === "regex") for (const of of Object.values(spec)) {
      try { every(new RegExp(String(of.pattern ?? of).replace(/^\(\?i\)/, ""), "giu")); } catch { /* not a pattern of JavaScript */ }
    }
    const told = pairs.unanswered[pair];
    if ((kind === "translation" || kind === "adequacy") && told) {
      const at = told[0] === sides[number] ? text.indexOf(told[1]) : -1;
      if (at >= 0) ranges.push([at, at + told[1].length]);
    } else if ((kind === "translation" || kind === "adequacy") && pairs.links) {
      const linked = new Set(unpacked(pairs.links[pair]).filter((_, place) => place % 2 === number));
      wordsOf(pair, number).forEach(([begin, end], word) => { if (!linked.has(word) && /[\p{L}\p{N}]/u.test(text.slice(begin, end))) ranges.push([begin, end]); });
    }
    return ranges;
  };
  const wordsOf = (pair, number) => {
    const words = [];
    let at = 0;
    const gaps = pairs.words ? unpacked(pairs.words[number][pair]) : [];
    for (let place = 0; place + 1 < gaps.length; place += 2) { words.push([at + gaps[place], at + gaps[place] + gaps[place + 1]]); at += gaps[place] + gaps[place + 1]; }
    return words;
  };
  const plain = (text) => {
    const parts = [];
    let run = "";
    for (const character of text) {
      if (!HIDDEN.test(character)) { run += character; continue; }
      parts.push(run, make("span", { className: "hidden-character", textContent: `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩` }));
      run = "";
    }
    return [...parts, run].filter((part) => part !== "");
  };
  const textOf = (pair, number, marked, divided) => {
    const whole = pairs[sides[number]][pair], text = opened.has(pair) ? whole : whole.slice(0, LONG);
    const words = !divided ? [] : wordsOf(pair, number).filter(([, end]) => end <= text.length);
    const at = new Array(text.length + 1).fill(0), cuts = new Set([0, text.length]);
    for (const [begin, end] of [...words, ...marked]) { cuts.add(Math.min(begin, text.length)); cuts.add(Math.min(end, text.length)); }
    for (const [begin, end] of marked) at.fill(1, begin, Math.min(end, text.length));
    const wordAt = new Map(words.map(([begin], word) => [begin, word])), ends = words.map(([, end]) => end);
    const nodes = [], places = [...cuts].sort((a, b) => a - b);
    let word = null;
    places.slice(0, -1).forEach((begin, place) => {
      if (wordAt.has(begin)) word = wordAt.get(begin);
      else if (word !== null && begin >= ends[word]) word = null;
      const children = plain(text.slice(begin, places[place + 1]));
      const element = at[begin] ? make("mark", {}, ...children) : word !== null ? make("span", {}, ...children) : null;
      if (element && word !== null) { element.className = "w"; element.dataset.word = word; element.dataset.side = number; }
      nodes.push(...(element ? [element] : children));
    });
    if (text.length < whole.length) nodes.push(` … ${grouped(whole.length - LONG)} more characters`);
    return make("p", { lang: languagesOf(pair)[number], dir: "auto" }, ...nodes);
  };
  const repaired = (pair) => {
    const raw = pairs.raw[pair];
    return raw ? sides.flatMap((name, number) => {
      const before = [...raw[number]], after = [...pairs[name][pair]];
      if (before.join("") === after.join("")) return [];
      let begin = 0, end = 0;
      while (begin < Math.min(before.length, after.length) && before[begin] === after[begin]) begin++;
      while (end < Math.min(before.length, after.length) - begin && before.at(-1 - end) === after.at(-1 - end)) end++;
      const cut = (all) => all.slice(begin, all.length - end).join("");
      const around = [before.slice(Math.max(begin - 12, 0), begin).join(""), end ? before.slice(-end).slice(0, 12).join("") : ""];
      return [make("p", { className: "fix" }, `${name} repaired: …`, ...plain(around[0]), make("del", {}, ...plain(cut(before))), make("ins", {}, ...plain(cut(after))), ...plain(around[1]), "…")];
    }) : [];
  };
  const ruleOf = (pair) => state.focus?.rule ?? allRules().find((of) => idOf(of.layer, of.key) === now.reasons[pair]) ?? null;
  const textsOf = (pair, rule, spec, divided) =>
    sides.map((_, number) => textOf(pair, number, rule ? rangesOf(rule.key, spec, pair, number) : [], divided));
  const unanswered = (pair) => {
    const [name, words] = pairs.unanswered[pair] || [];
    return name ? [make("p", { className: "fix" }, `no counterpart on the ${sides.find((other) => other !== name)} side for “`, ...plain(words), "”")] : [];
  };
  const itemOf = (pair) => {
    const reason = now.reasons[pair], kept = reason === null, rule = ruleOf(pair);
    const spec = rule ? changedSpec(rule) : {};
    const verdict = judged.get(judgementKey(pair));
    const right = verdict ? (verdict === "good") === kept : null;
    const button = (text, value) => {
      const made = make("button", { type: "button", className: "plain", textContent: text, tabIndex: -1 });
      made.setAttribute("aria-pressed", String(right === value));
      made.addEventListener("click", () => judge(pair, value));
      return made;
    };
    const value = rule ? valuesText(rule, pair) : "";
    const open = make("button", { type: "button", className: "plain", textContent: "whole text", tabIndex: -1 });
    open.addEventListener("click", () => { opened.add(pair); showPair(pair); });
    open.hidden = opened.has(pair) || sides.every((name) => pairs[name][pair].length <= LONG);
    const item = make("li", { className: `item ${kept ? "kept" : "dropped"}`, tabIndex: state.current === pair ? 0 : -1 },
      make("div", { className: "meta" },
        make("span", { className: "state", textContent: kept ? "kept" : `dropped: ${named(reason)}` }),
        value ? make("span", { textContent: value }) : null,
        configured[pair] !== reason ? make("span", { textContent: `config: ${named(configured[pair])}` }) : null,
        make("span", { className: "where", textContent: `${corpora[pairs.corpus[pair]].name}, row ${grouped(pairs.row[pair])}` }),
        open, button(`rightly ${kept ? "kept" : "dropped"}`, true), button("wrongly", false)),
      make("div", { className: "sides" }, ...textsOf(pair, rule, spec, false)),
      ...unanswered(pair), ...repaired(pair));
    item.dataset.pair = pair;
    return item;
  };
  const valuesText = (rule, pair) => controls[rule.control].columns
    .map((column) => [column.name, values[column.values][pair]]).filter(([, value]) => value !== null)
    .map(([name, value], place, all) => `${all.length > 1 ? `${name} ` : ""}${short(value)}`).join(", ");
  const elementOf = (pair) => items.querySelector(`[data-pair="${pair}"]`);
  const showPair = (pair) => {
    const before = elementOf(pair);
    if (!before) return;
    const focused = before.contains(document.activeElement), after = itemOf(pair);
    before.replaceWith(after);
    after.tabIndex = 0;
    if (focused) after.focus();
  };
  const go = (step) => {
    const place = state.shown.indexOf(state.current), next = place < 0 ? state.from : place + step;
    if (next < 0 || next >= state.shown.length) return;
    if (next < state.from) { state.from = Math.max(next - PAGE, 0); showList(); }
    if (next >= state.to) { state.to = Math.min(next + PAGE, state.shown.length); showList(); }
    choose(state.shown[next]);
  };
  const choose = (pair) => {
    for (const other of items.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    state.current = pair;
    const element = elementOf(pair);
    element.tabIndex = 0;
    element.focus();
  };
  items.addEventListener("focusin", (event) => { const item = event.target.closest(".item"); if (item) state.current = Number(item.dataset.pair); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    const arrow = event.key.startsWith("Arrow"), inside = items.contains(event.target);
    if (!inside && (arrow || event.key === "Enter")) return; // they scroll the page
    const actions = { j: () => go(1), ArrowDown: () => go(1), k: () => go(-1), ArrowUp: () => go(-1), r: () => judge(state.current, true), w: () => judge(state.current, false), u: () => judge(state.current, null), "/": () => search.focus() };
    if (!actions[event.key] || (state.current < 0 && "rwu".includes(event.key))) return;
    event.preventDefault();
    actions[event.key]();
  });
  const light = (event, on) => {
    const word = event.target.closest?.(".w");
    const item = word?.closest(".item");
    if (!item || !pairs.links) return;
    const links = unpacked(pairs.links[item.dataset.pair]), number = Number(word.dataset.side);
    for (let place = 0; place < links.length; place += 2) {
      if (links[place + number] !== Number(word.dataset.word)) continue;
      for (const other of item.querySelectorAll(`.w[data-side="${1 - number}"][data-word="${links[place + 1 - number]}"]`)) other.classList.toggle("linked", on);
    }
  };
  // The text of a pair is divided into words when it is first pointed at.
  items.addEventListener("pointerover", (event) => {
    const item = event.target.closest(".item");
    if (!item || item.dataset.divided || !pairs.links) return;
    item.dataset.divided = "yes";
    const pair = Number(item.dataset.pair), rule = ruleOf(pair);
    item.querySelector(".sides").replaceChildren(...textsOf(pair, rule, rule ? changedSpec(rule) : {}, true));
  });
  items.addEventListener("mouseover", (event) => light(event, true));
  items.addEventListener("mouseout", (event) => light(event, false));

  // Export.
  const exported = () => ["corpus\trow\tkey\tjudgement", ...judgedPairs().map(([pair, value]) => `${judgementKey(pair)}\t${value}`)].join("\n") + "\n";
  download.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([exported()], { type: "text/tab-separated-values" }));
    make("a", { href: address, download: `${data.name}.judged.tsv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });

  const changed = () => {
    now = decide();
    showFigures();
    showCards();
    showYaml();
    showSelects();
    refilter();
  };
  buildCards();
  changed();
  window.trial = { reasons: () => now.reasons.map(named), differences, exported }; // for tests and the console
})();
