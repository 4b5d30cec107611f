(root, data, { element, control, speaker, mulberry32 }) => {
  const state = {
    difference: data.difference, spread: data.spread, pairs: data.pairs, quantiles: data.quantiles,
  };
  const [experiments, shown, most] = [1000, 24, data.quantiles.length + 1];
  const { spoken, say } = speaker(root);

  const uniform = mulberry32(18);

  // Of each experiment and each number of pairs, mean and deviation of what chance does.
  const luck = Array.from({ length: experiments }, () => {
    const sofar = [];
    let [sum, squares] = [0, 0];
    for (let n = 1; n <= most; n += 1) {
      const [radius, angle] = [uniform(), uniform()];
      const normal = Math.sqrt(-2 * Math.log(1 - radius)) * Math.cos(2 * Math.PI * angle);
      sum += normal;
      squares += normal * normal;
      sofar.push([sum / n, Math.sqrt(Math.max(0, squares - sum * sum / n) / Math.max(1, n - 1))]);
    }
    return sofar;
  });

  function interval(one, n) {
    const [mean, deviation] = luck[one][n - 1];
    return [state.difference + state.spread * mean,
      state.quantiles[n - 2] * state.spread * deviation / Math.sqrt(n)];
  }

  function compute() {
    const every = [...Array(experiments).keys()];
    const found = state.quantiles.map((_, i) => every.filter((one) => {
      const [mean, half] = interval(one, i + 2);
      return Math.abs(mean) > half;
    }).length);
    const here = every.map((one) => interval(one, state.pairs));
    return {
      means: here.slice(0, shown).map(([mean]) => mean),
      halves: here.slice(0, shown).map(([, half]) => half),
      wrong: here.filter(([mean, half]) => mean + half < 0).length,
      found,
    };
  }

  const size = { width: 330, height: 262, top: 8, bottom: 222, left: 12, right: 318 };
  function panel(caption) {
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" });
    return { svg, holder: element("div", { class: "figure-panel" }, element("p", {}, caption), svg) };
  }
  const line = (x1, y1, x2, y2, style) => element("line", { x1, y1, x2, y2, class: "axis", style });

  // Intervals: one line for each of the first experiments, from -0.1 to 0.2.
  const left = panel(`intervals of ${shown} experiments`);
  const toX = (value) => size.left
    + (size.right - size.left) * Math.min(1, Math.max(0, (value + 0.1) / 0.3));
  for (const tick of [-0.1, 0, 0.1, 0.2]) {
    left.svg.append(
      line(toX(tick), size.top, toX(tick), size.bottom, tick ? "opacity: 0.25" : ""),
      element("text", { x: toX(tick), y: size.bottom + 16 }, String(tick).replace("-", "\u2212")));
  }
  const truth = line(0, size.top, 0, size.bottom, "stroke: var(--course-accent); stroke-dasharray: 4 3");
  left.svg.append(truth);
  const step = (size.bottom - size.top) / shown;
  const rows = [...Array(shown).keys()].map((i) => {
    const y = size.top + step * (i + 0.5);
    const bar = element("line", { y1: y, y2: y, "stroke-linecap": "round" });
    const dot = element("circle", { cy: y, r: 2.6 });
    left.svg.append(bar, dot);
    return { bar, dot };
  });

  // Power: the share of experiments that find the difference, for each number of pairs.
  const right = panel("share of all experiments that find it");
  const pairX = (n) => 40 + (size.right - 46) * (n - 2) / (most - 2);
  const shareY = (share) => size.bottom - (size.bottom - size.top) * share;
  for (const share of [0, 0.5, 0.8, 1]) {
    right.svg.append(
      line(36, shareY(share), size.right, shareY(share),
        share === 0.8 ? "stroke-dasharray: 4 3" : share ? "opacity: 0.25" : ""),
      element("text", { x: 30, y: shareY(share) + 4, style: "text-anchor: end" }, `${100 * share}`));
  }
  for (const n of [2, 5, 10, 15, 20]) {
    right.svg.append(element("text", { x: pairX(n), y: size.bottom + 16 }, n));
  }
  const curve = element("path", { class: "curve" });
  const knob = element("circle", { class: "knob", r: 6 });
  right.svg.append(curve, knob,
    element("text", { x: (40 + size.right) / 2, y: size.height - 2 }, "pairs (shares in percent)"));
  left.svg.append(element("text", { x: (size.left + size.right) / 2, y: size.height - 2 },
    "difference (dashed: the true one)"));

  function draw() {
    const found = compute();
    found.means.forEach((mean, i) => {
      const half = found.halves[i];
      const colour = mean - half > 0 ? "var(--course-accent)"
        : mean + half < 0 ? "var(--course-warm)" : "var(--course-line)";
      rows[i].bar.setAttribute("x1", toX(mean - half).toFixed(2));
      rows[i].bar.setAttribute("x2", toX(mean + half).toFixed(2));
      rows[i].bar.setAttribute("style", `stroke: ${colour}; stroke-width: ${Math.abs(mean) > half ? 3.5 : 1.5}`);
      rows[i].dot.setAttribute("cx", toX(mean).toFixed(2));
      rows[i].dot.setAttribute("style", `fill: ${colour}`);
    });
    truth.setAttribute("x1", toX(state.difference).toFixed(2));
    truth.setAttribute("x2", toX(state.difference).toFixed(2));
    curve.setAttribute("d", found.found.map((count, i) =>
      `${i ? "L" : "M"}${pairX(i + 2).toFixed(1)} ${shareY(count / experiments).toFixed(1)}`).join(""));
    const here = found.found[state.pairs - 2];
    knob.setAttribute("cx", pairX(state.pairs).toFixed(2));
    knob.setAttribute("cy", shareY(here / experiments).toFixed(2));
    const enough = found.found.findIndex((count) => count >= 0.8 * experiments);
    const wanted = enough < 0 ? `more than ${most} pairs` : `${enough + 2} pairs`;
    say(state.difference
      ? `${state.pairs} pairs find the difference in ${here} of ${experiments} experiments. Four in five take ${wanted}.`
      : `There is no difference, and ${state.pairs} pairs find one in ${here} of ${experiments} experiments.`,
    { ...state }, found);
  }

  const range = (label, name, min, max, step, show) => control(label,
    { type: "range", min, max, step, value: state[name] },
    (value) => { state[name] = value; draw(); }, show);

  root.append(
    element("div", { class: "figure-panels" }, left.holder, right.holder),
    element("div", { class: "figure-controls" },
      range("true difference", "difference", 0, 0.1, 0.005, (value) => value.toFixed(3)),
      range("spread of the differences", "spread", 0.01, 0.1, 0.005, (value) => value.toFixed(3)),
      range("pairs", "pairs", 2, most, 1, String)),
    spoken);
  draw();
};
