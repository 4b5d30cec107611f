// Shared by all figures: controls with labels, SVG elements, the spoken readout.
window.courseFigure ??= (() => {
  function element(tag, attributes = {}, ...children) {
    const svg = ["svg", "g", "rect", "line", "text", "path", "circle", "title"].includes(tag);
    const made = svg
      ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value != null) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  // A labelled input; `change` receives its value as a number, boolean or string.
  function control(label, attributes, change, show = (value) => value) {
    const { options, ...rest } = attributes;
    const output = element("output");
    const input = options
      ? element("select", rest, ...options.map(([value, text]) => element("option", { value }, text)))
      : element("input", rest);
    if (options && rest.value != null) input.value = rest.value;
    const read = () =>
      rest.type === "checkbox" ? input.checked
        : rest.type === "range" ? Number(input.value)
          : input.value;
    const tell = () => {
      output.textContent = rest.type === "range" ? show(read()) : "";
      if (rest.type === "range") input.setAttribute("aria-valuetext", show(read()));
    };
    input.addEventListener("input", () => {
      tell();
      change(read());
    });
    tell();
    const text = element("span", {}, label);
    return rest.type === "checkbox"
      ? element("label", { class: "figure-check" }, input, text)
      : element("label", {}, text, input, output);
  }

  // A group that is dragged by mouse and finger and moved by the arrow keys.
  function slider(group, { label, min, max, step, get, set, toValue, orientation = "vertical" }) {
    const attributes = { role: "slider", tabindex: 0, "aria-label": label, "aria-orientation": orientation };
    for (const [name, value] of Object.entries(attributes)) group.setAttribute(name, value);
    group.setAttribute("aria-valuemin", min);
    group.setAttribute("aria-valuemax", max);
    const move = (value) => {
      const rounded = Math.round(Math.min(max, Math.max(min, value)) / step) * step;
      set(Number(rounded.toFixed(6)));
      group.setAttribute("aria-valuenow", get());
    };
    group.setAttribute("aria-valuenow", get());
    group.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 };
      const ends = { Home: min, End: max };
      if (!(event.key in steps) && !(event.key in ends)) return;
      event.preventDefault();
      move(event.key in ends ? ends[event.key] : get() + step * steps[event.key]);
    });
    group.addEventListener("pointerdown", (event) => {
      group.setPointerCapture(event.pointerId);
      move(toValue(event));
    });
    group.addEventListener("pointermove", (event) => {
      if (group.hasPointerCapture(event.pointerId)) move(toValue(event));
    });
  }

  // Lets the arrow keys move the focus over the rows that `cells` returns; `moved` is told from where to where.
  function walk(table, cells, moved = () => {}) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    table.addEventListener("keydown", (event) => {
      const from = document.activeElement;
      const row = cells().findIndex((several) => several.includes(from));
      if (!(event.key in moves) || row < 0) return;
      event.preventDefault();
      const [down, right] = moves[event.key];
      const to = cells()[row + down]?.[cells()[row].indexOf(from) + right];
      if (!to) return;
      moved(from, to);
      to.focus();
    });
  }

  // Where an event happened, in the coordinates of the drawing.
  function place(svg, event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.getScreenCTM().inverse());
  }

  // Speaks the readout once the reader pauses, and leaves the numbers where a test finds them.
  function speaker(root) {
    const spoken = element("p", { class: "figure-readout", role: "status", "aria-live": "polite" });
    let waiting;
    return {
      spoken,
      say(text, inputs, outputs) {
        root.dataset.state = JSON.stringify({ inputs, outputs });
        clearTimeout(waiting);
        if (!spoken.textContent) spoken.textContent = text;
        waiting = setTimeout(() => { spoken.textContent = text; }, 120);
      },
    };
  }

  // A button that loads a trained model and the runtime, as scripts: a page from a disk may load
  // nothing else. `show` is given the file's text.
  function loader(root, spoken, name, kilobytes, show) {
    const folder = `${document.documentElement.dataset.content_root ?? ""}_static/live/`;
    const load = root.load ?? ((file) => new Promise((done, failed) => {
      document.head.append(element("script", { src: `${folder}${file}.js`, onload: done, onerror: failed }));
    }));
    async function begin() {
      spoken.textContent = "The model is being loaded.";
      try {
        if (!window.courseRuntime) await load("runtime");
        if (!window.courseFiles?.[name]) await load(name);
      } catch {
        spoken.textContent = "The model could not be loaded. Try again.";
        return;
      }
      holder.remove();
      spoken.textContent = "";
      show(window.courseFiles[name]);
    }
    const start = element("button", { type: "button", onclick: begin }, `Load the trained model (${kilobytes} KB)`);
    const holder = element("div", { class: "figure-buttons figure-load" }, start);
    root.querySelector("figcaption").after(holder, spoken);
  }

  // Draws numbers below 1, the same for the same seed, as figures.base.mulberry32 does.
  function mulberry32(seed) {
    let now = seed | 0;
    return () => {
      now = (now + 0x6D2B79F5) | 0;
      let mixed = Math.imul(now ^ (now >>> 15), now | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  return { element, control, slider, walk, place, speaker, loader, mulberry32 };
})();
