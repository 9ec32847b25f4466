// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the page and its worker say to each other.

/**
 * @typedef {object} ToWorker  measure these
 * @property {readonly string[]} backends  by TensorFlow.js's names, in this order
 * @property {number} size  pixels of the picture's side
 * @property {number} rounds  inferences after the first one
 * @property {number} steps  of training
 */

/**
 * @typedef {object} Times  in milliseconds, as far as they are known by now
 * @property {string} backend
 * @property {number} [first]
 * @property {number} [median]
 * @property {number} [dense]  a step of training the network of dense layers
 * @property {number} [conv]  and of that with convolutions
 * @property {number} [apart]  how far the results are from the first backend's at most
 * @property {string} [reason]  why something of it cannot be done there
 */

/**
 * @typedef {{ kind: 'progress', text: string, done: number }
 *   | { kind: 'times', times: Times }
 *   | { kind: 'loss', backend: string, seconds: number, loss: number }
 *   | { kind: 'done' }
 *   | { kind: 'error', message: string }} ToPage  `done` is in [0, 1]
 */

export {};
