(root, data, { element, control, speaker }) => {
  const words = ["Anna", "sings"];
  const copy = (rows) => rows.map((row) => [...row]);
  const state = { query: [...data.query], keys: copy(data.keys), values: copy(data.values) };
  const width = state.query.length;
  const { spoken, say } = speaker(root);

  // One head, which has the channels from `start` on.
  function look(start, size) {
    const part = (row) => row.slice(start, start + size);
    const query = part(state.query);
    const scores = state.keys.map((key) =>
      part(key).reduce((sum, k, i) => sum + k * query[i], 0));
    const scaled = scores.map((score) => score / Math.sqrt(size));
    const powers = scaled.map((s) => Math.exp(s - Math.max(...scaled)));
    const weights = powers.map((power) => power / powers.reduce((a, b) => a + b));
    const output = query.map((_, i) =>
      state.values.reduce((sum, value, j) => sum + weights[j] * part(value)[i], 0));
    return { scores, weights, output };
  }

  function compute() {
    const join = (heads) => ({
      scores: heads.map((head) => head.scores),
      weights: heads.map((head) => head.weights),
      output: heads.flatMap((head) => head.output),
    });
    const half = width / 2;
    return { two: join([look(0, half), look(half, half)]), one: join([look(0, width)]) };
  }

  const size = { width: 330, height: 200 };
  function panel(caption) {
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" });
    return { svg, holder: element("div", { class: "figure-panel" }, element("p", {}, caption), svg) };
  }
  const text = (x, y, anchor, content = "") =>
    element("text", { x, y, style: `text-anchor: ${anchor}` }, content);

  // Each head divides one bar between the two words.
  const left = panel("how each head divides its attention");
  const rows = ["head 1", "head 2", "one head"].map((name, i) => {
    const y = 2 + 68 * i;
    const parts = {
      told: text(0, y + 12, "start"),
      first: element("rect", { x: 0, y: y + 18, height: 16, class: "bar" }),
      second: element("rect", { y: y + 18, height: 16, class: "bar muted" }),
      anna: text(0, y + 49, "start"),
      sings: text(size.width, y + 49, "end"),
    };
    left.svg.append(...Object.values(parts));
    return { name, ...parts };
  });

  // The square of all ways to divide it; one head stays on the diagonal.
  const right = panel("weight of Anna in each half of the output");
  const [x0, y0, side] = [78, 160, 152];
  const toX = (share) => x0 + side * share;
  const toY = (share) => y0 - side * share;
  const dot = (kind, r) => element("circle", { class: `knob ${kind}`, r });
  const [two, one] = [dot("", 8), dot("second", 6)];
  right.svg.append(
    element("rect", { x: x0, y: y0 - side, width: side, height: side, class: "dial" }),
    element("line", { x1: x0, y1: y0, x2: x0 + side, y2: y0 - side, class: "axis",
      style: "stroke-dasharray: 4 3" }),
    ...[0, 0.5, 1].flatMap((share) => [
      text(toX(share), y0 + 16, "middle", share), text(x0 - 6, toY(share) + 4, "end", share)]),
    text(x0 + side / 2, y0 + 34, "middle", "left half"),
    element("text", { transform: `translate(${x0 - 38} ${y0 - side / 2}) rotate(-90)` }, "right half"),
    element("circle", { class: "knob", r: 7, cx: 256, cy: 20 }), text(268, 24, "start", "2 heads"),
    element("circle", { class: "knob second", r: 6, cx: 256, cy: 46 }), text(268, 50, "start", "1 head"),
    two, one);

  // All numbers: those of the words, to be changed, and those of each step.
  const places = ["keys", "values"].flatMap((kind) => words.map((word, row) => ({ kind, row, name: `${kind.slice(0, -1)} of ${word}` })));
  const asked = state.query.map(() => element("td", {}));
  const cells = places.map(({ kind, row, name }) => state[kind][row].map((number, i) => element("input", {
    type: "number", min: -9, max: 9, step: 1, value: number, "aria-label": `${name}, channel ${i + 1}`,
    oninput: ({ currentTarget: { valueAsNumber: given } }) => {
      if (!(Math.abs(given) <= 9)) return;
      state[kind][row][i] = given;
      draw();
    } })));
  const line = (name, parts) => element("tr", {}, element("th", { scope: "row" }, name), ...parts);
  const heads = (names) => element("tr", {}, element("td", {}), ...names.map(([name, colspan]) => element("th", { scope: "col", colspan }, name)));
  const steps = rows.map(() => [0, 1, 2, 3].map(() => element("td", {})));
  const again = element("button", { type: "button", onclick: () => {
    for (const [n, { kind, row }] of places.entries()) {
      state[kind][row] = [...data[kind][row]];
      cells[n].forEach((cell, i) => { cell.value = state[kind][row][i]; });
    }
    draw();
  } }, "Put back");
  const folded = element("details", { class: "figure-numbers" },
    element("summary", {}, "All numbers, keys and values to change"),
    element("table", {}, heads([["head 1", width / 2], ["head 2", width / 2]]), line("query of sings", asked),
      ...places.map(({ name }, n) => line(name, cells[n].map((cell) => element("td", {}, cell))))),
    element("div", { class: "figure-buttons" }, again),
    element("div", { class: "figure-scroll", tabindex: 0, role: "region", "aria-label": "each step" },
      element("table", {}, heads([["scores", 1], ["divided by \u221awidth", 1], ["weights", 1], ["result", 1]]),
        ...rows.map(({ name }, i) => line(name, steps[i])))));

  function draw() {
    const found = compute();
    const shares = [...found.two.weights, ...found.one.weights];
    const scores = [...found.two.scores, ...found.one.scores];
    const signed = (number) => String(number).replace("-", "\u2212");
    const vector = (numbers) => `(${numbers.map((n) => n.toFixed(2)).join(", ")})`;
    rows.forEach(({ name, told, first, second, anna, sings }, i) => {
      const edge = size.width * shares[i][0];
      told.textContent = `${name}, scores ${scores[i].join(" and ").replaceAll("-", "\u2212")}`;
      first.setAttribute("width", edge);
      second.setAttribute("x", edge);
      second.setAttribute("width", size.width - edge);
      anna.textContent = `${words[0]} ${shares[i][0].toFixed(2)}`;
      sings.textContent = `${words[1]} ${shares[i][1].toFixed(2)}`;
    });
    asked.forEach((cell, i) => { cell.textContent = signed(state.query[i]); });
    [found.two, found.two, found.one].forEach((side, i) => {
      const head = i % 2;
      const scaled = side.scores[head].map((score) => score / Math.sqrt(width / side.scores.length));
      const part = side.output.slice(head * width / 2, (head + 1) * width / 2);
      [vector(side.scores[head]), vector(scaled), vector(side.weights[head]), vector(i < 2 ? part : side.output)]
        .forEach((text, n) => { steps[i][n].textContent = text; });
    });
    const place = (circle, x, y) => {
      circle.setAttribute("cx", toX(x));
      circle.setAttribute("cy", toY(y));
    };
    place(two, shares[0][0], shares[1][0]);
    place(one, shares[2][0], shares[2][0]);
    say(`Two heads give ${words[0]} the weights ${shares[0][0].toFixed(2)} and `
      + `${shares[1][0].toFixed(2)}; joined: ${vector(found.two.output)}. One head gives `
      + `${shares[2][0].toFixed(2)} to both halves: ${vector(found.one.output)}.`,
    { query: [...state.query], keys: copy(state.keys), values: copy(state.values) }, found);
  }

  const sliders = state.query.map((number, i) => control(
    `query ${i + 1} (head ${i < width / 2 ? 1 : 2})`,
    { type: "range", min: -4, max: 4, step: 1, value: number },
    (value) => { state.query[i] = value; draw(); },
    (value) => String(value).replace("-", "\u2212")));
  root.append(
    element("div", { class: "figure-panels" }, left.holder, right.holder),
    element("div", { class: "figure-controls" }, ...sliders),
    spoken, folded);
  draw();
};
