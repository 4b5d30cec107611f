(root, data, { element, control, speaker, loader }) => {
  const { spoken, say } = speaker(root);
  const longest = 400;
  const visible = (token) => token.replaceAll("\n", "\u21b5").replaceAll(" ", "\u00b7");
  const button = (label, onclick) => element("button", { type: "button", onclick }, label);
  loader(root, spoken, "writer", data.kilobytes, (file) => show(window.courseRuntime.writer(file)));

  function show({ encode, read, tokens }) {
    const { softmax } = window.courseRuntime;
    const state = { text: encode(data.beginning), temperature: data.temperature, layer: data.layer, head: data.head };
    let now;
    let running = 0;

    const full = () => state.text.length >= longest;
    function write(token) {
      if (!full()) state.text.push(token);
      draw();
    }
    function drawToken() {
      let left = Math.random();
      const drawn = now.findIndex((share) => (left -= share) < 0);
      write(drawn < 0 ? now.length - 1 : drawn);
    }
    const going = button("Go on", () => (running ? pause() : go()));
    function go() {
      going.textContent = "Pause";
      running = requestAnimationFrame(() => {
        drawToken();
        if (full()) pause();
        else go();
      });
    }
    function pause() {
      cancelAnimationFrame(running);
      running = 0;
      going.textContent = "Go on";
    }

    const choices = Array.from({ length: data.likely }, () => {
      const press = button("", () => write(Number(press.dataset.token)));
      const parts = ["word", "bar", "share"].map((name) => element("span", { class: `live-${name}` }));
      press.append(...parts);
      return { press, parts };
    });
    const text = element("p", { class: "live-text live-tokens" });

    function draw() {
      const { logits, maps } = read(state.text);
      const probabilities = [...softmax(logits.map((logit) => logit / state.temperature))];
      const weights = maps[state.layer][state.head].at(-1);
      now = probabilities;
      const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
      choices.forEach(({ press, parts: [word, bar, share] }, n) => {
        const [label, p] = [visible(tokens[order[n]]), probabilities[order[n]]];
        press.dataset.token = order[n];
        word.textContent = label;
        press.setAttribute("aria-label", `write ${label}, probability ${p.toFixed(3)}`);
        bar.style.setProperty("--share", p);
        share.textContent = p.toFixed(3);
      });
      for (const press of root.querySelectorAll(".figure-buttons.forth button:not(.back), .live-next button")) {
        press.setAttribute("aria-disabled", full());
      }
      const before = state.text.length - weights.length;
      text.replaceChildren(...state.text.map((token, t) => {
        const span = element("span", {}, tokens[token]);
        span.style.setProperty("--weight", t < before ? 0 : weights[t - before].toFixed(4));
        return span;
      }));
      const most = weights.indexOf(Math.max(...weights));
      say(`Next: \u201c${visible(tokens[order[0]])}\u201d, with probability ${probabilities[order[0]].toFixed(2)}. Layer `
        + `${state.layer + 1}, head ${state.head + 1} looks most at \u201c${visible(tokens[state.text[before + most]])}\u201d: `
        + `${weights[most].toFixed(2)}.`,
      { tokens: state.text, temperature: state.temperature, layer: state.layer, head: state.head }, { probabilities, weights });
    }

    const beginning = element("textarea", { rows: 2, spellcheck: "false", oninput: () => {
      const typed = encode(beginning.value).slice(-longest);
      if (!typed.length) return;
      pause();
      state.text = typed;
      draw();
    } }, data.beginning);
    const pick = (name) => control(name, { options: [0, 1, 2, 3].map((n) => [String(n), String(n + 1)]), value: String(state[name]) },
      (value) => { state[name] = Number(value); draw(); });
    const back = button("Back", () => { pause(); if (state.text.length > 1) state.text.pop(); draw(); });
    back.className = "back";
    root.querySelector(".figure-still")?.remove();
    root.append(
      element("div", { class: "figure-controls live-controls" },
        element("label", {}, element("span", {}, "your beginning"), beginning),
        control("temperature", { type: "range", min: 0.25, max: 2, step: 0.25, value: data.temperature },
          (value) => { state.temperature = value; draw(); }),
        pick("layer"), pick("head")),
      element("div", { class: "figure-buttons forth" }, button("Draw a token", drawToken), going, back),
      text,
      element("p", { class: "live-title" }, "What may come next: press one to write it"),
      element("div", { class: "live-next" }, ...choices.map(({ press }) => press)),
      spoken);
    draw();
    beginning.focus();
  }
};
