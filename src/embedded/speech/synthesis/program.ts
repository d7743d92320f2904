/**
 * Program runs a compiled program many times, each time as if it were the first: its memory is restored in between.
 *
 * That costs less time and memory than a new instance. After a failed run, or one that leaves a large memory, the
 * instance is discarded.
 */
import { MemoryFile, systemCalls } from "./wasi.ts";

/** The largest memory kept for the next run, in bytes. */
const mostKept = 64 << 20;

export interface Program {
  /** Runs the program with these arguments, its name first, and returns what it wrote. Throws where it fails. */
  run(args: readonly string[]): Uint8Array<ArrayBuffer>;
}

export function createProgram(module: WebAssembly.Module): Program {
  let kept: Instance | undefined;
  return {
    run(args) {
      const instance = kept ?? createInstance(module);
      kept = undefined;
      const written = instance.run(args);
      if (instance.reset()) kept = instance;
      return written;
    },
  };
}

interface Instance extends Program {
  /** Restores the memory. Returns false where the instance must be discarded. */
  reset(): boolean;
}

function createInstance(module: WebAssembly.Module): Instance {
  let args: readonly string[] = [];
  let file = new MemoryFile();
  const imports = systemCalls({ args: () => args, file: () => file, view: () => new DataView(memory.buffer) });
  const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
  const memory = exports.memory as WebAssembly.Memory;
  const fresh = new Uint8Array(memory.buffer).slice();
  return {
    run(given) {
      args = given;
      file = new MemoryFile();
      (exports._start as () => void)();
      return file.bytes();
    },
    reset() {
      const used = new Uint8Array(memory.buffer);
      if (used.length > mostKept) return false;
      used.set(fresh);
      used.fill(0, fresh.length);
      return true;
    },
  };
}
