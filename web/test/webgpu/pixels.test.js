// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors on WebGPU as pixels: read, and drawn by the device on a canvas.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { cast, relu, toImageData, toPixels } from 'tandem-rt';
import { checkError, rejectionOf } from '../errors.js';
import { createRuntime, needGpu } from './device.js';

// Red, half green; white, half transparent blue.
const VALUES = [[[1, 0, 0, 1], [0, 0.5, 0, 1]], [[1, 1, 1, 1], [0, 0, 1, 0.5]]];
const BYTES = [255, 0, 0, 255, 0, 128, 0, 255, 255, 255, 255, 255, 0, 0, 255, 128];

describe('pixels', () => {
  let rt;
  before(needGpu);
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt?.dispose());

  it('are read', async () => {
    const image = relu(rt.tensor(VALUES));
    expect(Array.from((await toImageData(image)).data)).to.deep.equal(BYTES);
  });

  // A canvas as far as it is used, since a software adapter has none that show what it draws: its content is a texture.
  function canvasOf(device) {
    let texture;
    const context = {
      configure(options) {
        expect(options.device).to.equal(device);
        texture = { format: options.format, alphaMode: options.alphaMode };
      },
      getCurrentTexture() {
        texture.drawn = device.createTexture({
          size: [canvas.width, canvas.height], format: texture.format, usage: 0x10 | 0x01,  // RENDER_ATTACHMENT, COPY_SRC
        });
        return texture.drawn;
      },
    };
    const canvas = { width: 5, height: 5, getContext: (kind) => (kind === 'webgpu' ? context : null) };
    // The bytes of its rows, one after the other; colors are premultiplied by alpha.
    canvas.read = async () => {
      expect(texture).to.include({ format: 'rgba8unorm', alphaMode: 'premultiplied' });
      const { width, height } = canvas;
      const buffer = device.createBuffer({ size: 256 * height, usage: 0x08 | 0x01 });  // COPY_DST, MAP_READ
      const encoder = device.createCommandEncoder();
      encoder.copyTextureToBuffer({ texture: texture.drawn }, { buffer, bytesPerRow: 256 }, [width, height]);
      device.queue.submit([encoder.finish()]);
      await buffer.mapAsync(1);
      const bytes = new Uint8Array(buffer.getMappedRange());
      return Array.from({ length: height }, (_, y) => [...bytes.subarray(256 * y, 256 * y + 4 * width)]);
    };
    return canvas;
  }

  it('are drawn by the device, of each dtype it has', async () => {
    for (const [dtype, options] of [['f32', {}], ['i32', { max: 1 }], ['u32', { max: 1 }], ['bool', {}]]) {
      const canvas = canvasOf(rt.gpuDevice);
      const image = cast(rt.tensor([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]], [[0, 0, 0], [0, 1, 1]]]), dtype);
      await toPixels(image, canvas, options);
      expect([canvas.width, canvas.height]).to.deep.equal([2, 3]);
      expect(await canvas.read(), dtype).to.deep.equal([
        [255, 0, 0, 255, 0, 255, 0, 255], [0, 0, 255, 255, 255, 255, 255, 255], [0, 0, 0, 255, 0, 255, 255, 255]]);
    }
  });

  it('are drawn with alpha, and grey', async () => {
    const canvas = canvasOf(rt.gpuDevice);
    await toPixels(rt.tensor(VALUES), canvas);
    const rows = await canvas.read();
    const premultiplied = [...BYTES.slice(0, 14), 128, 128];
    rows.flat().forEach((value, i) => expect(value).to.be.closeTo(premultiplied[i], 1));
    await toPixels(rt.tensor([[0, 1, 7, -1]]), canvas);
    expect((await canvas.read())[0].filter((_, i) => i % 4 === 0)).to.deep.equal([0, 255, 255, 0]);
  });

  it('are drawn while they are still pending, and errors arrive', async () => {
    const canvas = canvasOf(rt.gpuDevice);
    const late = Promise.resolve().then(() => relu(rt.tensor([[1, 0]])));
    await toPixels(await late, canvas);
    expect((await canvas.read())[0]).to.deep.equal([255, 255, 255, 255, 0, 0, 0, 255]);
    checkError(await rejectionOf(toPixels(rt.tensor([1]), canvas)), 'InvalidArgument', /got f32\[1\]/);
    const reason = new Error('enough');
    expect(await rejectionOf(toPixels(await late, canvasOf(rt.gpuDevice), { signal: AbortSignal.abort(reason) })))
      .to.equal(reason);
  });

  it('are drawn by way of the CPU on a canvas that has a context 2d', async function () {
    if (typeof OffscreenCanvas === 'undefined') this.skip();
    const canvas = new OffscreenCanvas(1, 1);
    const context = canvas.getContext('2d');
    await toPixels(rt.tensor([[0, 1]]), canvas);
    expect(Array.from(context.getImageData(0, 0, 2, 1).data)).to.deep.equal([0, 0, 0, 255, 255, 255, 255, 255]);
  });
});
