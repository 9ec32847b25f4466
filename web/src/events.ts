// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The event loop's side of an engine: when it computes, what waits for its events, when garbage is collected.

import type { Engine } from './engine.js';
import type { TandemError } from './errors.js';
import { collectorThreshold } from './memory.js';
import { platform } from './platform.js';

/** What is told of events that nobody waits for. */
export interface Listener {
  onDiagnostic?: ((error: TandemError) => void) | undefined;
  onPrint?: ((text: string) => void) | undefined;
}

/** Who is told what has happened in an engine. */
export interface EventSink {
  /** What an id was asked for is ready, or has failed. */
  onReady(id: number, error: TandemError | undefined): void;
  /** An error of a call, which may be nobody's. */
  onDiagnostic(error: TandemError): void;
  onPrint(text: string): void;
  /** Memory is short: garbage is to be collected. Not told again before `collected`. */
  onShortage(): void;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

// How long an engine may compute before other events of the page get their turn.
const SLICE_MS = 8;

/** Runs an engine's tasks and hands its events on. One for each engine. */
export class Events implements EventSink {
  /** How many tensors have been found to be garbage. */
  released = 0;
  private readonly waiters = new Map<number, Waiter>();
  private nextId = 1;
  private scheduled = false;
  private collecting: Promise<void> | undefined;

  constructor(private readonly engine: Engine, private readonly listener: Listener) {}

  /** Has the engine's tasks run, and its events taken, soon. */
  readonly wake = (): void => {
    if (this.scheduled) return;
    this.scheduled = true;
    platform.macrotask(this.turn);
  };

  private readonly turn = (): void => {
    this.scheduled = false;
    if (this.engine.closed !== undefined) return;
    try {
      const more = this.engine.runTasks(SLICE_MS);
      this.take();
      if (more) this.wake();
    } catch (error) {
      this.engine.trap(error);
    }
  };

  /** Takes the events that have come, and tells who waits for them. */
  take(): void {
    this.engine.takeEvents(this);
  }

  onReady(id: number, error: TandemError | undefined): void {
    const waiter = this.waiters.get(id);
    this.waiters.delete(id);
    if (this.waiters.size === 0) platform.stayAlive(this, false);
    if (error === undefined) waiter?.resolve();
    else waiter?.reject(error);
  }

  onDiagnostic(error: TandemError): void {
    report(() => this.listener.onDiagnostic?.(error));
  }

  onPrint(text: string): void {
    report(() => (this.listener.onPrint ?? platform.print)(text));
  }

  onShortage(): void {
    void this.collect();
  }

  /** Resolves when the engine sends the event of an id; `ask` makes it do so. */
  when(ask: (id: number) => void): Promise<void> {
    const id = this.nextId;
    this.nextId = (this.nextId % 0xffffffff) + 1;
    return new Promise((resolve, reject) => {
      ask(id);
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
    const { bytesInUse, threshold } = this.engine.memory();
    return bytesInUse > threshold || (this.engine.gpu?.isShort() ?? false);
  }

  private async collectOnce(): Promise<void> {
    const before = this.released;
    await platform.collectGarbage(() => this.engine.closed !== undefined || this.released !== before);
    if (this.engine.closed !== undefined) return;
    const { bytesInUse, limit } = this.engine.memory();
    this.engine.collected(collectorThreshold(bytesInUse, limit));
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
