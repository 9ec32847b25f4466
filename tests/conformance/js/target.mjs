// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which cases a device does not support or is expected to fail, what its number formats allow, and why.

function checkObject(object, what) {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) {
    throw new Error(`${what} must be an object from patterns to reasons`);
  }
}

/** Of the whole of the case's name, its op or one of its tags. */
function matches(pattern, { name, op, tags }) {
  return [name, op, ...tags].some((text) => pattern.test(text));
}

/** Cases with reasons: an object from patterns to reasons, as targets/<device>/*.json has it. */
export class CaseList {
  #entries;

  /** @param object throws an Error if it is not such an object */
  constructor(object, what) {
    checkObject(object, what);
    this.#entries = Object.entries(object).map(([pattern, reason]) => {
      if (typeof reason !== 'string' || reason === '') {
        throw new Error(`${what}: "${pattern}" must have a reason, got ${JSON.stringify(reason)}`);
      }
      return [new RegExp(`^(?:${pattern})$`), reason];
    });
  }

  /** The reason if a pattern matches the whole of the case's name, its op or one of its tags; else undefined. */
  reasonFor(conformanceCase) {
    return this.#entries.find(([pattern]) => matches(pattern, conformanceCase))?.[1];
  }
}

/** Tolerances with reasons: an object from patterns to { ulp, abs, reason }, as targets/<device>/tolerances.json has it. */
export class ToleranceList {
  #entries;

  /** @param object throws an Error if it is not such an object */
  constructor(object, what) {
    checkObject(object, what);
    this.#entries = Object.entries(object).map(([pattern, entry]) => {
      if (typeof entry?.reason !== 'string') {
        throw new Error(`${what}: "${pattern}" must have a tolerance with a reason, got ${JSON.stringify(entry)}`);
      }
      return [new RegExp(`^(?:${pattern})$`), entry];
    });
  }

  /** The case's own tolerance, or that of the entries that match it, whatever is larger. */
  find(conformanceCase) {
    const widest = { ...conformanceCase.tolerance };
    for (const [pattern, { ulp = 0, abs = 0 }] of this.#entries) {
      if (!matches(pattern, conformanceCase)) continue;
      widest.ulp = Math.max(widest.ulp, ulp);
      widest.abs = Math.max(widest.abs, abs);
    }
    return widest;
  }
}
