(root, data, { element, control, speaker }) => {
  const state = { cosines: data.cosines, cooling: data.cooling, queries: data.queries, hub: data.hub };
  const count = state.cosines.length;
  const nearer = 0.4;
  const range = [...Array(count).keys()];
  const { spoken, say } = speaker(root);
  const transpose = (rows) => range.map((j) => range.map((i) => rows[i][j]));

  function softmax(row) {
    const largest = Math.max(...row);
    const powers = row.map((x) => Math.exp(x - largest));
    const total = powers.reduce((a, b) => a + b);
    return { weights: powers.map((p) => p / total), log: largest + Math.log(total) };
  }

  function compute() {
    const temperature = 10 ** (-state.cooling / 10);
    const s = state.cosines.map((row, i) =>
      row.map((c) => (c + (state.hub && i === 0 ? nearer : 0)) / temperature));
    const mean = (rows) =>
      rows.reduce((sum, row, i) => sum + softmax(row).log - row[i], 0) / count;
    const own = (rows) => rows.filter((row, i) => row.indexOf(Math.max(...row)) === i).length;
    const [by_row, by_column] = [mean(s), mean(transpose(s))];
    const weights = state.queries === "images"
      ? s.map((row) => softmax(row).weights)
      : transpose(transpose(s).map((row) => softmax(row).weights));
    return {
      temperature, weights, by_row, by_column, loss: (by_row + by_column) / 2,
      images: own(s), captions: own(transpose(s)),
    };
  }

  const cells = range.map((i) => range.map((j) => element("td", i === j
    ? { style: "outline: 3px solid var(--course-warm); outline-offset: -3px" } : {})));
  const table = element("table",
    { class: "figure-alignment", "aria-label": "Weights of the batch" },
    element("thead", {}, element("tr", {}, element("td"),
      ...range.map((j) => element("th", { scope: "col" }, `caption ${j + 1}`)))),
    element("tbody", {}, ...cells.map((row, i) =>
      element("tr", {}, element("th", { scope: "row" }, `image ${i + 1}`), ...row))));

  function draw() {
    const found = compute();
    found.weights.forEach((row, i) => row.forEach((weight, j) => {
      const cell = cells[i][j];
      cell.textContent = weight.toFixed(2);
      cell.style.setProperty("--weight", (0.6 * weight).toFixed(3));
    }));
    const text = `Temperature ${found.temperature.toFixed(3)}. Images: loss ${found.by_row.toFixed(3)}, `
      + `${found.images} of ${count} prefer their own caption. Captions: loss `
      + `${found.by_column.toFixed(3)}, ${found.captions} of ${count} prefer their own image. `
      + `Together: ${found.loss.toFixed(3)}.`;
    say(text, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-controls" },
      control("cooling", { type: "range", min: 0, max: 20, step: 1, value: state.cooling },
        (value) => { state.cooling = value; draw(); },
        (value) => `temperature ${(10 ** (-value / 10)).toFixed(3)}`),
      control("queries",
        { options: [["images", "images"], ["captions", "captions"]], value: state.queries },
        (value) => { state.queries = value; draw(); }),
      control("image 1 is a hub", { type: "checkbox", checked: state.hub },
        (value) => { state.hub = value; draw(); })),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
