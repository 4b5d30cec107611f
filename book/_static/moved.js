// A link to a place that has moved to another page leads there: notebooks keep the links of their day.
(() => {
  const place = decodeURIComponent(location.hash.slice(1));
  if (!place || document.getElementById(place)) return;
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const script = Object.assign(document.createElement("script"), { src: `${root}_static/places.js` });
  script.onload = () => {
    const page = window.coursePlaces[place];
    if (page) location.replace(`${root}${page}.html#${place}`);
  };
  document.head.append(script);
})();
