// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes in Node, in TypeScript that becomes a script with require.

import { add, createRuntime, type Tensor } from 'tandem-rt';
import { createRuntime as createForCpu } from 'tandem-rt/cpu';

async function main(): Promise<void> {
  const rt = await createRuntime({ device: 'cpu' });
  const y: Tensor = add(rt.tensor([1, 2]), 1);
  console.log(JSON.stringify(await y.array()));
  await rt.dispose();
  await (await createForCpu()).dispose();
}

void main();
