// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The page: strokes become a picture, the picture probabilities, at most once a frame.

import { Answer } from './answer.js';
import { Devices } from './devices.js';
import { MnistTest } from './mnist.js';
import { SIZE, normalize } from './normalize.js';
import { Pad } from './pad.js';
import { element, showInk, showProblem } from 'web-common/page.js';
import { Strokes } from './strokes.js';
import { Training } from './training.js';

const WEIGHTS = new URL('../digits.safetensors', import.meta.url);

/**
 * @param {string} id
 * @param {string} text
 */
function showFact(id, text) {
  element(id, HTMLElement).textContent = text;
}

/**
 * Shows a reading of the strokes in each frame in which they changed.
 * @param {Strokes} strokes
 * @param {Pad} pad
 * @param {Devices} devices
 */
function readWhileDrawing(strokes, pad, devices) {
  const answer = new Answer();
  const seen = element('seen', HTMLCanvasElement);
  let isScheduled = false;

  const update = async () => {
    isScheduled = false;
    pad.draw();
    element('hint', HTMLElement).hidden = !strokes.isEmpty;
    if (strokes.isEmpty) {
      devices.current.cancel();
      showInk(seen, [], 1);
      answer.clear();
      return;
    }
    const picture = normalize(strokes.lines);
    showInk(seen, picture, 1);
    const reading = await devices.current.read(picture);
    if (reading === undefined) return;
    answer.show(reading.probabilities, !strokes.isDown);
    devices.showTimes();
  };
  const schedule = () => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => update().catch(showProblem));
  };
  strokes.addEventListener('change', schedule);
  strokes.addEventListener('lift', schedule);
  devices.addEventListener('change', schedule);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', schedule);
  schedule();
}

/** @param {Devices} devices */
function showFacts({ current }) {
  const { runtime, network } = current;
  showFact('threads', String(runtime.capabilities.threads));
  element('threads', HTMLElement).title = runtime.capabilities.reasons.threads ?? '';
  showFact('ops', String(current.numOps));
  showFact('weights', network.numParameters.toLocaleString('en'));
}

async function start() {
  const strokes = new Strokes();
  const pad = new Pad(element('pad', HTMLCanvasElement), strokes);
  element('clear', HTMLButtonElement).addEventListener('click', () => strokes.clear());

  const devices = await Devices.open(WEIGHTS);
  showFacts(devices);
  devices.addEventListener('change', () => showFacts(devices));
  readWhileDrawing(strokes, pad, devices);
  element('trace', HTMLButtonElement).addEventListener('click', () => {
    const picture = strokes.isEmpty ? new Float32Array(SIZE * SIZE) : normalize(strokes.lines);
    devices.current.saveTrace(picture).catch(showProblem);
  });
  new MnistTest(devices);
  new Training(devices);
}

start().catch(showProblem);
