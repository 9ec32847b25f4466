// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The event loop's side of an engine: when it computes, what waits for its events, when garbage is collected.

import type { Engine, Handle } from './engine.js';
import type { TandemError } from './errors.js';
import { collectorThreshold, MOST_BYTES } from './memory.js';
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
// How long workers may take before they are asked whether they have anything to do, which a thread waits for.
const PATIENCE_MS = 100;

/** Runs an engine's tasks and hands its events on. One for each engine. */
export class Events implements EventSink {
  /** How many tensors have been found to be garbage. */
  released = 0;
  private readonly waiters = new Map<number, Waiter>();
  private nextId = 1;
  // How many events were told.
  private told = 0;
  // Whether the engine computes little until garbage has been collected.
  private holdsBack = false;
  private scheduled = false;
  // Since when it has computed for who waits, without an event of the page's in between; 0 if it has not.
  private busySince = 0;
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
    ++this.told;
    const waiter = this.waiters.get(id);
    this.waiters.delete(id);
    if (this.waiters.size === 0) platform.stayAlive(this, false);
    if (error === undefined) waiter?.resolve();
    else waiter?.reject(error);
  }

  onDiagnostic(error: TandemError): void {
    ++this.told;
    report(() => this.listener.onDiagnostic?.(error));
  }

  onPrint(text: string): void {
    ++this.told;
    report(() => (this.listener.onPrint ?? platform.print)(text));
  }

  onShortage(): void {
    ++this.told;
    this.holdsBack = true;
    void this.collect();
  }

  /** Resolves when the engine sends the event of an id; `ask` makes it do so. */
  when(ask: (id: number) => void): Promise<void> {
    return new Promise((resolve, reject) => this.expect(ask, { resolve, reject }));
  }

  private expect(ask: (id: number) => void, waiter: Waiter): void {
    const id = this.nextId;
    this.nextId = (this.nextId % 0xffffffff) + 1;
    ask(id);
    if (this.waiters.size === 0) platform.stayAlive(this, true);
    this.waiters.set(id, waiter);
  }

  /**
   * Takes part in what a tensor waits for, as long as that is short and the page has had its events lately: sooner done
   * than to be told of it.
   */
  help(tensor: Handle): void {
    const now = performance.now();
    if (!this.busySince) {
      this.busySince = now;
      platform.macrotask(() => {
        this.busySince = 0;
      });
    }
    this.engine.help(tensor, this.busySince + SLICE_MS - now);
  }

  /**
   * Computes, without the event loop, until a tensor is available or an error. False if what it depends on will not
   * come so: a kernel in JavaScript that awaits something, say.
   */
  computeNow(tensor: Handle): boolean {
    const { engine } = this;
    while (engine.state(tensor) === 'pending') {
      if (engine.runTasks(SLICE_MS)) continue;
      const before = this.told;
      this.take();
      if (this.goOnIfShort() || this.told !== before || engine.state(tensor) !== 'pending') continue;
      if (!engine.hasWorkers || !this.waitForWorkers(tensor)) return false;
    }
    return true;
  }

  // Finalizers run in turns of the event loop alone: until the next one there is nothing to collect.
  private goOnIfShort(): boolean {
    if (!this.holdsBack) return false;
    this.holdsBack = false;
    const { limit } = this.engine.memory();
    this.engine.collected(Math.min(limit, MOST_BYTES));
    return true;
  }

  // Takes part in their work. Until the tensor is there, or workers have nothing to do any more and have told nothing:
  // false then.
  private waitForWorkers(tensor: Handle): boolean {
    const { engine } = this;
    const askAt = performance.now() + PATIENCE_MS;
    let asked: number | undefined;
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    while (engine.state(tensor) === 'pending') {
      this.take();
      this.goOnIfShort();
      if (settled) return this.told !== asked! + 1 || engine.state(tensor) !== 'pending';
      if (asked === undefined && performance.now() >= askAt) {
        this.expect((id) => engine.askSettled(id), { resolve: settle, reject: settle });
        asked = this.told;
      }
      engine.help(tensor, SLICE_MS);
      platform.pause();
    }
    return true;
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
    this.holdsBack = false;
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
