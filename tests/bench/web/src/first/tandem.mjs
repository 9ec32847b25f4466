// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A minimal page with Tandem: from nothing to the numbers of a small network.

import { createRuntime, matMul, relu, softmax } from 'tandem-rt';

const rt = await createRuntime({ device: 'cpu' });
const x = rt.tensor([[1, 2], [3, 4]]);
const values = await softmax(relu(matMul(x, x, { transposeB: true }))).data();
window.first = { at: performance.now(), values: [...values] };
