(root, data, { element, control, speaker, walk }) => {
  const state = {
    length: data.length, causal: data.causal, side: data.side,
    real: data.real ?? data.length, radius: data.radius ?? data.length,
  };
  let convention = data.convention;
  const { length } = state;
  const indices = [...Array(length).keys()];
  const { spoken, say } = speaker(root);

  function compute() {
    const allowed = indices.map((i) => indices.map((j) =>
      (state.side === "right" ? j < state.real : j >= length - state.real)
      && (!state.causal || j <= i)
      && (state.radius >= length || Math.abs(i - j) <= state.radius)));
    const write = (yes, no) => allowed.map((row) => row.map((may) => (may ? yes : no)));
    const same = allowed.every((row) => row.every((may, j) => may === allowed[0][j]));
    const valid = allowed[0].filter(Boolean).length;
    const first = allowed[0].every((may, j) => may === j < valid);
    return {
      pairs: allowed.flat().filter(Boolean).length,
      empty: indices.filter((i) => !allowed[i].some(Boolean)).map((i) => i + 1),
      values: {
        "may attend": allowed, blocked: write(false, true), additive: write(0, "-inf"),
        integers: write(1, 0), lengths: same && first ? [valid] : null,
      },
    };
  }

  const written = (value) =>
    value === true ? "True" : value === false ? "False" : value === "-inf" ? "\u2212\u221e" : String(value);

  // The table is one stop of the tab key; the arrow keys move within it.
  const cells = indices.map((i) => indices.map((j) => element("td", { tabindex: i + j ? -1 : 0 })));
  const header = element("tr", {}, element("th", { scope: "col" }, "query \\ key"),
    ...indices.map((j) => element("th", { scope: "col" }, String(j + 1))));
  const table = element("table", { class: "figure-mask", role: "grid", "aria-label": "Mask" },
    element("thead", {}, header),
    element("tbody", {}, ...indices.map((i) =>
      element("tr", {}, element("th", { scope: "row" }, String(i + 1)), ...cells[i]))));
  walk(table, () => cells, (from, to) => {
    from.tabIndex = -1;
    to.tabIndex = 0;
  });

  function draw() {
    const found = compute();
    const values = found.values[convention];
    for (const i of indices) {
      const empty = found.empty.includes(i + 1);
      for (const j of indices) {
        const may = found.values["may attend"][i][j];
        const cell = cells[i][j];
        cell.className = `${may ? "may" : "not"}${empty ? " empty" : ""}`;
        cell.textContent = convention === "lengths" ? "" : written(values[i][j]);
        cell.setAttribute("aria-label", `query ${i + 1}, key ${j + 1}: `
          + (convention === "lengths" ? (may ? "allowed" : "blocked")
            : `${written(values[i][j])}, ${may ? "allowed" : "blocked"}`));
      }
    }
    let text = `${found.pairs} of ${length ** 2} pairs allowed. `
      + `Queries that see nothing: ${found.empty.join(", ") || "none"}.`;
    if (convention === "lengths") {
      text += values ? ` Valid length: ${values[0]}.` : " No length says this mask.";
    }
    say(text, { ...state }, found);
  }

  const set = (name) => (value) => { state[name] = value; draw(); };
  const conventions = [
    ["may attend", "True = may attend: this course, F.scaled_dot_product_attention"],
    ["blocked", "True = blocked: nn.MultiheadAttention"],
    ["additive", "added to the scores: 0 or \u2212\u221e"],
    ["integers", "1 and 0: tokenizers"],
    ["lengths", "valid lengths: one number per sequence"],
  ];
  root.append(
    element("div", { class: "figure-controls" },
      control("causal", { type: "checkbox", checked: state.causal }, set("causal")),
      control("real tokens", { type: "range", min: 0, max: length, step: 1, value: state.real },
        set("real"), String),
      control("padding on the left", { type: "checkbox", checked: state.side === "left" },
        (left) => { state.side = left ? "left" : "right"; draw(); }),
      control("window radius", { type: "range", min: 0, max: length, step: 1, value: state.radius },
        set("radius"), (value) => (value >= length ? "all" : String(value))),
      control("written as", { options: conventions, value: convention },
        (value) => { convention = value; draw(); })),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
