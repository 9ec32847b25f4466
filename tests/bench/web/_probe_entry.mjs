import { GPU_SCENARIOS } from './src/scenarios.mjs';
import { load as loadTandem } from './src/with_tandem.mjs';
import { load as loadTfjs } from './src/with_tfjs_webgpu.mjs';
window.probe = async (id) => {
  const out = {};
  const here = new URL('.', location.href).href;
  const shaders = []; const dispatches = [];
  const make = GPUDevice.prototype.createShaderModule;
  GPUDevice.prototype.createShaderModule = function (d) { shaders.push(d.code); return make.call(this, d); };
  const disp = GPUComputePassEncoder.prototype.dispatchWorkgroups;
  GPUComputePassEncoder.prototype.dispatchWorkgroups = function (...a) { if (dispatches.length < 40) dispatches.push(a); return disp.apply(this, a); };
  for (const lib of [await loadTandem({ tandemUrl: here + 'tandem/index.js', threads: 1, device: 'webgpu' }), await loadTfjs()]) {
    shaders.length = 0; dispatches.length = 0;
    const s = GPU_SCENARIOS.find((x) => x.id === id);
    const e = await lib[s.kind](s.data());
    await e.output();
    out[lib.name] = { shaders: [...shaders], dispatches: [...dispatches], t: [] };
    for (let r = 0; r < 4; ++r) for (const n of [1, 11]) { const t = performance.now(); await e.run(n); out[lib.name].t.push([n, +(performance.now() - t).toFixed(2)]); }
  }
  return out;
};
