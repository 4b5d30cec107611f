// Ranks what a search has found: chapters first, the reference of the library last.
var Scorer = {
  score: ([page, , , , score]) => score + (page.startsWith("book/chapters/") ? 20 : page.startsWith("book/api/") ? -20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
