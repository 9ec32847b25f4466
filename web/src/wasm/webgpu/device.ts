// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What WebGPU's own declarations lack: the usages of buffers, and what its errors say.

// GPUBufferUsage, which is no global everywhere.
export const MAP_READ = 1;
export const COPY_SRC = 4;
export const COPY_DST = 8;
export const UNIFORM = 64;
export const STORAGE = 128;
export const QUERY_RESOLVE = 512;

/** What an error, or something else that was thrown, says. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String((error as { message?: unknown } | null)?.message ?? error);
}

/** The error of a scope; null where there is none, and where the device is lost, which is told otherwise. */
export function popScope(device: GPUDevice): Promise<GPUError | null> {
  return device.popErrorScope().then((error) => error, () => null);
}
