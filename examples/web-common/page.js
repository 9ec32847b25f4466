// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the modules of pages share: its elements, pictures on canvases, and the place for problems.

/**
 * The element of this id, which is of this class.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type
 */
export function element(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`the page has no ${type.name} with id ${id}`);
}

/**
 * Shows ink as the element's text colour, more or less opaque.
 * @param {HTMLCanvasElement} canvas  of as many pixels
 * @param {ArrayLike<number>} ink
 * @param {number} full  the value of full ink
 */
export function showInk(canvas, ink, full) {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const { width, height } = canvas;
  const [red, green, blue] = getComputedStyle(canvas).color.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0];
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; ++i) image.data.set([red, green, blue, (255 * (ink[i] ?? 0)) / full], 4 * i);
  context.putImageData(image, 0, 0);
}

/** @param {unknown} error */
export function showProblem(error) {
  const problem = element('problem', HTMLElement);
  problem.textContent = error instanceof Error ? error.message : String(error);
  problem.hidden = false;
}
