(root, data, { element, control, slider, place, speaker }) => {
  const state = {
    position: data.position, distance: data.distance, d_model: data.d_model, base: data.base,
    cosines: data.cosines,
  };
  const span = 64;
  const size = { width: 320, height: 210, left: 12, right: 308, top: 14, bottom: 180 };
  const { spoken, say } = speaker(root);

  function compute() {
    const pairs = state.d_model / 2;
    const rates = [...Array(pairs).keys()].map((i) => state.base ** (-2 * i / state.d_model));
    const code = (position) => rates.flatMap((rate) => (state.cosines
      ? [Math.sin(position * rate), Math.cos(position * rate)] : [Math.sin(position * rate)]));
    const here = code(state.position);
    const there = code(state.position + state.distance);
    const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
    const curve = [...Array(span + 1).keys()].map((k) => dot(here, code(state.position + k)));
    const gap = Math.sqrt(here.reduce((sum, x, i) => sum + (x - there[i]) ** 2, 0));
    const waves = rates.map((rate) => 2 * Math.PI / rate);
    return { here, there, product: curve[state.distance], gap, curve, waves };
  }

  function panel(caption) {
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}` });
    const holder = element("div", { class: "figure-panel" }, element("p", {}, caption), svg);
    return { svg, holder };
  }

  // Dials: a pair of channels each, its cosine to the right and its sine upwards.
  const left = panel("the two codes, a dial for each pair");
  left.svg.setAttribute("aria-hidden", "true");
  let dials = [];

  function layDials() {
    const pairs = state.d_model / 2;
    const columns = pairs > 8 ? 6 : pairs > 4 ? 4 : 2;
    const width = size.width / columns;
    const height = size.height / Math.ceil(pairs / columns);
    const radius = Math.min(width, height - 18) / 2 - 5;
    const hand = (kind) => {
      const line = element("line", { class: `hand ${kind}` });
      const tip = element("circle", { r: 4.5, class: `tip ${kind}` });
      return { line, tip };
    };
    dials = [...Array(pairs).keys()].map((i) => {
      const x = (i % columns + 0.5) * width;
      const y = Math.floor(i / columns) * height + radius + 5;
      const hands = { there: hand("second"), here: hand("first") };
      const label = element("text", { x, y: y + radius + 13, style: "font-size: 11px" });
      const parts = Object.values(hands).flatMap(({ line, tip }) => [line, tip]);
      const group = element("g", {}, element("circle", { cx: x, cy: y, r: radius, class: "dial" }),
        ...parts, label);
      return { x, y, radius, hands, label, group };
    });
    left.svg.replaceChildren(...dials.map((dial) => dial.group));
  }

  // The curve: the inner product at every distance, with a point to drag along it.
  const right = panel("inner product by distance");
  right.svg.setAttribute("role", "group");
  right.svg.setAttribute("aria-label", "Inner product of the two codes by their distance");
  const middle = (size.top + size.bottom) / 2;
  const toX = (k) => size.left + (size.right - size.left) * k / span;
  const line = element("path", { class: "curve" });
  const knob = element("circle", { r: 8, class: "knob second" });
  const hit = element("rect", { x: 0, y: 0, width: size.width, height: size.bottom, class: "hit" });
  const group = element("g", { class: "draggable sideways" }, hit, knob);
  const ticks = [0, 16, 32, 48, 64].map((k) =>
    element("text", { x: toX(k), y: size.bottom + 18 }, String(k)));
  right.svg.append(
    element("line", { x1: size.left, x2: size.right, y1: middle, y2: middle, class: "axis" }),
    ...ticks, line, group);
  slider(group, {
    label: "Distance of the second token", min: 0, max: span, step: 1, orientation: "horizontal",
    get: () => state.distance,
    set: (value) => { state.distance = value; draw(); },
    toValue: (event) =>
      (place(right.svg, event).x - size.left) / (size.right - size.left) * span,
  });

  function draw() {
    const found = compute();
    const step = state.cosines ? 2 : 1;
    dials.forEach(({ x, y, radius, hands, label }, i) => {
      for (const which of ["here", "there"]) {
        const across = state.cosines ? found[which][step * i + 1] : 0;
        const end = { x: x + radius * across, y: y - radius * found[which][step * i] };
        const { line: shaft, tip } = hands[which];
        for (const [name, value] of [["x1", x], ["y1", y], ["x2", end.x], ["y2", end.y]]) {
          shaft.setAttribute(name, value.toFixed(2));
        }
        tip.setAttribute("cx", end.x.toFixed(2));
        tip.setAttribute("cy", end.y.toFixed(2));
      }
      const wave = found.waves[i];
      label.textContent = wave < 100 ? wave.toFixed(1) : wave.toFixed(0);
    });
    const toY = (value) => middle - value / (state.d_model / 2) * (size.bottom - size.top) / 2;
    line.setAttribute("d", found.curve
      .map((value, k) => `${k ? "L" : "M"}${toX(k).toFixed(2)} ${toY(value).toFixed(2)}`).join(""));
    knob.setAttribute("cx", toX(state.distance));
    knob.setAttribute("cy", toY(found.product).toFixed(2));
    const text = `Positions ${state.position} and ${state.position + state.distance}: inner product `
      + `${found.product.toFixed(2)}, of the first with itself ${found.curve[0].toFixed(2)}; `
      + `the codes are ${found.gap.toFixed(2)} apart. Wavelengths from ${found.waves[0].toFixed(1)} `
      + `to ${found.waves.at(-1).toFixed(1)} positions.`;
    say(text, { ...state }, found);
  }

  layDials();
  root.append(
    element("div", { class: "figure-panels" }, left.holder, right.holder),
    element("div", { class: "figure-controls" },
      control("position of the first", { type: "range", min: 0, max: 64, step: 1, value: state.position },
        (value) => { state.position = value; draw(); }, String),
      control("channels", { type: "range", min: 2, max: 5, step: 1, value: Math.log2(state.d_model) },
        (value) => { state.d_model = 2 ** value; layDials(); draw(); }, (value) => String(2 ** value)),
      control("base", { type: "range", min: 1, max: 4, step: 1, value: Math.round(Math.log10(state.base)) },
        (value) => { state.base = 10 ** value; draw(); }, (value) => String(10 ** value)),
      control("with cosines", { type: "checkbox", checked: state.cosines },
        (value) => { state.cosines = value; draw(); })),
    spoken);
  draw();
};
