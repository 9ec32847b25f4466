// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/tfjs: importing it makes TensorFlow.js know the backends `tandem` and `tandem-webgpu`, with all kernels.

import * as all from './kernels/all.js';
import { registerBackends, registerKernels } from './register.js';

registerBackends();
registerKernels(Object.values(all).filter((each) => 'kernelName' in each));

export { fromTandem, registerBackends, registerKernels, runtimeOf, setRuntimeOptions, toTandem } from './register.js';
export type { BackendName } from './register.js';
