// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Reads and writes the example's files, with errors that say what is wrong with them.

import { existsSync, statSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { readDigits } from 'digits-js/idx.js';
import { InputError } from 'digits-js/input-error.js';

/** @typedef {import('digits-js/digit-set.js').DigitFolder} DigitFolder */

/** @param {unknown} error */
function reasonOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * InputError if there is no such file, if it cannot be read, or if it is a folder, a pipe or a device.
 * @param {string} path
 */
async function readWhole(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new InputError(`${path}: expected a file, got none`);
  if (found.isDirectory()) throw new InputError(`${path}: expected a file, got a folder`);
  if (!found.isFile()) throw new InputError(`${path}: expected an ordinary file, got a pipe or a device`);
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    throw new InputError(`${path}: expected a file that can be read, got: ${reasonOf(error)}`);
  }
}

/**
 * Writes beside `path` and then renames, so that a file at `path` is always whole: the old one or the new one.
 * InputError if the system refuses.
 * @param {string} path
 * @param {Uint8Array | string} content
 */
export async function writeWhole(path, content) {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new InputError(`${path}: expected to write it, got: ${reasonOf(error)}`);
  }
}

/**
 * @param {string} folder
 * @param {'train' | 't10k'} part
 */
async function readPart(folder, part) {
  const files = [];
  for (const content of ['images-idx3', 'labels-idx1']) {
    const name = `${part}-${content}-ubyte`;
    const path = [join(folder, name), join(folder, `${name}.gz`)].find((candidate) => existsSync(candidate));
    if (path === undefined) {
      throw new InputError(`${folder}: expected a file ${name} or ${name}.gz, got neither`);
    }
    files.push({ name: path, bytes: await readWhole(path) });
  }
  return readDigits(files[0], files[1]);
}

/**
 * Reads train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k from `folder`, each plain or with ".gz"
 * (the plain one if both are there). Both sets must have images of one size.
 * @param {string} folder
 * @returns {Promise<DigitFolder>}
 */
export async function readDigitFolder(folder) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new InputError(`${folder}: expected a folder with MNIST's files, got no folder`);
  }
  const train = await readPart(folder, 'train');
  const test = await readPart(folder, 't10k');
  if (test.rows !== train.rows || test.cols !== train.cols) {
    throw new InputError(
      `${folder}: expected test images of ${train.rows}x${train.cols} like those to train on, ` +
        `got ${test.rows}x${test.cols}`,
    );
  }
  return { train, test };
}
