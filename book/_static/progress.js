// What a reader has read, answered and solved, in the browser's own storage; nothing leaves it.
window.courseProgress = (() => {
  const [KEY, DAYS] = ["course-progress", [1, 3, 7, 21, 60]];
  let memory = { version: 1, questions: {}, exercises: {} };
  let kept = true;

  const local = (time) => new Date(time - 60000 * new Date(time).getTimezoneOffset()).toISOString().slice(0, 10);
  const today = () => local(Date.now());
  const comes = ({ on, box }) => local(new Date(`${on}T12:00`).getTime() + 864e5 * DAYS[Math.min(box, DAYS.length - 1)]);
  const due = (entry) => comes(entry) <= today();
  const day = (on) => (on === today() ? "today" : new Date(`${on}T12:00`).toLocaleDateString("en-GB", { day: "numeric", month: "long" }));

  // Throws where a file, or what the storage holds, is something else.
  function checked(found) {
    const whole = (value) => value && typeof value === "object" && !Array.isArray(value);
    const all = (entries, fits) => entries === undefined || (whole(entries)
      && Object.values(entries).every((entry) => whole(entry) && dated(entry.on) && fits(entry)));
    const dated = (on) => /^\d{4}-\d\d-\d\d$/.test(on) && !Number.isNaN(Date.parse(`${on}T12:00`));
    if (!whole(found) || found.version !== 1
      || !all(found.questions, ({ box, right }) => Number.isInteger(box) && box >= 0 && typeof right === "boolean")
      || !all(found.exercises, ({ points, of }) => Number.isFinite(points) && of > 0)) throw new Error("not a file of progress");
    const place = [found.place?.page, found.place?.title].every((part) => typeof part === "string") ? found.place : undefined;
    return { version: 1, place, questions: found.questions ?? {}, exercises: found.exercises ?? {} };
  }

  function read() {
    try {
      const text = localStorage.getItem(KEY);
      if (text) memory = checked(JSON.parse(text));
      else if (kept) memory = { version: 1, questions: {}, exercises: {} };
    } catch { /* where nothing can be read, what this page knows has to do */ }
    return memory;
  }
  function write(all) {
    memory = all;
    try {
      localStorage.setItem(KEY, JSON.stringify(all));
      kept = true;
    } catch {
      kept = false;
    }
  }

  // A question comes back after days: sooner after a wrong answer, later after each right one.
  function answer(name, right) {
    const all = read();
    const old = all.questions[name];
    if (right && old && !due(old)) old.right = true;
    else all.questions[name] = { right, box: right ? (old?.box ?? 0) + 1 : 0, on: today() };
    write(all);
  }
  function told(name) {
    const entry = read().questions[name];
    if (!entry) return "";
    if (due(entry)) return `You answered this on ${day(entry.on)}. It is time to answer it again.`;
    return `Answered ${entry.right ? "right" : "wrong"} ${entry.on === today() ? "" : "on "}${day(entry.on)}; it comes back on ${day(comes(entry))}.`;
  }

  // Of each question and exercise the last, or the better.
  function merge(found) {
    const all = read();
    for (const [name, entry] of Object.entries(found.questions)) {
      if (!(all.questions[name]?.on > entry.on)) all.questions[name] = entry;
    }
    for (const [name, entry] of Object.entries(found.exercises)) {
      if (!(all.exercises[name]?.points > entry.points)) all.exercises[name] = entry;
    }
    all.place ??= found.place;
    write(all);
  }
  const erase = () => {
    memory = { version: 1, questions: {}, exercises: {} };
    try { localStorage.removeItem(KEY); } catch { /* nothing is kept */ }
  };

  // The place: the last heading above the middle of the window, when the reader leaves.
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const page = location.href.replace(/[?#].*/, "").slice(root.length);
  addEventListener("pagehide", () => {
    if (!page.startsWith("book/chapters/")) return;
    const above = [...document.querySelectorAll("article section[id] > :is(h1, h2, h3)")]
      .filter((heading) => heading.getBoundingClientRect().top < innerHeight / 2).at(-1);
    const names = [document.querySelector("article h1"), above].map((heading) => heading?.firstChild.textContent.trim());
    const title = [...new Set(names)].filter(Boolean).join(": ");
    write({ ...read(), place: { page: page + (above ? `#${above.parentElement.id}` : ""), title } });
  });

  return { KEY, answer, checked, day, due, comes, erase, merge, read, told, root, kept: () => kept };
})();

// The page of outcomes: what is done, what is open, what is to be asked again.
(() => {
  const holder = document.querySelector("#progress");
  if (!holder) return;
  const store = window.courseProgress;
  const entries = [...document.querySelectorAll(".progress-entry")].map((span) => ({
    span, ...span.dataset, link: span.querySelector("a"), state: span.querySelector(".progress-state"),
  }));
  for (const { kind, name, link } of entries) if (kind === "question") link.hash = `question-${name}`;
  const made = (tag, attributes, ...children) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...children);
    return element;
  };
  const say = (text) => { status.textContent = text; };
  const [place, counts, again] = ["p", "p", "div"].map((tag) => made(tag, {}));
  const status = made("p", { role: "status" });

  function show() {
    const all = store.read();
    for (const { kind, name, span, state } of entries) {
      const found = all[`${kind}s`][name];
      const done = found && (kind === "question" ? found.right && !store.due(found) : found.points >= found.of);
      span.classList.toggle("is-done", Boolean(done));
      span.classList.toggle("is-begun", Boolean(found && !done));
      state.textContent = !found ? "" : done ? " \u2713"
        : kind === "exercise" ? ` ${found.points} of ${found.of} points` : store.due(found) ? " again" : " wrong";
    }
    const of = (kind) => entries.filter((entry) => entry.kind === kind);
    const share = (kind) => `${of(kind).filter(({ span }) => span.classList.contains("is-done")).length} of ${of(kind).length}`;
    counts.textContent = `Known: ${share("question")} questions. Solved: ${share("exercise")} exercises.`;
    place.replaceChildren(...(all.place ? ["Where you were: ", made("a", { href: store.root + all.place.page }, all.place.title)] : []));
    const back = of("question").filter(({ name }) => all.questions[name] && store.due(all.questions[name]));
    again.replaceChildren(...(back.length ? [made("p", {}, "To answer again today:"),
      made("ul", {}, ...back.map(({ link }) => made("li", {}, link.cloneNode(true))))] : []));
    if (!store.kept()) say("This browser keeps nothing of this site: what you see is gone when you close the page.");
  }

  const button = (text, onclick) => made("button", { type: "button", onclick }, text);
  const file = made("input", { type: "file", accept: ".json,application/json", multiple: true, hidden: true, onchange: take });
  async function take() {
    for (const chosen of file.files) {
      try {
        store.merge(store.checked(JSON.parse(await chosen.text())));
        say(`Added what ${chosen.name} tells.`);
      } catch {
        say(`${chosen.name} is no file of progress: choose one that this page or a notebook of the course has written. Nothing was changed.`);
        break;
      }
    }
    file.value = "";
    show();
  }
  const save = () => {
    const href = URL.createObjectURL(new Blob([JSON.stringify(store.read(), null, 1)], { type: "application/json" }));
    made("a", { href, download: `${store.KEY}.json` }).click();
  };
  const erase = button("Erase", () => {
    if (erase.textContent === "Erase") erase.textContent = "Erase all: press again";
    else {
      store.erase();
      erase.textContent = "Erase";
      say("Erased. Nothing of what you did is kept in this browser.");
    }
    show();
  });
  const open = made("input", { type: "checkbox", onchange: () => document.body.classList.toggle("progress-open", open.checked) });
  holder.append(place, counts, again, made("div", { className: "figure-buttons" },
    button("Save as a file", save), button("Add from a file", () => file.click()), erase, file,
    made("label", {}, open, " only what is open")), status);
  holder.hidden = false;
  show();
  addEventListener("storage", show);
})();
