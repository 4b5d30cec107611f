(root, data, { element, control, speaker, walk }) => {
  const state = { shift: data.shift, masked: data.masked, row: data.row, column: data.column };
  let rolled = data.rolled;
  const rows = 8;
  const columns = 12;
  const side = 4;
  const { spoken, say } = speaker(root);
  const range = (n) => [...Array(n).keys()];
  const places = range(rows).flatMap((r) => range(columns).map((c) => [r, c]));

  // Along an axis: the window that a token is in, and whether it came round the edge.
  const along = (place, length) =>
    [Math.floor(((place - state.shift + length) % length) / side), place < state.shift];

  function compute() {
    const lies = ([r, c]) => [...along(r, rows), ...along(c, columns)];
    const number = (place) => lies(place)[0] * (columns / side) + lies(place)[2];
    const shared = (a, b) => number(a) === number(b);
    const stranger = (a, b) => {
      const [x, y] = [lies(a), lies(b)];
      return shared(a, b) && (x[1] !== y[1] || x[3] !== y[3]);
    };
    const mine = [state.row, state.column];
    return {
      windows: range(rows).map((r) => range(columns).map((c) => number([r, c]))),
      attends: places.filter((p) => shared(mine, p) && !(state.masked && stranger(mine, p))),
      strangers: places.filter((p) => stranger(mine, p)),
      blocked: places.reduce((sum, a) => sum + places.filter((b) => stranger(a, b)).length, 0),
    };
  }

  // The table is one stop of the tab key; the arrow keys move within it, and what has focus is picked.
  const cells = range(rows).map((y) => range(columns).map((x) =>
    element("td", { onclick: () => pick(y, x), onfocus: () => pick(y, x) })));
  const table = element("table",
    { class: "figure-places figure-windows", role: "grid", "aria-label": "Tokens of the grid" },
    element("tbody", {}, ...cells.map((row) => element("tr", { role: "row" }, ...row))));
  for (const cell of cells.flat()) cell.setAttribute("role", "gridcell");

  // Which token is drawn at a place of the table.
  const token = (y, x) => {
    const by = rolled ? state.shift : 0;
    return [(y + by) % rows, (x + by) % columns];
  };

  function pick(y, x) {
    const [row, column] = token(y, x);
    if (row === state.row && column === state.column) return;
    Object.assign(state, { row, column });
    draw();
  }

  walk(table, () => cells);

  function draw() {
    const found = compute();
    const has = (list, r, c) => list.some(([a, b]) => a === r && b === c);
    for (const [y, x] of places) {
      const [r, c] = token(y, x);
      const cell = cells[y][x];
      const name = String.fromCharCode(65 + found.windows[r][c]);
      const picked = r === state.row && c === state.column;
      const attended = has(found.attends, r, c);
      const hidden = !attended && has(found.strangers, r, c);
      cell.className = `window-${found.windows[r][c]}${attended ? " attended" : ""}${picked ? " chosen" : ""}`;
      cell.textContent = hidden ? "\u00d7" : name;
      cell.tabIndex = picked ? 0 : -1;
      cell.setAttribute("aria-selected", picked);
      cell.setAttribute("aria-label", `row ${r}, column ${c}: window ${name}`
        + (picked ? ", picked" : attended ? ", attended to" : hidden ? ", hidden by the mask" : ""));
    }
    const { shift, masked, row, column } = state;
    const name = String.fromCharCode(65 + found.windows[row][column]);
    const text = `Windows moved by ${shift}. Token (${row}, ${column}) is in window ${name} and attends to `
      + `${found.attends.length} tokens; ${found.strangers.length} in it from elsewhere in the picture are `
      + `${masked ? "out of sight" : "attended to as well"}. The mask forbids ${found.blocked} pairs of the grid.`;
    say(text, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-controls" },
      control("shift", { type: "range", min: 0, max: side - 1, step: 1, value: state.shift },
        (value) => { state.shift = value; draw(); }, String),
      control("with the mask", { type: "checkbox", checked: state.masked },
        (value) => { state.masked = value; draw(); }),
      control("after the roll", { type: "checkbox", checked: rolled },
        (value) => { rolled = value; draw(); })),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
