(root, data, { element, control, slider, place, speaker }) => {
  const state = {
    scores: [...data.scores], d_head: data.d_head, scaled: data.scaled, temperature: data.temperature,
  };
  const count = state.scores.length;
  const size = { width: 320, height: 210, top: 16, bottom: 186 };
  const step = size.width / count;
  const { spoken, say } = speaker(root);

  function compute() {
    const factor = (state.scaled ? 1 : Math.sqrt(state.d_head)) / state.temperature;
    const logits = state.scores.map((score) => score * factor);
    const largest = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const total = powers.reduce((a, b) => a + b);
    const weights = powers.map((power) => power / total);
    const entropy = -weights.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
    const slope = 1 - weights.reduce((sum, w) => sum + w * w, 0);
    return { logits, weights, entropy, slope };
  }

  function panel(caption) {
    const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}` });
    const holder = element("div", { class: "figure-panel" }, element("p", {}, caption), svg);
    return { svg, holder };
  }

  // Scores: a bar up or down from the middle, dragged by its handle.
  const middle = (size.top + size.bottom) / 2;
  const perUnit = (size.bottom - size.top) / 6;
  const left = panel("unit scores of the keys");
  left.svg.setAttribute("role", "group");
  left.svg.setAttribute("aria-label", "Scores of the keys");
  left.svg.append(element("line", { x1: 0, x2: size.width, y1: middle, y2: middle, class: "axis" }));
  const scoreBars = state.scores.map((_, i) => {
    const hit = element("rect", { x: i * step, y: 0, width: step, height: size.height, class: "hit" });
    const bar = element("rect", { x: i * step + step * 0.25, width: step * 0.5, class: "bar muted" });
    const knob = element("circle", { cx: (i + 0.5) * step, r: 8, class: "knob" });
    const number = element("text", { x: (i + 0.5) * step, y: size.height - 4, class: "number" });
    const group = element("g", { class: "draggable" }, hit, bar, knob, number);
    slider(group, {
      label: `Score of key ${i + 1}`, min: -3, max: 3, step: 0.1,
      get: () => state.scores[i],
      set: (value) => { state.scores[i] = value; draw(); },
      toValue: (event) => (middle - place(left.svg, event).y) / perUnit,
    });
    left.svg.append(group);
    return { bar, knob, number };
  });

  // Weights: a bar from the bottom, with its number above.
  const right = panel("weights after the softmax");
  right.svg.setAttribute("aria-hidden", "true");
  right.svg.append(
    element("line", { x1: 0, x2: size.width, y1: size.bottom, y2: size.bottom, class: "axis" }));
  const weightBars = state.scores.map((_, i) => {
    const bar = element("rect", { x: i * step + step * 0.2, width: step * 0.6, class: "bar" });
    const number = element("text", { x: (i + 0.5) * step, class: "number" });
    const name = element("text", { x: (i + 0.5) * step, y: size.height - 4, class: "name" }, `key ${i + 1}`);
    right.svg.append(bar, number, name);
    return { bar, number };
  });

  function draw() {
    const found = compute();
    state.scores.forEach((score, i) => {
      const y = middle - score * perUnit;
      scoreBars[i].bar.setAttribute("y", Math.min(y, middle));
      scoreBars[i].bar.setAttribute("height", Math.abs(y - middle));
      scoreBars[i].knob.setAttribute("cy", y);
      scoreBars[i].number.textContent = score.toFixed(1).replace("-", "\u2212");
      const height = found.weights[i] * (size.bottom - size.top - 14);
      weightBars[i].bar.setAttribute("y", size.bottom - height);
      weightBars[i].bar.setAttribute("height", height);
      weightBars[i].number.setAttribute("y", size.bottom - height - 5);
      weightBars[i].number.textContent = found.weights[i].toFixed(3);
    });
    const text = `Largest weight ${Math.max(...found.weights).toFixed(3)}. `
      + `Entropy ${found.entropy.toFixed(2)} nats of at most ${Math.log(count).toFixed(2)}. `
      + `Gradient that gets through: ${found.slope.toFixed(3)}.`;
    say(text, { ...state, scores: [...state.scores] }, found);
  }

  const power = Math.round(Math.log(state.d_head) / Math.log(4));
  root.append(
    element("div", { class: "figure-panels" }, left.holder, right.holder),
    element("div", { class: "figure-controls" },
      control("head width", { type: "range", min: 0, max: 5, step: 1, value: power },
        (value) => { state.d_head = 4 ** value; draw(); }, (value) => String(4 ** value)),
      control("temperature", { type: "range", min: 0.1, max: 4, step: 0.1, value: state.temperature },
        (value) => { state.temperature = value; draw(); }, (value) => value.toFixed(1)),
      control("divide by the root of the head width", { type: "checkbox", checked: state.scaled },
        (value) => { state.scaled = value; draw(); })),
    spoken);
  draw();
};
