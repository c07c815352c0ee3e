// The order of search results: guides and pages of commands first, then the reference, pages of numbers last.
var Scorer = {
  score: (result) => {
    const [docname, title, anchor, descr, score] = result;
    const guides = /^(start|motion|redundancy|control|viewer|plots|tables|stored_studies|commands|model_files|person_scaling|feedback|events|howto\/)/;
    const numbers = /^(agreement|benchmarks|architecture|development|validation|throughput|extending\/)/;
    if (/^_generated\/command_/.test(docname)) return anchor ? score - 10 : score + 4; // options after their command
    if (guides.test(docname)) return score + 6;
    return numbers.test(docname) ? score - 6 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
