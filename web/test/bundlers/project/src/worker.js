// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes in a module worker.

import { compute } from './compute.js';

compute().then(postMessage, (error) => postMessage(String(error.stack ?? error)));
