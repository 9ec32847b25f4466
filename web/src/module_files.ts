// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The WebAssembly files of the package, as errors name them.

/** A file, by the option of createRuntime that says where it is. */
export const MODULE_FILES = {
  wasmUrl: 'tandem.wasm', programsUrl: 'tandem-programs.wasm', kernelsUrl: 'tandem-kernels.wasm',
  fusionUrl: 'tandem-fusion.wasm',
} as const;

/** Code of a module that is fetched when it is first needed. */
export const MODULE_PARTS = ['kernels', 'programs', 'fusion'] as const;

/** One of them. */
export type ModulePart = (typeof MODULE_PARTS)[number];

/** The option that says where a file is. */
export type ModuleOption = keyof typeof MODULE_FILES;
