(root, data, { element, control, slider, place, speaker }) => {
  const state = {
    arrangement: data.arrangement, depth: data.depth, quantity: data.quantity, layer: data.layer,
  };
  const formulas = {
    neither: "f(x)", residual: "x + f(x)", norm: "f(norm(x))",
    post: "norm(x + f(x)), post-norm", pre: "x + f(norm(x)), pre-norm",
  };
  const labels = {
    gradient: "gradient that arrives", diversity: "share that differs between tokens",
    variance: "variance of the stream",
  };
  const depths = Object.keys(data.sweep.pre).map(Number).sort((a, b) => a - b);
  const size = { width: 440, height: 210, left: 52, right: 426, top: 14, bottom: 170 };
  const { spoken, say } = speaker(root);

  function compute() {
    const curve = data.sweep[state.arrangement][state.depth][state.quantity];
    return { curve, value: curve[state.layer], ratio: curve[0] / curve.at(-1) };
  }

  function number(value) {
    if (value >= 0.01 && value < 1000) {
      return value < 100 ? String(Number(value.toPrecision(3))) : value.toFixed(0);
    }
    const [mantissa, exponent] = value.toExponential(1).split("e");
    return `${mantissa}e${Number(exponent)}`;
  }

  const svg = element("svg", {
    viewBox: `0 0 ${size.width} ${size.height}`, role: "group",
    "aria-label": "The curve, on a logarithmic scale",
  });
  const grid = element("g");
  const line = element("path", { class: "curve" });
  const knob = element("circle", { r: 8, class: "knob second" });
  const hit = element("rect", { x: 0, y: 0, width: size.width, height: size.bottom, class: "hit" });
  const group = element("g", { class: "draggable sideways" }, hit, knob);
  const caption = element("text", { x: (size.left + size.right) / 2, y: size.bottom + 36 }, "blocks after the entrance");
  svg.append(grid, line, group, caption);
  const toX = (layer) => size.left + (size.right - size.left) * layer / state.depth;
  slider(group, {
    label: "Place that is read, counted from the entrance", min: 0, max: Math.max(...depths),
    step: 1, orientation: "horizontal",
    get: () => state.layer,
    set: (value) => { state.layer = Math.min(value, state.depth); draw(); },
    toValue: (event) =>
      (place(svg, event).x - size.left) / (size.right - size.left) * state.depth,
  });

  function draw() {
    const found = compute();
    const logs = found.curve.map((value) => Math.log10(value));
    const low = Math.floor(Math.min(...logs));
    const high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
    const toY = (log) => size.bottom - (log - low) / (high - low) * (size.bottom - size.top);
    const every = Math.ceil((high - low) / 6);
    const parts = [];
    for (let power = low; power <= high; power += every) {
      const y = toY(power);
      parts.push(element("line", { x1: size.left, x2: size.right, y1: y, y2: y, class: "axis" }),
        element("text", { x: size.left - 24, y: y + 4 }, `1e${power}`));
    }
    for (let layer = 0; layer <= state.depth; layer += state.depth > 12 ? 4 : state.depth > 4 ? 2 : 1) {
      parts.push(element("text", { x: toX(layer), y: size.bottom + 18 }, String(layer)));
    }
    grid.replaceChildren(...parts);
    line.setAttribute("d", logs
      .map((log, layer) => `${layer ? "L" : "M"}${toX(layer).toFixed(2)} ${toY(log).toFixed(2)}`).join(""));
    knob.setAttribute("cx", toX(state.layer).toFixed(2));
    knob.setAttribute("cy", toY(logs[state.layer]).toFixed(2));
    group.setAttribute("aria-valuemax", state.depth);
    group.setAttribute("aria-valuenow", state.layer);
    group.setAttribute("aria-valuetext", `block ${state.layer}: ${number(found.value)}`);
    const where = state.layer ? `after block ${state.layer}` : "at the entrance";
    const text = `${formulas[state.arrangement]}, ${state.depth} blocks: ${labels[state.quantity]} `
      + `${where} ${number(found.value)}; at the entrance ${number(found.ratio)} times `
      + "what it is at the end.";
    say(text, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-panels" }, element("div", { class: "figure-panel", style: "flex: 0 1 36rem" }, svg)),
    element("div", { class: "figure-controls" },
      control("each sub-layer", { options: Object.entries(formulas), value: state.arrangement },
        (value) => { state.arrangement = value; draw(); }),
      control("measured", { options: Object.entries(labels), value: state.quantity },
        (value) => { state.quantity = value; draw(); }),
      control("blocks", { type: "range", min: 0, max: depths.length - 1, step: 1, value: depths.indexOf(state.depth) },
        (value) => {
          state.depth = depths[value];
          state.layer = Math.min(state.layer, state.depth);
          draw();
        }, (value) => String(depths[value]))),
    spoken);
  draw();
};
