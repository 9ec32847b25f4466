// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The event loop's side of a module instance: when it computes, what waits for its events, when garbage is collected.

import { DESCRIPTION, EVENTS, MAX_EVENTS } from './engine.js';
import type { Engine } from './engine.js';
import type { TandemError } from './errors.js';
import { collectorThreshold } from './memory.js';
import type { WasmExports } from './module.js';
import { platform } from './platform.js';

/** What is told of events that nobody waits for. */
export interface Listener {
  onDiagnostic?: ((error: TandemError) => void) | undefined;
  onPrint?: ((text: string) => void) | undefined;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

// How long the module may compute before other events of the page get their turn.
const SLICE_MS = 8;

// As in tandem_js.h.
const READY = 1;
const DIAGNOSTIC = 2;
const PRINT = 3;
const SHORTAGE = 4;

/** See above. One for each engine. */
export class Events {
  /** How many tensors have been found to be garbage. */
  released = 0;
  private readonly waiters = new Map<number, Waiter>();
  private nextId = 1;
  private scheduled = false;
  private collecting: Promise<void> | undefined;

  constructor(private readonly engine: Engine, private readonly listener: Listener) {}

  /** Has the module's tasks run, and its events taken, soon. */
  readonly wake = (): void => {
    if (this.scheduled) return;
    this.scheduled = true;
    platform.macrotask(this.turn);
  };

  private readonly turn = (): void => {
    this.scheduled = false;
    if (this.engine.closed !== undefined) return;
    try {
      const more = this.engine.exports.tandem_js_run_tasks(this.engine.js, SLICE_MS);
      this.take();
      if (more !== 0) this.wake();
    } catch (error) {
      this.engine.trap(error);
    }
  };

  /** Takes the events that have come, and tells who waits for them. */
  take(): void {
    const { engine, engine: { heap } } = this;
    const at = heap.scratch + EVENTS;
    let count: number;
    do {
      count = engine.exports.tandem_js_take_events(engine.js, at, MAX_EVENTS);
      heap.renew();
      const events = heap.u32.slice(at >>> 2, (at >>> 2) + 4 * count);
      for (let i = 0; i < count; ++i) {
        this.handle(events[4 * i]!, events[4 * i + 1]!, events[4 * i + 2]!, events[4 * i + 3]!);
      }
    } while (count === MAX_EVENTS && engine.closed === undefined);
  }

  private handle(kind: number, id: number, data: number, size: number): void {
    switch (kind) {
      case READY: {
        const waiter = this.waiters.get(id);
        this.waiters.delete(id);
        if (this.waiters.size === 0) platform.stayAlive(this, false);
        const error = data === 0 ? undefined : this.engine.takeStatus(data);
        if (error === undefined) waiter?.resolve();
        else waiter?.reject(error);
        break;
      }
      case DIAGNOSTIC: {
        const error = this.engine.takeStatus(data);
        report(() => this.listener.onDiagnostic?.(error));
        break;
      }
      case PRINT: {
        const text = this.engine.heap.text(data, size);
        this.engine.exports.tandem_free(data);
        report(() => (this.listener.onPrint ?? platform.print)(text));
        break;
      }
      case SHORTAGE:
        void this.collect();
        break;
    }
  }

  /** Resolves when the module sends the event of an id; `ask` makes it do so. */
  when(ask: (exports: WasmExports, id: number) => number): Promise<void> {
    const id = this.nextId;
    this.nextId = (this.nextId % 0xffffffff) + 1;
    return new Promise((resolve, reject) => {
      this.engine.check(this.engine.guard((exports) => ask(exports, id)));
      if (this.waiters.size === 0) platform.stayAlive(this, true);
      this.waiters.set(id, { resolve, reject });
    });
  }

  /** Provokes a garbage collection, so that tensors nobody holds are released. */
  collect(): Promise<void> {
    this.collecting ??= this.collectOnce().finally(() => {
      this.collecting = undefined;
    });
    return this.collecting;
  }

  /** Whether so much memory is in use that garbage is to be collected first. */
  isShort(): boolean {
    if (this.engine.closed !== undefined) return false;
    return this.engine.guard((exports, scratch) => {
      exports.tandem_js_memory(this.engine.js, scratch + DESCRIPTION);
      this.engine.heap.renew();
      const info = (scratch + DESCRIPTION) >>> 3;
      return this.engine.heap.f64[info]! > this.engine.heap.f64[info + 6]!;
    }) || (this.engine.gpu?.isShort() ?? false);
  }

  private async collectOnce(): Promise<void> {
    const before = this.released;
    await platform.collectGarbage(() => this.engine.closed !== undefined || this.released !== before);
    if (this.engine.closed !== undefined) return;
    this.engine.guard((exports, scratch) => {
      exports.tandem_js_memory(this.engine.js, scratch + DESCRIPTION);
      this.engine.heap.renew();
      const info = (this.engine.heap.scratch + DESCRIPTION) >>> 3;
      const threshold = collectorThreshold(this.engine.heap.f64[info]!, this.engine.heap.f64[info + 5]!);
      exports.tandem_js_collected(this.engine.js, threshold);
    });
    this.engine.gpu?.collected();
    this.wake();
  }

  /** Rejects what waits, once the engine is closed. */
  close(): void {
    const waiters = [...this.waiters.values()];
    this.waiters.clear();
    platform.stayAlive(this, false);
    for (const waiter of waiters) waiter.reject(this.engine.whyClosed());
  }
}

// What a user's callback throws must not end the event loop.
function report(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
