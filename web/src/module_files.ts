// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The WebAssembly files of the package, as errors name them.

/** A file, by the option of createRuntime that says where it is. */
export const MODULE_FILES = { wasmUrl: 'tandem.wasm', programsUrl: 'tandem-programs.wasm' } as const;

/** The option that says where a file is. */
export type ModuleOption = keyof typeof MODULE_FILES;
