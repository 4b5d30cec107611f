(root, data, { element, control, speaker }) => {
  const { add, attend, gelu, layerNorm, layers, linear, softmax, unpack } = window.courseRuntime;
  const { weights } = unpack(data.weights);
  const [most, D] = weights.positions.shape;
  const factors = Array(data.heads).fill(1);
  const { spoken, say } = speaker(root);
  const state = { text: data.beginning.split(" "), temperature: data.temperature };
  const number = (word) => data.words.indexOf(data.words.includes(word) ? word : "<unk>");

  // course_lib.whole.GPT: the logits of the next word.
  function read(text) {
    let x = new Float64Array(text.length * D);
    text.forEach((word, t) => x.set(add(
      weights["tokens.weight"].slice(number(word) * D, (number(word) + 1) * D),
      weights.positions.slice(t * D, (t + 1) * D)), t * D));
    for (let l = 0; `blocks.${l}.attention_norm.bias` in weights; l++) {
      const block = layers(weights, `blocks.${l}`);
      x = block.feedForward(block.attention(x, "attention", (y, map) =>
        attend(map(y, "q"), map(y, "k"), map(y, "v"), D, factors, true)).x, gelu);
    }
    return linear(layerNorm(x.slice(-D), weights["norm.weight"], weights["norm.bias"]), weights["tokens.weight"]);
  }

  const full = () => state.text.length >= most - 1;
  function write(word) {
    if (!full()) state.text.push(word);
    draw();
  }
  const button = (label, onclick) => element("button", { type: "button", onclick }, label);
  const choices = [0, 1, 2, 3, 4].map(() => {
    const press = button("", () => write(press.dataset.word));
    const parts = ["word", "bar", "share"].map((name) => element("span", { class: `live-${name}` }));
    press.append(...parts);
    return { press, parts };
  });
  const text = element("p", { class: "live-text" });
  let now;

  function draw() {
    const probabilities = [...softmax(read(state.text).map((logit) => logit / state.temperature))];
    now = probabilities;
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
    choices.forEach(({ press, parts: [word, bar, share] }, n) => {
      const p = probabilities[order[n]];
      press.dataset.word = word.textContent = data.words[order[n]];
      press.setAttribute("aria-label", `write ${data.words[order[n]]}, probability ${p.toFixed(3)}`);
      bar.style.setProperty("--share", p);
      share.textContent = p.toFixed(3);
    });
    for (const press of root.querySelectorAll(".figure-buttons.forth button, .live-next button")) {
      press.setAttribute("aria-disabled", full());
    }
    text.textContent = state.text.join(" ");
    const unknown = state.text.filter((word) => !data.words.includes(word));
    say(`${unknown.length ? `Unknown: ${unknown.join(" ")}. ` : ""}Written: \u201c${state.text.join(" ")}\u201d. `
      + `Next: ${data.words[order[0]]}, with probability ${probabilities[order[0]].toFixed(2)}.`,
    { beginning: state.text.join(" "), temperature: state.temperature }, { probabilities });
  }

  function drawWord() {
    let left = Math.random();
    write(data.words[now.findIndex((share) => (left -= share) < 0)] ?? data.words.at(-1));
  }
  function begin(typed) {
    const words = typed.toLowerCase().replace(/[.,?!]/g, " $& ").trim().split(/\s+/).slice(0, most - 1);
    if (!words[0]) return;
    state.text = words;
    draw();
  }
  root.append(
    element("div", { class: "figure-controls live-controls" },
      control("your beginning", { type: "text", placeholder: data.beginning, autocomplete: "off" }, begin),
      control("temperature", { type: "range", min: 0.25, max: 4, step: 0.25, value: data.temperature },
        (value) => { state.temperature = value; draw(); })),
    element("div", { class: "figure-buttons forth" },
      button("Draw a word", drawWord),
      button("Draw ten", () => { for (let n = 0; n < 10; n++) drawWord(); }),
      button("Back", () => { if (state.text.length > 1) state.text.pop(); draw(); })),
    text,
    element("p", { class: "live-title" }, "What may come next: press one to write it"),
    element("div", { class: "live-next" }, ...choices.map(({ press }) => press)),
    spoken);
  draw();
};
