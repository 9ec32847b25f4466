// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elements of a tensor on WebGPU as the content of a canvas, drawn where they are.

import type { Canvas, Layout } from './pixels.js';
import type { Tensor } from './tensor.js';

const TYPES: Readonly<Record<string, string>> = { f32: 'f32', i32: 'i32', u32: 'u32', bool: 'u32' };

/** Whether shaders can read elements of this dtype. */
export function canDraw(dtype: string): boolean {
  return dtype in TYPES;
}

// One triangle covers the canvas; each fragment is a pixel. Colors of a canvas are premultiplied by alpha.
const shader = (type: string): string => `
struct Image { width: u32, channels: u32, scale: f32 }
@group(0) @binding(0) var<storage, read> x: array<${type}>;
@group(0) @binding(1) var<uniform> image: Image;

@vertex fn corner(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

fn intensity(i: u32) -> f32 { return clamp(f32(x[i]) * image.scale, 0.0, 1.0); }

@fragment fn pixel(@builtin(position) at: vec4f) -> @location(0) vec4f {
  let i = (u32(at.y) * image.width + u32(at.x)) * image.channels;
  if (image.channels == 1u) { return vec4f(vec3f(intensity(i)), 1.0); }
  var alpha = 1.0;
  if (image.channels == 4u) { alpha = intensity(i + 3u); }
  return vec4f(vec3f(intensity(i), intensity(i + 1u), intensity(i + 2u)) * alpha, alpha);
}`;

const FORMAT = 'rgba8unorm';
// GPUBufferUsage.UNIFORM, which Node has no name for.
const UNIFORM = 0x40;
// By device, one for each type.
const pipelines = new WeakMap<GPUDevice, Map<string, GPURenderPipeline>>();

function pipelineFor(device: GPUDevice, type: string): GPURenderPipeline {
  let known = pipelines.get(device);
  if (known === undefined) pipelines.set(device, known = new Map<string, GPURenderPipeline>());
  let pipeline = known.get(type);
  if (pipeline === undefined) {
    const module = device.createShaderModule({ code: shader(type) });
    pipeline = device.createRenderPipeline({
      layout: 'auto', vertex: { module }, fragment: { module, targets: [{ format: FORMAT }] },
    });
    known.set(type, pipeline);
  }
  return pipeline;
}

/**
 * Draws a tensor on the device of its runtime; false if the canvas has a context of another kind, or is too large for
 * the device: then nothing was done.
 */
export async function drawOnGpu(tensor: Tensor, layout: Layout, canvas: Canvas): Promise<boolean> {
  const device = tensor.runtime.gpuDevice as GPUDevice;
  const { width, height, channels, scale } = layout;
  if (Math.max(width, height) > device.limits.maxTextureDimension2D) return false;
  const context = canvas.getContext('webgpu') as GPUCanvasContext | null;
  if (context === null) return false;
  const buffer = await tensor.gpuBuffer<GPUBuffer>();
  Object.assign(canvas, { width, height });
  context.configure({ device, format: FORMAT, alphaMode: 'premultiplied' });
  const pipeline = pipelineFor(device, TYPES[tensor.dtype]!);
  const uniform = device.createBuffer({ size: 16, usage: UNIFORM, mappedAtCreation: true });
  const view = new DataView(uniform.getMappedRange());
  view.setUint32(0, width, true);
  view.setUint32(4, channels, true);
  view.setFloat32(8, scale, true);
  uniform.unmap();
  const bindGroup = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer } }, { binding: 1, resource: { buffer: uniform } }],
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginRenderPass({
    colorAttachments: [{ view: context.getCurrentTexture().createView(), loadOp: 'clear', storeOp: 'store' }],
  });
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, bindGroup);
  pass.draw(3);
  pass.end();
  device.queue.submit([encoder.finish()]);
  uniform.destroy();
  return true;
}
