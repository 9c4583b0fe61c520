// Small improvements; the pages can be read without them.

// Python in the browser needs a server, which a page opened from disk does not have.
function explainServer() {
  for (const link of document.querySelectorAll("a.do-exercise")) {
    if (link.closest("td")) {
      link.replaceWith("needs\u00a0a\u00a0server"); // on one line; the page explains it below its table
      continue;
    }
    const words = document.createElement("span");
    words.append("To do the exercise in your browser, run ", document.createElement("code"));
    words.lastChild.append("make serve");
    words.append(" in the course’s folder, or open the published book: the exercise needs a web server.");
    link.replaceWith(words);
  }
}
if (location.protocol === "file:") document.addEventListener("DOMContentLoaded", explainServer);

// What scrolls sideways must be reachable by keyboard, and only what scrolls.
const SCROLLERS = {
  ".formula > .scroll": "Formula",
  ".pst-scrollable-table-container": "Table",
  "div.highlight pre": "Code",
  ".cell_output .output": "Output",
};

const scrollers = () =>
  Object.entries(SCROLLERS).flatMap(([selector, label]) =>
    [...document.querySelectorAll(selector)].map((box) => [box, label])
  );

// Mark the edges that hide something: course.css lets them fade out.
function markEdges(box, hidden = box.scrollWidth - box.clientWidth, before = box.scrollLeft) {
  box.classList.toggle("more-before", before > 1);
  box.classList.toggle("more-after", hidden - before > 1);
}

function markScrollers() {
  // Everything is measured before anything is changed: the browser would compute the layout anew for each box.
  const measured = scrollers().map(([box, label]) => [box, label, box.scrollWidth - box.clientWidth, box.scrollLeft]);
  for (const [box, label, hidden, before] of measured) {
    markEdges(box, hidden, before);
    if (hidden > 0) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${label}, scrolls sideways`);
    } else if (box.getAttribute("role") === "group") {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  }
}

const ALL_SCROLLERS = Object.keys(SCROLLERS).join();
const scrolled = ({ target }) => target.matches?.(ALL_SCROLLERS) && markEdges(target);
document.addEventListener("scroll", scrolled, { capture: true, passive: true });

document.addEventListener("DOMContentLoaded", () => {
  markScrollers();
  document.fonts.ready.then(markScrollers);
  document.fonts.addEventListener("loadingdone", markScrollers);
  // Sidebars slide, so a box gets its width some time after the window does.
  const watcher = new ResizeObserver(markScrollers);
  for (const [box] of scrollers()) watcher.observe(box);
  document.addEventListener("toggle", markScrollers, true); // a box inside <details> has no width until it opens
});
