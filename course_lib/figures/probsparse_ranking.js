(root, data, { element, control, speaker, walk }) => {
  const state = { factor: data.factor, by: data.by, query: data.query };
  const { scores, order } = data;
  const length = scores.length;
  const { spoken, say } = speaker(root);
  const range = (n) => [...Array(n).keys()];
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const few = () => state.by === "sample" || state.by === "keys";
  const names = [
    ["sample", "max \u2212 mean of the sample"],
    ["keys", "max \u2212 sum / all keys"],
    ["from uniform", "KL(U \u2016 P), all keys"],
    ["to uniform", "KL(P \u2016 U), all keys"],
  ];

  function divergences(row) {
    const top = Math.max(...row);
    const total = top + Math.log(sum(row.map((s) => Math.exp(s - top))));
    const logs = row.map((s) => s - total);
    return [-sum(logs) / length - Math.log(length),
      sum(logs.map((l) => Math.exp(l) * l)) + Math.log(length)];
  }

  const gap = (list, divisor) => Math.max(...list) - sum(list) / divisor;

  // The numbers of the largest, as a list in order.
  const largest = (measures, size) =>
    range(length).sort((a, b) => measures[b] - measures[a]).slice(0, size).sort((a, b) => a - b);

  function compute() {
    const size = Math.min(state.factor * Math.ceil(Math.log(length)), length);
    const drawn = scores.map((row, i) => order[i].slice(0, size).map((key) => row[key]));
    const measures = {
      sample: () => drawn.map((list) => gap(list, size)),
      keys: () => drawn.map((list) => gap(list, length)),
      "from uniform": () => scores.map((row) => divergences(row)[0]),
      "to uniform": () => scores.map((row) => divergences(row)[1]),
    }[state.by]();
    const chosen = largest(measures, size);
    const best = largest(scores.map((row) => gap(row, length)), size);
    return {
      size,
      sampled: sampled(state.query, size),
      measures,
      chosen,
      misjudged: range(length).filter((i) => chosen.includes(i) !== best.includes(i)),
      kl: divergences(scores[state.query]),
    };
  }

  const sampled = (row, size) =>
    few() ? order[row].slice(0, size).sort((a, b) => a - b) : range(length);

  // The table is one stop of the tab key; the arrow keys move within it, and the row of what has focus is picked.
  const cells = range(length).map((y) => range(length).map((x) =>
    element("td", { onclick: () => pick(y), onfocus: () => pick(y) }, scores[y][x].toFixed(1))));
  const results = range(length).map(() => element("td", { class: "measure" }));
  const heads = range(length).map((y) => element("th", { scope: "row" }, String(y)));
  const table = element("table",
    { class: "figure-places figure-windows", role: "grid", "aria-label": "Scores of queries and keys" },
    element("tbody", {}, ...cells.map((row, y) =>
      element("tr", { role: "row" }, heads[y], results[y], ...row))));
  for (const cell of [...cells.flat(), ...results]) cell.setAttribute("role", "gridcell");
  for (const head of heads) head.setAttribute("role", "rowheader");
  let column = 0;

  function pick(y) {
    const at = cells[y].indexOf(document.activeElement);
    if (at >= 0) column = at;
    if (y === state.query && at < 0) return;
    state.query = y;
    draw();
  }

  walk(table, () => cells);

  function draw() {
    const found = compute();
    for (const y of range(length)) {
      const keys = sampled(y, found.size);
      const chosen = found.chosen.includes(y);
      const wrong = found.misjudged.includes(y);
      for (const x of range(length)) {
        const cell = cells[y][x];
        const judged = keys.includes(x);
        cell.className = `window-${chosen ? 1 : 0}${judged ? " attended" : ""}${y === state.query ? " chosen" : ""}`;
        cell.tabIndex = y === state.query && x === column ? 0 : -1;
        cell.setAttribute("aria-selected", y === state.query);
        cell.setAttribute("aria-label", `query ${y}, key ${x}: score ${scores[y][x].toFixed(1)}`
          + (judged ? ", judged by" : "") + (chosen ? ", query chosen" : ""));
      }
      results[y].textContent = found.measures[y].toFixed(2) + (wrong ? " \u00d7" : "");
      results[y].setAttribute("aria-label", `query ${y} measures ${found.measures[y].toFixed(2)}`
        + (chosen ? ", chosen" : "") + (wrong ? ", misjudged" : ""));
    }
    const { factor, query } = state;
    const text = `Factor ${factor}: ${found.size} of ${length} queries are chosen, ${found.chosen.join(", ")}. `
      + `Query ${query} is judged by ${found.sampled.length} keys, measures ${found.measures[query].toFixed(2)} `
      + `and is ${found.chosen.includes(query) ? "chosen" : "not chosen"}. By all keys KL(U \u2016 P) is `
      + `${found.kl[0].toFixed(2)} and KL(P \u2016 U) ${found.kl[1].toFixed(2)}. Misjudged: ${found.misjudged.length}.`;
    say(text, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-controls" },
      control("factor c", { type: "range", min: 1, max: 4, step: 1, value: state.factor },
        (value) => { state.factor = value; draw(); }, String),
      control("ranked by", { options: names, value: state.by },
        (value) => { state.by = value; draw(); })),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
