/**
 * Samples at one rate → the same sound at a higher rate, by a windowed sinc.
 *
 * There is silence before the first sample and after the last. `width` is the number of samples used on each side:
 * with few, the highest tones fade and a trace of their mirror image is audible.
 */

interface Kernel {
  /** The output has `up` samples for each `down` of the input. */
  readonly up: number;
  readonly down: number;
  /** The weights of the surrounding 2 × width samples, for each of the `up` positions between two samples. */
  readonly phases: readonly Float32Array[];
}

const kernels = new Map<string, Kernel>();

export function resample(
  samples: Int16Array,
  { from, to, width }: { readonly from: number; readonly to: number; readonly width: number },
): Float32Array {
  const { up, down, phases } = kernelOf(from, to, width);
  const padded = new Float32Array(samples.length + 2 * width);
  padded.set(samples, width);
  const output = new Float32Array(Math.floor((samples.length * up) / down));
  for (let n = 0; n < output.length; n++) {
    const place = n * down;
    const first = Math.floor(place / up) + 1;
    const weights = phases[place % up] as Float32Array;
    let sum = 0;
    for (let k = 0; k < weights.length; k++) sum += (padded[first + k] as number) * (weights[k] as number);
    output[n] = sum;
  }
  return output;
}

function kernelOf(from: number, to: number, width: number): Kernel {
  const key = `${from} ${to} ${width}`;
  const known = kernels.get(key);
  if (known) return known;
  const step = greatestCommonDivisor(from, to);
  const up = to / step;
  const phases = Array.from({ length: up }, (_, phase) => weightsAt(phase / up, width));
  const kernel = { up, down: from / step, phases };
  kernels.set(key, kernel);
  return kernel;
}

/** weightsAt returns the weights at `offset` of a sample after the sample with index width − 1. */
function weightsAt(offset: number, width: number): Float32Array {
  const weights = Float32Array.from({ length: 2 * width }, (_, k) => {
    const x = k - (width - 1) - offset;
    return sinc(x) * window(x / width);
  });
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** Blackman's window over −1 to 1. */
function window(x: number): number {
  return 0.42 + 0.5 * Math.cos(Math.PI * x) + 0.08 * Math.cos(2 * Math.PI * x);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
