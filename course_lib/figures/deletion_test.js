(root, data, { element, control, speaker }) => {
  const state = { chosen: data.chosen, step: data.step };
  const trials = data.trials.slice(0, -1);
  const luck = data.trials.at(-1).curve;
  const [side, pixel, atOnce] = [8, 5, 4];
  const { spoken, say } = speaker(root);

  function compute() {
    const { weights, curve } = trials[state.chosen];
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
    const gone = [...weights.keys()].sort((a, b) => weights[b] - weights[a])
      .slice(0, atOnce * state.step);
    return {
      gone, held: sum(gone.map((i) => weights[i])) / sum(weights),
      probability: curve[state.step], chance: luck[state.step],
    };
  }

  const size = { width: 330, height: 172, top: 6, bottom: 134, left: 30, right: 312 };
  function panel(caption) {
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" });
    return { svg, holder: element("div", { class: "figure-panel" }, element("p", {}, caption), svg) };
  }

  // The image, run after run of one colour, and the map beside it.
  const left = panel("the image, and the map");
  const square = (i, x, more) => element("rect", {
    x: x + 4 * pixel * (i % side), y: 4 * pixel * Math.floor(i / side),
    width: 4 * pixel, height: 4 * pixel, ...more,
  });
  data.pixels.match(/.{32}/g).forEach((row, y) => {
    for (const run of row.matchAll(/(.)\1*/g)) {
      left.svg.append(element("rect", {
        x: pixel * run.index, y: pixel * y, width: pixel * run[0].length, height: pixel,
        "shape-rendering": "crispEdges", style: `fill: ${data.colours[run[1]]}`,
      }));
    }
  });
  const patches = [...Array(side * side).keys()];
  const greys = patches.map((i) => square(i, 0, { style: "fill: #808080; stroke: #6a6a6a" }));
  const cells = patches.map((i) => square(i, 170, { style: "stroke: var(--course-line)" }));
  left.svg.append(...greys, ...cells);

  const right = panel("probability of ship (dashed: random patches)");
  const toX = (step) => size.left + (size.right - size.left) * step / (luck.length - 1);
  const toY = (share) => size.bottom - (size.bottom - size.top) * share;
  const path = (curve) => curve.map((p, i) =>
    `${i ? "L" : "M"}${toX(i).toFixed(1)} ${toY(p).toFixed(1)}`).join("");
  for (const share of [0, 0.5, 1]) {
    right.svg.append(
      element("line", { x1: size.left, x2: size.right, y1: toY(share), y2: toY(share), class: "axis",
        style: share ? "opacity: 0.4" : "" }),
      element("text", { x: size.left - 5, y: toY(share) + 3, style: "text-anchor: end" }, share),
      element("text", { x: toX(16 * share), y: size.bottom + 18 }, `${100 * share} %`));
  }
  const curve = element("path", { class: "curve" });
  const knob = element("circle", { class: "knob", r: 6 });
  right.svg.append(
    element("path", { class: "axis", d: path(luck), style: "fill: none; stroke-dasharray: 5 4" }),
    curve, knob,
    element("text", { x: (size.left + size.right) / 2, y: size.bottom + 36 }, "patches painted grey"));

  function draw() {
    const found = compute();
    const { name, weights, curve: falls } = trials[state.chosen];
    const most = Math.max(...weights);
    patches.forEach((i) => {
      const gone = found.gone.includes(i);
      greys[i].style.display = gone ? "" : "none";
      cells[i].style.fill = "var(--course-heat)";
      cells[i].style.fillOpacity = (weights[i] / most).toFixed(3);
    });
    curve.setAttribute("d", path(falls));
    knob.setAttribute("cx", toX(state.step));
    knob.setAttribute("cy", toY(found.probability));
    say(`Map: ${name}. The ${found.gone.length} grey patches hold ${(100 * found.held).toFixed(0)} % of `
      + `its weight. Ship has the probability ${found.probability.toFixed(2)}, and `
      + `${found.chance.toFixed(2)} if as many patches are taken at random.`, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-panels" }, left.holder, right.holder),
    element("div", { class: "figure-controls" },
      control("map of the class token",
        { options: trials.map((trial, i) => [i, trial.name]), value: state.chosen },
        (value) => { state.chosen = Number(value); draw(); }),
      control("grey patches", { type: "range", min: 0, max: luck.length - 1, step: 1, value: state.step },
        (value) => { state.step = value; draw(); }, (step) => `${atOnce * step} of 64`)),
    spoken);
  draw();
};
