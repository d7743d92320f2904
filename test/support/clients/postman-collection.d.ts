/** Declares what tests use of Postman's library. Its own types are not found by the compiler, and hold nothing of what lists have. */
declare module "postman-collection" {
  interface List<T> {
    all(): T[];
  }

  interface Variable {
    readonly key: string;
    readonly value: unknown;
  }

  interface Variables extends List<Variable> {
    get(key: string): unknown;
  }

  export interface ItemGroup {
    readonly items: List<Item | ItemGroup>;
  }

  export interface Item {
    readonly name: string;
    readonly events: List<{ readonly script: { readonly exec?: readonly string[] } }>;
    readonly request: {
      readonly method: string;
      readonly url: { readonly path?: readonly string[]; readonly variables: Variables; toString(): string };
      readonly headers: { toObject(): Record<string, string> };
      readonly body?: { readonly mode: string; readonly raw?: string; readonly urlencoded?: List<Variable> };
    };
    getAuth(): { parameters(): Variables } | undefined;
  }

  class Collection implements ItemGroup {
    constructor(definition: object);
    readonly items: List<Item | ItemGroup>;
    readonly variables: Variables;
  }

  /** A module of CommonJS, whose members Node does not know by name. */
  const members: { readonly Collection: typeof Collection };
  export default members;
}
