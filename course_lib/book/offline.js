// Keeps what a reader asked for, and nothing else: the network comes first, what is kept comes
// where there is none. EDITION is written above this line, and a new one renews all that is kept.
const PREFIX = `course ${self.registration.scope} `;
const named = async () => (await caches.keys()).filter((name) => name.startsWith(PREFIX));

self.addEventListener("install", (event) => event.waitUntil((async () => {
  const fresh = await caches.open(PREFIX + EDITION);
  for (const name of await named()) {
    if (name === PREFIX + EDITION) continue;
    for (const { url } of await (await caches.open(name)).keys()) {
      const answer = await fetch(url, { cache: "reload" });
      if (answer.ok) await fresh.put(url, answer);
    }
  }
  await self.skipWaiting();
})()));

self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await named()) if (name !== PREFIX + EDITION) await caches.delete(name);
  await self.clients.claim();
})()));

async function kept(request) {
  const found = await (await caches.open(PREFIX + EDITION)).match(request, { ignoreSearch: true });
  // The page of results asks for every page that it found: nothing is better than an error.
  if (found || request.mode !== "navigate") return found ?? new Response("", { status: 504 });
  const pages = (await (await caches.open(PREFIX + EDITION)).keys())
    .filter(({ url }) => url.endsWith(".html"))
    .map(({ url }) => `<li><a href="${url}">${url.slice(self.registration.scope.length)}</a></li>`);
  return new Response(`<!doctype html><html lang="en"><meta charset="utf-8">
    <meta name="viewport" content="width=device-width"><title>Not kept offline</title>
    <h1>This page is not kept offline</h1><p>There is no network. These pages are kept:</p>
    <ul>${pages.join("")}</ul></html>`, { status: 503, headers: { "Content-Type": "text/html" } });
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(fetch(request).catch(() => kept(request)));
});
