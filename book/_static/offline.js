// Below each page: keep this chapter or the whole book for reading without a network, and stop that.
(() => {
  if (!("serviceWorker" in navigator) || !window.isSecureContext || !/^https?:/.test(location.protocol)) return;
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  document.head.append(Object.assign(document.createElement("link"), { rel: "manifest", href: `${root}manifest.webmanifest` }));
  const article = document.querySelector("article");
  if (!article) return;

  const here = location.href.replace(/[?#].*/, "").slice(root.length) || "index.html";
  const made = (tag, attributes, ...children) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...children);
    return element;
  };
  const status = made("p", { role: "status" });
  const say = (text) => { status.textContent = text; };
  const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  const prefix = `course ${root} `;
  const stores = async () => (await caches.keys()).filter((name) => name.startsWith(prefix));

  const listed = async () => (await fetch(`${root}offline.json`, { cache: "no-cache" })).json();
  const needed = ({ common, pages }, wanted) => [...new Set([...common, ...Object.entries(pages)
    .filter(([page]) => wanted(page)).flatMap(([page, others]) => [page, ...others])])];

  // One wish at a time: a later one ends the one before it, and waits until that has ended.
  let [asked, running] = [0, Promise.resolve()];
  const ask = (what) => { const mine = ++asked; running = running.then(() => what(() => mine !== asked)); };

  const keep = (wanted) => async (ended) => {
    let [done, bytes, files] = [0, 0, []];
    try {
      const edition = await listed(); // again: it may be newer than the panel
      files = needed(edition, wanted);
      await navigator.serviceWorker.register(`${root}sw.js`, { scope: root, updateViaCache: "none" });
      await navigator.serviceWorker.ready;
      const store = await caches.open(prefix + edition.version);
      const had = new Set((await store.keys()).map(({ url }) => url));
      for (const name of files) {
        if (ended()) return;
        const url = new URL(name, root).href;
        if (!had.has(url)) {
          const answer = await fetch(url, { cache: "no-cache" });
          if (!answer.ok) throw new Error(`${answer.status}`);
          await store.put(url, answer);
        }
        done += 1;
        bytes += edition.files[name];
        if (done % 10 === 0) say(`${done} of ${files.length} files, ${size(bytes)}`);
      }
      say(`Kept: ${size(bytes)}. You can read this without a network.`);
    } catch ({ name, message }) {
      if (name === "QuotaExceededError") say(`There is no room left in this browser: ${done} of ${files.length} files are kept.`);
      else say(`Interrupted: ${done} of ${files.length} files are kept. Press again to go on. (${message})`);
    }
  };

  async function remove() {
    for (const name of await stores()) await caches.delete(name);
    await (await navigator.serviceWorker.getRegistration(root))?.unregister();
    say("Nothing is kept any more.");
  }

  async function open() {
    if (!panel.open || panel.querySelector("button")) return;
    let edition;
    try {
      edition = await listed();
    } catch {
      say("What could be kept is not to be learned without a network.");
    }
    const [chapter] = here.match(/^book\/chapters\/\d\d_/) ?? [here];
    const choice = (text, wanted) => {
      const bytes = needed(edition, wanted).reduce((sum, name) => sum + edition.files[name], 0);
      return made("button", { type: "button", onclick: () => ask(keep(wanted)) }, `${text} (${size(bytes)})`);
    };
    const buttons = edition ? [
      choice(chapter === here ? "Keep this page" : "Keep this chapter", (page) => page.startsWith(chapter)),
      choice("Keep the whole book", () => true),
    ] : [];
    status.before(made("div", { className: "figure-buttons" }, ...buttons,
      made("button", { type: "button", onclick: () => ask(remove) }, "Remove what is kept")));
  }

  const panel = made("details", { className: "offline", ontoggle: open },
    made("summary", {}, "Read without a network"), status);
  article.after(panel);
})();
