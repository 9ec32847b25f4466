// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the environment offers, what of that a runtime uses, and why not the rest.

/** Where ops run. */
export type DeviceName = 'cpu' | 'webgpu';

/** What a WebGPU device has. */
export interface GpuCapabilities {
  /** Vendor, architecture and so on, as far as the browser tells. */
  readonly adapter: string;
  /** Of 'shader-f16', 'subgroups' and 'timestamp-query' those that it has. */
  readonly features: readonly string[];
  /** Such as `maxStorageBufferBindingSize`: how much of a tensor a shader can see. */
  readonly limits: Readonly<Record<string, number>>;
}

/** What the environment and the module offer, as plain data, which can be logged. */
export interface Capabilities {
  /** Where the runtime's ops run. */
  readonly device: DeviceName;
  /** The version of the runtime's WebAssembly module. */
  readonly version: string;
  /** WebAssembly SIMD, without which there is no runtime. */
  readonly simd: true;
  /**
   * Whether the CPU multiplies matrices, convolves, and computes `exp`, `sigmoid` and `softmax` of f32, by WebAssembly's
   * relaxed SIMD, as in Chromium since 114 and Node since 21. It is faster, and the last bits of results are others than
   * without; in exact mode it is not used.
   */
  readonly relaxedSimd: boolean;
  /** How many threads compute; 1: the thread that created the runtime. */
  readonly threads: number;
  /** Whether the threaded module could be used here. */
  readonly threadsAvailable: boolean;
  /** Whether the page is isolated, so that memory may be shared between threads. Always true in Node. */
  readonly crossOriginIsolated: boolean;
  /** Whether the environment has WebGPU. */
  readonly webgpuAvailable: boolean;
  /** The device of a runtime on webgpu. */
  readonly gpu?: GpuCapabilities;
  /** For what was not used, such as 'threads' and 'webgpu': why. */
  readonly reasons: Readonly<Record<string, string>>;
}
