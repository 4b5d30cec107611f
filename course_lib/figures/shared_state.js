(root, data, { element, control, speaker }) => {
  const state = { words: data.words, keep: data.keep, wanted: data.wanted };
  const { spoken, say } = speaker(root);

  // What the words up to `place` have left in the state after it, as parts of 1.
  function parts(place) {
    const { words, keep } = state;
    const left = [...Array(words).keys()].map((i) => (i < place ? keep ** (place - 1 - i) : 0));
    const total = left.reduce((a, b) => a + b);
    return left.map((part) => part / total);
  }

  const compute = () => ({ last: parts(state.words), after: parts(state.wanted) });

  const size = { width: 330, top: 14, bottom: 146, left: 30 };
  const toY = (share) => size.bottom - (size.bottom - size.top) * share;
  function panel() {
    const caption = element("p");
    const bars = element("g");
    const svg = element("svg", { viewBox: `0 0 ${size.width} 170`, "aria-hidden": "true" },
      ...[0, 0.5, 1].flatMap((share) => [
        element("line", { x1: size.left, x2: size.width, y1: toY(share), y2: toY(share), class: "axis",
          style: share ? "opacity: 0.4" : "" }),
        element("text", { x: size.left - 5, y: toY(share) + 4, style: "text-anchor: end" }, share)]),
      bars);
    return { caption, bars, holder: element("div", { class: "figure-panel" }, caption, svg) };
  }

  function paint({ caption, bars }, told, shares) {
    const step = (size.width - size.left) / shares.length;
    const middle = (i) => size.left + step * (i + 0.5);
    const wanted = state.wanted - 1;
    caption.textContent = told;
    bars.replaceChildren(
      ...shares.map((share, i) => element("rect", {
        x: middle(i) - 0.4 * step, width: 0.8 * step, y: toY(share), height: size.bottom - toY(share),
        class: i === wanted ? "bar" : "bar muted",
      })),
      element("text", { x: middle(wanted), y: toY(shares[wanted]) - 3 }, shares[wanted].toFixed(2)),
      ...[0, wanted, shares.length - 1].filter((i) => i === wanted || Math.abs(i - wanted) * step > 20)
        .map((i) => element("text", { x: middle(i), y: size.bottom + 16 }, i + 1)));
  }

  const [last, after] = [panel(), panel()];
  function draw() {
    const found = compute();
    const { words, keep, wanted } = state;
    paint(last, "last state: all that one vector hands over", found.last);
    paint(after, `state after word ${wanted}: attention can look here`, found.after);
    const percent = (shares) => (100 * shares[wanted - 1]).toFixed(1);
    say(`${words} words, and each keeps ${keep.toFixed(2)} of the state before it. Word ${wanted} has `
      + `${percent(found.last)} % of the last state and ${percent(found.after)} % of the state after `
      + `word ${wanted}.`, { ...state }, found);
  }

  const range = (label, name, min, max, step, show) => control(label,
    { type: "range", min, max, step, value: state[name] },
    (value) => {
      state[name] = value;
      state.wanted = Math.min(state.wanted, state.words);
      draw();
    }, show);
  const which = range("word to translate", "wanted", 1, state.words, 1, String);
  const length = range("words in the sentence", "words", 2, 20, 1, String);
  // No word behind the last one can be wanted.
  length.addEventListener("input", () => {
    const slider = which.querySelector("input");
    slider.max = state.words;
    slider.dispatchEvent(new Event("input"));
  });

  root.append(
    element("div", { class: "figure-panels" }, last.holder, after.holder),
    element("div", { class: "figure-controls" },
      range("the valve keeps", "keep", 0.05, 0.95, 0.05, (value) => value.toFixed(2)), length, which),
    spoken);
  draw();
};
