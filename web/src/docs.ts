// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/docs: what `runtime.ops()` says of ops in words, for programs that import it; others have none of it.

import { texts } from './op_docs_text.js';

// As in op_docs.ts, which is in another file of the package.
(globalThis as Record<symbol, unknown>)[Symbol.for('tandem-rt/docs')] = texts;

/** What an op computes, by its name, such as 'tf.MatMul'; undefined for ops that the package does not have. */
export function docOf(name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}
