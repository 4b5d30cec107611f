(root, data, { element, control, speaker, walk }) => {
  const state = {
    scheme: data.scheme, rows: data.rows, columns: data.columns, row: data.row, column: data.column,
  };
  const width = 32;
  const same = 1e-5;
  const { spoken, say } = speaker(root);
  const range = (n) => [...Array(n).keys()];

  // Sines and cosines of a number, `channels` of them.
  function wave(number, channels, base) {
    return range(channels / 2).flatMap((i) => {
      const angle = number * base ** (-2 * i / channels);
      return [Math.sin(angle), Math.cos(angle)];
    });
  }

  function code(row, column) {
    if (state.scheme === "line") return wave(row * state.columns + column, width, 10000);
    if (state.scheme === "added") {
      const other = wave(column, width, 10000);
      return wave(row, width, 10000).map((value, i) => value + other[i]);
    }
    const base = state.scheme === "rotary" ? 100 : 10000;
    return [...wave(row, width / 2, base), ...wave(column, width / 2, base)];
  }

  function compute() {
    const { rows, columns, row, column } = state;
    const places = range(rows).flatMap((r) => range(columns).map((c) => ({ r, c, code: code(r, c) })));
    const gap = (a, b) => Math.sqrt(a.code.reduce((sum, x, i) => sum + (x - b.code[i]) ** 2, 0));
    const picked = places[row * columns + column];
    for (const place of places) place.gap = gap(place, picked);
    const others = places.filter((place) => place !== picked);
    const steps = ({ r, c }) => [Math.abs(r - row), Math.abs(c - column)];
    const neighbours = others.filter((place) => steps(place)[0] + steps(place)[1] === 1);
    const limit = Math.max(0, ...neighbours.map((place) => place.gap)) - same;
    const listed = (chosen) => chosen.map(({ r, c }) => [r, c]);
    return {
      distances: range(rows).map((r) => places.slice(r * columns, (r + 1) * columns).map((p) => p.gap)),
      same: listed(others.filter((place) => place.gap < same)),
      mistaken: listed(others.filter((place) => place.gap < limit && Math.max(...steps(place)) > 1)),
      distinct: places.filter((p, n) => !places.slice(0, n).some((q) => gap(p, q) < same)).length,
    };
  }

  // The table is one stop of the tab key; the arrow keys move within it, and what has focus is picked.
  const body = element("tbody");
  const table = element("table",
    { class: "figure-places", role: "grid", "aria-label": "Places of the grid" }, body);
  let cells = [];

  function layCells() {
    state.row = Math.min(state.row, state.rows - 1);
    state.column = Math.min(state.column, state.columns - 1);
    cells = range(state.rows).map((r) => range(state.columns).map((c) =>
      element("td", { onclick: () => pick(r, c), onfocus: () => pick(r, c) })));
    body.replaceChildren(...cells.map((row) => element("tr", {}, ...row)));
  }

  function pick(row, column) {
    if (row === state.row && column === state.column) return;
    state.row = row;
    state.column = column;
    draw();
  }

  walk(table, () => cells);

  function draw() {
    const found = compute();
    const { rows, columns, row, column } = state;
    const has = (list, r, c) => list.some(([a, b]) => a === r && b === c);
    const largest = Math.max(...found.distances.flat()) || 1;
    for (const r of range(rows)) {
      for (const c of range(columns)) {
        const cell = cells[r][c];
        const picked = r === row && c === column;
        const equal = has(found.same, r, c);
        const mistaken = has(found.mistaken, r, c);
        cell.className = picked ? "picked" : equal ? "same" : mistaken ? "mistaken" : "";
        cell.textContent = picked ? "\u00d7" : equal ? "=" : "";
        cell.style.setProperty("--weight", (1 - found.distances[r][c] / largest).toFixed(3));
        cell.tabIndex = picked ? 0 : -1;
        cell.setAttribute("aria-selected", picked);
        cell.setAttribute("aria-label", `row ${r}, column ${c}: `
          + (picked ? "picked" : `${found.distances[r][c].toFixed(2)} away`)
          + (equal ? ", the same code" : mistaken ? ", nearer than a neighbour" : ""));
      }
    }
    const shared = found.same.map(([r, c]) => `(${r}, ${c})`).join(", ") || "no other place";
    const text = `The code of (${row}, ${column}) is shared by ${shared}. Places that don't touch it `
      + `and are nearer than one of its neighbours: ${found.mistaken.length}. `
      + `The grid has ${found.distinct} codes for ${rows * columns} places.`;
    say(text, { ...state }, found);
  }

  const schemes = [
    ["line", "one number for each place, row after row"],
    ["added", "code of the row + code of the column"],
    ["concatenated", "half of the channels each"],
    ["rotary", "rotations by row and by column"],
  ];
  const side = (name) => control(name, { type: "range", min: 2, max: 12, step: 1, value: state[name] },
    (value) => { state[name] = value; layCells(); draw(); }, String);
  layCells();
  root.append(
    element("div", { class: "figure-controls" },
      control("code", { options: schemes, value: state.scheme },
        (value) => { state.scheme = value; draw(); }),
      side("rows"), side("columns")),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
