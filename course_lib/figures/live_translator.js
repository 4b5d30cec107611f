(root, data, { element, control, speaker, loader }) => {
  const kinds = [["cross", "cross-attention"], ["encoder", "encoder, self-attention"], ["decoder", "decoder, self-attention"]];
  const orders = [["trained", "as trained"], ["back", "backwards"], ["mixed", "shuffled"], ["none", "all the same"]];
  const { spoken, say } = speaker(root);
  const button = (label, onclick, more = {}) => element("button", { type: "button", onclick, ...more }, label);
  loader(root, spoken, "translator", data.kilobytes, (file) => show(window.courseRuntime.translator(file)));

  function show(model) {
    const { n_layers: L, n_heads: H } = model.config;
    const [START, END, LONGEST] = ["<bos>", "<eos>", 20];
    const state = {
      source: data.sentences[data.sentence].split(" "), order: data.order, places: [], off: [],
      masked: data.masked, temperature: data.temperature, shown: data.shown, beam: 1,
      words: 0, forced: {}, picked: -1,
    };
    const count = (n) => [...Array(n).keys()];

    function mix() {
      const n = state.source.length;
      state.places = { trained: count(n), back: count(n).reverse(), none: Array(n).fill(0), mixed: count(n) }[state.order];
      if (state.order === "mixed") {
        for (let i = n - 1; i > 0; i--) {
          const j = Math.floor(Math.random() * (i + 1));
          [state.places[i], state.places[j]] = [state.places[j], state.places[i]];
        }
      }
    }

    // Anew after each change: the likeliest words, but for those that the reader has chosen.
    function compute() {
      const reading = model.read(state);
      const written = [];
      let logits = reading.write(START);
      while (written.length < state.words && written.at(-1) !== END) {
        const word = state.forced[written.length] ?? model.target[logits.indexOf(Math.max(...logits))];
        written.push(word);
        if (word !== END) logits = reading.write(word);
      }
      const ended = written.at(-1) === END;
      if (ended) written.pop();
      const probabilities = [...model.softmax(logits.map((logit) => logit / state.temperature))];
      return { written, ended, logits: [...logits], probabilities, maps: reading.maps[state.shown], kept: reading.count(),
        length: state.beam > 1 ? written.length + ended : 0 };
    }

    const text = element("p", { class: "live-text" });
    const kept = element("p", { class: "live-kept" });

    // Nothing happens where nothing can be written any more; the button keeps the keyboard's focus.
    const on = (change) => ({ currentTarget }) => {
      if (currentTarget.getAttribute("aria-disabled") === "true") return;
      change(currentTarget);
      draw();
    };
    function choose(word) {
      state.forced[state.words] = word;
      state.words += 1;
    }
    const choices = count(5).map(() => {
      const press = button("", on(() => choose(press.dataset.word)));
      const parts = ["word", "bar", "share"].map((name) => element("span", { class: `live-${name}` }));
      press.append(...parts);
      return { press, parts };
    });
    function drawWord() {
      let left = Math.random();
      choose(model.target[now.probabilities.findIndex((share) => (left -= share) < 0)] ?? END);
    }

    const cards = count(L * H).map((n) => {
      const [layer, head] = [Math.floor(n / H), n % H];
      const name = `layer ${layer + 1}, head ${head + 1}`;
      const map = element("canvas", { "aria-hidden": "true" });
      const pick = button("", () => { state.picked = state.picked === n ? -1 : n; draw(); },
        { class: "live-pick", "aria-label": `read ${name}` });
      pick.append(map);
      const label = control(`${layer + 1}.${head + 1}`, { type: "checkbox", "aria-label": `${name} is on` }, (on) => {
        state.off = state.off.filter(([kind, l, h]) => kind !== state.shown || l !== layer || h !== head);
        if (!on) state.off.push([state.shown, layer, head]);
        draw();
      });
      const box = label.querySelector("input");
      return { layer, head, name, map, pick, box, card: element("div", { class: "live-card" }, label, pick) };
    });
    const isOff = ({ layer, head }) => state.off.some(([kind, l, h]) => kind === state.shown && l === layer && h === head);

    const title = element("p", { class: "live-title" });
    const ways = element("table", { class: "live-ways", "aria-label": "best beginnings and their log-probabilities" });
    const grid = element("table", { class: "figure-alignment" });
    const heading = (scope) => (word) => element("th", { scope }, word);
    let now;

    function draw() {
      now = compute();
      const { written, ended, logits, probabilities, maps } = now;
      state.words = written.length + ended;
      text.replaceChildren(...(written.length ? [] : ["(nothing yet)"]),
        ...written.concat(ended ? END : []).map((word, t) =>
          element("span", { class: t in state.forced ? "live-forced" : "" }, `${word} `)));
      const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
      choices.forEach(({ press, parts: [word, bar, share] }, n) => {
        const [next, p] = [model.target[order[n]], probabilities[order[n]]];
        press.dataset.word = next;
        press.setAttribute("aria-label", `write ${next}, probability ${p.toFixed(3)}`);
        press.setAttribute("aria-disabled", ended);
        word.textContent = next;
        bar.style.setProperty("--share", p);
        share.textContent = p.toFixed(3);
      });
      const width = 2 * L * model.config.d_model;
      kept.textContent = `Kept: keys and values of ${state.source.length} source words`
        + (state.masked ? ` and ${now.kept / width - state.source.length} of the translation` : "; those of the translation are computed anew for each word")
        + `, in ${L} layers: ${now.kept} numbers.`;
      const rows = state.shown === "encoder" ? state.source : [...written, model.target[order[0]]];
      const columns = state.shown === "decoder" ? [START, ...written] : state.source;
      cards.forEach((card, n) => {
        window.courseRuntime.paint(card.map, maps[card.layer][card.head]);
        card.box.checked = !isOff(card);
        card.card.classList.toggle("is-off", isOff(card));
        card.pick.setAttribute("aria-pressed", state.picked === n);
      });
      const last = cards.filter((card) => card.layer === L - 1 && !isOff(card));
      const read = state.picked < 0 ? last : [cards[state.picked]];
      title.textContent = state.picked < 0 ? `Mean of the heads of layer ${L} that are on` : `Map of ${read[0].name}`;
      grid.replaceChildren(
        element("thead", {}, element("tr", {}, element("td", {}), ...columns.map(heading("col")))),
        element("tbody", {}, ...rows.map((word, t) => element("tr", {}, heading("row")(word), ...columns.map((_, s) => {
          const weight = read.reduce((sum, { layer, head }) => sum + (maps[layer][head][t][s] ?? 0), 0) / (read.length || 1);
          return element("td", { style: `--weight:${(0.6 * weight).toFixed(4)}` }, weight.toFixed(2));
        })))));
      const beams = model.search({ ...state, length: now.length });
      ways.replaceChildren(...(now.length ? beams.words : []).map((words, n) => element("tr", {},
        element("td", {}, words.join(" ")), element("td", {}, beams.scores[n].toFixed(2).replace("-", "\u2212")))));
      ways.hidden = !now.length;
      for (const press of forth) press.setAttribute("aria-disabled", ended || written.length >= LONGEST);
      back.setAttribute("aria-disabled", !state.words);
      const unknown = state.source.filter((word) => !model.source.includes(word));
      say(`${unknown.length ? `Unknown: ${unknown.join(" ")}. ` : ""}Read: \u201c${state.source.join(" ")}\u201d, `
        + `written: \u201c${written.join(" ") || "nothing yet"}\u201d. Next: ${model.target[order[0]]}, with probability ${probabilities[order[0]].toFixed(2)}. Kept for it: ${now.kept} numbers.`,
      { source: state.source, written, off: state.off, places: state.places, masked: state.masked,
        temperature: state.temperature, shown: state.shown, beam: state.beam, length: now.length },
      { logits, probabilities, maps, kept: now.kept, beams });
    }

    const restart = () => { state.words = 0; state.forced = {}; };
    const forth = [
      button("Next word", on(() => { state.words += 1; })),
      button("Draw a word", on(drawWord)),
      button("To the end", on(() => { state.words = LONGEST; })),
    ];
    const back = button("Back", on(() => { state.words -= 1; delete state.forced[state.words]; }));
    const change = (name) => (value) => { state[name] = value; state.picked = -1; draw(); };
    function translate(sentence) {
      const words = sentence.toLowerCase().replace(/[.,?!]/g, " $& ").trim().split(/\s+/).slice(0, LONGEST);
      if (!words[0]) return;
      state.source = words;
      restart();
      mix();
      draw();
    }
    root.querySelector(".figure-scroll")?.remove();
    root.append(
      element("div", { class: "figure-controls live-controls" },
        control("sentence", { options: data.sentences.map((sentence, n) => [n, sentence]), value: data.sentence },
          (n) => translate(data.sentences[n])),
        control("your own", { type: "text", placeholder: "die kleine katze schläft .", autocomplete: "off" }, translate),
        control("positions", { options: orders, value: data.order },
          (order) => { state.order = order; mix(); draw(); }),
        control("maps of", { options: kinds, value: data.shown }, change("shown")),
        control("temperature", { type: "range", min: 0.25, max: 8, step: 0.25, value: data.temperature }, change("temperature")),
        control("beam", { type: "range", min: 1, max: 4, step: 1, value: 1 }, change("beam")),
        control("causal mask", { type: "checkbox", checked: data.masked }, change("masked"))),
      element("div", { class: "figure-buttons" }, ...forth, back),
      text, ways, kept,
      element("div", { class: "live-columns" },
        element("div", {}, element("p", { class: "live-title" }, "What may come next: press one to write it"),
          element("div", { class: "live-next" }, ...choices.map(({ press }) => press))),
        element("div", {}, element("p", { class: "live-title" }, "Every head (layer.head): untick to switch it off, press to read it"),
          element("div", { class: "live-maps" }, ...cards.map(({ card }) => card)))),
      title, element("div", { class: "figure-scroll", tabindex: 0, role: "region", "aria-label": "the map that is read" }, grid),
      spoken);
    mix();
    draw();
    forth[0].focus();
  }
};
