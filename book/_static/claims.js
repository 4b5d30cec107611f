// Shows the claims of one document, of one verdict, or both; the address keeps the choice.
(() => {
  const form = document.querySelector(".claim-filter");
  if (!form) return;
  const rows = [...document.querySelectorAll("tr.claim")];
  const chosen = new URLSearchParams(location.search);
  const lists = [...form.querySelectorAll("select")];
  for (const list of lists) {
    const wanted = chosen.get(list.name) || "";
    if ([...list.options].some((option) => option.value === wanted)) list.value = wanted;
  }
  const show = () => {
    let left = 0;
    for (const row of rows) {
      row.hidden = !lists.every((list) => !list.value || row.classList.contains(list.value));
      left += !row.hidden;
    }
    for (const section of document.querySelectorAll("section[id^=claims-of-chapter]"))
      section.hidden = !section.querySelector("tr.claim:not([hidden])");
    form.querySelector("output").textContent = `${left} of ${rows.length} claims`;
  };
  form.addEventListener("change", () => {
    const kept = new URLSearchParams(lists.filter((l) => l.value).map((l) => [l.name, l.value]));
    history.replaceState(null, "", `${location.pathname}${kept.size ? `?${kept}` : ""}${location.hash}`);
    show();
  });
  // A link to one claim must find it.
  addEventListener("hashchange", () => {
    for (const list of lists) list.value = "";
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
})();
