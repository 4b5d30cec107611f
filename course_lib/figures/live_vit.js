(root, data, { element, control, speaker, loader }) => {
  const { spoken, say } = speaker(root);
  loader(root, spoken, "vit", data.kilobytes, (file) => show(window.courseRuntime.vit(file)));

  function show(model) {
    const { n_layers: L, n_heads: H, image_size: size, patch_size: P, classes } = model.config;
    const count = (n) => [...Array(n).keys()];
    const side = size / P;
    const inOrder = count(side * side);
    const names = ["rollout", ...count(L * H).map((n) => `layer ${Math.floor(n / H) + 1}, head ${n % H + 1}`)];
    const state = { name: data.picture, pixels: [], order: inOrder, placed: data.placed, shown: data.shown,
      colour: "#808080", brush: 1, at: [0, 0] };

    // The drawings have three bytes a pixel; the model reads channel after channel.
    function choose(name) {
      const bytes = atob(data.pictures[name]);
      state.name = name;
      state.pixels = count(3 * size * size).map((n) =>
        bytes.charCodeAt(3 * (n % (size * size)) + Math.floor(n / (size * size))));
    }

    function shuffle(wanted) {
      state.order = [...inOrder];
      for (let i = wanted ? side * side - 1 : 0; i > 0; i--) {
        const j = Math.floor(Math.random() * (i + 1));
        [state.order[i], state.order[j]] = [state.order[j], state.order[i]];
      }
    }

    // Paints what is at a row and column of what is seen, wherever its patch came from.
    function paint() {
      const value = (channel) => parseInt(state.colour.slice(1 + 2 * channel, 3 + 2 * channel), 16);
      const [row, column] = state.at.map((n) => n - n % state.brush);
      for (let y = row; y < row + state.brush; y++) for (let x = column; x < column + state.brush; x++) {
        const patch = state.order[Math.floor(y / P) * side + Math.floor(x / P)];
        for (const c of [0, 1, 2]) state.pixels[model.places[patch][(c * P + y % P) * P + x % P]] = value(c);
      }
      draw();
    }
    const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const inside = (n) => Math.min(size - 1, Math.max(0, n));
    function press(event) {
      if (event.key === " " || event.key === "Enter") paint();
      else if (event.key in arrows) {
        state.at = state.at.map((n, i) => inside(n - n % state.brush + arrows[event.key][i] * state.brush));
        draw();
      } else return;
      event.preventDefault();
    }
    function point(event) {
      const box = canvas.getBoundingClientRect();
      state.at = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width]
        .map((share) => inside(Math.floor(share * size)));
      paint();
    }
    const scale = 8;
    const canvas = element("canvas", { width: size * scale, height: size * scale, tabindex: 0, role: "application",
      class: "live-picture", "aria-label": "the image: arrow keys move the brush, space paints",
      onkeydown: press, onfocus: () => draw(), onblur: () => draw(),
      onpointerdown: (event) => { canvas.setPointerCapture(event.pointerId); point(event); },
      onpointermove: (event) => { if (canvas.hasPointerCapture(event.pointerId)) point(event); } });
    const large = element("canvas", { class: "live-picture", role: "img" });

    const lines = classes.map(() => {
      const [word, bar, share] = ["word", "bar", "share"].map((name) => element("span", { class: `live-${name}` }));
      return { word, bar, share, line: element("li", {}, word, bar, share) };
    });
    const sure = element("p", { class: "live-kept" });
    const title = element("p", { class: "live-title" });
    const cards = names.map((name, n) => {
      const map = element("canvas", { "aria-hidden": "true" });
      const pick = element("button", { type: "button", class: "live-pick", "aria-label": `read ${name}`,
        onclick: () => { state.shown = n; draw(); } }, map, element("span", {}, n ? `${Math.floor((n - 1) / H) + 1}.${(n - 1) % H + 1}` : "rollout, through all layers"));
      return { map, pick };
    });

    function drawPicture() {
      const pen = canvas.getContext("2d");
      state.order.forEach((patch, place) => model.places[patch].slice(0, P * P).forEach((from, i) => {
        const rgb = [0, 1, 2].map((c) => state.pixels[from + c * size * size]);
        pen.fillStyle = `rgb(${rgb})`;
        const [y, x] = [Math.floor(place / side) * P + Math.floor(i / P), place % side * P + i % P];
        pen.fillRect(x * scale, y * scale, scale, scale);
      }));
      pen.fillStyle = "rgba(255, 255, 255, 0.45)";
      for (let n = 1; n < side; n++) {
        pen.fillRect(n * P * scale, 0, 1, size * scale);
        pen.fillRect(0, n * P * scale, size * scale, 1);
      }
      if (document.activeElement !== canvas) return;
      const [y, x] = state.at.map((n) => (n - n % state.brush) * scale);
      for (const [colour, rim] of [["black", 1], ["white", 3]]) {
        pen.strokeStyle = colour;
        pen.strokeRect(x + rim - 1.5, y + rim - 1.5, state.brush * scale + 3 - 2 * rim, state.brush * scale + 3 - 2 * rim);
      }
    }

    function draw(note = "") {
      const inputs = { pixels: state.pixels, order: state.order, placed: state.placed };
      const found = model.classify(inputs);
      const { probabilities } = found;
      drawPicture();
      const best = classes.map((_, n) => n).sort((a, b) => probabilities[b] - probabilities[a]);
      lines.forEach(({ word, bar, share }, n) => {
        word.textContent = classes[best[n]];
        bar.style.setProperty("--share", probabilities[best[n]]);
        share.textContent = probabilities[best[n]].toFixed(2);
      });
      const bin = Math.min(9, Math.ceil(10 * probabilities[best[0]]) - 1);
      const [held, right] = data.bins[bin];
      sure.textContent = `${held} test photographs were answered as surely as this (${bin / 10} to ${(bin + 1) / 10}), and `
        + `${(100 * right).toFixed(0)} % of these answers are correct. That holds for such photographs, in order and with positions.`;
      const maps = [found.rollout, ...found.attention.flat()].map((row) => row.slice(1));
      const rows = (map) => count(side).map((y) => map.slice(y * side, (y + 1) * side));
      maps.forEach((map, n) => {
        window.courseRuntime.paint(cards[n].map, rows(map), Math.max(...map));
        cards[n].pick.setAttribute("aria-pressed", state.shown === n);
      });
      const map = maps[state.shown];
      const most = map.indexOf(Math.max(...map));
      window.courseRuntime.paint(large, rows(map), map[most]);
      title.textContent = `The class token's map: ${names[state.shown]}`;
      large.setAttribute("aria-label", title.textContent);
      const brush = document.activeElement === canvas ? `Brush at row ${state.at[0] + 1}, column ${state.at[1] + 1}. ` : "";
      say(`${note}${brush}Answer: ${classes[best[0]]}, with probability ${probabilities[best[0]].toFixed(2)}. Map: ${names[state.shown]}, largest at row `
        + `${Math.floor(most / side) + 1}, column ${most % side + 1}, with ${map[most].toFixed(2)}.`, inputs, found);
    }

    async function load({ target }) {
      if (!target.files[0]) return;
      try {
        state.pixels = await model.read(target.files[0]);
      } catch {
        return draw("This file is no image that the browser can read. ");
      }
      draw();
    }

    root.querySelector(".figure-scroll")?.remove();
    const chosen = control("image", { options: Object.keys(data.pictures).map((name) => [name, name]), value: data.picture },
      (name) => { choose(name); draw(); });
    root.append(
      element("div", { class: "figure-controls live-controls" },
        chosen,
        element("label", {}, element("span", {}, "your own"), element("input", { type: "file", accept: "image/*",
          onclick: ({ target }) => { target.value = ""; }, onchange: load })),
        control("paint with", { type: "color", value: state.colour }, (colour) => { state.colour = colour; }),
        control("brush", { options: [[1, "one pixel"], [2, "2 x 2 pixels"], [P, "a whole patch"]], value: 1 },
          (brush) => { state.brush = Number(brush); draw(); }),
        control("shuffle the patches", { type: "checkbox", checked: data.shuffled }, (on) => { shuffle(on); draw(); }),
        control("positions", { type: "checkbox", checked: data.placed }, (on) => { state.placed = on; draw(); })),
      element("div", { class: "live-columns" },
        element("div", {}, element("p", { class: "live-title" }, `What is read, in ${side * side} patches`), canvas),
        element("div", {}, title, large)),
      element("div", { class: "live-columns" },
        element("div", {}, element("p", { class: "live-title" }, "How probable each class is"),
          element("ol", { class: "live-next" }, ...lines.map(({ line }) => line)), sure),
        element("div", {}, element("p", { class: "live-title" }, "All maps (layer.head): press one to read it"),
          element("div", { class: "live-maps" }, ...cards.map(({ pick }) => pick)))),
      spoken);
    choose(data.picture);
    shuffle(data.shuffled);
    draw();
    chosen.querySelector("select").focus();
  }
};
