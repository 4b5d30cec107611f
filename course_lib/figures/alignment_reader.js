(root, data, { element, control, speaker }) => {
  const { source, target, scores } = data;
  const state = { row: data.row, sharpness: data.sharpness };
  const { spoken, say } = speaker(root);

  function softmax(row) {
    const logits = row.map((score) => score * state.sharpness);
    const largest = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  function compute() {
    const matrix = scores.map(softmax);
    const weights = matrix[state.row];
    const columns = source.map((_, s) => matrix.reduce((sum, row) => sum + row[s], 0));
    const entropy = -weights.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
    return { matrix, found: { weights, columns, entropy } };
  }

  // One radio group: the browser then moves between the words with the arrow keys.
  const group = `alignment-${document.querySelectorAll(".figure-alignment").length}`;
  const rows = target.map((word, t) => {
    const input = element("input", {
      type: "radio", name: group, checked: t === state.row, onchange: () => choose(t),
    });
    const cells = source.map(() => element("td", {}));
    const line = element("tr", { onpointerenter: () => choose(t) },
      element("th", { scope: "row" }, element("label", {}, input, word)), ...cells);
    return { input, cells, line };
  });
  const heads = source.map((word) => element("th", { scope: "col" }, word));
  const sums = source.map(() => element("td", {}));
  const table = element("table", { class: "figure-alignment" },
    element("thead", {}, element("tr", {}, element("td", {}), ...heads)),
    element("tbody", {}, ...rows.map((row) => row.line)),
    element("tfoot", {}, element("tr", {}, element("th", { scope: "row" }, "column sum"), ...sums)));

  function choose(t) {
    state.row = t;
    rows[t].input.checked = true;
    draw();
  }

  function draw() {
    const { matrix, found } = compute();
    rows.forEach(({ cells, line }, t) => {
      line.classList.toggle("is-read", t === state.row);
      cells.forEach((cell, s) => {
        cell.style.setProperty("--weight", matrix[t][s].toFixed(4));
        cell.textContent = matrix[t][s].toFixed(2);
        cell.classList.toggle("strong", matrix[t][s] >= 0.68);
      });
    });
    heads.forEach((head, s) => {
      head.style.setProperty("--weight", found.weights[s].toFixed(4));
      head.classList.toggle("strong", found.weights[s] >= 0.68);
    });
    sums.forEach((cell, s) => { cell.textContent = found.columns[s].toFixed(2); });
    const ranked = [...source.keys()].sort((a, b) => found.weights[b] - found.weights[a]).slice(0, 3);
    const best = ranked.map((s) => `${source[s]} ${found.weights[s].toFixed(2)}`).join(", ");
    const heaviest = found.columns.indexOf(Math.max(...found.columns));
    say(`\u201c${target[state.row]}\u201d looks at ${best}. Its row adds up to 1; the column of `
      + `\u201c${source[heaviest]}\u201d adds up to ${found.columns[heaviest].toFixed(2)}.`,
    { scores, ...state }, found);
  }

  root.append(
    element("div", { class: "figure-scroll" }, table),
    element("div", { class: "figure-controls" },
      control("sharpness", { type: "range", min: 0, max: 10, step: 0.5, value: state.sharpness },
        (value) => { state.sharpness = value; draw(); }, (value) => value.toFixed(1))),
    spoken);
  draw();
};
