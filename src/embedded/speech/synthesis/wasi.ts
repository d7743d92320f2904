/**
 * The part of WASI for a program that reads its arguments and writes one file, both in memory.
 *
 * There is no real file, environment or clock, so the same arguments always give the same result. Every path opens
 * the one file, which cannot be read.
 */

/** ProgramExit is thrown through the program when it exits. */
class ProgramExit extends Error {
  override readonly name = "ProgramExit";
  readonly status: number;

  constructor(status: number) {
    super(`the program ended with status ${status}`);
    this.status = status;
  }
}

const errno = { success: 0, badDescriptor: 8 } as const;
const filetype = { characterDevice: 2, directory: 3, regularFile: 4 } as const;
/** File descriptors; 0 to 2 are the standard streams. */
const rootDescriptor = 3;
const fileDescriptor = 4;
const rootPath = new TextEncoder().encode("/");
const allRights = 0xffff_ffff_ffff_ffffn;

/** MemoryFile collects what the program writes. */
export class MemoryFile {
  #bytes = new Uint8Array(1 << 20);
  #size = 0;
  #at = 0;

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#size);
  }

  write(bytes: Uint8Array): void {
    const end = this.#at + bytes.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.#bytes.length, end));
      larger.set(this.bytes());
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#at);
    this.#at = end;
    this.#size = Math.max(this.#size, end);
  }

  /** `whence` as in C: 0 from the start, 1 from the current position, 2 from the end. */
  seek(offset: number, whence: number): number {
    this.#at = offset + (whence === 0 ? 0 : whence === 1 ? this.#at : this.#size);
    return this.#at;
  }
}

/** Environment has the program's arguments, its one file, and a view of its memory, which moves when it grows. */
export interface Environment {
  args(): readonly string[];
  file(): MemoryFile;
  view(): DataView;
}

/** systemCalls returns the program's imports of the module `wasi_snapshot_preview1`. */
export function systemCalls({ args, file, view }: Environment): WebAssembly.ModuleImports {
  const memory: Memory = {
    put: (at, bytes) => new Uint8Array(view().buffer).set(bytes, at),
    put32: (at, value) => view().setUint32(at, value, true),
    put64: (at, value) => view().setBigUint64(at, value, true),
    get32: (at) => view().getUint32(at, true),
    bytes: (at, length) => new Uint8Array(view().buffer, at, length),
  };
  return {
    ...argumentCalls(args, memory),
    ...descriptorCalls(memory),
    ...fileCalls(file, memory),
    clock_time_get(_clock: number, _precision: bigint, timeAt: number) {
      memory.put64(timeAt, 0n);
      return errno.success;
    },
    proc_exit(status: number) {
      throw new ProgramExit(status);
    },
  };
}

/** Memory reads and writes the program's memory, least significant byte first. */
interface Memory {
  put(at: number, bytes: Uint8Array): void;
  put32(at: number, value: number): void;
  put64(at: number, value: bigint): void;
  get32(at: number): number;
  bytes(at: number, length: number): Uint8Array;
}

function argumentCalls(args: () => readonly string[], { put, put32 }: Memory): WebAssembly.ModuleImports {
  const argv = () => args().map((arg) => new TextEncoder().encode(`${arg}\0`));
  return {
    args_sizes_get(countAt: number, sizeAt: number) {
      put32(countAt, argv().length);
      put32(sizeAt, Buffer.concat(argv()).length);
      return errno.success;
    },
    args_get(pointersAt: number, bytesAt: number) {
      let at = bytesAt;
      for (const [i, arg] of argv().entries()) {
        put32(pointersAt + 4 * i, at);
        put(at, arg);
        at += arg.length;
      }
      return errno.success;
    },
  };
}

function descriptorCalls({ put, put32, put64 }: Memory): WebAssembly.ModuleImports {
  return {
    fd_prestat_get(descriptor: number, statAt: number) {
      if (descriptor !== rootDescriptor) return errno.badDescriptor;
      put32(statAt, 0);
      put32(statAt + 4, rootPath.length);
      return errno.success;
    },
    fd_prestat_dir_name(_descriptor: number, pathAt: number) {
      put(pathAt, rootPath);
      return errno.success;
    },
    fd_fdstat_get(descriptor: number, statAt: number) {
      put64(statAt, BigInt(kindOf(descriptor)));
      put64(statAt + 8, allRights);
      put64(statAt + 16, allRights);
      return errno.success;
    },
    fd_fdstat_set_flags: () => errno.success,
  };
}

function fileCalls(file: () => MemoryFile, memory: Memory): WebAssembly.ModuleImports {
  return {
    path_open(...call: number[]) {
      memory.put32(call.at(-1) as number, fileDescriptor);
      return errno.success;
    },
    fd_write(descriptor: number, vectorsAt: number, count: number, sizeAt: number) {
      let size = 0;
      for (let i = 0; i < count; i++) {
        const at = memory.get32(vectorsAt + 8 * i);
        const length = memory.get32(vectorsAt + 8 * i + 4);
        if (descriptor === fileDescriptor) file().write(memory.bytes(at, length));
        size += length;
      }
      memory.put32(sizeAt, size);
      return errno.success;
    },
    fd_seek(_descriptor: number, offset: bigint, whence: number, positionAt: number) {
      memory.put64(positionAt, BigInt(file().seek(Number(offset), whence)));
      return errno.success;
    },
    fd_read: () => errno.badDescriptor,
    fd_close: () => errno.success,
  };
}

function kindOf(descriptor: number): number {
  if (descriptor === rootDescriptor) return filetype.directory;
  return descriptor === fileDescriptor ? filetype.regularFile : filetype.characterDevice;
}
