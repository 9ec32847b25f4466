// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What code throws, for tests to look at.

import { expect } from 'chai';
import { TandemError } from 'tandem-rt';

/** What `fn` throws. */
export function errorOf(fn) {
  try {
    fn();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error, got none');
}

/** Expects an error of the package with that code, whose message matches. Returns it. */
export function checkError(error, code, message) {
  expect(error, String(error)).to.be.instanceOf(TandemError);
  expect(error.message).to.match(message);
  expect(error.code).to.equal(code);
  return error;
}

/** Expects `fn` to throw such an error. */
export function expectError(fn, code, message) {
  return checkError(errorOf(fn), code, message);
}

/** What the promise rejects with. */
export async function rejectionOf(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${String(value).slice(0, 80)}`);
}
