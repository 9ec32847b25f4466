// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The texts of ops, once tandem-rt/docs has brought them. In Node they are always there; see op_docs.node.ts.

// Where that entry leaves them: it shares no file with the others, so that none is the larger for it.
const DOCS = Symbol.for('tandem-rt/docs');

/** The texts by the ops' names; undefined if they are not there. */
export function textsOfOps(): Readonly<Record<string, string>> | undefined {
  return (globalThis as Record<symbol, unknown>)[DOCS] as Readonly<Record<string, string>> | undefined;
}
