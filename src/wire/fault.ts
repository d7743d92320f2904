/**
 * What is wrong with a JSON document, and where. It never quotes the document, but for a number that is out of bounds.
 */
export class WireFault extends Error {
  override readonly name = "WireFault";
  /** `value` is one of the right type that is not among those allowed. */
  readonly kind: "malformed" | "type" | "value";
  /** Public path of the value at fault, as `messages[0].role`; empty for the document itself. */
  path = "";

  constructor(kind: WireFault["kind"], message: string) {
    super(message);
    this.kind = kind;
  }

  /** Says that the fault lies under this key or index. Called by each container on the way out. */
  under(segment: string | number): this {
    const tail = this.path === "" || this.path.startsWith("[") ? this.path : `.${this.path}`;
    this.path = (typeof segment === "number" ? `[${segment}]` : shown(segment)) + tail;
    return this;
  }
}

/** How much of a key is told, in characters. */
const mostShown = 128;

/** A key may be the fault itself; the path goes into answers, which are Unicode, and short. */
function shown(key: string): string {
  const told = key.length > mostShown ? `${key.slice(0, mostShown)}...` : key;
  return told.toWellFormed();
}
