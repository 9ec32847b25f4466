// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files beside the package's script, which bundlers copy, since they are named in the form that all of them know: those
// for the CPU. In browsers; the build for Node has files_cpu.node.ts in place of this file.

import type { ProgramsScript } from './files.js';
import type { ModulePart } from './module_files.js';

// Where a classic script is, which has no import.meta: esbuild and others make one of this, if they are asked to.
const classicScript = /* @__PURE__ */ (() => (globalThis.document?.currentScript as HTMLScriptElement | null)?.src)();

/**
 * Where a file is. `find` gives what a bundler has made of it: Vite before its version 8 bundles packages for its
 * development server, but leaves their files where they are; a bundler that knows no files leaves a path beside the
 * bundle, or none at all where the bundle is a classic script.
 */
export function placeOf(name: string, find: () => URL): URL {
  let found: URL;
  try {
    found = find();
  } catch {
    return new URL(name, classicScript ?? globalThis.location.href);
  }
  const [, modules] = /^(.*\/node_modules\/)\.[^/]+\/deps\//.exec(found.href) ?? [];
  return modules === undefined ? found : new URL(`${modules}tandem-rt/dist/${name}`);
}

/**
 * A script beside this one, which is a file like others to bundlers: as a part of their graph it would make two files of
 * a worker's script, which not all of them can. Some make it a script without exports; those are found by their name.
 */
export async function importScript<T>(url: URL, name: string): Promise<T> {
  const script = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url.href) as
    { default?: T };
  return script.default ?? (globalThis as unknown as Record<symbol, T>)[Symbol.for(`tandem-rt/${name}`)]!;
}

const parts = {
  kernels: () => placeOf('tandem-kernels.wasm', () => new URL('./tandem-kernels.wasm', import.meta.url)),
  programs: () => placeOf('tandem-programs.wasm', () => new URL('./tandem-programs.wasm', import.meta.url)),
  fusion: () => placeOf('tandem-fusion.wasm', () => new URL('./tandem-fusion.wasm', import.meta.url)),
};

/** The files of the CPU. */
export const cpuFiles = {
  module: () => placeOf('tandem.wasm', () => new URL('./tandem.wasm', import.meta.url)),
  part: (part: ModulePart) => parts[part](),
  isLocal: false,
  importPrograms: (): Promise<ProgramsScript> => importScript(
    placeOf('tandem-programs.js', () => new URL('./tandem-programs.js', import.meta.url)), 'programs'),
};
