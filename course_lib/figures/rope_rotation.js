(root, data, { element, control, slider, place, speaker }) => {
  const state = { query: data.query, key: data.key, base: data.base };
  let together = data.together;
  const last = 64;
  const query = [0.9, 0.3, 0.8, -0.4, 0.2, 0.9, -0.6, 0.7];
  const key = [1.0, 0.1, 0.6, -0.7, 0.5, 0.8, -0.8, 0.4];
  const largest = 4.2;
  const size = { width: 320, height: 210, left: 12, right: 308, top: 14, bottom: 180 };
  const { spoken, say } = speaker(root);

  function turned(x, position) {
    return [0, 1, 2, 3].flatMap((i) => {
      const angle = position * state.base ** (-i / 4);
      const [a, b] = [x[2 * i], x[2 * i + 1]];
      return [a * Math.cos(angle) - b * Math.sin(angle), a * Math.sin(angle) + b * Math.cos(angle)];
    });
  }

  function compute() {
    const queryHands = turned(query, state.query);
    const dot = (x) => x.reduce((sum, value, c) => sum + value * queryHands[c], 0);
    const curve = [...Array(last + 1).keys()].map((n) => dot(turned(key, n)));
    const keyHands = turned(key, state.key);
    const parts = [0, 1, 2, 3].map((i) =>
      queryHands[2 * i] * keyHands[2 * i] + queryHands[2 * i + 1] * keyHands[2 * i + 1]);
    return {
      query_hands: queryHands, key_hands: keyHands, parts, score: curve[state.key], curve,
    };
  }

  function panel(caption) {
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}` });
    const holder = element("div", { class: "figure-panel" }, element("p", {}, caption), svg);
    return { svg, holder };
  }

  // Dials: a pair of channels each, its first one to the right and its second one upwards.
  const left = panel("query and key, a dial for each pair");
  left.svg.setAttribute("aria-hidden", "true");
  const radius = 38;
  const dials = [0, 1, 2, 3].map((i) => {
    const x = 85 + 150 * (i % 2);
    const y = 46 + 104 * Math.floor(i / 2);
    const hand = (kind) => ({
      line: element("line", { class: `hand ${kind}` }),
      tip: element("circle", { r: 4.5, class: `tip ${kind}` }),
    });
    const hands = { key_hands: hand("second"), query_hands: hand("first") };
    const label = element("text", { x, y: y + radius + 14, style: "font-size: 12px" });
    left.svg.append(element("circle", { cx: x, cy: y, r: radius, class: "dial" }),
      ...Object.values(hands).flatMap(({ line, tip }) => [line, tip]), label);
    return { x, y, hands, label };
  });

  // The curve: the score of keys at every position, with a point to drag along it.
  const right = panel("score by position of the key");
  right.svg.setAttribute("role", "group");
  right.svg.setAttribute("aria-label", "Score of the query with keys at every position");
  const middle = (size.top + size.bottom) / 2;
  const toX = (n) => size.left + (size.right - size.left) * n / last;
  const toY = (value) => middle - value / largest * (size.bottom - size.top) / 2;
  const line = element("path", { class: "curve" });
  const here = element("line", { y1: size.top, y2: size.bottom, class: "axis" });
  const knob = element("circle", { r: 8, class: "knob second" });
  const hit = element("rect", { x: 0, y: 0, width: size.width, height: size.bottom, class: "hit" });
  const group = element("g", { class: "draggable sideways" }, hit, knob);
  const ticks = [0, 16, 32, 48, 64].map((n) =>
    element("text", { x: toX(n), y: size.bottom + 18 }, String(n)));
  right.svg.append(
    element("line", { x1: size.left, x2: size.right, y1: middle, y2: middle, class: "axis" }),
    here, ...ticks, line, group);
  slider(group, {
    label: "Position of the key", min: 0, max: last, step: 1, orientation: "horizontal",
    get: () => state.key,
    set: (value) => { state.key = value; draw(); },
    toValue: (event) => (place(right.svg, event).x - size.left) / (size.right - size.left) * last,
  });

  function moveQuery(value) {
    if (together) {
      state.key = Math.min(last, Math.max(0, state.key + value - state.query));
      group.setAttribute("aria-valuenow", state.key);
    }
    state.query = value;
    draw();
  }

  function draw() {
    const found = compute();
    dials.forEach(({ x, y, hands, label }, i) => {
      for (const [which, { line: shaft, tip }] of Object.entries(hands)) {
        const end = {
          x: x + radius * 0.92 * found[which][2 * i],
          y: y - radius * 0.92 * found[which][2 * i + 1],
        };
        for (const [name, value] of [["x1", x], ["y1", y], ["x2", end.x], ["y2", end.y]]) {
          shaft.setAttribute(name, value.toFixed(2));
        }
        tip.setAttribute("cx", end.x.toFixed(2));
        tip.setAttribute("cy", end.y.toFixed(2));
      }
      label.textContent = found.parts[i].toFixed(2);
    });
    line.setAttribute("d", found.curve
      .map((value, n) => `${n ? "L" : "M"}${toX(n).toFixed(2)} ${toY(value).toFixed(2)}`).join(""));
    here.setAttribute("x1", toX(state.query));
    here.setAttribute("x2", toX(state.query));
    knob.setAttribute("cx", toX(state.key));
    knob.setAttribute("cy", toY(found.score).toFixed(2));
    const text = `Query at ${state.query}, key at ${state.key}, distance `
      + `${state.key - state.query}: score ${found.score.toFixed(2)}. The four pairs add `
      + `${found.parts.map((part) => part.toFixed(2)).join(", ")}.`;
    say(text, { ...state }, found);
  }

  root.append(
    element("div", { class: "figure-panels" }, left.holder, right.holder),
    element("div", { class: "figure-controls" },
      control("position of the query",
        { type: "range", min: 0, max: last, step: 1, value: state.query }, moveQuery, String),
      control("base", { type: "range", min: 1, max: 4, step: 1, value: Math.round(Math.log10(state.base)) },
        (value) => { state.base = 10 ** value; draw(); }, (value) => String(10 ** value)),
      control("both move together", { type: "checkbox", checked: together },
        (value) => { together = value; })),
    spoken);
  draw();
};
