// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Walking through the records of a batch.

import { BUFFER_WORDS, Command, RECORD_WORDS } from '../layout.js';

/** A batch's records, and their places. */
export function* recordsOf(words: Uint32Array): Generator<{ word: number; record: Uint32Array }> {
  for (let word = 0; word < words.length;) {
    const size = RECORD_WORDS[words[word]!]!;
    yield { word, record: words.subarray(word, word + size) };
    word += size + (words[word] === Command.CREATE_GROUP ? BUFFER_WORDS * words[word + 3]! : 0);
  }
}
