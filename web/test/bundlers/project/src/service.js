// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Computes in a service worker when a page asks, on the device that the page says.

import { compute } from './compute.js';

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('message', ({ data, ports: [port] }) => {
  compute(data).catch((error) => String(error.stack ?? error)).then((result) => port.postMessage(result));
});
