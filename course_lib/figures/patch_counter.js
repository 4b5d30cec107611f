(root, data, { element, control, speaker }) => {
  const state = { patch_size: data.patch_size, d_model: data.d_model };
  const sides = [1, 2, 4, 8, 16];
  const widths = [32, 64, 128, 256];
  const side = 32;
  const scale = 6;
  const most = side * side + 1;
  const { spoken, say } = speaker(root);

  // The numbers of every choice come with the page.
  const compute = () => data.costs[`${state.patch_size} ${state.d_model}`];

  const pixels = [...Array(side)].map(() => Array(side));
  for (const [top, left, height, width, colour] of data.picture) {
    for (let r = top; r < top + height; r += 1) pixels[r].fill(colour, left, left + width);
  }
  const channel = (colour, i) => parseInt(colour.slice(2 * i + 1, 2 * i + 3), 16);
  function mean(row, column) {
    const p = state.patch_size;
    const some = pixels.slice(row * p, (row + 1) * p).flatMap((line) => line.slice(column * p, (column + 1) * p));
    const parts = [0, 1, 2].map((i) => Math.round(some.reduce((sum, c) => sum + channel(c, i), 0) / some.length));
    return `rgb(${parts})`;
  }

  function panel(caption, width, height, basis) {
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const told = element("p", {}, caption);
    return { svg, told, holder: element("div", { class: "figure-panel", style: `flex: 0 1 ${basis}` }, told, svg) };
  }
  const cut = panel("", side * scale, side * scale, "13rem");
  const lines = element("path", { style: "stroke: #fff; fill: none; stroke-width: 0.7" });
  cut.svg.append(
    ...data.picture.map(([y, x, height, width, fill]) => element("rect", {
      x: x * scale, y: y * scale, width: width * scale, height: height * scale, style: `fill: ${fill}`,
    })), lines);

  // As many tokens a line as the image has pixels, and a square that is as wide as the tokens are many.
  const cell = 5;
  const tall = (side + 1) * cell;
  const right = side * cell + 24;
  const row = panel("", right + tall, tall, "24rem");
  const tokens = element("g");
  const square = element("rect", { x: right, y: 0, class: "bar" });
  row.svg.append(tokens, element("rect", { x: right, y: 0, width: tall, height: tall, class: "dial" }), square);

  const names = ["cut, flatten", "matrix E", "class, positions", "projections", "scores, mixing", "feed-forward", "norm, head"];
  const entry = () => element("td");
  const rows = names.map((name) => ({ name, shape: entry(), parameters: entry(), multiplications: entry() }));
  const total = { parameters: entry(), multiplications: entry() };
  const heading = (text) => element("th", { scope: "col" }, text);
  const table = element("table", { class: "figure-costs" },
    element("thead", {}, element("tr", {}, heading("part"), heading("result"),
      heading("10\u00b3 parameters"), heading("10\u2076 products"))),
    element("tbody", {}, ...rows.map(({ name, shape, parameters, multiplications }) =>
      element("tr", {}, element("th", { scope: "row" }, name), shape, parameters, multiplications)),
    element("tr", {}, element("th", { scope: "row" }, "all"), entry(), total.parameters, total.multiplications)));

  const count = (number) => number.toLocaleString("en-US");
  function short(number, unit) {
    const value = number / unit;
    if (!number) return "0";
    if (value < 0.01) return "< 0.01";
    const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  function draw() {
    const found = compute();
    const { patch_size: p, d_model: D } = state;
    const across = side / p;
    const [T, N] = [found.tokens, found.tokens - 1];
    const steps = [...Array(across - 1).keys()].map((i) => (i + 1) * p * scale);
    lines.setAttribute("d", steps.map((at) => `M${at} 0V${side * scale}M0 ${at}H${side * scale}`).join(""));
    lines.style.strokeWidth = p > 2 ? 1.5 : 0.7;
    cut.told.textContent = `${across} x ${across} patches`;
    tokens.replaceChildren(...[...Array(T).keys()].map((t) => element("rect", {
      x: (t % side) * cell, y: Math.floor(t / side) * cell, width: cell - 1, height: cell - 1,
      ...(t ? { style: `fill: ${mean(Math.floor((t - 1) / across), (t - 1) % across)}` } : { class: "knob second" }),
    })));
    square.setAttribute("width", (tall * T / most).toFixed(2));
    square.setAttribute("height", (tall * T / most).toFixed(2));
    row.told.textContent = `${count(T)} tokens (class first); weights of a head, ${count(T)} x ${count(T)}`;
    const shapes = [[N, found.line], [N, D], [T, D], [T, D], [T, T], [T, D], [10]];
    const sum = (numbers) => numbers.reduce((a, b) => a + b);
    rows.forEach((cells, i) => {
      cells.shape.textContent = shapes[i].join(" x ");
      for (const [name, unit] of [["parameters", 1e3], ["multiplications", 1e6]]) {
        cells[name].textContent = short(found[name][i], unit);
        cells[name].style.setProperty("--share", found[name][i] / sum(found[name]));
        total[name].textContent = short(sum(found[name]), unit);
      }
    });
    const work = sum(found.multiplications);
    say(`Patches of ${p} x ${p} pixels and a width of ${D}: ${count(N)} patches, each a line of `
      + `${found.line} numbers, and with the class token ${count(T)} tokens. `
      + `${count(sum(found.parameters))} parameters, ${count(work)} multiplications an image; `
      + `scores and mixing take ${(100 * found.multiplications[4] / work).toFixed(1)} % of them.`,
    { ...state }, found);
  }

  const chosen = (label, name, values) => control(label,
    { type: "range", min: 0, max: values.length - 1, step: 1, value: values.indexOf(state[name]) },
    (place) => { state[name] = values[place]; draw(); }, (place) => String(values[place]));
  root.append(
    element("div", { class: "figure-panels" }, cut.holder, row.holder),
    element("div", { class: "figure-controls" },
      chosen("side of a patch", "patch_size", sides), chosen("width", "d_model", widths)),
    element("div", { class: "figure-scroll" }, table),
    spoken);
  draw();
};
