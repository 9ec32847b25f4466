// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where programs run: a worker of the page, so that the page stays usable and any program can be stopped.

import * as tandem from 'tandem-rt';
import 'tandem-rt/docs';
import 'tandem-rt/methods';

import { shown } from './shown.js';

/** @typedef {import('tandem-rt').Runtime} Runtime */
/** @typedef {import('./messages.js').ToPage} ToPage */
/** @typedef {import('./messages.js').ToWorker} ToWorker */

const NAMES = Object.keys(tandem).filter((name) => name !== 'createRuntime');
const VALUES = NAMES.map((name) => /** @type {Record<string, unknown>} */ (tandem)[name]);
/** @type {new (...text: string[]) => (...values: unknown[]) => Promise<unknown>} */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

/** @type {Map<string, Promise<Runtime>>} by device */
const runtimes = new Map();

/** @param {ToPage} message @param {Transferable[]} [transfer] */
function send(message, transfer = []) {
  postMessage(message, { transfer });
}

/** @param {'cpu' | 'webgpu'} device */
function runtimeOn(device) {
  let runtime = runtimes.get(device);
  if (runtime === undefined) {
    runtime = tandem.createRuntime({ device, trackLocations: true });
    runtimes.set(device, runtime);
    runtime.catch(() => runtimes.delete(device));
  }
  return runtime;
}

// How many lines the engine puts before a function's body.
const LINES_BEFORE = new AsyncFunction('"begin"').toString().split('"begin"')[0].split('\n').length - 1;

/**
 * The line of the program that an error arose on, from 1; undefined if that is not known.
 * @param {unknown} error
 */
function lineOf(error) {
  const { location, stack } = /** @type {{ location?: string, stack?: string }} */ (error ?? {});
  for (const text of [location, stack]) {
    const match = /<anonymous>:(\d+):\d+/.exec(text ?? '') ?? /Function:(\d+):\d+/.exec(text ?? '');
    if (match !== null) return Number(match[1]) - LINES_BEFORE;
  }
  return undefined;
}

/** @param {unknown} error */
function sendError(error) {
  send({ kind: 'error', message: error instanceof Error ? `${error.name}: ${error.message}` : String(error), line: lineOf(error) });
}

/**
 * Runs a program; all that it shows has been sent when the promise is settled.
 * @param {Runtime} runtime
 * @param {string} code
 */
async function runProgram(runtime, code) {
  /** @type {Promise<void>} in the order of the calls */
  let sent = Promise.resolve();
  /** @param {unknown} value @param {string} [label] */
  const show = (value, label = '') => {
    // Its own reference: the program may dispose of it.
    const kept = value instanceof tandem.Tensor ? value.clone() : value;
    // Begun now, so that it is the value of now; sent in turn.
    const making = shown(kept, String(label));
    making.catch(() => {});
    sent = sent.then(async () => {
      try {
        const result = await making;
        send({ kind: 'result', result }, result.picture ? [result.picture.data.buffer] : []);
      } catch (error) {
        sendError(error);
      } finally {
        if (kept instanceof tandem.Tensor) kept.dispose();
      }
    });
    return value;
  };
  const log = (/** @type {unknown[]} */ ...values) => {
    for (const value of values) show(value);
  };
  const console = { ...globalThis.console, log, info: log, warn: log, error: log };
  await runtime.scope(async () => {
    try {
      // A block, so that what it declares may have the name of an op.
      const program = new AsyncFunction('rt', 'show', 'console', ...NAMES, `"use strict";{${code}\n}`);
      const result = await program(runtime, show, console, ...VALUES);
      if (result !== undefined) show(result);
    } catch (error) {
      await sent;
      sendError(error);
    }
    await sent;
  });
}

/** @param {'cpu' | 'webgpu'} device @param {string} code */
async function run(device, code) {
  /** @type {Runtime} */
  let runtime;
  try {
    runtime = await runtimeOn(device);
  } catch (error) {
    sendError(error);
    send({ kind: 'done', milliseconds: 0, device, threads: 0, trace: '' });
    return;
  }
  const { trace } = runtime;
  trace.clear();
  trace.start();
  const start = performance.now();
  await runProgram(runtime, code);
  const milliseconds = performance.now() - start;
  trace.stop();
  send({ kind: 'done', milliseconds, device, threads: runtime.capabilities.threads, trace: trace.json() });
}

addEventListener('message', ({ data }) => {
  const message = /** @type {ToWorker} */ (data);
  run(message.device, message.code).catch(sendError);
});

runtimeOn('cpu').then((runtime) => send({ kind: 'ready', ops: runtime.ops(), names: NAMES })).catch(sendError);
