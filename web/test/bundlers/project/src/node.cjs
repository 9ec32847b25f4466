// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes in Node, in a script that uses require.

'use strict';

const { createRuntime, matMul } = require('tandem-rt');

createRuntime().then(async (rt) => {
  const a = rt.tensor([[1, 2], [3, 4]]);
  console.log(JSON.stringify(Array.from(await matMul(a, a).data())));
  await rt.dispose();
});
