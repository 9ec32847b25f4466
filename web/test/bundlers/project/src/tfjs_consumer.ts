// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program that uses the backend of TensorFlow.js under tsc --strict: only compiled, in each way of finding modules.

import * as tf from '@tensorflow/tfjs-core';
import { fromTandem, registerBackends, runtimeOf, setRuntimeOptions, toTandem } from 'tandem-rt/tfjs';
import type { BackendName } from 'tandem-rt/tfjs';
import { Add, registerKernels } from 'tandem-rt/tfjs/custom';
import type { Kernel } from 'tandem-rt/tfjs/custom';
import type { Runtime, Tensor } from 'tandem-rt';
const name: BackendName = 'tandem';
setRuntimeOptions({ threads: 2 });
// @ts-expect-error: the name of the backend says it
setRuntimeOptions({ device: 'cpu' });
registerBackends();
const kernels: readonly Kernel[] = [Add];
registerKernels(kernels);
await tf.setBackend(name);
const runtime: Runtime = runtimeOf(name);
const own: Tensor = toTandem(tf.ones([2]));
const theirs: tf.Tensor = fromTandem(own);
console.log(runtime.memory().bytesInUse, theirs.shape);
