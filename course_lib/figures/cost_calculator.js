(root, data, { element, control, speaker }) => {
  const state = { ...data };
  const kinds = ["full", "window", "Longformer", "Linformer", "Performer", "tiled"];
  const tile = 128;
  const size = { width: 330, row: 26, left: 84, right: 318, top: 8 };
  const { spoken, say } = speaker(root);

  function compute() {
    const { length: T, d_model: D, n_heads: H, rank } = state;
    const pairs = (n) => {
      const radius = Math.min(state.radius, n - 1);
      return n * (2 * radius + 1) - radius * (radius + 1);
    };
    const near = pairs(T);
    const joined = pairs(T - 1) + 2 * T - 1; // the first position is global
    const side = Math.min(tile, T);
    return {
      multiplications: {
        full: 2 * T * T * D,
        window: 2 * near * D,
        Longformer: 2 * joined * D + (1 + 2 * T) * D * D,
        Linformer: 4 * T * rank * D,
        Performer: 4 * T * rank * D + T * rank * H,
        tiled: 2 * T * T * D,
      },
      numbers: {
        full: H * T * T,
        window: H * near,
        Longformer: H * joined,
        Linformer: H * T * rank,
        Performer: 2 * H * T * rank + rank * D,
        tiled: H * (side * side + 2 * T),
      },
    };
  }

  function short(value) {
    const names = ["", " thousand", " million", " billion", " trillion"];
    const power = Math.min(Math.floor((String(value).length - 1) / 3), names.length - 1);
    return Number((value / 1000 ** power).toPrecision(3)) + names[power];
  }

  function panel(caption, low, high) {
    const height = size.top + size.row * kinds.length + 26;
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${height}`, "aria-hidden": "true" });
    const toX = (log) => size.left + (size.right - size.left) * (log - low) / (high - low);
    const bottom = height - 24;
    for (let power = low; power <= high; power += 3) {
      const x = toX(power);
      svg.append(element("line", { x1: x, x2: x, y1: size.top, y2: bottom, class: "axis", style: "opacity: 0.35" }),
        element("text", { x, y: bottom + 16, style: "font-size: 11px" }, `1e${power}`));
    }
    const rows = kinds.map((kind, i) => {
      const y = size.top + size.row * i;
      const bar = element("rect", { x: size.left, y: y + 4, height: size.row - 8, class: "bar muted" });
      const value = element("text", { y: y + 17, style: "font-size: 12px; text-anchor: start" });
      svg.append(element("text", { x: size.left - 6, y: y + 17, style: "text-anchor: end" }, kind), bar, value);
      return { bar, value };
    });
    const update = (values) => kinds.forEach((kind, i) => {
      const { bar, value } = rows[i];
      const width = Math.max(1, toX(Math.log10(values[kind])) - size.left);
      bar.setAttribute("width", width.toFixed(2));
      value.textContent = short(values[kind]);
      value.setAttribute("x", (size.left + 6).toFixed(2));
    });
    return { update, holder: element("div", { class: "figure-panel" }, element("p", {}, caption), svg) };
  }

  const work = panel("multiplications", 5, 14);
  const held = panel("numbers held at once", 2, 12);

  function draw() {
    const found = compute();
    work.update(found.multiplications);
    held.update(found.numbers);
    const least = (values) => kinds.reduce((best, kind) => values[kind] < values[best] ? kind : best);
    const [few, small] = [least(found.multiplications), least(found.numbers)];
    say(`Length ${state.length}: full attention multiplies ${short(found.multiplications.full)} times and `
      + `holds ${short(found.numbers.full)} numbers. Fewest multiplications: ${few}, `
      + `${short(found.multiplications[few])}. Fewest numbers: ${small}, `
      + `${short(found.numbers[small])}.`, { ...state }, found);
  }

  const power = (label, name, low, high) => control(label,
    { type: "range", min: low, max: high, step: 1, value: Math.log2(state[name]) },
    (value) => { state[name] = 2 ** value; draw(); }, (value) => String(2 ** value));

  root.append(
    element("div", { class: "figure-panels" }, work.holder, held.holder),
    element("div", { class: "figure-controls" },
      power("length", "length", 6, 17), power("width", "d_model", 6, 10),
      power("heads", "n_heads", 0, 4), power("radius of the window", "radius", 0, 10),
      power("rank or features", "rank", 4, 10)),
    spoken);
  draw();
};
