// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the page and its worker say to each other.

/** @typedef {{ device: 'cpu' | 'webgpu', code: string }} ToWorker  run this */

/**
 * @typedef {object} Picture
 * @property {Uint8ClampedArray} data  R, G, B and alpha of each pixel
 * @property {number} width
 * @property {number} height
 */

/**
 * @typedef {object} Shown
 * @property {string} label
 * @property {string} type  such as "f32[2,2] on cpu", or empty for what is no tensor
 * @property {string} text
 * @property {Picture} [picture]
 */

/**
 * @typedef {{ kind: 'ready', ops: readonly import('tandem-rt').OpDefinition[], names: readonly string[] }
 *   | { kind: 'result', result: Shown }
 *   | { kind: 'error', message: string, line: number | undefined }
 *   | { kind: 'done', milliseconds: number, device: string, threads: number, trace: string }} ToPage
 */

export {};
