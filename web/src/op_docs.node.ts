// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The texts of ops, for Node, where no download is the larger for them.

import { texts } from './op_docs_text.js';

/** As that of op_docs.ts. */
export function textsOfOps(): Readonly<Record<string, string>> {
  return texts;
}
