// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Getting a GPUDevice, and what it grants.

import type { GpuCapabilities } from '../../capabilities.js';
import type { TandemError } from '../../errors.js';
import { textOf } from './device.js';

/** What is asked for where the adapter has more than WebGPU guarantees, and the least that is needed. */
const LIMITS = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxStorageBuffersPerShaderStage: 8,
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65535,
};
type LimitName = keyof typeof LIMITS;
const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

const FEATURES = ['shader-f16', 'subgroups', 'timestamp-query'] as const;

/** Where a device comes from: one that is there, or a GPU to ask for one. */
export interface DeviceSource {
  gpu?: object | undefined;
  gpuDevice?: object | undefined;
}

/** A device, and what is said of it. */
export interface OpenDevice {
  readonly device: GPUDevice;
  /** What the device comes from: held, since the one of the package `webgpu` must outlive its devices. */
  readonly source: unknown;
  /** Whether it is to be destroyed in the end. */
  readonly isOurs: boolean;
  readonly capabilities: GpuCapabilities;
  readonly minSubgroupSize: number;
  readonly maxSubgroupSize: number;
  /** Whether shaders run on the host's processor. */
  readonly isSoftware: boolean;
}

type ErrorClass = typeof TandemError;

function checkLimits(what: string, limits: GPUSupportedLimits, Fail: ErrorClass): void {
  for (const name of LIMIT_NAMES) {
    if (!(limits[name] >= LIMITS[name])) {
      throw new Fail('Unavailable', `expected a WebGPU ${what} with ${name} of at least ${LIMITS[name]}, got ${
        String(limits[name])}`);
    }
  }
}

async function findAdapter(gpu: GPU, Fail: ErrorClass): Promise<GPUAdapter> {
  let adapter: GPUAdapter | null;
  try {
    adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  } catch (error) {
    throw new Fail('Unavailable', `expected a WebGPU adapter, got ${textOf(error)}`, { cause: error });
  }
  if (!adapter) {
    throw new Fail('Unavailable', 'expected a WebGPU adapter, got none: there is no GPU, or it is blocked or disabled');
  }
  checkLimits('adapter', adapter.limits, Fail);
  return adapter;
}

async function requestDevice(adapter: GPUAdapter, Fail: ErrorClass): Promise<GPUDevice> {
  const requiredFeatures = FEATURES.filter((feature) => adapter.features.has(feature));
  const requiredLimits = Object.fromEntries(LIMIT_NAMES.map((name) => [name, adapter.limits[name]]));
  try {
    return await adapter.requestDevice({ label: 'tandem', requiredFeatures, requiredLimits });
  } catch (error) {
    throw new Fail('Unavailable', `expected a WebGPU device of the adapter, got ${textOf(error)}`, { cause: error });
  }
}

function describeAdapter(info: GPUAdapterInfo | undefined): string {
  const text = [info?.vendor, info?.architecture, info?.device, info?.description].filter(Boolean).join(' ');
  return text === '' ? 'WebGPU adapter' : text;
}

// Browsers say so of adapters of last resort; programs that stand in for GPUs are known by their names, too.
function isSoftware(info: (GPUAdapterInfo & { isFallbackAdapter?: boolean }) | undefined): boolean {
  return info?.isFallbackAdapter === true || /swiftshader|llvmpipe|lavapipe|basic render/i.test(describeAdapter(info));
}

/** Throws TandemError: InvalidArgument for what is no device or GPU, Unavailable without one that can be used. */
export async function openDevice({ gpu, gpuDevice }: DeviceSource, Fail: ErrorClass): Promise<OpenDevice> {
  let device = gpuDevice as GPUDevice | undefined;
  let source: GPU | undefined;
  if (device !== undefined) {
    if (typeof device?.createComputePipelineAsync !== 'function') {
      throw new Fail('InvalidArgument', `[createRuntime] expected gpuDevice to be a GPUDevice, got ${String(device)}`);
    }
    checkLimits('device', device.limits, Fail);
  } else {
    source = (gpu ?? (globalThis.navigator as { gpu?: GPU } | undefined)?.gpu) as GPU | undefined;
    if (source === undefined) {
      throw new Fail('Unavailable', 'expected WebGPU, which this environment does not have: there is no ' +
        'navigator.gpu (pages need a secure context), and no GPU was given as createRuntime({ gpu })');
    }
    if (typeof source?.requestAdapter !== 'function') {
      throw new Fail('InvalidArgument', `[createRuntime] expected gpu to be a GPU, got ${String(source)}`);
    }
    device = await requestDevice(await findAdapter(source, Fail), Fail);
  }
  type Info = GPUAdapterInfo & { subgroupMinSize?: number; subgroupMaxSize?: number };
  const info = device.adapterInfo as Info | undefined;
  return {
    device,
    source,
    isOurs: gpuDevice === undefined,
    capabilities: Object.freeze({
      adapter: describeAdapter(info),
      features: Object.freeze(FEATURES.filter((feature) => device.features.has(feature))),
      limits: Object.freeze(Object.fromEntries(LIMIT_NAMES.map((name) => [name, device.limits[name]]))),
    }),
    minSubgroupSize: info?.subgroupMinSize ?? 4,
    maxSubgroupSize: info?.subgroupMaxSize ?? 128,
    isSoftware: isSoftware(info),
  };
}
