(root, data, { element, control, speaker, mulberry32 }) => {
  const { mirror, paint } = window.courseRuntime;
  const { length: T, digits: V, steps: END, formulas, example, rates } = data.sizes;
  const { spoken, say } = speaker(root);
  const state = { arrangement: data.arrangement, blocks: data.blocks, rate: data.rate, warm: data.warm_up, seed: data.seed };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const size = { width: 430, height: 220, left: 34, right: 410, top: 10, bottom: 180, most: 3 };
  const earlier = [];
  let run, model, next, test, running, shown;

  const percent = (share) => `${Math.round(100 * share)}%`;
  const described = ({ arrangement, blocks, rate, warm, seed }) =>
    `${formulas[arrangement]}; blocks: ${blocks}; learning rate ${rate}${warm ? ", with warm-up" : ""}; seed ${seed}`;
  const loss = ({ losses }) => (losses.length ? losses.at(-1) : NaN);
  const told = (value) => (value < 1000 ? value.toFixed(2) : value > 0 ? "over 1000" : "\u2013");
  const sequences = (draw, n) => Array.from({ length: n * T }, () => Math.floor(V * draw()));

  // Weights, batches and test have a seed each, so that any run can be had again.
  function begin() {
    if (run?.losses.length) {
      earlier.unshift(run);
      earlier.length = Math.min(earlier.length, 4);
    }
    run = { ...state, number: (run?.number ?? 1) + (run?.losses.length ? 1 : 0), losses: [], accuracy: 0 };
    model = mirror({ ...data.sizes, ...state, weights: 3 * state.seed });
    next = mulberry32(3 * state.seed + 1);
    test = sequences(mulberry32(3 * state.seed + 2), data.sizes.test);
    pause();
  }
  function examine() {
    run.accuracy = model.guess(test).accuracy;
  }
  function step() {
    const warm = run.warm ? Math.min(1, (run.losses.length + 1) / data.sizes.warmUp) : 1;
    run.losses.push(model.learn(sequences(next, data.sizes.batch), run.rate * warm));
    if (run.losses.length % 10 === 0) examine();
  }

  // A step for each frame, so that the page stays alive; where nothing should move, few frames.
  function go() {
    running = requestAnimationFrame(() => {
      step();
      if (run.losses.length >= END) return pause();
      if (!calm.matches || run.losses.length % 50 === 0) draw();
      return go();
    });
  }
  function pause() {
    cancelAnimationFrame(running);
    running = 0;
    examine();
    rest();
  }

  // The last loss was measured before the last step; what is shown comes after it.
  function rest() {
    draw();
    const { loss: own, logits, maps } = shown;
    say(`${described(run)}. After ${run.losses.length} steps the loss is ${run.losses.length ? told(loss(run)) : "not measured"}, and `
      + `${percent(run.accuracy)} of the fresh digits are right. Guessing has a loss of ${Math.log(V).toFixed(2)} and 10% right.`,
    { arrangement: run.arrangement, blocks: run.blocks, weights: [...model.weights], digits: example },
    { loss: own, logits: [...logits], maps: maps.map(([rows]) => rows) });
  }

  const toX = (n) => size.left + (size.right - size.left) * n / END;
  const toY = (value) => size.bottom - (size.bottom - size.top) * Math.min(value, size.most) / size.most;
  const words = (x, y, text, more = {}) => element("text", { x, y, ...more }, text);
  const guessing = toY(Math.log(V));
  const grid = [0, 1, 2, 3].flatMap((n) => [
    element("line", { x1: size.left, x2: size.right, y1: toY(n), y2: toY(n), class: "axis" }),
    words(size.left - 12, toY(n) + 4, n),
  ]);
  const curves = element("g");
  const svg = element("svg", { viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" },
    ...grid, ...[0, 100, 200, 300].map((n) => words(toX(n), size.bottom + 18, n)),
    element("line", { x1: size.left, x2: size.right, y1: guessing, y2: guessing, class: "guessing" }),
    words(size.right - 70, guessing - 5, "guessing"),
    words((size.left + size.right) / 2, size.bottom + 36, "loss in nats a digit, over the steps"), curves);
  // A loss that is no number, or beyond the plot, is drawn at its upper edge.
  const shownLoss = (value) => (value >= 0 ? value : size.most);
  const path = (losses) => losses.map((value, n) =>
    `${n ? "L" : "M"}${toX(n).toFixed(1)} ${toY(shownLoss(value)).toFixed(1)}`).join("");

  const cards = data.sizes.blocks.at(-1);
  const maps = Array.from({ length: cards }, (_, l) => {
    const canvas = element("canvas", { "aria-hidden": "true" });
    return { canvas, card: element("div", { class: "train-map" }, canvas, `block ${l + 1}`) };
  });
  const every = element("div", { class: "train-maps" }, ...maps.map(({ card }) => card));
  const numbers = element("p", { class: "live-kept" });
  const rows = ["read", "wanted", "written"].map((name) => {
    const cells = example.map((digit, t) => element("td", {}, String(name === "read" ? digit : example[T - 1 - t])));
    return { cells, row: element("tr", {}, element("th", { scope: "row" }, name), ...cells) };
  });
  const list = element("tbody");
  const button = (label, onclick) => element("button", { type: "button", onclick }, label);
  const over = () => run.losses.length >= END;
  const train = button("Train", () => {
    if (running) return pause();
    if (over()) begin();
    train.textContent = "Pause";
    return go();
  });
  const once = button("One step", () => {
    if (running) return pause();
    if (!over()) step();
    return pause();
  });
  const again = button("Start again", begin);

  function draw() {
    shown = model.guess(example);
    const drawn = [run, ...earlier].filter(({ losses }) => losses.length);
    // Each curve has its run's number at its end, and no two numbers lie on each other.
    const ends = drawn.map(({ losses, number }) => ({ number, x: toX(losses.length) + 10, y: toY(shownLoss(losses.at(-1))) }));
    ends.sort((one, other) => other.y - one.y).forEach((end, n) => { if (n) end.y = Math.min(end.y, ends[n - 1].y - 14); });
    curves.replaceChildren(
      ...drawn.toReversed().map((one) => element("path", { d: path(one.losses), class: one === run ? "curve" : "curve faint" })),
      ...ends.map(({ number, x, y }) => words(x, y + 4, number)));
    every.style.setProperty("--maps", run.blocks);
    maps.forEach(({ canvas, card }, l) => {
      card.hidden = l >= run.blocks;
      if (!card.hidden) paint(canvas, shown.maps[l][0].map((row) => row.map((weight) => Math.min(1, weight / 0.6))));
    });
    shown.said.forEach((digit, t) => {
      rows[2].cells[t].textContent = digit;
      rows[2].cells[t].className = digit === example[T - 1 - t] ? "" : "is-wrong";
    });
    numbers.textContent = `Step ${run.losses.length} of ${END}. Loss ${told(loss(run))}. Right on fresh sequences: `
      + `${percent(run.accuracy)}. Weights: ${model.weights.length}.`;
    train.textContent = running ? "Pause" : over() ? "Train again" : run.losses.length ? "Go on" : "Train";
    once.setAttribute("aria-disabled", over());
    list.replaceChildren(...[run, ...earlier].map((one) => element("tr", {},
      element("th", { scope: "row" }, one === run ? `${one.number}, now` : String(one.number)),
      element("td", {}, described(one)), element("td", {}, String(one.losses.length)),
      element("td", {}, told(loss(one))), element("td", {}, percent(one.accuracy)))));
  }

  const change = (name, read = (value) => value) => (value) => { state[name] = read(value); begin(); };
  const pick = (label, name, values) => control(label,
    { type: "range", min: 0, max: values.length - 1, step: 1, value: values.indexOf(state[name]) },
    change(name, (n) => values[n]), (n) => String(values[n]));
  const heads = ["run", "what", "steps", "loss", "right"].map((name) => element("th", { scope: "col" }, name));
  root.classList.add("is-live");
  root.append(element("div", { class: "figure-live" },
    element("div", { class: "figure-controls" },
      control("each sub-layer", { options: Object.entries(formulas), value: state.arrangement }, change("arrangement")),
      pick("blocks", "blocks", data.sizes.blocks),
      pick("learning rate", "rate", rates),
      control("seed", { type: "range", min: 0, max: 9, step: 1, value: state.seed }, change("seed")),
      control(`warm-up over ${data.sizes.warmUp} steps`, { type: "checkbox", checked: state.warm }, change("warm"))),
    element("div", { class: "figure-buttons" }, train, once, again),
    numbers,
    element("div", { class: "figure-panels" },
      element("div", { class: "figure-panel" }, svg),
      element("div", { class: "figure-panel" },
        every,
        element("p", {}, "Attention: a row is a place that writes, a column a digit of the example"),
        element("table", { class: "train-example", "aria-label": "the example" }, element("tbody", {}, ...rows.map(({ row }) => row))))),
    element("div", { class: "figure-scroll", tabindex: 0, role: "region", "aria-label": "the runs" },
      element("table", { class: "train-runs" }, element("thead", {}, element("tr", {}, ...heads)), list)),
    spoken));
  begin();
};
