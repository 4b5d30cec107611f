// Keeps what a reader asked for, and nothing else: the network comes first, what is kept comes
// where there is none. EDITION is written above this line, and a new one renews all that is kept.
const PREFIX = `course ${self.registration.scope} `;
const named = async () => (await caches.keys()).filter((name) => name.startsWith(PREFIX));

self.addEventListener("install", (event) => event.waitUntil((async () => {
  const fresh = await caches.open(PREFIX + EDITION);
  const old = (await named()).filter((name) => name !== PREFIX + EDITION);
  const urls = (await Promise.all(old.map(async (name) => (await caches.open(name)).keys()))).flat();
  if (urls.length) {
    // What a page needs may have changed with it: a picture's name is made from what it shows.
    const { files, pages, common } = await (await fetch(`${self.registration.scope}offline.json`, { cache: "reload" })).json();
    const had = urls.map(({ url }) => url.slice(self.registration.scope.length));
    for (const name of new Set([...common, ...had, ...had.flatMap((name) => pages[name] ?? [])])) {
      if (!(name in files)) continue;
      const answer = await fetch(self.registration.scope + name, { cache: "reload" });
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`); // the old edition stays whole
      await fresh.put(self.registration.scope + name, answer);
    }
  }
  await self.skipWaiting();
})()));

self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await named()) if (name !== PREFIX + EDITION) await caches.delete(name);
  await self.clients.claim();
})()));

async function kept(request) {
  const store = await caches.open(PREFIX + EDITION);
  const found = await store.match(request.url.replace(/\/$/, "/index.html"), { ignoreSearch: true });
  // The page of results asks for every page that it found: nothing is better than an error.
  if (found || request.mode !== "navigate") return found ?? new Response("", { status: 504 });
  const urls = (await store.keys()).map(({ url }) => url).filter((url) => /(?<!\/index)\.html$/.test(url));
  const pages = await Promise.all(urls.map(async (url) => {
    const [, title] = /<title>([^<]*)/.exec(await (await store.match(url)).text()) ?? [null, url];
    return `<li><a href="${url}">${title}</a></li>`;
  }));
  return new Response(`<!doctype html><html lang="en"><meta charset="utf-8">
    <meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
    <style>body { font: 1rem/1.6 sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem; }</style><title>Not kept offline</title>
    <h1>This page is not kept offline</h1><p>There is no network. These pages are kept:</p>
    <ul>${pages.join("")}</ul></html>`, { status: 503, headers: { "Content-Type": "text/html" } });
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(fetch(request).catch(() => kept(request)));
});
