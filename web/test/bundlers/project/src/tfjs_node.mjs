// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program of TensorFlow.js on tandem-rt/tfjs in Node: prints what it computed.

import * as tf from '@tensorflow/tfjs-core';
import { setRuntimeOptions } from 'tandem-rt/tfjs';

setRuntimeOptions({ threads: 2 });
await tf.setBackend('tandem');
const x = tf.tensor2d([[1, 2], [3, 4]]);
console.log(JSON.stringify([...await tf.relu(tf.matMul(x, x, false, true)).data()]));
