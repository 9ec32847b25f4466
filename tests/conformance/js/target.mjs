// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which cases a device does not support or is expected to fail, and why.

/** Cases with reasons: an object from patterns to reasons, as targets/<device>/*.json has it. */
export class CaseList {
  #entries;

  /** @param object throws an Error if it is not such an object */
  constructor(object, what) {
    if (typeof object !== 'object' || object === null || Array.isArray(object)) {
      throw new Error(`${what} must be an object from patterns to reasons`);
    }
    this.#entries = Object.entries(object).map(([pattern, reason]) => {
      if (typeof reason !== 'string' || reason === '') {
        throw new Error(`${what}: "${pattern}" must have a reason, got ${JSON.stringify(reason)}`);
      }
      return [new RegExp(`^(?:${pattern})$`), reason];
    });
  }

  /** The reason if a pattern matches the whole of the case's name, its op or one of its tags; else undefined. */
  reasonFor({ name, op, tags }) {
    return this.#entries.find(([pattern]) => [name, op, ...tags].some((text) => pattern.test(text)))?.[1];
  }
}
