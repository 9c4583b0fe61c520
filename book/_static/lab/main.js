// Every <div class="lab" data-lab="name"> of the page becomes a figure; its data-start holds the points to begin with.

import { builderFigure } from "./builder.js";
import { compose, counterexample, spectrum } from "./compose.js";
import { dualFigure, fitBoth } from "./dual.js";
import { errorsAt, gaussianFigure } from "./gaussian.js";
import { heroFigure } from "./hero.js";
import { gram, kernelOf, surface } from "./kernels.js";
import { landscapeFigure, looAt, looPath } from "./landscape.js";
import { forward, newNetwork, train } from "./network.js";
import { perceptronFigure } from "./perceptron.js";
import { playgroundFigure } from "./playground.js";
import { kernelNeighbors, kernelPerceptron, kernelSVM } from "./solvers.js";
import { svmFigure } from "./svm.js";
import { votesAt, votesFigure } from "./votes.js";
import { figures } from "./widgets.js";

const FIGURES = {
  builder: builderFigure,
  dual: dualFigure,
  gaussian: gaussianFigure,
  hero: heroFigure,
  landscape: landscapeFigure,
  perceptron: perceptronFigure,
  playground: playgroundFigure,
  svm: svmFigure,
  votes: votesFigure,
};

// For the tests, which compare what the page computes with the library.
window.kernelLab = {
  ...{ compose, counterexample, errorsAt, figures, fitBoth, forward, gram, kernelNeighbors, kernelOf },
  ...{ kernelPerceptron, kernelSVM, looAt, looPath, newNetwork, spectrum, surface, train, votesAt },
};

for (const root of document.querySelectorAll(".lab[data-lab]")) {
  FIGURES[root.dataset.lab](root, JSON.parse(root.dataset.start));
}

// Words of the text that lead to a state of a figure: without JavaScript they are just words.
for (const words of document.querySelectorAll(".lab-preset")) {
  const link = document.createElement("a");
  link.href = `#lab-${words.dataset.state}`;
  link.append(...words.childNodes);
  words.append(link);
}
