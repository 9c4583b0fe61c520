// Look through window.BOOK_SEARCH, the prose of every section: [address, kind, number, [[anchor, heading, text, terms]]].
(() => {
  const KINDS = ["", "Appendix", "Reference"];
  const BONUS = [60, 15, 0]; // sections first, the reference last
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const BEGIN = "(?<![\\p{L}\\p{N}_])";
  const END = "(?![\\p{L}\\p{N}_])";

  // A word as a pattern: the word itself, in singular or plural; if no section has it, the beginning of a word.
  function patterns(word) {
    const stem = escape(word.length > 3 ? word.replace(/(’s|'s|s)$/, "") : word);
    return [`${BEGIN}${stem}(?:s|es|’s|'s)?${END}`, `${BEGIN}${stem}`, stem].map((text) => new RegExp(text, "iu"));
  }

  // Without accents, letter by letter: "Nystrom" finds Nyström.
  const plain = (text) => [...text].map((c) => (c.length === 1 ? c.normalize("NFD")[0] : c)).join("");

  const all = (text, pattern) => [...text.matchAll(new RegExp(pattern, "giu"))];

  function pattern(word, entries) {
    const tried = patterns(word);
    return tried.find((p) => entries.some((e) => p.test(e.heading) || p.test(e.text) || p.test(e.terms))) ?? tried[0];
  }

  function score(entry, words, phrase) {
    let points = 0;
    const inHeading = words.filter((word) => word.test(entry.heading)).length;
    const inTerms = words.filter((word) => word.test(entry.terms)).length;
    for (const word of words) {
      if (![entry.heading, entry.text, entry.terms, entry.title].some((text) => word.test(text))) return 0;
      points += Math.min(12, 2 * all(entry.text, word.source).length) / words.length;
    }
    if (inHeading === words.length) points += 100 * (0.5 + 0.5 * coverage(entry.heading, words));
    if (inTerms === words.length) points += 30;
    if (words.length > 1 && phrase.test(entry.text)) points += 15;
    if (entry.first) points += inHeading === words.length ? 40 : 3;
    return points + BONUS[entry.kind];
  }

  // The share of a heading that the words make up: "The margin" is more about the margin than a heading of ten words.
  const coverage = (heading, words) =>
    Math.min(1, words.length / heading.split(/\s+/).filter((w) => !/^(the|a|an|of|and|in|to)$/i.test(w)).length || 1);

  function excerpt({ text, shown: { text: whole } }, words) {
    const places = words.map((word) => text.search(word)).filter((at) => at >= 0);
    const middle = places.length ? Math.min(...places) : 0;
    let from = Math.max(0, middle - 90);
    if (from > 0) {
      const sentence = text.lastIndexOf(". ", middle);
      from = sentence > middle - 140 && sentence >= 0 ? sentence + 2 : text.indexOf(" ", from) + 1;
    }
    let to = Math.min(text.length, from + 230);
    if (to < text.length) to = text.lastIndexOf(" ", to);
    const box = document.createElement("p");
    box.className = "excerpt";
    const shown = `${from > 0 ? "… " : ""}${whole.slice(from, to)}${to < text.length ? " …" : ""}`;
    let last = 0;
    for (const hit of all(plain(shown), words.map((word) => word.source).join("|"))) {
      const mark = document.createElement("mark");
      mark.textContent = shown.slice(hit.index, hit.index + hit[0].length);
      box.append(shown.slice(last, hit.index), mark);
      last = hit.index + hit[0].length;
    }
    box.append(shown.slice(last));
    return box;
  }

  function search(query) {
    const entries = window.BOOK_SEARCH.flatMap(([address, kind, number, sections]) =>
      sections.map(([anchor, heading, text, terms], i) => ({
        address, kind, number, first: i === 0, link: anchor ? `${address}#${anchor}` : address,
        heading: plain(heading), text: plain(text), terms: plain(terms), title: plain(sections[0][1]),
        shown: { heading, text, title: sections[0][1] },
      }))
    );
    const given = plain(query.toLowerCase()).match(/[\p{L}\p{N}_'’-]+/gu) ?? [];
    if (!given.length) return [];
    const words = given.map((word) => pattern(word, entries));
    const phrase = new RegExp(given.map(escape).join("\\W+"), "iu");
    const found = entries.map((entry) => ({ ...entry, points: score(entry, words, phrase) })).filter((e) => e.points > 0);
    const pages = new Map();
    for (const entry of found.sort((a, b) => b.points - a.points)) {
      if (!pages.has(entry.address)) pages.set(entry.address, []);
      pages.get(entry.address).push(entry);
    }
    // A page that uses the first word throughout comes before one that mentions it once.
    const hits = (sections) => sections.reduce((n, e) => n + all(e.text, words[0].source).length, 0);
    const rank = (sections) => sections[0].points + Math.min(40, 1.5 * hits(sections));
    const ranked = [...pages.values()].map((sections) => ({ sections, words, rank: rank(sections) }));
    return ranked.sort((a, b) => b.rank - a.rank);
  }

  function shown({ sections: [best, ...others], words }) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = best.link;
    link.textContent = best.number ? `${best.number}. ${best.shown.title}` : best.shown.title;
    item.append(link);
    if (KINDS[best.kind]) {
      const kind = document.createElement("span");
      kind.className = "kind";
      kind.textContent = KINDS[best.kind];
      item.append(" ", kind);
    }
    if (!best.first) {
      const section = document.createElement("span");
      section.className = "section";
      section.textContent = ` › ${best.shown.heading}`;
      link.append(section);
    }
    const telling = [best, ...others].find((entry) => words.some((word) => word.test(entry.text))) ?? best;
    if (telling.text) item.append(excerpt(telling, words));
    const own = (entry) => words.some((word) => word.test(entry.heading) || word.test(entry.text));
    const more = others.filter((entry) => own(entry) && entry.heading !== best.heading).slice(0, 3);
    if (more.length) {
      const line = document.createElement("p");
      line.className = "more";
      line.append("Also: ");
      more.forEach((entry, i) => {
        const also = document.createElement("a");
        also.href = entry.link;
        also.textContent = entry.first ? "the beginning" : entry.shown.heading;
        line.append(i ? ", " : "", also);
      });
      item.append(line);
    }
    return item;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector(".bd-search-container input[type=search]");
    const box = document.getElementById("search-results");
    const query = new URLSearchParams(location.search).get("q") ?? "";
    field.value = query;
    field.focus();
    if (!query.trim()) return;
    const results = search(query);
    const summary = document.createElement("p");
    summary.className = "search-summary";
    summary.textContent = results.length
      ? `${results.length} page${results.length === 1 ? "" : "s"} for “${query}”`
      : `Nothing found for “${query}”. Try fewer words, or the index.`;
    const list = document.createElement("ol");
    list.className = "search";
    list.append(...results.slice(0, 40).map(shown));
    box.replaceChildren(summary, list);
  });
})();
