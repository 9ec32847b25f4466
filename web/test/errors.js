// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What code throws, for tests to look at.

/** What `fn` throws. */
export function errorOf(fn) {
  try {
    fn();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error, got none');
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
