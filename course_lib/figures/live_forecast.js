(root, data, { element, control, speaker, loader }) => {
  const names = { informer: "Informer", line: "line", yesterday: "yesterday", last: "last value" };
  const places = [["encoder", 0, "encoder, layer 1"], ["encoder", 1, "encoder, layer 2"],
    ["decoder", 0, "decoder, self-attention"], ["cross", 0, "cross-attention"]];
  const [HOURS, JUMP] = [data.wander.length, 200];
  const { spoken, say } = speaker(root);
  loader(root, spoken, "forecast", data.kilobytes, (file) => show(window.courseRuntime.forecast(file)));

  function show(model) {
    const { seq_len: READ, pred_len: AHEAD, n_heads: H } = model.config;
    const inOrder = [...Array(READ).keys()];
    const state = { ...data, order: inOrder, off: [] };
    const size = { width: 360, left: 26, right: 354, top: 8, bottom: 150 };

    const series = () => data.wander.map((chance, t) => state.level + state.trend * (t - HOURS / 2) / 24
      + state.swing * Math.cos(2 * Math.PI * (t - 15) / 24) + state.noise * chance + (t >= JUMP ? state.jump : 0));

    function shuffle(wanted) {
      state.order = [...inOrder];
      for (let i = wanted ? READ - 1 : 0; i > 0; i--) {
        const j = Math.floor(Math.random() * (i + 1));
        [state.order[i], state.order[j]] = [state.order[j], state.order[i]];
      }
    }

    const svg = element("svg", { viewBox: `0 0 ${size.width} 172`, role: "img" });
    const strip = element("svg", { viewBox: `0 0 ${size.width} 34`, "aria-hidden": "true" });
    const pathOf = (values, toX, toY) => values.map((value, t) =>
      `${t ? "L" : "M"}${toX(t).toFixed(1)} ${toY(value).toFixed(1)}`).join("");
    const rows = Object.keys(names).map((name) => {
      const word = element("span", { class: "live-word" });
      const swatch = element("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" },
        element("path", { d: "M0 5L24 5", class: `curve ${name}` }));
      const [bar, share] = ["bar", "share"].map((part) => element("span", { class: `live-${part}` }));
      word.append(swatch, names[name]);
      return { name, bar, share, line: element("li", {}, word, bar, share) };
    });

    const heads = places.map(([kind, layer, title]) => {
      const cards = [...Array(H).keys()].map((head) => {
        const label = control(`${head + 1}`, { type: "checkbox", checked: true, "aria-label": `${title}, head ${head + 1} is on` }, (on) => {
          state.off = state.off.filter(([k, l, h]) => k !== kind || l !== layer || h !== head);
          if (!on) state.off.push([kind, layer, head]);
          card.classList.toggle("is-off", !on);
          draw();
        });
        const map = kind === "cross" ? element("canvas", { "aria-hidden": "true" }) : "";
        const card = element("div", { class: "live-card" }, label, map);
        return { card, map };
      });
      return { title, cards };
    });
    const maps = heads.at(-1).cards.map(({ map }) => map);

    function picture(whole, read, forecasts, truth) {
      const every = [...read, ...truth, ...Object.values(forecasts).flat()];
      const [low, high] = [Math.floor(Math.min(...every)), Math.ceil(Math.max(...every))];
      const toX = (t) => size.left + (size.right - size.left) * t / (READ + AHEAD - 1);
      const toY = (value) => size.bottom - (size.bottom - size.top) * (value - low) / (high - low);
      const ticks = [-READ, -READ / 2, 0, AHEAD];
      svg.replaceChildren(
        element("rect", { x: toX(READ - 0.5), y: size.top, width: size.right - toX(READ - 0.5), height: size.bottom - size.top, class: "ahead" }),
        ...[low, high].map((value) => element("text", { x: size.left - 4, y: toY(value) + 4, class: "degrees" }, `${value}`.replace("-", "\u2212"))),
        ...ticks.map((t) => element("text", { x: Math.min(toX(READ + t), size.right - 14), y: size.bottom + 15 },
          t ? `${t < 0 ? "\u2212" : "+"}${Math.abs(t)} h` : "now")),
        element("path", { d: pathOf(read, toX, toY), class: "curve truth" }),
        ...Object.entries({ ...forecasts, truth }).map(([name, values]) =>
          element("path", { d: pathOf(values, (t) => toX(READ + t), toY), class: `curve ${name}` })));
      const [least, most] = [Math.min(...whole), Math.max(...whole)];
      const along = (t) => size.left + (size.right - size.left) * t / (HOURS - 1);
      strip.replaceChildren(
        element("rect", { x: along(state.hour - READ), y: 1, width: along(READ) - size.left, height: 32, class: "window" }),
        element("rect", { x: along(state.hour), y: 1, width: along(AHEAD) - size.left, height: 32, class: "ahead" }),
        element("path", { d: pathOf(whole, along, (value) => 30 - 26 * (value - least) / (most - least || 1)), class: "curve truth" }));
    }

    function draw() {
      const whole = series();
      const start = state.hour - READ;
      const values = whole.slice(start, state.hour);
      values[READ - 1] += state.last;
      const inputs = { values, truth: whole.slice(state.hour, state.hour + AHEAD), start,
        order: state.order, placed: state.placed, timed: state.timed, off: state.off };
      const found = model.forecast(inputs);
      const { errors } = found;
      picture(whole, state.order.map((n) => values[n]), found.forecasts, inputs.truth);
      const worst = Math.max(...Object.values(errors)) || 1;
      for (const { name, bar, share } of rows) {
        bar.style.setProperty("--share", errors[name] / worst);
        share.textContent = errors[name].toFixed(3);
      }
      const most = Math.max(...found.maps.flat(2));
      found.maps.forEach((map, h) => window.courseRuntime.paint(maps[h], map, most));
      const order = Object.keys(names).sort((a, b) => errors[a] - errors[b]);
      const text = `Forecast from hour ${state.hour}. Squared errors: ${order.map((name) => `${names[name]} ${errors[name].toFixed(3)}`).join(", ")}.`;
      svg.setAttribute("aria-label", `The history, the day after it and four forecasts. ${text}`);
      say(text, inputs, found);
    }

    const range = (label, name, min, max, step = 1) => control(label, { type: "range", min, max, step, value: state[name] },
      (value) => { state[name] = value; draw(); }, (value) => `${value}`.replace("-", "\u2212"));
    const box = (label, name, change = () => {}) => control(label, { type: "checkbox", checked: data[name] },
      (on) => { state[name] = on; change(on); draw(); });
    const title = (text) => element("p", { class: "live-title" }, text);
    const first = range("forecast from hour", "hour", READ, HOURS - AHEAD);
    root.querySelector(".figure-scroll")?.remove();
    root.append(
      element("div", { class: "live-columns" },
        element("div", { class: "figure-panel" }, title("The history, the day to come (shaded), four forecasts"), svg, strip),
        element("div", {}, title("Mean squared error"),
          element("ul", { class: "live-next" }, ...rows.map(({ line }) => line)))),
      element("div", { class: "figure-controls live-controls" }, first,
        range("level", "level", 0, 30), range("daily swing", "swing", 0, 8, 0.5), range("trend, a day", "trend", -3, 3, 0.5),
        range("chance", "noise", 0, 3, 0.5), range("jump", "jump", -10, 10), range("raise last hour", "last", -10, 10),
        box("shuffle the history", "shuffled", shuffle), box("positions", "placed"), box("calendar", "timed")),
      element("details", {}, element("summary", {}, "The Informer's heads"),
        ...heads.flatMap(({ title: name, cards }) => [title(name), element("div", { class: "live-maps" }, ...cards.map(({ card }) => card))]),
        element("p", { class: "live-kept" }, "A map has a row for each hour to come and a column for every second hour of the history.")),
      spoken);
    shuffle(state.shuffled);
    draw();
    first.querySelector("input").focus();
  }
};
