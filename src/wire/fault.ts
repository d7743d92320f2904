/**
 * WireFault says what is wrong with a JSON document, and where. It never quotes the document, except a number that is
 * out of bounds.
 */
export class WireFault extends Error {
  override readonly name = "WireFault";
  /** `value` means the right type, but not an allowed value. */
  readonly kind: "malformed" | "type" | "value";
  /** Public path of the faulty value, such as `messages[0].role`; empty for the document itself. */
  path = "";

  constructor(kind: WireFault["kind"], message: string) {
    super(message);
    this.kind = kind;
  }

  /** Prepends a key or an index to the path. Each container calls it as the fault passes. */
  under(segment: string | number): this {
    const tail = this.path === "" || this.path.startsWith("[") ? this.path : `.${this.path}`;
    this.path = (typeof segment === "number" ? `[${segment}]` : shown(segment)) + tail;
    return this;
  }
}

/** The longest key in a path, in characters. */
const mostShown = 128;

/** Shortens a key. The key may be the fault itself, and paths go into answers, which must be valid Unicode. */
function shown(key: string): string {
  const short = key.length > mostShown ? `${key.slice(0, mostShown)}...` : key;
  return short.toWellFormed();
}
