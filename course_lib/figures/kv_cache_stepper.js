(root, data, { element, control, speaker }) => {
  const { source, target } = data;
  const state = { n_source: source.length, step: data.step, cached: data.cached };
  const last = target.length;
  const { spoken, say } = speaker(root);

  // Rows and scores that are computed at one step.
  function work(step) {
    const { n_source, cached } = state;
    return cached
      ? [1 + (step === 1 ? n_source : 0), step + n_source]
      : [step + n_source, step * (step + n_source)];
  }

  function compute() {
    const { n_source, step, cached } = state;
    const steps = [...Array(step).keys()].map((t) => work(t + 1));
    const [rows, scores] = steps[step - 1];
    return {
      own: [...Array(step - 1).fill(cached ? "kept" : "now"), "now"],
      memory: Array(n_source).fill(step === 1 || !cached ? "now" : "kept"),
      queries: cached ? 1 : step,
      rows, scores,
      rows_so_far: steps.reduce((sum, [r]) => sum + r, 0),
      scores_so_far: steps.reduce((sum, [, s]) => sum + s, 0),
    };
  }

  const said = { now: "computed now", kept: "kept", none: "not there yet" };
  const shown = { now: "now", kept: "kept", none: "\u2013" };
  function strip(label, words) {
    const marks = words.map(() => element("td", {}));
    const table = element("table", { class: "figure-cache" },
      element("caption", {}, label),
      element("thead", {}, element("tr", {}, ...words.map((w) => element("th", { scope: "col" }, w)))),
      element("tbody", {}, element("tr", {}, ...marks)));
    return { marks, table };
  }
  const memory = strip("Memory: keys and values of the source", source);
  const own = strip("Own words: keys and values of what is written", target);
  const asks = own.table.querySelectorAll("th");

  function paint({ marks }, states, words) {
    marks.forEach((cell, i) => {
      const now = states[i] ?? "none";
      cell.className = now;
      cell.textContent = shown[now];
      cell.setAttribute("aria-label", `${words[i]}: ${said[now]}`);
    });
  }

  function draw() {
    const found = compute();
    paint(memory, found.memory, source);
    paint(own, found.own, target);
    asks.forEach((head, i) => {
      head.classList.toggle("asks", i < state.step && i >= state.step - found.queries);
    });
    back.disabled = state.step === 1;
    next.disabled = state.step === last;
    slider.value = state.step;
    slider.dispatchEvent(new Event("shown"));
    say(`Step ${state.step} ${state.cached ? "with" : "without"} a cache. Computed now: rows `
      + `${found.rows}, scores ${found.scores}. So far: rows ${found.rows_so_far}, scores `
      + `${found.scores_so_far}.`, { ...state }, found);
  }

  function go(step) {
    state.step = Math.min(last, Math.max(1, step));
    draw();
  }

  const back = element("button", { type: "button", onclick: () => go(state.step - 1) }, "\u2190 back");
  const next = element("button", { type: "button", onclick: () => go(state.step + 1) }, "next step \u2192");
  const labelled = control("step", { type: "range", min: 1, max: last, step: 1, value: state.step },
    (step) => go(step), (step) => `${step} of ${last}`);
  const slider = labelled.querySelector("input");
  const output = labelled.querySelector("output");
  slider.addEventListener("shown", () => {
    output.textContent = `${state.step} of ${last}`;
    slider.setAttribute("aria-valuetext", output.textContent);
  });

  root.append(
    element("div", { class: "figure-scroll" }, memory.table, own.table),
    element("div", { class: "figure-controls" },
      element("div", { class: "figure-buttons" }, back, next),
      labelled,
      control("with a cache", { type: "checkbox", checked: state.cached },
        (cached) => { state.cached = cached; draw(); })),
    spoken);
  draw();
};
