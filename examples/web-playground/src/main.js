// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The page: what is written in the editor runs in a worker, on the chosen device, and what it shows is shown here.

import { element, showProblem } from 'web-common/page.js';

import { Editor } from './editor.js';
import { EXAMPLES } from './examples.js';
import { Reference } from './reference.js';
import { Timeline } from './timeline.js';

/** @typedef {import('./messages.js').Shown} Shown */
/** @typedef {import('./messages.js').ToPage} ToPage */
/** @typedef {import('./messages.js').ToWorker} ToWorker */

/** Screen pixels that a small picture's side gets, at least. */
const SHOWN_SIDE = 192;

const status = element('status', HTMLElement);
const results = element('results', HTMLElement);
const runButton = element('run', HTMLButtonElement);
const stopButton = element('stop', HTMLButtonElement);
const saveButton = element('save-trace', HTMLButtonElement);
const editor = new Editor(element('editor', HTMLElement), { onRun: () => run() });
const reference = new Reference({
  list: element('ops', HTMLElement),
  found: element('found', HTMLElement),
  search: element('search', HTMLInputElement),
});
const timeline = new Timeline({
  lanes: element('timeline', HTMLElement),
  words: element('trace-words', HTMLElement),
  table: element('by-op', HTMLTableElement),
});

/** @type {Worker} */
let worker;
let isRunning = false;
let isReady = false;
let trace = '';

/** @param {string} text @param {string} className */
function card(text, className) {
  const box = document.createElement('div');
  box.className = `result ${className}`;
  const pre = document.createElement('pre');
  pre.textContent = text;
  box.append(pre);
  results.append(box);
  return box;
}

/** @param {Shown} shown */
function showResult({ label, type, text, picture }) {
  const box = card(text, '');
  const title = [label, type].filter(Boolean).join(' · ');
  if (picture !== undefined) {
    const canvas = document.createElement('canvas');
    canvas.width = picture.width;
    canvas.height = picture.height;
    const scale = Math.max(1, Math.floor(SHOWN_SIDE / Math.max(picture.width, picture.height)));
    canvas.style.width = `${picture.width * scale}px`;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `${label || 'A tensor'} as a picture of ${picture.width} by ${picture.height} pixels`);
    const image = new ImageData(Uint8ClampedArray.from(picture.data), picture.width, picture.height);
    canvas.getContext('2d')?.putImageData(image, 0, 0);
    const numbers = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = 'Numbers';
    numbers.append(summary, ...box.childNodes);
    box.append(canvas, numbers);
  }
  if (title === '') return;
  const heading = document.createElement('h3');
  heading.textContent = title;
  box.prepend(heading);
}

/** @param {string} message @param {number | undefined} line */
function showError(message, line) {
  card(line === undefined ? message : `${message}\nline ${line}`, 'error');
  editor.markLine(line);
}

function updateButtons() {
  runButton.disabled = !isReady || isRunning;
  stopButton.disabled = !isRunning;
  saveButton.hidden = trace === '';
}

/** @param {ToPage} message */
function onMessage(message) {
  switch (message.kind) {
    case 'ready': {
      isReady = true;
      const names = reference.show(message.ops, message.names, (text) => editor.insert(text));
      editor.complete([...names, 'show', 'rt']);
      break;
    }
    case 'result':
      showResult(message.result);
      break;
    case 'error':
      showError(message.message, message.line);
      break;
    case 'done':
      isRunning = false;
      trace = message.trace;
      timeline.show(trace);
      status.textContent = message.threads === 0 ? 'It did not run.'
        : `Ran in ${message.milliseconds.toFixed(1)} ms on ${message.device === 'webgpu' ? 'WebGPU' : 'the CPU'}, ` +
          `${message.threads === 1 ? 'one thread' : `${message.threads} threads`}.`;
      break;
  }
  updateButtons();
}

function startWorker() {
  isReady = false;
  worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }) => onMessage(data));
  worker.addEventListener('error', (event) => showProblem(event.message || 'the worker could not be started'));
  updateButtons();
}

function chosenDevice() {
  const chosen = document.querySelector('input[name="device"]:checked');
  return chosen instanceof HTMLInputElement && chosen.value === 'webgpu' ? 'webgpu' : 'cpu';
}

function run() {
  if (!isReady || isRunning) return;
  isRunning = true;
  results.replaceChildren();
  editor.markLine(undefined);
  status.textContent = 'Running…';
  /** @type {ToWorker} */
  const message = { device: chosenDevice(), code: editor.text };
  worker.postMessage(message);
  updateButtons();
}

function stop() {
  if (!isRunning) return;
  isRunning = false;
  worker.terminate();
  status.textContent = 'Stopped.';
  startWorker();
}

function saveTrace() {
  const url = URL.createObjectURL(new Blob([trace], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'playground-trace.json';
  link.click();
  // Not before the download has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const choice = element('examples', HTMLSelectElement);
choice.append(...EXAMPLES.map(({ name }) => new Option(name)));
choice.addEventListener('change', () => {
  editor.text = EXAMPLES[choice.selectedIndex]?.code ?? '';
  run();
});
editor.text = EXAMPLES[0]?.code ?? '';
runButton.addEventListener('click', run);
stopButton.addEventListener('click', stop);
saveButton.addEventListener('click', saveTrace);
startWorker();
