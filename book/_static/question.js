// Choose, then look: shows the reason for the chosen option, and the right one with it.
(() => {
  const reason = (option) => option.querySelector(".question-why");

  const name = (form) => form.id.replace("question-", "");

  function remind(form) {
    const record = form.querySelector(".question-record");
    record.textContent = window.courseProgress.told(name(form));
    record.hidden = !record.textContent;
  }

  function reveal(form) {
    const chosen = form.querySelector("input:checked")?.closest(".question-option");
    const answer = form.querySelector(".question-answer");
    if (!chosen) {
      answer.textContent = "Choose an option first.";
      return;
    }
    for (const option of form.querySelectorAll(".question-option")) {
      option.classList.toggle("is-right", option.dataset.right === "true");
      option.classList.toggle("is-wrong", option === chosen && option.dataset.right !== "true");
    }
    window.courseProgress.answer(name(form), chosen.dataset.right === "true");
    remind(form);
    answer.replaceChildren(reason(chosen).cloneNode(true));
    answer.firstChild.hidden = false;
    if (chosen.dataset.right !== "true") {
      const right = form.querySelector('.question-option[data-right="true"]');
      const also = reason(right).cloneNode(true);
      also.hidden = false;
      const label = [...right.querySelector("label").childNodes].map((n) => n.cloneNode(true));
      const end = /[.?!]\s*$/.test(right.querySelector("label").firstChild.textContent) ? "" : ".";
      also.querySelector("strong").replaceChildren("Better: ", ...label, end);
      answer.append(also);
    }
  }

  for (const form of document.querySelectorAll("form.question")) {
    for (const why of form.querySelectorAll(".question-why")) why.hidden = true;
    form.querySelector("button").hidden = false;
    remind(form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      reveal(form);
    });
  }
})();
