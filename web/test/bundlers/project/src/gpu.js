// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes on the page's GPU.

import { compute } from './compute.js';

const page = await compute({ device: 'webgpu' });
globalThis.report({ end: { page } });
