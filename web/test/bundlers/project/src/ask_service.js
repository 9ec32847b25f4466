// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Has the service worker /service.js compute, on the CPU and on WebGPU.

async function ask(options) {
  await navigator.serviceWorker.register('/service.js');
  const { active } = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
  });
  active.postMessage(options, [port2]);
  return answer;
}

ask({ device: 'cpu' }).then(async (cpu) => globalThis.report({ end: { cpu, webgpu: await ask({ device: 'webgpu' }) } }));
