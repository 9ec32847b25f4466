// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The page: which backends are measured, and what is found, as it comes.

import { Chart } from 'web-common/chart.js';
import { element, showProblem } from 'web-common/page.js';

/** @typedef {import('./messages.js').Times} Times */
/** @typedef {import('./messages.js').ToPage} ToPage */
/** @typedef {import('./messages.js').ToWorker} ToWorker */

/** By TensorFlow.js's names. */
const BACKENDS = /** @type {const} */ ([
  { name: 'tandem', title: 'Tandem', device: 'CPU' },
  { name: 'wasm', title: 'TensorFlow.js', device: 'CPU' },
  { name: 'tandem-webgpu', title: 'Tandem', device: 'WebGPU' },
  { name: 'webgpu', title: 'TensorFlow.js', device: 'WebGPU' },
]);
const COLUMNS = /** @type {const} */ (['first', 'median', 'dense', 'conv', 'apart']);

const status = element('status', HTMLElement);
const progress = element('progress', HTMLProgressElement);
const startButton = element('start', HTMLButtonElement);
const stopButton = element('stop', HTMLButtonElement);
const chart = new Chart(element('losses', SVGSVGElement));

/** `?size=96&rounds=5&steps=20` in the page's address: less work. */
const asked = new URLSearchParams(location.search);
const number = (/** @type {string} */ name, /** @type {number} */ usual) => {
  const value = Number(asked.get(name) ?? usual);
  return Number.isInteger(value) && value > 0 ? value : usual;
};
const size = Math.max(32, Math.min(1024, 32 * Math.round(number('size', 224) / 32)));
element('size', HTMLElement).textContent = `${size} × ${size}`;

/** @type {Worker | undefined} */
let worker;
/** @type {Map<string, Times>} */
const measured = new Map();

/** @param {string} name */
function lookOf(name) {
  const i = BACKENDS.findIndex((backend) => backend.name === name);
  const { title, device } = BACKENDS[i];
  return { color: `var(--line-${i})`, title, device };
}

for (const { name, title, device } of BACKENDS) {
  const label = document.createElement('label');
  const input = document.createElement('input');
  input.type = 'checkbox';
  input.name = name;
  input.checked = device === 'CPU' || 'gpu' in navigator;
  label.append(input, `${title}, ${device}`);
  element('backends', HTMLElement).append(label);
}

/** @param {number} value @param {typeof COLUMNS[number]} column */
function textOf(value, column) {
  if (column === 'apart') return value === 0 ? '0' : value.toExponential(0);
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

function showTimes() {
  const all = [...measured.values()];
  const best = (/** @type {typeof COLUMNS[number]} */ column) => Math.min(...all.map((times) => times[column] ?? Infinity));
  const rows = all.map((times) => {
    const row = document.createElement('tr');
    const { title, device } = lookOf(times.backend);
    const head = document.createElement('th');
    head.scope = 'row';
    const small = document.createElement('small');
    small.textContent = device;
    head.append(`${title} `, small);
    row.append(head);
    row.dataset.backend = times.backend;
    if (times.reason !== undefined && times.first === undefined) {
      const cell = row.insertCell();
      cell.colSpan = COLUMNS.length;
      cell.className = 'reason';
      cell.textContent = times.reason;
      return row;
    }
    for (const column of COLUMNS) {
      const cell = row.insertCell();
      const value = times[column];
      cell.textContent = value !== undefined ? textOf(value, column) : times.reason !== undefined ? 'cannot' : '…';
      cell.title = value === undefined ? (times.reason ?? '') : '';
      if (column !== 'apart' && all.length > 1 && value === best(column)) cell.className = 'best';
    }
    return row;
  });
  element('times', HTMLTableElement).tBodies[0]?.replaceChildren(...rows);
  const reasons = all.filter(({ first, reason }) => first !== undefined && reason !== undefined);
  element('reasons', HTMLElement).replaceChildren(...reasons.map(({ backend, reason }) => {
    const item = document.createElement('li');
    const { title, device } = lookOf(backend);
    item.textContent = `${title}, ${device}: ${reason}.`;
    return item;
  }));
}

/** @param {string} text */
function end(text) {
  worker?.terminate();
  worker = undefined;
  status.textContent = text;
  progress.hidden = true;
  startButton.disabled = false;
  stopButton.disabled = true;
}

/** @param {ToPage} message */
function onMessage(message) {
  switch (message.kind) {
    case 'progress':
      status.textContent = message.text;
      progress.value = message.done;
      break;
    case 'times':
      measured.set(message.times.backend, message.times);
      showTimes();
      break;
    case 'loss':
      chart.add(message.backend, lookOf(message.backend).color, { x: message.seconds, y: message.loss });
      break;
    case 'error':
      showProblem(message.message);
      end('Failed.');
      break;
    case 'done':
      end('Done. Times vary: measure again on a page that is at rest.');
      break;
  }
}

function start() {
  const inputs = [...element('backends', HTMLElement).querySelectorAll('input')];
  const backends = inputs.filter(({ checked }) => checked).map(({ name }) => name);
  if (backends.length === 0) {
    status.textContent = 'Choose a backend.';
    return;
  }
  measured.clear();
  showTimes();
  chart.clear();
  element('legend', HTMLElement).replaceChildren(...backends.map((name) => {
    const { color, title, device } = lookOf(name);
    const item = document.createElement('li');
    const line = document.createElement('span');
    line.style.background = color;
    item.append(line, `${title}, ${device}`);
    return item;
  }));
  progress.hidden = false;
  progress.value = 0;
  startButton.disabled = true;
  stopButton.disabled = false;
  status.textContent = 'Loading…';
  worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }) => onMessage(data));
  worker.addEventListener('error', (event) => {
    showProblem(event.message || 'the worker could not be started');
    end('Failed.');
  });
  /** @type {ToWorker} */
  const message = { backends, size, rounds: number('rounds', 15), steps: number('steps', 100) };
  worker.postMessage(message);
}

element('choices', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  start();
});
stopButton.addEventListener('click', () => end('Stopped.'));
