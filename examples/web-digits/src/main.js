// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The page: strokes become a picture, the picture probabilities, at most once a frame.

import { createRuntime } from 'tandem-rt';

import { Network } from 'digits-js/network.js';

import { Answer } from './answer.js';
import { MnistTest } from './mnist.js';
import { SIZE, normalize } from './normalize.js';
import { Pad } from './pad.js';
import { element, showInk, showProblem } from './page.js';
import { Reader } from './reader.js';
import { Strokes } from './strokes.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */

/** Readings that the shown time is the median of. */
const TIMED_READINGS = 32;

/** @param {Runtime} runtime */
async function loadNetwork(runtime) {
  const url = new URL('../digits.safetensors', import.meta.url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: expected the weights, got ${response.status} ${response.statusText}`);
  return Network.load(runtime, new Uint8Array(await response.arrayBuffer()), url.pathname);
}

/**
 * @param {string} id
 * @param {string} text
 */
function showFact(id, text) {
  element(id, HTMLElement).textContent = text;
}

/** Keeps the times of the last readings and shows their median. */
function makeTimer() {
  /** @type {number[]} */
  const times = [];
  return (/** @type {number} */ milliseconds) => {
    times.push(milliseconds);
    if (times.length > TIMED_READINGS) times.shift();
    const median = [...times].sort((a, b) => a - b)[times.length >> 1];
    showFact('time', `${median.toFixed(2)} ms`);
  };
}

/**
 * Shows a reading of the strokes in each frame in which they changed.
 * @param {Strokes} strokes
 * @param {Pad} pad
 * @param {Reader} reader
 */
function readWhileDrawing(strokes, pad, reader) {
  const answer = new Answer();
  const seen = element('seen', HTMLCanvasElement);
  const showTime = makeTimer();
  let isScheduled = false;

  const update = async () => {
    isScheduled = false;
    pad.draw();
    element('hint', HTMLElement).hidden = !strokes.isEmpty;
    if (strokes.isEmpty) {
      reader.cancel();
      showInk(seen, [], 1);
      answer.clear();
      return;
    }
    const picture = normalize(strokes.lines);
    showInk(seen, picture, 1);
    const reading = await reader.read(picture);
    if (reading === undefined) return;
    answer.show(reading.probabilities, !strokes.isDown);
    showTime(reading.milliseconds);
  };
  const schedule = () => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => update().catch(showProblem));
  };
  strokes.addEventListener('change', schedule);
  strokes.addEventListener('lift', schedule);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', schedule);
  schedule();
}

async function start() {
  const strokes = new Strokes();
  const pad = new Pad(element('pad', HTMLCanvasElement), strokes);
  element('clear', HTMLButtonElement).addEventListener('click', () => strokes.clear());

  const runtime = await createRuntime();
  const network = await loadNetwork(runtime);
  if (network.rows !== SIZE || network.cols !== SIZE) {
    throw new Error(`expected weights for pictures of ${SIZE}x${SIZE}, got ${network.rows}x${network.cols}`);
  }
  const reader = new Reader(runtime, network);
  // The first reading pays for what later ones have at hand.
  await reader.read(new Float32Array(SIZE * SIZE));
  showFact('device', runtime.device);
  showFact('threads', String(runtime.capabilities.threads));
  element('threads', HTMLElement).title = runtime.capabilities.reasons.threads ?? '';
  showFact('ops', String(reader.numOps));
  showFact('weights', network.numParameters.toLocaleString('en'));
  readWhileDrawing(strokes, pad, reader);
  new MnistTest(runtime, network);
}

start().catch(showProblem);
