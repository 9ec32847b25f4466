// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// tandem-rt/tfjs: importing it makes TensorFlow.js know the backends `tandem` and `tandem-webgpu`, with all kernels.

import * as all from './custom.js';
import type { Kernel } from './custom.js';

all.registerBackends();
all.registerKernels(Object.values(all).filter((each): each is Kernel => 'kernelName' in each));

export { fromTandem, registerBackends, registerKernels, runtimeOf, setRuntimeOptions, toTandem } from './custom.js';
export type { BackendName } from './custom.js';
