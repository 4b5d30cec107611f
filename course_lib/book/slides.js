// Starts the slides, counts votes, and follows the machine's choice of light or dark.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = (isDark) => { root.dataset.theme = isDark ? "dark" : "light"; };
  dark.addEventListener("change", () => paint(dark.matches));
  paint(dark.matches);

  function count(button, more) {
    const votes = [...button.closest("ol").querySelectorAll(".votes")];
    button.textContent = Math.max(0, Number(button.textContent) + more);
    const all = votes.reduce((sum, one) => sum + Number(one.textContent), 0);
    for (const one of votes) one.closest("li").style.setProperty("--share", one.textContent / (all || 1));
  }
  for (const button of document.querySelectorAll(".votes"))
    button.addEventListener("click", (event) => count(button, event.shiftKey ? -1 : 1));

  Reveal.initialize({
    width: 1280, height: 720, margin: 0, maxScale: 4, center: false, display: "flex", hash: true,
    transition: "none", backgroundTransition: "none", slideNumber: "c/t", pdfMaxPagesPerSlide: 1, pdfSeparateFragments: false,
    // What moves by keys keeps them until Escape.
    keyboardCondition: (event) => {
      const moving = event.target?.closest?.(".course-figure");
      if (moving && event.key === "Escape") document.activeElement.blur();
      return !moving;
    },
    plugins: [RevealNotes, RevealZoom],
  }).then(() => {
    for (const [place, letter] of [..."ABCDEFGH"].entries())
      Reveal.addKeyBinding({ keyCode: 49 + place, key: String(1 + place), description: `One more vote for ${letter}` }, () => {
        const button = Reveal.getCurrentSlide().querySelectorAll(".votes")[place];
        if (button) count(button, 1);
      });
    Reveal.addKeyBinding({ keyCode: 84, key: "T", description: "Light or dark" }, () => paint(root.dataset.theme === "light"));
  });
  Reveal.on("pdf-ready", () => root.classList.add("deck-printable"));
})();
