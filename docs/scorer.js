// Ranks what the search of the site finds: pages for users come first, then those for authors,
// then the reference, and the reasons and the history last.
//
// The other numbers are Sphinx's own, which this object replaces as a whole.
var Scorer = {
  weights: [
    [/^(index|installing|using|troubleshooting|notifications|operating|support)$/, 8],
    [/^man\/plugin-bridge\.1$/, 8],
    [/^(plugins|hosts|clients|debugging|man\/)/, 4],
    [/^(plugin-reference|glossary)$/, 2],
    [/^(decisions\/|changes$)/, 0.25],
  ],
  score: (result) => {
    const [docname, , , , score] = result;
    const found = Scorer.weights.find(([pages]) => pages.test(docname));
    return score * (found ? found[1] : 1);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
