/**
 * The little of WASI that a program needs which reads its arguments and writes one file: both in memory.
 *
 * There is no real file, environment or clock behind it, so the same arguments always do the same. Whatever path the
 * program opens, it gets the one file; it cannot read.
 */

/** What the program ends with, thrown through it. */
export class ProgramExit extends Error {
  override readonly name = "ProgramExit";
  readonly status: number;

  constructor(status: number) {
    super(`the program ended with status ${status}`);
    this.status = status;
  }
}

const errno = { success: 0, badDescriptor: 8 } as const;
const filetype = { characterDevice: 2, directory: 3, regularFile: 4 } as const;
/** Descriptors: 0 to 2 are the standard streams. */
const rootDescriptor = 3;
const fileDescriptor = 4;
const rootPath = new TextEncoder().encode("/");
const allRights = 0xffff_ffff_ffff_ffffn;

/** What the program writes. */
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

  /** `whence` as in C: 0 from the start, 1 from here, 2 from the end. */
  seek(offset: number, whence: number): number {
    this.#at = offset + (whence === 0 ? 0 : whence === 1 ? this.#at : this.#size);
    return this.#at;
  }
}

export interface Surroundings {
  args(): readonly string[];
  file(): MemoryFile;
  view(): DataView;
}

/** Returns what the program imports of the module `wasi_snapshot_preview1`. */
export function systemCalls({ args, file, view }: Surroundings): WebAssembly.ModuleImports {
  const argv = () => args().map((arg) => new TextEncoder().encode(`${arg}\0`));
  const put = (at: number, bytes: Uint8Array) => new Uint8Array(view().buffer).set(bytes, at);
  const put32 = (at: number, value: number) => view().setUint32(at, value, true);
  const put64 = (at: number, value: bigint) => view().setBigUint64(at, value, true);

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
    clock_time_get(_clock: number, _precision: bigint, timeAt: number) {
      put64(timeAt, 0n);
      return errno.success;
    },
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
    path_open(...call: number[]) {
      put32(call.at(-1) as number, fileDescriptor);
      return errno.success;
    },
    fd_fdstat_get(descriptor: number, statAt: number) {
      put64(statAt, BigInt(kindOf(descriptor)));
      put64(statAt + 8, allRights);
      put64(statAt + 16, allRights);
      return errno.success;
    },
    fd_write(descriptor: number, vectorsAt: number, count: number, sizeAt: number) {
      let size = 0;
      for (let i = 0; i < count; i++) {
        const at = view().getUint32(vectorsAt + 8 * i, true);
        const length = view().getUint32(vectorsAt + 8 * i + 4, true);
        if (descriptor === fileDescriptor) file().write(new Uint8Array(view().buffer, at, length));
        size += length;
      }
      put32(sizeAt, size);
      return errno.success;
    },
    fd_seek(_descriptor: number, offset: bigint, whence: number, positionAt: number) {
      put64(positionAt, BigInt(file().seek(Number(offset), whence)));
      return errno.success;
    },
    fd_read: () => errno.badDescriptor,
    fd_close: () => errno.success,
    fd_fdstat_set_flags: () => errno.success,
    proc_exit(status: number) {
      throw new ProgramExit(status);
    },
  };
}

function kindOf(descriptor: number): number {
  if (descriptor === rootDescriptor) return filetype.directory;
  return descriptor === fileDescriptor ? filetype.regularFile : filetype.characterDevice;
}
