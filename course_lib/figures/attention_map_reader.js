(root, data, { element, control, speaker }) => {
  const { readings } = data;
  const first = readings[data.sentence];
  const state = { sentence: data.sentence, layer: data.layer, head: data.head, row: first.asks };
  const { spoken, say } = speaker(root);
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

  function measure(weights, row) {
    const made = weights.map((line) => {
      const total = line.reduce((a, b) => a + b, 0);
      return line.map((weight) => weight / total);
    });
    const sums = (value) => made.map((line, t) => line.reduce((sum, w, s) => sum + value(w, s, t), 0));
    const spread = sums((w) => (w > 0 ? -w * Math.log(w) : 0));
    return {
      made,
      found: {
        row: made[row],
        entropy: mean(spread) / Math.log(made.length),
        near_diagonal: mean(sums((w, s, t) => (Math.abs(s - t) <= 1 ? w : 0))),
        largest: mean(made.map((line) => Math.max(...line))),
        relative_position: mean(sums((w, s, t) => w * (s - t))),
      },
    };
  }

  const group = `heads-${document.querySelectorAll(".figure-heads").length}`;
  const table = element("table", { class: "figure-alignment figure-heads" });
  let rows = [];
  let heads = [];

  // Another sentence has other words, so that the whole table is made again.
  function build() {
    const { words } = readings[state.sentence];
    rows = words.map((word, t) => {
      const input = element("input", {
        type: "radio", name: group, checked: t === state.row, onchange: () => choose(t),
      });
      const cells = words.map(() => element("td", {}));
      const line = element("tr", { onpointerenter: () => choose(t) },
        element("th", { scope: "row" }, element("label", {}, input, word)), ...cells);
      return { input, cells, line };
    });
    heads = words.map((word) => element("th", { scope: "col" }, word));
    table.replaceChildren(
      element("thead", {}, element("tr", {}, element("td", {}), ...heads)),
      element("tbody", {}, ...rows.map((row) => row.line)));
  }

  function choose(t) {
    state.row = t;
    rows[t].input.checked = true;
    draw();
  }

  function draw() {
    const { words, maps, kinds } = readings[state.sentence];
    const weights = maps[state.layer][state.head];
    const { made, found } = measure(weights, state.row);
    rows.forEach(({ cells, line }, t) => {
      line.classList.toggle("is-read", t === state.row);
      cells.forEach((cell, s) => {
        cell.style.setProperty("--weight", made[t][s].toFixed(4));
        cell.textContent = made[t][s].toFixed(2).replace(/^0/, "");
        cell.classList.toggle("strong", made[t][s] >= 0.68);
      });
    });
    heads.forEach((head, s) => {
      head.style.setProperty("--weight", found.row[s].toFixed(4));
      head.classList.toggle("strong", found.row[s] >= 0.68);
    });
    const ranked = [...words.keys()].sort((a, b) => found.row[b] - found.row[a]).slice(0, 3);
    const best = ranked.map((s) => `${words[s]} ${found.row[s].toFixed(2)}`).join(", ");
    say(`Layer ${state.layer + 1}, head ${state.head + 1} looks ${kinds[state.layer][state.head]}: entropy `
      + `${found.entropy.toFixed(2)}, near the diagonal ${found.near_diagonal.toFixed(2)}, largest weight `
      + `${found.largest.toFixed(2)}, relative position ${found.relative_position.toFixed(1)}. `
      + `\u201c${words[state.row]}\u201d looks at ${best}.`,
    { weights, row: state.row }, found);
  }

  const numbered = (count) => [...Array(count).keys()].map((n) => [String(n), String(n + 1)]);
  const pick = (name, options) => control(name, { options, value: String(state[name]) }, (value) => {
    state[name] = Number(value);
    if (name === "sentence") {
      state.row = readings[state.sentence].asks;
      build();
    }
    draw();
  });
  root.append(
    element("div", { class: "figure-controls" },
      pick("sentence", readings.map(({ words }, n) => [String(n), words.slice(1, -1).join(" ")])),
      pick("layer", numbered(first.maps.length)),
      pick("head", numbered(first.maps[0].length))),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  build();
  draw();
};
