/** The part of WebAssembly's API used here. TypeScript has it in its library for browsers only. */
declare namespace WebAssembly {
  /** A compiled program. It can be sent to another thread. */
  class Module {
    private readonly compiled;
  }

  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, ModuleImports>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }

  interface Memory {
    readonly buffer: ArrayBuffer;
  }

  type ModuleImports = Readonly<Record<string, unknown>>;

  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
}
