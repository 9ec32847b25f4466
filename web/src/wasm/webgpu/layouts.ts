// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The layouts of shaders: storage buffers, and behind them the parameters.

import { PARAMETER_BYTES } from '../layout.js';

// GPUShaderStage.COMPUTE
const COMPUTE = 4;

/** The device's objects for the layouts of shaders, by the numbers that the module gives them. */
export class Layouts {
  private readonly groups: GPUBindGroupLayout[] = [];
  private readonly pipelines: GPUPipelineLayout[] = [];

  constructor(private readonly device: GPUDevice) {}

  /** `readOnly` has a bit for each buffer that is only read. */
  create(number: number, numBuffers: number, readOnly: number): void {
    const entries: GPUBindGroupLayoutEntry[] = [];
    for (let binding = 0; binding < numBuffers; ++binding) {
      const type = (readOnly >>> binding) & 1 ? 'read-only-storage' : 'storage';
      entries.push({ binding, visibility: COMPUTE, buffer: { type } });
    }
    entries.push({
      binding: numBuffers,
      visibility: COMPUTE,
      buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: PARAMETER_BYTES },
    });
    const group = this.device.createBindGroupLayout({ entries });
    this.groups[number] = group;
    this.pipelines[number] = this.device.createPipelineLayout({ bindGroupLayouts: [group] });
  }

  group(number: number): GPUBindGroupLayout {
    return this.groups[number]!;
  }

  pipeline(number: number): GPUPipelineLayout {
    return this.pipelines[number]!;
  }
}
