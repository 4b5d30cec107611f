(root, data, { element, control, speaker, walk }) => {
  const state = { dilation: data.dilation, around: data.around, row: data.row, column: data.column };
  const side = 15;
  const window_ = 3;
  const dilations = [1, 2, 4];
  const { spoken, say } = speaker(root);
  const range = (n) => [...Array(n).keys()];
  const tokens = range(side).flatMap((r) => range(side).map((c) => [r, c]));

  // Where the samples lie along an axis, area after area; beyond the edge the grid is mirrored.
  function sampled(dilation) {
    const size = dilation * (window_ - 1) + 1;
    return range(Math.ceil(side / size)).flatMap((area) => range(window_).map((place) => {
      const at = (area * size + place * dilation) % (2 * (side - 1));
      return Math.min(at, 2 * (side - 1) - at);
    }));
  }

  const reads = (dilation, at) =>
    sampled(dilation).some((sample) => Math.abs(sample - at) <= (state.around ? 1 : 0));

  function compute() {
    const { dilation, row, column } = state;
    const size = dilation * (window_ - 1) + 1;
    const line = sampled(dilation);
    const place = (at) => line.lastIndexOf(at) % window_;
    const places = range(side).map((r) => range(side).map((c) =>
      (line.includes(r) && line.includes(c) ? place(r) * window_ + place(c) + 1 : 0)));
    const area = (at) => line.slice(Math.floor(at / size) * window_).slice(0, window_);
    const mine = places[row][column];
    return {
      size,
      windows: Math.ceil(side / size) ** 2,
      places,
      area: area(row).flatMap((r) => area(column).map((c) => [r, c]))
        .sort((a, b) => a[0] - b[0] || a[1] - b[1]),
      fused: mine ? tokens.filter(([r, c]) => places[r][c] === mine) : [],
      read: tokens.filter(([r, c]) => reads(dilation, r) && reads(dilation, c)).length,
      together: tokens.filter(([r, c]) =>
        dilations.slice(1).some((d) => reads(d, r) && reads(d, c))).length,
    };
  }

  // The table is one stop of the tab key; the arrow keys move within it, and what has focus is picked.
  const cells = range(side).map((r) => range(side).map((c) =>
    element("td", { role: "gridcell", onclick: () => pick(r, c), onfocus: () => pick(r, c) })));
  const table = element("table",
    { class: "figure-places", role: "grid", "aria-label": "Tokens of the grid" },
    element("tbody", {}, ...cells.map((row) => element("tr", { role: "row" }, ...row))));

  function pick(row, column) {
    if (row === state.row && column === state.column) return;
    Object.assign(state, { row, column });
    draw();
  }

  walk(table, () => cells);

  function draw() {
    const found = compute();
    const { dilation, around, row, column } = state;
    const has = (list, [r, c]) => list.some(([a, b]) => a === r && b === c);
    for (const [r, c] of tokens) {
      const cell = cells[r][c];
      const picked = r === row && c === column;
      const [inArea, fused] = [found.area, found.fused].map((list) => has(list, [r, c]));
      const number = found.places[r][c];
      const read = reads(dilation, r) && reads(dilation, c);
      cell.className = picked ? "picked" : fused ? "same" : "";
      cell.style.setProperty("--weight", fused ? 1 : inArea ? 0.55 : number ? 0.25 : read ? 0.12 : 0);
      cell.textContent = number || "";
      cell.tabIndex = picked ? 0 : -1;
      cell.setAttribute("aria-selected", picked);
      cell.setAttribute("aria-label", `row ${r}, column ${c}: ${number ? `place ${number}` : "not sampled"}`
        + (picked ? ", picked" : fused ? ", fused with the picked token" : inArea ? ", in its area" : ""));
    }
    const mine = found.places[row][column];
    const told = mine ? `is at place ${mine} and is fused with ${found.fused.length - 1} others`
      : "lies between the samples";
    const text = `Dilation ${dilation}: ${found.windows} areas of ${found.size} x ${found.size} with `
      + `${window_ ** 2} samples each. Token (${row}, ${column}) ${told}. `
      + `${around ? "With their neighbours" : "By themselves"}, the samples read `
      + `${found.read} of ${side ** 2} tokens, those of both dilated groups ${found.together}.`;
    say(text, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-controls" },
      control("dilation", { options: dilations.map((d) => [d, d]), value: state.dilation },
        (value) => { state.dilation = Number(value); draw(); }),
      control("look around", { type: "checkbox", checked: state.around },
        (value) => { state.around = value; draw(); })),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
