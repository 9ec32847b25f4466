// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/tfjs/custom: backends and kernels to register one by one, so that a bundle has no others.

export type { Kernel } from './kernel.js';
export * from './kernels/all.js';
export { fromTandem, registerBackends, registerKernels, runtimeOf, setRuntimeOptions, toTandem } from './register.js';
export type { BackendName } from './register.js';
