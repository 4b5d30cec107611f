(root, data, { element, control, speaker }) => {
  const state = { patches: data.patches, order: [...data.order], telling: data.telling };
  const side = 4;
  const n = side * side;
  const range = (count) => [...Array(count).keys()];
  const here = range(n);
  const { spoken, say } = speaker(root);
  let held = null;

  // Sines and cosines of row and column, in four channels each; nothing for a patch without a place.
  function code(place) {
    if (place < 0) return Array(8).fill(0);
    return [Math.floor(place / side), place % side]
      .flatMap((p) => [1, 0.01].flatMap((rate) => [Math.sin(p * rate), Math.cos(p * rate)]));
  }

  const colours = state.patches.map((patch) => [1, 3, 5].map((i) =>
    patch.reduce((sum, pixel) => sum + parseInt(pixel.slice(i, i + 2), 16), 0) / patch.length));
  const features = colours.map((rgb) => [...rgb.map((c) => 2 * (c / 127.5 - 1)), 0, 0, 0, 0, 0]);

  function pooled(shown, places) {
    const x = shown.map((patch, t) => code(places[t]).map((c, i) => c + features[patch][i]));
    const mean = Array(8).fill(0);
    for (const q of x) {
      const scores = x.map((k) => k.reduce((sum, c, i) => sum + c * q[i], 0) / Math.sqrt(8));
      const top = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - top));
      const total = weights.reduce((a, b) => a + b);
      x.forEach((v, j) => v.forEach((c, i) => { mean[i] += c * weights[j] / total / n; }));
    }
    return mean;
  }

  function compute() {
    const { order, telling } = state;
    const shown = telling === "positions" ? here : order;
    const none = Array(n).fill(-1);
    const places = { together: order, patches: here, positions: order, none }[telling];
    const now = pooled(shown, places);
    const before = pooled(here, telling === "none" ? none : here);
    return {
      tokens: shown.map((patch, t) => [patch, places[t]]),
      moved: shown.filter((patch, t) => places[t] >= 0 && places[t] !== patch).length,
      change: Math.max(...now.map((value, i) => Math.abs(value - before[i]))),
    };
  }

  function drawing(patch) {
    const svg = element("svg", { viewBox: "0 0 4 4", "aria-hidden": "true" });
    if (patch < 0) return svg;
    svg.append(...state.patches[patch].map((fill, i) => element("rect", {
      x: i % side, y: Math.floor(i / side), width: 1.02, height: 1.02, fill,
    })));
    return svg;
  }

  // Pressing one token and then another exchanges them.
  const buttons = here.map((t) => element("button", { type: "button", onclick: () => press(t) }));
  const received = element("div", { class: "figure-patches", role: "group", "aria-label": "Tokens" },
    ...buttons);
  const known = element("div", { class: "figure-patches known", role: "img" });

  function press(t) {
    if (held === null) held = t;
    else {
      [state.order[t], state.order[held]] = [state.order[held], state.order[t]];
      held = null;
    }
    draw();
  }

  function shuffle() {
    for (let i = n - 1; i > 0; i -= 1) {
      const j = Math.floor(Math.random() * (i + 1));
      [state.order[i], state.order[j]] = [state.order[j], state.order[i]];
    }
    held = null;
    draw();
  }

  function draw() {
    const found = compute();
    const name = (place) => (place < 0 ? "?" : `${Math.floor(place / side)},${place % side}`);
    found.tokens.forEach(([patch, place], t) => {
      buttons[t].replaceChildren(drawing(patch), element("span", {}, name(place)));
      buttons[t].setAttribute("aria-pressed", held === t);
      buttons[t].setAttribute("aria-label", `token ${t}: patch from row ${Math.floor(patch / side)}, `
        + `column ${patch % side}, told ${place < 0 ? "nothing" : name(place).replace(",", ", ")}`);
    });
    const at = new Map(found.tokens.map(([patch, place]) => [place, patch]));
    const unknown = found.tokens[0][1] < 0;
    known.replaceChildren(...here.map((place) => drawing(unknown ? -1 : at.get(place))));
    known.setAttribute("aria-label", unknown ? "Nothing: no patch has a place"
      : `The image with ${found.moved} patches in a wrong place`);
    const told = unknown ? "No patch is told a place."
      : `${found.moved} of ${n} patches are told a place that isn't theirs.`;
    say(`${told} The mean output of the attention layer changes by ${found.change.toFixed(3)}.`,
      { ...state, order: [...state.order] }, found);
  }

  const tellings = [
    ["together", "patches and positions move together"],
    ["patches", "patches move, positions stay"],
    ["positions", "positions move, patches stay"],
    ["none", "patches move, there are no positions"],
  ];
  const panel = (caption, content) =>
    element("div", { class: "figure-panel" }, element("p", {}, caption), content);
  root.append(
    element("div", { class: "figure-controls" },
      control("what moves", { options: tellings, value: state.telling },
        (value) => { state.telling = value; draw(); }),
      element("div", { class: "figure-buttons" },
        element("button", { type: "button", onclick: shuffle }, "Shuffle"),
        element("button", { type: "button",
          onclick: () => { state.order = [...here]; held = null; draw(); } }, "Put back"))),
    element("div", { class: "figure-panels" },
      panel("tokens, in the order of reading", received),
      panel("the image that can be put together", known)),
    spoken);
  draw();
};
