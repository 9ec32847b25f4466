// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a module has of WebGPU; webgpu/ implements it, in a file that is loaded when there is a device.

import type { GpuCapabilities } from '../capabilities.js';
import type { Gpu } from '../gpu.js';
import type { WasmEngine } from './engine.js';

/** How a runtime uses its device. */
export interface GpuOptions {
  readonly fallback: boolean;
  /** Bytes; 0 for none. */
  readonly memoryLimit: number;
}

/** The device of a module. */
export interface WasmGpu extends Gpu {
  /** Carries out what the module says. */
  execute(batch: number, words: number, count: number, arena: number, arenaBytes: number): void;
}

/** A device that no runtime has yet. */
export interface GpuSource {
  readonly capabilities: GpuCapabilities;
  attach(engine: WasmEngine, options: GpuOptions): WasmGpu;
  close(): void;
}
