// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Recording what runs when, in the trace format of Chrome.

import type { Engine } from './engine.js';
import { errorIn } from './errors.js';

/** What a runtime records: each op with its name, shapes, attributes, time in the queue and time of running. */
export class Trace {
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Records from now on. */
  start(): void {
    this.#engine.startTrace();
  }

  /** Records no longer. */
  stop(): void {
    this.#engine.stopTrace();
  }

  /** Forgets what was recorded. */
  clear(): void {
    this.#engine.clearTrace();
  }

  /** What was recorded, for chrome://tracing and ui.perfetto.dev. */
  json(): string {
    return this.#engine.traceJson();
  }

  /**
   * Offers what was recorded as a file to download. In pages only.
   *
   * @throws TandemError Unimplemented where there is no document: write `json()` to a file there.
   */
  download(filename = 'tandem-trace.json'): void {
    if (typeof document === 'undefined') {
      throw errorIn('trace.download', 'Unimplemented',
        'expected a page, got an environment without a document; write json() to a file');
    }
    const url = URL.createObjectURL(new Blob([this.json()], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = filename;
    link.click();
    // Not before the download has begun.
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
