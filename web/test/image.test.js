// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tensors of pixels: from ImageData everywhere, from what needs a canvas where there is one.

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { cast, toImageData, toPixels } from 'tandem-rt';
import { createRuntime } from './create_runtime.js';
import { checkError, errorOf, rejectionOf } from './errors.js';

// Two rows of three pixels: red, green, blue; white, black, and a half transparent grey.
const PIXELS = Uint8ClampedArray.of(
  255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0, 255, 100, 100, 100, 128);
const COLORS = [[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[255, 255, 255], [0, 0, 0], [100, 100, 100]]];
const IMAGE = { width: 3, height: 2, data: PIXELS };

describe('images', () => {
  let rt;
  before(async () => {
    rt = await createRuntime();
  });
  after(() => rt.dispose());

  it('of ImageData are [height, width, channels] of u8', async () => {
    const tensor = rt.fromImage(IMAGE);
    expect(tensor.dtype).to.equal('u8');
    expect(await tensor.array()).to.deep.equal(COLORS);
  });

  it('keep alpha with 4 channels', async () => {
    const tensor = rt.fromImage(IMAGE, { channels: 4 });
    expect(tensor.shape).to.deep.equal([2, 3, 4]);
    expect(await tensor.data()).to.deep.equal(new Uint8Array(PIXELS));
  });

  it('with 1 channel are luma of ITU-R BT.601', async () => {
    const tensor = rt.fromImage(IMAGE, { channels: 1 });
    // 0.299, 0.587 and 0.114 of 255, rounded.
    expect(await tensor.array()).to.deep.equal([[[76], [150], [29]], [[255], [0], [100]]]);
    const exact = await rt.fromImage(IMAGE, { channels: 1, normalize: true }).data();
    [0.299, 0.587, 0.114, 1, 0, 100 / 255].forEach((luma, i) => expect(exact[i]).to.be.closeTo(luma, 1e-6));
  });

  it('become f32, from 0 to 1 if asked for', async () => {
    const plain = rt.fromImage(IMAGE, { dtype: 'f32' });
    expect(plain.dtype).to.equal('f32');
    expect(await plain.array()).to.deep.equal(COLORS);
    const normalized = rt.fromImage(IMAGE, { normalize: true });
    expect(normalized.dtype).to.equal('f32');
    const values = await normalized.data();
    COLORS.flat(2).forEach((color, i) => expect(values[i]).to.be.closeTo(color / 255, 1e-7));
  });

  const wrong = [
    ['no image', {}, {}, /expected ImageData, ImageBitmap, a canvas, video or image, got Object/],
    ['nothing', null, {}, /got null/],
    ['an image without pixels', { width: 0, height: 2, data: new Uint8ClampedArray(0) }, {}, /at least one pixel/],
    ['too few bytes', { width: 3, height: 2, data: new Uint8ClampedArray(8) }, {}, /4 bytes for each of 3 x 2 pixels/],
    ['two channels', IMAGE, { channels: 2 }, /expected 1, 3 or 4 channels, got 2/],
    ['another dtype', IMAGE, { dtype: 'i32' }, /expected u8 or f32, got i32/],
    ['normalized bytes', IMAGE, { dtype: 'u8', normalize: true }, /expected f32 for normalized pixels, got u8/],
  ];
  for (const [what, source, options, text] of wrong) {
    it(`refuse ${what}`, () => {
      const error = errorOf(() => rt.fromImage(source, options));
      expect(error.code).to.equal('InvalidArgument');
      expect(error.message).to.match(/^\[fromImage\] /).and.match(text);
    });
  }

  // What follows needs canvases, and some of it elements of a page.
  if (typeof OffscreenCanvas !== 'undefined') {
    const canvasOf = () => {
      const canvas = new OffscreenCanvas(3, 2);
      canvas.getContext('2d').putImageData(new ImageData(PIXELS, 3, 2), 0, 0);
      return canvas;
    };

    it('of an OffscreenCanvas and an ImageBitmap are those of their pixels', async () => {
      const canvas = canvasOf();
      expect(await rt.fromImage(canvas).array()).to.deep.equal(COLORS);
      const bitmap = await createImageBitmap(canvas);
      expect(await rt.fromImage(bitmap).array()).to.deep.equal(COLORS);
      bitmap.close();
      expect(errorOf(() => rt.fromImage(bitmap)).message).to.match(/at least one pixel, got ImageBitmap of 0 x 0/);
    });

    it('with pixels of another origin are refused, and how to get them is said', () => {
      const { prototype } = OffscreenCanvasRenderingContext2D;
      const { getImageData } = prototype;
      prototype.getImageData = () => {
        throw new DOMException('The canvas has been tainted by cross-origin data.', 'SecurityError');
      };
      try {
        const error = errorOf(() => rt.fromImage(canvasOf()));
        expect(error.code).to.equal('FailedPrecondition');
        expect(error.message).to.match(/expected pixels of the page's own origin, got OffscreenCanvas with some of/);
        expect(error.message).to.match(/set crossOrigin$/);
        expect(error.cause).to.be.instanceOf(DOMException);
      } finally {
        prototype.getImageData = getImageData;
      }
    });

    it('do not decide what kind of context a canvas has', () => {
      const canvas = new OffscreenCanvas(1, 1);
      rt.fromImage(canvas).dispose();
      expect(canvas.getContext('bitmaprenderer')).to.not.equal(null);
    });
  }

  if (typeof document !== 'undefined') {
    it('of an image element are those of the image, once it is loaded', async () => {
      const canvas = document.createElement('canvas');
      canvas.width = 3;
      canvas.height = 2;
      canvas.getContext('2d').putImageData(new ImageData(PIXELS, 3, 2), 0, 0);
      expect(await rt.fromImage(canvas).array()).to.deep.equal(COLORS);
      const image = new Image();
      image.src = canvas.toDataURL();
      await image.decode();
      image.width = 100;  // the size of its layout does not matter
      expect(await rt.fromImage(image).array()).to.deep.equal(COLORS);
    });

    it('of a video are those of its current frame', async () => {
      const canvas = document.createElement('canvas');
      canvas.width = 64;
      canvas.height = 32;
      const context = canvas.getContext('2d');
      const video = document.createElement('video');
      video.muted = true;
      video.srcObject = canvas.captureStream();
      const loaded = new Promise((resolve) => {
        video.onloadeddata = resolve;
      });
      context.fillStyle = 'rgb(200, 40, 90)';
      context.fillRect(0, 0, 64, 32);
      await Promise.all([video.play(), loaded]);
      const pixels = rt.fromImage(video);
      expect(pixels.shape).to.deep.equal([32, 64, 3]);
      // Videos have fewer bits for colors.
      const data = await pixels.data();
      [200, 40, 90].forEach((color, i) => expect(data[i]).to.be.closeTo(color, 4));
    });

    it('of what is not loaded are refused', async () => {
      const video = errorOf(() => rt.fromImage(document.createElement('video')));
      expect(video.code).to.equal('FailedPrecondition');
      expect(video.message).to.match(/expected a video with a frame, got readyState 0: wait for its loadeddata event/);
      const broken = new Image();
      const failed = new Promise((resolve) => {
        broken.onerror = resolve;
      });
      broken.src = 'data:image/png;base64,AAAA';
      expect(errorOf(() => rt.fromImage(broken)).message).to.match(/loaded image/);
      await failed;
      expect(errorOf(() => rt.fromImage(broken)).message).to.match(/got one that failed to load/);
    });
  } else if (typeof OffscreenCanvas === 'undefined') {
    it('of what needs a canvas say so where there is none', () => {
      const bitmap = { width: 1, height: 1, [Symbol.toStringTag]: 'ImageBitmap' };
      const error = errorOf(() => rt.fromImage(bitmap));
      expect(error.code).to.equal('Unimplemented');
      expect(error.message).to.match(/expected an environment with canvases for ImageBitmap, got none: pass an/);
    });
  }
});

describe('pixels of tensors', () => {
  let rt;
  before(async () => {
    rt = await createRuntime({ device: 'cpu' });
  });
  after(() => rt.dispose());

  it('are those that the tensor was made of', async () => {
    const image = await toImageData(rt.fromImage(IMAGE, { channels: 4 }));
    expect([image.width, image.height]).to.deep.equal([3, 2]);
    expect(image.data).to.deep.equal(PIXELS);
    if (typeof ImageData !== 'undefined') expect(image).to.be.instanceOf(ImageData);
    expect(await rt.fromImage(image).array()).to.deep.equal(COLORS);
    expect(await toPixels(rt.fromImage(IMAGE, { channels: 4, normalize: true }))).to.deep.equal(PIXELS);
  });

  it('are grey of one channel or none, and opaque without alpha', async () => {
    const grey = [0, 0, 0, 255, 128, 128, 128, 255, 255, 255, 255, 255];
    for (const shape of [[1, 3], [1, 3, 1]]) {
      expect(Array.from(await toPixels(rt.tensor([0, 0.5, 1], shape)))).to.deep.equal(grey);
    }
    expect(Array.from(await toPixels(rt.tensor([[[1, 0, 0.2]]])))).to.deep.equal([255, 0, 51, 255]);
  });

  it('have every dtype of real numbers, and any largest element', async () => {
    const ones = [255, 255, 255, 255];
    for (const dtype of ['f16', 'bf16', 'f32', 'f64', 'bool']) {
      expect(Array.from(await toPixels(cast(rt.tensor([[1]]), dtype))), dtype).to.deep.equal(ones);
    }
    for (const dtype of ['u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64']) {
      const tens = cast(rt.tensor([[10]]), dtype);
      expect(Array.from(await toPixels(tens)), dtype).to.deep.equal([10, 10, 10, 255]);
      expect(Array.from(await toPixels(tens, undefined, { max: 10 })), dtype).to.deep.equal(ones);
    }
  });

  it('are within 0 and 255 for any element', async () => {
    const bytes = await toPixels(rt.tensor([[-1, 2, NaN, Infinity, -Infinity]]));
    expect(Array.from(bytes).filter((_, i) => i % 4 === 0)).to.deep.equal([0, 255, 0, 255, 0]);
  });

  it('are refused for what is no image, and errors arrive', async () => {
    for (const [tensor, options, text] of [
      [rt.tensor([1, 2]), {}, /expected a tensor \[height, width\] or \[height, width, 1, 3 or 4\].*got f32\[2\]/],
      [rt.zeros([2, 2, 2]), {}, /got f32\[2,2,2\]/],
      [rt.zeros([0, 2]), {}, /at least one pixel, got f32\[0,2\]/],
      [rt.tensor([['a']]), {}, /expected a tensor of real numbers, got string\[1,1\]/],
      [rt.zeros([1, 1], 'c64'), {}, /expected a tensor of real numbers, got c64\[1,1\]/],
      [rt.zeros([1, 1]), { max: 0 }, /expected max to be a finite number above 0, got 0/],
      [rt.zeros([1, 1]), { max: '1' }, /expected max to be a finite number above 0/],
      [[[1]], {}, /expected a tensor, got/],
    ]) {
      const error = await rejectionOf(toImageData(tensor, options));
      checkError(error, 'InvalidArgument', text);
      expect(error.message).to.match(/^\[toImageData\] /);
      expect(error.location).to.match(/test/);
    }
    const gone = rt.zeros([1, 1]);
    gone.dispose();
    checkError(await rejectionOf(toPixels(gone)), 'FailedPrecondition', /disposed/);
    checkError(await rejectionOf(toPixels(rt.zeros([1, 1]), {})), 'InvalidArgument', /\[toPixels\] expected a canvas/);
    const reason = new Error('enough');
    expect(await rejectionOf(toPixels(rt.zeros([1, 1]), undefined, { signal: AbortSignal.abort(reason) })))
      .to.equal(reason);
    expect(await rejectionOf(toImageData(rt.zeros([1, 1]), { signal: AbortSignal.abort(reason) }))).to.equal(reason);
  });

  if (typeof OffscreenCanvas !== 'undefined') {
    it('are drawn on a canvas, which gets their size', async () => {
      const canvas = new OffscreenCanvas(7, 7);
      await toPixels(rt.fromImage(IMAGE), canvas);
      expect([canvas.width, canvas.height]).to.deep.equal([3, 2]);
      expect(await rt.fromImage(canvas).array()).to.deep.equal(COLORS);
      const other = new OffscreenCanvas(1, 1);
      other.getContext('bitmaprenderer');
      checkError(await rejectionOf(toPixels(rt.fromImage(IMAGE), other)), 'FailedPrecondition', /draw on a canvas of its/);
    });
  }
});
