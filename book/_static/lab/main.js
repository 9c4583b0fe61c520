// Every <div class="lab" data-lab="name"> of the page becomes a figure; its data-start holds the points to begin with.

import { builderFigure } from "./builder.js";
import { compose, counterexample, spectrum } from "./compose.js";
import { dualFigure, fitBoth } from "./dual.js";
import { errorsAt, gaussianFigure } from "./gaussian.js";
import { gram, kernelOf, surface } from "./kernels.js";
import { forward, train } from "./network.js";
import { perceptronFigure } from "./perceptron.js";
import { playgroundFigure } from "./playground.js";
import { kernelNeighbors, kernelPerceptron, kernelSVM } from "./solvers.js";
import { svmFigure } from "./svm.js";

const FIGURES = {
  builder: builderFigure,
  dual: dualFigure,
  gaussian: gaussianFigure,
  perceptron: perceptronFigure,
  playground: playgroundFigure,
  svm: svmFigure,
};

// For the tests, which hold what the page computes against the library.
window.kernelLab = {
  ...{ compose, counterexample, errorsAt, fitBoth, forward, gram, kernelNeighbors, kernelOf },
  ...{ kernelPerceptron, kernelSVM, spectrum, surface, train },
};

for (const root of document.querySelectorAll(".lab[data-lab]")) {
  FIGURES[root.dataset.lab](root, JSON.parse(root.dataset.start));
}
